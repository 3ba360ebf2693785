"""Writing into folders that belong to Flow: files, links and nothing else, never through a link."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from flow_mcp.workspace.paths import open_folder, told

CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PRIVATE_MODE = 0o600


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte.

    Raises:
        OSError: as the system says.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def replace_file(folder: Path, name: str, data: bytes) -> None:
    """Give a private file new bytes in one step, and see them on the disk.

    Raises:
        Inaccessible: where it cannot be written.
    """
    parent, fresh = open_folder(folder), f".{name}.{secrets.token_hex(8)}.tmp"
    try:
        with told(folder / name):
            descriptor = os.open(fresh, CREATE_FLAGS, _PRIVATE_MODE, dir_fd=parent)
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.rename(fresh, name, src_dir_fd=parent, dst_dir_fd=parent)
            os.fsync(parent)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=parent)
        os.close(parent)
