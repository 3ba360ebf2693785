"""One look at the source as it is kept for the next: what was read, what it came to, and how to see what moved."""

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.attributes import Attributes
from flow_mcp.workspace.contents import Read, Status, status_of
from flow_mcp.workspace.entries import BlobHash, Manifest, SourceEntry
from flow_mcp.workspace.listing import Listed, Listing
from flow_mcp.workspace.paths import Descent, split
from flow_mcp.workspace.patterns import matches
from flow_mcp.workspace.stat_cache import Known

_WORKED_OUT_MAX = 4

_T = TypeVar("_T")


class Rules(NamedTuple):
    """What the tree says of line endings.

    Attributes:
        key: names the files that say it by their digests, and where repositories start.
        attributes: what they say.
    """

    key: Hashable
    attributes: Attributes


NO_RULES = Rules((), Attributes({}, frozenset()))


class Content(NamedTuple):
    """One path of the source: its entry, what was read of it, and its part in the digest."""

    entry: SourceEntry
    read: Read
    part: bytes


class Watch:
    """Sees which paths must be read again: those that moved, and those whose status never spoke for them."""

    def __init__(self) -> None:
        self._folders: dict[bytes, _Folder] = {}

    def start(self, kept: Mapping[str, Listed], known: Mapping[str, Known]) -> None:
        """Take in what is known of all paths, if nothing was taken in yet; paths come folder by folder."""
        if not self._folders:
            folders: dict[bytes, _Folder] = {}
            _note(folders, kept.items(), known)
            self._folders = folders

    def note(self, listed: Iterable[tuple[str, Listed]], known: Mapping[str, Known]) -> None:
        """Take in what is known of some paths by now; nothing before the start, when all are taken in."""
        if self._folders:
            _note(self._folders, listed, known)

    def moved(self, root: Path) -> list[str]:
        """Give the paths that must be read again, folder by folder; no link is followed, and nothing is raised."""
        with Descent(root) as descent:
            return [path for folder in self._folders.values() for path in folder.moved(descent)]


def _note(folders: "dict[bytes, _Folder]", listed: Iterable[tuple[str, Listed]], known: Mapping[str, Known]) -> None:
    for path, (raw, _, _) in listed:
        above, name = split(raw)
        folder = folders.get(above)
        if folder is None:
            folder = folders[above] = _Folder(above)
        folder.note(path, name, known[path])


class _Folder:
    """The files of one folder: in step, their names, paths and statuses; and the paths that are always read."""

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._names: list[bytes] = []
        self._paths: list[str] = []
        self._statuses: list[Status | None] = []
        self._unsure: dict[str, None] = {}
        self._at: dict[str, int] = {}

    def note(self, path: str, name: bytes, known: Known) -> None:
        at = self._at.get(path)
        if not known.trusted:
            self._unsure[path] = None
            return
        self._unsure.pop(path, None)
        if at is not None:
            self._statuses[at] = known.status
            return
        self._at[path] = len(self._names)
        self._names.append(name)
        self._paths.append(path)
        self._statuses.append(known.status)

    def moved(self, descent: Descent) -> Iterable[str]:
        try:
            folder = descent.folder(self._path)
        except (OSError, BrokenWorld):
            folder = None
        if folder is None:
            return [*self._paths, *self._unsure]
        look = partial(os.lstat, dir_fd=folder)
        try:
            now: list[Status | None] = list(map(status_of, map(look, self._names)))
        except OSError:
            now = [_status(name, folder) for name in self._names]
        if now == self._statuses:
            return self._unsure
        moved = [path for path, old, new in zip(self._paths, self._statuses, now, strict=True) if old != new]
        return dict.fromkeys((*moved, *self._unsure))


def _status(name: bytes, folder: int) -> Status | None:
    try:
        found: Status = status_of(os.lstat(name, dir_fd=folder))
    except OSError:
        return None
    return found


_Found = tuple[Mapping[str, object], frozenset[str]]


class Matched:
    """Which names some globs match; of names that stay nobody is asked again."""

    def __init__(self, found: "Mapping[tuple[str, ...], _Found] | None" = None) -> None:
        self._found: dict[tuple[str, ...], _Found] = dict(found or {})

    def carried(self) -> "Matched":
        """Give what is known to the names that come after these."""
        return Matched(self._found)

    def of(self, globs: tuple[str, ...], names: Mapping[str, object]) -> frozenset[str]:
        """Give the names that the globs match.

        Raises:
            ValueError: for a glob that is refused.
        """
        known, found = self._found.get(globs, ({}, frozenset[str]()))
        if known is not names:
            found = frozenset(name for name in found if name in names).union(
                matches(globs, [name for name in names if name not in known])
            )
            if len(self._found) >= _WORKED_OUT_MAX and globs not in self._found:
                self._found.clear()
            self._found[globs] = (names, found)
        return found


class WorkedOut:
    """What was worked out of something that does not change."""

    def __init__(self) -> None:
        self._found: dict[Hashable, object] = {}

    def work_out(self, what: Hashable, make: Callable[[], _T]) -> _T:
        """Give what has this name, worked out once; a few are kept."""
        found = self._found.get(what)
        if found is None:
            found = make()
            if len(self._found) >= _WORKED_OUT_MAX:
                self._found.clear()
            self._found[what] = found
        return cast("_T", found)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The source as one look found it; nothing of it changes afterwards, but ``watch``, which serves the next look.

    Attributes:
        listing: the names.
        kept: those that are source, in the order of the paths' bytes.
        known: what was read under which status, in that order.
        contents: what that came to, in that order.
        manifest: the whole.
        rules: what the tree says of line endings.
        blob_hash: whose object ids were asked for.
        watch: sees what moves.
        matched: which of the names some globs match.
        names: what follows from the names alone.
        worked_out: what follows from this look alone.
    """

    listing: Listing
    kept: Mapping[str, Listed]
    known: Mapping[str, Known]
    contents: Mapping[str, Content]
    manifest: Manifest
    rules: Rules
    blob_hash: BlobHash | None
    watch: Watch
    matched: Matched
    names: WorkedOut
    worked_out: WorkedOut = field(default_factory=WorkedOut, init=False)
