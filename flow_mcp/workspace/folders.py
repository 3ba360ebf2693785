"""Flow's private folders: made 0700, entered without following a link, removed whole whatever is inside."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.paths import FOLDER_FLAGS, READ_FLAGS, inaccessible, open_folder, told

PRIVATE_NAME = ".flow"
PRIVATE_MODE = 0o700
_NEAR = 32


class PlantedLink(BrokenWorld):
    """A link, or another thing of the wrong kind, stands where a private folder or file belongs."""

    def __init__(self, path: Path) -> None:
        seen = f"{str(path)!r} is not what Flow makes there: it is a link, or of another kind."
        super().__init__(seen, "Look at it, remove it, then try again.")


def private_folder(private: Path, *names: str) -> Path:
    """Give a folder below the private one, made 0700 where it is missing.

    Raises:
        PlantedLink: where a link or a file stands in its place, or in the place of a folder above it.
        Inaccessible: where it cannot be made.
    """
    path = private
    for path in (private, *(private.joinpath(*names[: at + 1]) for at in range(len(names)))):
        with told(path):
            with suppress(FileExistsError):
                path.mkdir(mode=PRIVATE_MODE)
            if not stat.S_ISDIR(path.lstat().st_mode):
                raise PlantedLink(path)
    return path


def read_private(path: Path, *, bytes_max: int) -> bytes | None:
    """Read a small file of Flow's own; None where there is none.

    Raises:
        PlantedLink: where it is a link or no regular file, or holds more than ``bytes_max``.
        Inaccessible: where it cannot be read.
    """
    with told(path):
        if not os.path.lexists(path):
            return None
        if not stat.S_ISREG(path.lstat().st_mode):
            raise PlantedLink(path)
        with os.fdopen(os.open(path, READ_FLAGS), "rb") as file:
            data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise PlantedLink(path)
    return data


def remove_tree(path: Path) -> None:
    """Remove a folder, a file or a link, and never what a link points to; nothing there is fine.

    Raises:
        Inaccessible: where something cannot be removed.
    """
    parent = open_folder(path.parent)
    try:
        remove_at(os.fsencode(path.name), parent)
    except OSError as error:
        raise inaccessible(path, error) from error
    finally:
        os.close(parent)


def remove_at(name: bytes, parent: int) -> None:
    """Remove what has this name in an open folder; a folder that is closed to its owner is opened first.

    Folders far down are moved up beside the one removed, and their turn comes later, so that depth costs nothing.

    Raises:
        OSError: where something cannot be removed.
    """
    waiting = [name]
    while waiting:
        waiting.extend(_removed(waiting.pop(), parent, parent, 0))


def _removed(name: bytes, parent: int, top: int, depth: int) -> list[bytes]:
    """Remove one thing, and give the names of what was moved to the top instead."""
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return []
    if not stat.S_ISDIR(mode):
        os.unlink(name, dir_fd=parent)
        return []
    os.chmod(name, PRIVATE_MODE, dir_fd=parent)
    if depth >= _NEAR:
        moved = [secrets.token_hex(16).encode()]
        os.rename(name, moved[0], src_dir_fd=parent, dst_dir_fd=top)
        return moved
    folder = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    try:
        with os.scandir(folder) as entries:
            inside = [os.fsencode(entry.name) for entry in entries]
        moved = [far for child in inside for far in _removed(child, folder, top, depth + 1)]
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=parent)
    return moved
