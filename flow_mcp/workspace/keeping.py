"""One lock for the content store: many may add to it or read from it at once, and nobody while it is pruned."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flow_mcp.workspace.folders import PlantedLink, private_folder
from flow_mcp.workspace.paths import open_folder, told

with suppress(ImportError):  # Windows has none, and there `open_folder` refuses first
    import fcntl

_LOCK = "objects.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PRIVATE_MODE = 0o600


@contextmanager
def adding(private: Path) -> Iterator[None]:
    """Hold off whoever would prune the store; waits while it is pruned.

    Raises:
        PlantedLink: where a link stands in place of the lock or the private folder.
        Inaccessible: where the lock cannot be opened or had.
    """
    descriptor = _opened(private)
    try:
        with told(private / _LOCK):
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def pruning(private: Path) -> Iterator[bool]:
    """Have the store for oneself; gives False, at once, while somebody adds to it or reads from it.

    Raises:
        PlantedLink: where a link stands in place of the lock or the private folder.
        Inaccessible: where the lock cannot be opened or had.
    """
    descriptor = _opened(private)
    try:
        yield _alone(descriptor, private / _LOCK)
    finally:
        os.close(descriptor)


def _alone(descriptor: int, path: Path) -> bool:
    with told(path):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _opened(private: Path) -> int:
    path = private_folder(private) / _LOCK
    folder = open_folder(private)
    try:
        with told(path):
            if path.is_symlink():
                raise PlantedLink(path)
            return os.open(_LOCK, _FLAGS, _PRIVATE_MODE, dir_fd=folder)
    finally:
        os.close(folder)
