"""How the source stands before a plan is made: its repository, its size, what would be frozen, what is uncommitted."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flow_mcp.workspace import facts
from flow_mcp.workspace.facts import Globs
from flow_mcp.workspace.git import git_facts, open_repository
from flow_mcp.workspace.listing import list_source
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED, TEST_FILES, matches
from flow_mcp.workspace.records import Records

FILES_READ_MAX = 5_000

_PRIVATE = ".flow/"

History = Literal["no-repository", "no-git", "no-commit", "changed", "clean", "unknown"]


@dataclass(frozen=True, slots=True)
class SourceState:
    """What is so of the source now.

    Attributes:
        history: no repository, no git to read it, no commit yet, changes against HEAD, none, or not looked at.
        outer: the folder of a repository around this one.
        files: how many files are source.
        frozen: the files that an approval would freeze.
        frozen_changed: those of them that differ from HEAD.
        has_tests: whether any file is a test by its name.
    """

    history: History
    outer: str | None
    files: int
    frozen: tuple[str, ...]
    frozen_changed: tuple[str, ...]
    has_tests: bool


def look_at_source(root: Path, records: Records) -> SourceState:
    """Look at the source; contents are compared with HEAD where there are at most 5,000 files.

    Raises:
        BrokenWorld: where the source cannot be listed or read.
    """
    paths = [path for path in list_source(root) if not path.startswith(_PRIVATE) and not records.own(path)]
    frozen = tuple(sorted(matches(DEFAULT_PROTECTED, paths)))
    history = history_of(root, has_commit=_has_commit(root), is_clean=None)
    changed: tuple[str, ...] = ()
    if history == "unknown" and len(paths) <= FILES_READ_MAX:
        seen = facts.gather(root, records, Globs(protected=DEFAULT_PROTECTED, targets=(), inputs=(), artifacts=()))
        history, changed = history_of(root, has_commit=True, is_clean=seen.clean), seen.protected_dirty
    return SourceState(
        history=history,
        outer=outer_repository(root),
        files=len(paths),
        frozen=frozen,
        frozen_changed=changed,
        has_tests=bool(matches(TEST_FILES, paths)),
    )


def _has_commit(root: Path) -> bool:
    return git_facts(open_repository(root)).head is not None


def history_of(root: Path, *, has_commit: bool, is_clean: bool | None) -> History:
    """Say how the history stands; ``is_clean`` None says that nobody compared."""
    if not os.path.lexists(root / ".git"):
        return "no-repository"
    if open_repository(root) is None:
        return "no-git"
    if not has_commit:
        return "no-commit"
    if is_clean is None:
        return "unknown"
    return "clean" if is_clean else "changed"


def outer_repository(root: Path) -> str | None:
    """Give the nearest folder above that holds a repository; None where there is none."""
    return next((str(folder) for folder in root.parents if os.path.lexists(folder / ".git")), None)
