"""Which paths are source: tracked or not ignored, in the workspace and in every repository nested in it.

Git lists where there is git, and only names: it reads no working file for it. Ignored is what the tree's own
``.gitignore`` files leave out, and nothing else: ``.git/info/exclude`` and ``core.excludesFile`` lie outside of the
source and would hide parts of it. What is ignored and steers all the same is source: an ignore file that ignores
itself, or a test configuration, in a folder that holds source. (A cache that ignores itself whole holds none.)
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.git import GITLINK, Repository, find_git, repository_at
from flow_mcp.workspace.ignore import FILE_NAME as IGNORE_NAME
from flow_mcp.workspace.ignore import NO_RULES, Rules
from flow_mcp.workspace.paths import DEPTH_MAX, Descent, TooDeep, exists, printable, told
from flow_mcp.workspace.patterns import TEST_CONFIGURATION, matches

FILES_MAX = 200_000
NESTED_MAX = 8

GIT_NAME = b".git"
# Git refuses to add these; an index or a commit that holds them was made by hand.
_FORGED = frozenset((b"", b".", b"..", GIT_NAME))


class TooManyFiles(BrokenWorld):
    """The source has more files, or folders to look into, than Flow covers."""

    def __init__(self) -> None:
        seen = f"The source has more than {FILES_MAX} files or folders."
        super().__init__(seen, "Name generated folders in .gitignore.")


class Forged(BrokenWorld):
    """Git's own data names a path that no git command would have put there."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One path of the source.

    Attributes:
        raw: the path's bytes, relative to the workspace.
        tracked: whether an index names it.
        boundary: whether a nested repository starts here.
    """

    raw: bytes
    tracked: bool
    boundary: bool


def list_source(root: Path) -> dict[str, Listed]:
    """Give printable path to what is listed, in the order of the paths' bytes.

    Raises:
        TooManyFiles: beyond 200,000 paths.
        Forged: for an index with a path that leaves the workspace.
        TooDeep: for a path of more than 128 folders, or repositories nested more than 8 deep.
        GitTrouble: where git cannot list.
        Inaccessible: where a folder cannot be read.
    """
    found: dict[bytes, Listed] = {}
    with told(root), Descent(root) as descent:
        for listed in _repository(_Place(root, find_git(root), descent, b"", 0)):
            known = found.get(listed.raw, listed)
            found[listed.raw] = Listed(listed.raw, known.tracked or listed.tracked, known.boundary or listed.boundary)
            if len(found) > FILES_MAX:
                raise TooManyFiles
    return {printable(raw): found[raw] for raw in sorted(found)}


def check_path(raw: bytes) -> None:
    """Refuse a path of an index or a commit that git itself would not have put there.

    Raises:
        Forged: for ``..``, ``.git`` and the like.
        TooDeep: for more than 128 folders.
    """
    parts = raw.split(b"/")
    if not _FORGED.isdisjoint(parts):
        seen = f"Git's data names the path {printable(raw)[:200]!r}, which no git command accepts."
        raise Forged(seen, "Somebody wrote it by hand: look at the repository before you go on.")
    if len(parts) > DEPTH_MAX:
        raise TooDeep(printable(raw))


@dataclass(frozen=True, slots=True)
class _Place:
    """The top of a repository, or of a folder without one; ``prefix`` is its path with a closing slash, or empty."""

    root: Path
    program: str | None
    descent: Descent
    prefix: bytes
    depth: int

    def inner(self, path: bytes) -> "_Place":
        if self.depth >= NESTED_MAX:
            raise TooDeep(printable(path))
        return replace(self, prefix=path + b"/", depth=self.depth + 1)


def _repository(place: _Place) -> Iterator[Listed]:
    repository = repository_at(place.program, place.root / os.fsdecode(place.prefix))
    return _walked(place) if repository is None else _named(place, repository)


def _named(place: _Place, repository: Repository) -> Iterator[Listed]:
    output = repository.output("ls-files", "-z", "-t", "-s", "-c", "-o", "--exclude-per-directory=.gitignore")
    folders: set[bytes] = set()
    for record in output.split(b"\0")[:-1]:
        tracked = not record.startswith(b"? ")
        head, _, name = record.partition(b"\t") if tracked else (b"", b"", record[2:])
        path = place.prefix + name.rstrip(b"/")
        check_path(path)
        if name.endswith(b"/") or head.split(b" ")[1:2] == [GITLINK.encode()]:
            yield from _nested(place, path, tracked=tracked)
        else:
            yield Listed(path, tracked, boundary=False)
        folders.add(_folder_of(name))
    yield from (Listed(place.prefix + name, tracked=False, boundary=False) for name in _hidden(repository, folders))


def _hidden(repository: Repository, folders: set[bytes]) -> Iterator[bytes]:
    """Give the ignored files that steer, in folders that hold source."""
    output = repository.output("ls-files", "-z", "-o", "-i", "--directory", "--exclude-per-directory=.gitignore")
    for name in output.split(b"\0")[:-1]:
        if not name.endswith(b"/") and _folder_of(name) in folders and _steers(name):
            check_path(name)
            yield name


def _folder_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def _steers(path: bytes) -> bool:
    """Say whether a file decides what is source, or how the tests run."""
    return path.rpartition(b"/")[2] == IGNORE_NAME or bool(matches(TEST_CONFIGURATION, [printable(path)]))


def _nested(place: _Place, path: bytes, *, tracked: bool) -> Iterator[Listed]:
    """List what git stops at: a repository, or the folder of a submodule that was never fetched."""
    folder = place.descent.folder(path)
    boundary = folder is not None and exists(GIT_NAME, folder)
    yield Listed(path, tracked, boundary)
    if boundary:
        yield from _repository(place.inner(path))
    elif folder is not None:
        yield from _walked(place.inner(path))


def _walked(place: _Place) -> Iterator[Listed]:
    waiting: list[tuple[bytes, Rules]] = [(place.prefix, NO_RULES)]
    looked_into = 0
    while waiting:
        base, outer = waiting.pop()
        looked_into += 1
        if looked_into > FILES_MAX:
            raise TooManyFiles
        folder = place.descent.folder(base.rstrip(b"/"))
        if folder is None:
            continue
        rules = outer.entering(base, folder)
        entries = _entries(base, folder)
        ignored = {path for path, is_folder in entries if rules.ignore(path, is_folder=is_folder)}
        if any(not is_folder and path not in ignored for path, is_folder in entries):
            ignored -= {path for path, is_folder in entries if not is_folder and path in ignored and _steers(path)}
        for path, is_folder in entries:
            if path in ignored:
                continue
            if not is_folder:
                yield Listed(path, tracked=False, boundary=False)
            elif _is_repository(place.descent, path):
                yield from _nested(place, path, tracked=False)
            else:
                waiting.append((path + b"/", rules))


def _entries(base: bytes, folder: int) -> list[tuple[bytes, bool]]:
    # Files, links and folders; a pipe or socket that git does not track is no source for git either.
    with os.scandir(folder) as entries:
        found = [
            (base + os.fsencode(entry.name), entry.is_dir(follow_symlinks=False))
            for entry in entries
            if entry.is_symlink() or entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
        ]
    return [(path, is_folder) for path, is_folder in found if path[len(base) :] != GIT_NAME]


def _is_repository(descent: Descent, path: bytes) -> bool:
    folder = descent.folder(path)
    if folder is None or not exists(GIT_NAME, folder):
        return False
    inner = descent.folder(path + b"/" + GIT_NAME)
    return inner is None or exists(b"HEAD", inner)
