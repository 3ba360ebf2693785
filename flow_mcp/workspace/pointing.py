"""Whether a file or a link names the workspace, so that a copy elsewhere would run today's source through it."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NOTE_BYTES_MAX = 1024 * 1024

_POINTERS = (".pth", ".egg-link")
_BUILDS = frozenset(("CMakeCache.txt", "config.status", "build.ninja"))
_LOADER = "editable"
_IMPORTED = re.compile(rb"^import[ \t]+([\w.]+)", re.MULTILINE)


def within(path: str, folder: str) -> bool:
    """Say whether a path is a folder or lies in it; both are plain and absolute."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


@dataclass(frozen=True, slots=True)
class Pointing:
    """What counts as the workspace: it, but not the folder that is looked through.

    Attributes:
        spellings: the workspace as it is called, and by its real path.
        own: the real path of the folder that may name itself.
    """

    spellings: tuple[str, ...]
    own: str

    def of_link(self, path: str) -> bool:
        """Say whether a link leads to the workspace."""
        return self._is_meant(os.path.realpath(path))

    def of_file(self, name: str, path: str) -> bool:
        """Say whether a file of this name points, and at the workspace."""
        if name.endswith(_POINTERS):
            return self._points(path) or any(self._points(loader) for loader in _loaders(path))
        is_loader = _LOADER in name and name.endswith(".py")
        return (name in _BUILDS or is_loader) and self._points(path)

    def _points(self, path: str) -> bool:
        """Say whether a text names the workspace, by an absolute path or by one that leaves the folder."""
        data = note(path)
        if len(data) > NOTE_BYTES_MAX:
            return True
        spellings = b"|".join(re.escape(os.fsencode(spelling)) for spelling in self.spellings)
        if re.search(rb"(?:%b)(?![\w.-])" % spellings, data):
            return True
        beside = os.fsencode(path).rpartition(b"/")[0]
        steps = (line.strip() for line in data.splitlines() if b".." in line.split(b"/") and b"\0" not in line)
        return any(self._is_meant(os.fsdecode(os.path.realpath(beside + b"/" + step))) for step in steps)

    def _is_meant(self, goal: str) -> bool:
        return any(within(goal, top) for top in self.spellings) and not within(goal, self.own)


def pointing(root: Path, folder: Path) -> Pointing:
    """Look from a folder at a workspace."""
    return Pointing(tuple(dict.fromkeys((os.path.realpath(root), str(root)))), os.path.realpath(folder))


def _loaders(path: str) -> Iterator[str]:
    """Name the modules beside a pointer file that it imports."""
    beside = os.path.dirname(path)  # noqa: PTH120 - a text from a walk
    for name in _IMPORTED.findall(note(path)[:NOTE_BYTES_MAX]):
        yield os.path.join(beside, f"{os.fsdecode(name).partition('.')[0]}.py")  # noqa: PTH118 - the same


def note(path: str) -> bytes:
    """Read a small file, one byte more than its bound of a larger one; nothing of what cannot be read or is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return b""
    try:
        return os.read(descriptor, NOTE_BYTES_MAX + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
