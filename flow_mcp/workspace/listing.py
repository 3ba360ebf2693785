"""Which paths are source: tracked or not ignored, in the workspace and in every repository nested in it.

Git lists where there is git, and only names: it reads no working file for it. Ignored is what the tree's own
``.gitignore`` files leave out, and nothing else: ``.git/info/exclude`` and ``core.excludesFile`` lie outside of the
source and would hide parts of it. What is ignored and steers all the same is source: an ignore file that ignores
itself, or a test configuration, in a folder that holds source. (A cache that ignores itself whole holds none.)
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.git import GITLINK, find_git
from flow_mcp.workspace.git_names import Said, Talk
from flow_mcp.workspace.ignore import FILE_NAME as IGNORE_NAME
from flow_mcp.workspace.ignore import NO_RULES, Rules
from flow_mcp.workspace.paths import DEPTH_MAX, Descent, TooDeep, exists, printable, told
from flow_mcp.workspace.patterns import TEST_CONFIGURATION, matches

FILES_MAX = 200_000
NESTED_MAX = 8
# Where git writes the mode of an entry of the index, after a letter.
_MODE_AT = slice(2, 8)
_GITLINK = GITLINK.encode()

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


class Listed(NamedTuple):
    """One path of the source.

    Attributes:
        raw: the path's bytes, relative to the workspace.
        tracked: whether an index names it.
        boundary: whether a nested repository starts here.
    """

    raw: bytes
    tracked: bool
    boundary: bool


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The names of one look.

    Attributes:
        paths: printable path to what is listed, in the order of the paths' bytes.
        ignored: raw paths beside source that the ignore rules leave out; a folder's ends in a slash.
        said: what git said of each repository, by the path of its folder.
        places: what was found where git stops: None for no folder, else whether a repository starts there.
        walked: folders where git stops that hold no repository: how deep they are nested, and what lies in them.
    """

    paths: Mapping[str, Listed]
    ignored: tuple[bytes, ...]
    said: Mapping[bytes, Said]
    places: Mapping[bytes, bool | None]
    walked: Mapping[bytes, tuple[int, tuple[Listed, ...]]]


def list_source(root: Path) -> dict[str, Listed]:
    """Give printable path to what is listed, in the order of the paths' bytes.

    Raises:
        TooManyFiles: beyond 200,000 paths.
        Forged: for an index with a path that leaves the workspace.
        TooDeep: for a path of more than 128 folders, or repositories nested more than 8 deep.
        GitTrouble: where git cannot list.
        Inaccessible: where a folder cannot be read.
    """
    return dict(list_again(root, None, lambda: None).paths)


def list_again(root: Path, previous: Listing | None, meanwhile: Callable[[], None]) -> Listing:
    """List the source, and do something else while git is at it; the previous listing itself where it still holds.

    Raises:
        BrokenWorld: as ``list_source``.
    """
    with told(root), Descent(root) as descent, Talk(root, find_git(root)) as talk:
        place = _Place(root, descent, talk, b"", 0, {})
        for folder in () if previous is None else previous.said:
            if _boundary(descent, folder):
                talk.ask_ahead(folder)
        meanwhile()
        if previous is not None and _holds(previous, place):
            return previous
        known = {} if previous is None else {listed.raw: (path, listed) for path, listed in previous.paths.items()}
        return _listed(replace(place, before=known), previous)


def _holds(previous: Listing, place: "_Place") -> bool:
    """Tell whether git says what it said before, of the same repositories, and the rest is as it was."""
    if b"" not in previous.said:
        return False
    if any(_boundary(place.descent, folder) != found for folder, found in previous.places.items()):
        return False
    if any(place.talk.answer(folder) != said for folder, said in previous.said.items()):
        return False
    for path, (depth, listed) in previous.walked.items():
        again = replace(place, prefix=path + b"/", depth=depth, notes=_Notes())
        if tuple(_walked(again)) != listed or not again.notes.ignored.issubset(previous.ignored):
            return False
    return True


def _listed(place: "_Place", previous: Listing | None) -> Listing:
    found: dict[bytes, Listed] = {}
    for listed in _repository(place):
        known = found.get(listed.raw)
        found[listed.raw] = listed if known is None else _both(known, listed)
        if len(found) > FILES_MAX:
            raise TooManyFiles
    before = place.before
    paths = {before[raw][0] if raw in before else printable(raw): found[raw] for raw in sorted(found)}
    ignored = tuple(sorted(place.notes.ignored))
    # Names that stay the same keep their very mapping, so that nobody need compare them again.
    same = previous is not None and previous.paths == paths
    return Listing(
        previous.paths if previous is not None and same else paths,
        ignored,
        place.talk.answers,
        place.notes.places,
        place.notes.walked,
    )


def _both(one: Listed, other: Listed) -> Listed:
    """Give what is listed at a path that is named twice, as in a conflict."""
    return Listed(one.raw, one.tracked or other.tracked, one.boundary or other.boundary)


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
class _Notes:
    """What is noted on the way."""

    ignored: set[bytes] = field(default_factory=set)
    places: dict[bytes, bool | None] = field(default_factory=dict)
    walked: dict[bytes, tuple[int, tuple[Listed, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Place:
    """The top of a repository, or of a folder without one; ``prefix`` is its path with a closing slash, or empty."""

    root: Path
    descent: Descent
    talk: Talk
    prefix: bytes
    depth: int
    before: Mapping[bytes, tuple[str, Listed]]
    notes: _Notes = field(default_factory=_Notes)

    def inner(self, path: bytes) -> "_Place":
        if self.depth >= NESTED_MAX:
            raise TooDeep(printable(path))
        return replace(self, prefix=path + b"/", depth=self.depth + 1)


def _repository(place: _Place) -> Iterator[Listed]:
    said = place.talk.answer(place.prefix.rstrip(b"/"))
    return _walked(place) if said is None else _named(place, said)


def _named(place: _Place, said: Said) -> Iterator[Listed]:
    folders: set[bytes] = set()
    for record in said.source.split(b"\0")[:-1]:
        tracked = not record.startswith(b"? ")
        head, _, name = record.partition(b"\t") if tracked else (b"", b"", record[2:])
        path = place.prefix + name.rstrip(b"/")
        if name.endswith(b"/") or head[_MODE_AT] == _GITLINK:
            check_path(path)
            yield from _nested(place, path, tracked=tracked)
        else:
            yield _file(place, path, tracked=tracked)
        folders.add(_folder_of(name))
    ignored = said.ignored.split(b"\0")[:-1]
    steering = _steering(name for name in ignored if not name.endswith(b"/") and _folder_of(name) in folders)
    place.notes.ignored.update(place.prefix + name for name in ignored if name not in steering)
    for name in sorted(steering):
        check_path(name)
        yield Listed(place.prefix + name, tracked=False, boundary=False)


def _file(place: _Place, path: bytes, *, tracked: bool) -> Listed:
    """Give what is listed at a path; the same as before where it was looked at before."""
    _, known = place.before.get(path, ("", None))
    if known is not None and known.tracked == tracked and not known.boundary:
        return known
    check_path(path)
    return Listed(path, tracked, boundary=False)


def _folder_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def _steering(paths: Iterable[bytes]) -> frozenset[bytes]:
    """Give the files that decide what is source, or how the tests run."""
    named = {printable(path): path for path in paths}
    rules = (path for path in named.values() if path.rpartition(b"/")[2] == IGNORE_NAME)
    return frozenset(rules) | {named[path] for path in matches(TEST_CONFIGURATION, named)}


def _nested(place: _Place, path: bytes, *, tracked: bool) -> Iterator[Listed]:
    """List what git stops at: a repository, or the folder of a submodule that was never fetched."""
    boundary = place.notes.places[path] = _boundary(place.descent, path)
    yield Listed(path, tracked, bool(boundary))
    if boundary:
        yield from _repository(place.inner(path))
    elif boundary is not None:
        inner = place.inner(path)
        found = tuple(_walked(inner))
        place.notes.walked[path] = (inner.depth, found)
        yield from found


def has_repository(descent: Descent, path: bytes) -> bool:
    """Tell whether a repository starts at a path.

    Raises:
        OSError: as the system says.
    """
    return bool(_boundary(descent, path))


def _boundary(descent: Descent, path: bytes) -> bool | None:
    """Tell whether a repository starts at a path; None where there is no folder."""
    folder = descent.folder(path)
    return None if folder is None else exists(GIT_NAME, folder)


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
            ignored -= _steering(path for path, is_folder in entries if not is_folder and path in ignored)
        place.notes.ignored.update(path + b"/" if is_folder else path for path, is_folder in entries if path in ignored)
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
