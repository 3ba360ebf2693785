"""Writing into trees that belong to Flow: files, links and nothing else, never through a link."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from flow_mcp.workspace.folders import remove_at
from flow_mcp.workspace.paths import open_file
from flow_mcp.workspace.source import SourceEntry, Total, link_entry

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_MODE = 0o644
_MODE_EXECUTABLE = 0o755
_CHUNK_BYTES = 1024 * 1024


@contextmanager
def new_file(name: bytes, folder: int, *, executable: bool) -> Iterator[int]:
    """Lend the descriptor of a new file; what had its name is removed.

    Raises:
        OSError: as the system says.
    """
    remove_at(name, folder)
    descriptor = os.open(name, _CREATE, 0o600, dir_fd=folder)
    try:
        yield descriptor
        os.fchmod(descriptor, _MODE_EXECUTABLE if executable else _MODE)
    finally:
        os.close(descriptor)


def new_link(target: bytes, name: bytes, folder: int) -> None:
    """Make a link with this text; what had its name is removed.

    Raises:
        OSError: as the system says.
    """
    remove_at(name, folder)
    os.symlink(target, name, dir_fd=folder)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte.

    Raises:
        OSError: as the system says.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def copyable(name: bytes, folder: int) -> bool:
    """Tell whether a file or a link has this name."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def copy_entry(path: str, name: bytes, source: int, target: int) -> SourceEntry:
    """Copy a file or link between open folders, and describe what was copied.

    Raises:
        OSError: as the system says, also where it became something else.
    """
    if stat.S_ISLNK(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode):
        text = os.readlink(name, dir_fd=source)
        new_link(text, name, target)
        return link_entry(path, text)
    descriptor = open_file(name, source)
    try:
        return _copy_file(path, name, descriptor, target)
    finally:
        os.close(descriptor)


def _copy_file(path: str, name: bytes, source: int, target: int) -> SourceEntry:
    executable = bool(os.fstat(source).st_mode & stat.S_IXUSR)
    total = Total(0, None)
    with new_file(name, target, executable=executable) as descriptor:
        while chunk := os.read(source, _CHUNK_BYTES):
            total.update(chunk)
            write_all(descriptor, chunk)
    return SourceEntry(path, "file", executable=executable, digest=total.digest())
