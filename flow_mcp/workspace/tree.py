"""The source as a commit has it, the commits of its submodules included."""

import os
from dataclasses import dataclass

from flow_mcp.workspace.git import GITLINK, Repository
from flow_mcp.workspace.listing import NESTED_MAX, check_path
from flow_mcp.workspace.paths import Descent, printable


@dataclass(frozen=True, slots=True)
class Committed:
    """One path of a commit.

    Attributes:
        raw: the path's bytes, relative to the workspace.
        mode: as git writes it; ``160000`` for a submodule.
        object_id: of the blob, or of the submodule's commit.
        home: the repository whose commit names the path.
        boundary: whether it is a submodule whose repository is at hand, so that its files are named too.
    """

    raw: bytes
    mode: str
    object_id: str
    home: Repository
    boundary: bool


def tree_of(repository: Repository, commit: str) -> dict[str, Committed] | None:
    """Give printable path to what a commit holds; None where git cannot read the commit.

    The files of a submodule are there where its repository lies in the working tree and holds the commit.

    Raises:
        Forged: for a path that no git command would have committed.
        TooDeep: for a path of more than 128 folders.
        GitTrouble: where git does not end or floods.
    """
    with Descent(repository.folder) as descent:
        found = _collect(repository, commit, b"", descent, 0)
    return None if found is None else {printable(raw): found[raw] for raw in sorted(found)}


def _collect(
    repository: Repository, commit: str, prefix: bytes, descent: Descent, depth: int
) -> dict[bytes, Committed] | None:
    tree = repository.tree(commit)
    if tree is None:
        return None
    found: dict[bytes, Committed] = {}
    for name, (mode, object_id) in tree.items():
        path = prefix + name
        check_path(path)
        inner = _submodule(repository, name, path, descent) if mode == GITLINK and depth < NESTED_MAX else None
        files = None if inner is None else _collect(inner, object_id, path + b"/", descent, depth + 1)
        found[path] = Committed(path, mode, object_id, repository, boundary=files is not None)
        found |= files or {}
    return found


def _submodule(repository: Repository, name: bytes, path: bytes, descent: Descent) -> Repository | None:
    return None if descent.folder(path) is None else repository.nested(repository.folder / os.fsdecode(name))
