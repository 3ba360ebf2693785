"""Where a link of the source leads: to what the digest covers, or out of it (row review.links-inside).

A way is gone step by step by what the manifest says, and never out of the source: what lies there is not looked at.
"""

import os
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.domain.decision import OutwardLink
from flow_mcp.workspace.entries import Manifest, SourceEntry, link_digest
from flow_mcp.workspace.paths import Descent, printable, raw_path, split, told

LINKS_MAX = 40
"""So many links of a way are followed, as by Linux."""

_COVERED = frozenset(("file", "link", "special", "nested"))


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where a way leaves a source.

    Attributes:
        goal: what the last link says, or the path below the workspace.
        followed: the links of the way.
        broken: whether the last of them could not be read, or is not what the source says.
    """

    goal: bytes
    followed: tuple[SourceEntry, ...]
    broken: bool


def leading_out(root: Path, now: Manifest, approved: Manifest | None) -> tuple[OutwardLink, ...]:
    """Name the links of a source that lead out of it and did not in the approved one, in order.

    A link leads out where it comes to no file, link or folder of the source: outside of the workspace, to what is
    ignored, an artifact or Flow's own, or to nothing. One that climbs above the workspace leads out even if it comes
    back: in a copy it would come elsewhere. Where the approved source is not known every link counts as new.

    Raises:
        Inaccessible: where the workspace cannot be read.
    """
    links = [entry for entry in now.entries if entry.kind == "link"]
    if not links:
        return ()
    found: list[OutwardLink] = []
    with told(root), Descent(root) as descent:
        tops = _spellings(root)
        ways, before = _Ways(now, descent, tops), None if approved is None else _Ways(approved, descent, tops)
        for link in links:
            stop = ways.stop(link)
            if stop is not None and (before is None or not before.led_out(link, stop.followed)):
                found.append(OutwardLink(link.path, printable(stop.goal)))
    return tuple(found)


def _at(source: Manifest, path: bytes) -> SourceEntry | None:
    """Give what the digest covers at a path."""
    index = bisect_left(source.entries, path, key=_raw)
    found = source.entries[index] if index < len(source.entries) else None
    return found if found is not None and found.kind in _COVERED and _raw(found) == path else None


def _is_folder(source: Manifest, path: bytes) -> bool:
    """Tell whether anything lies below a path that the digest covers."""
    inside = path + b"/"
    for index in range(bisect_left(source.entries, inside, key=_raw), len(source.entries)):
        entry = source.entries[index]
        if not _raw(entry).startswith(inside):
            return False
        if entry.kind in _COVERED:
            return True
    return False


def _raw(entry: SourceEntry) -> bytes:
    return raw_path(entry.path)


def _spellings(root: Path) -> tuple[list[bytes], ...]:
    """Give the steps from the top of the file system to the workspace, as it is called and by its real path."""
    return tuple(_plain(os.fsencode(path).split(b"/")) for path in (str(root), os.path.realpath(root)))


def _plain(steps: Sequence[bytes]) -> list[bytes]:
    return [name for name in steps if name not in (b"", b".")]


class _Ways:
    """Goes the ways of links in one source."""

    def __init__(self, source: Manifest, descent: Descent, tops: tuple[list[bytes], ...]) -> None:
        self._source = source
        self._descent = descent
        self._tops = tops

    def led_out(self, link: SourceEntry, followed: Sequence[SourceEntry]) -> bool:
        """Tell whether a link led out here already: each link of its way is the same, and it did not stay inside."""
        if any(_at(self._source, _raw(each)) != each for each in followed):
            return False
        stop = self.stop(link)
        return stop is not None and not stop.broken

    def stop(self, link: SourceEntry) -> _Stop | None:
        """Give where the way that begins at a link leaves the source; None where it stays inside."""
        at: list[bytes] = []
        ahead = _raw(link).split(b"/")[::-1]
        goal, followed = _raw(link), list[SourceEntry]()
        while ahead:
            name = ahead.pop()
            if name == b"..":
                if not at:
                    return _Stop(goal, tuple(followed), broken=False)
                at.pop()
            elif name not in (b"", b"."):
                place = b"/".join((*at, name))
                entry = _at(self._source, place)
                if entry is not None and entry.kind == "link":
                    followed.append(entry)
                    target = self._target(place, entry)
                    goal, steps = target or place, self._inner(target)
                    if steps is None or len(followed) > LINKS_MAX:
                        return _Stop(goal, tuple(followed), broken=not target)
                    at = [] if target.startswith(b"/") else at
                    ahead.extend(steps[::-1])
                elif (entry is not None and not ahead) or _is_folder(self._source, place):
                    at.append(name)
                else:
                    return _Stop(b"/".join((place, *_plain(ahead[::-1]))), tuple(followed), broken=False)
        return None

    def _target(self, path: bytes, entry: SourceEntry) -> bytes:
        """Read a link; nothing where it is no longer what the manifest says."""
        above, name = split(path)
        folder = self._descent.folder(above)
        try:
            target = None if folder is None else os.readlink(name, dir_fd=folder)
        except OSError:
            return b""
        return target if target is not None and link_digest(target) == entry.digest else b""

    def _inner(self, target: bytes) -> list[bytes] | None:
        """Give the steps of a target, of an absolute one those below the workspace; None where it is not there."""
        if not target.startswith(b"/"):
            return target.split(b"/") if target else None
        steps = _plain(target.split(b"/"))
        return next((steps[len(top) :] for top in self._tops if steps[: len(top)] == top), None)
