"""Whether a file may have changed since it was read, told without reading it again."""

import os
from pathlib import Path
from typing import NamedTuple, Self

from flow_mcp.store import files

SETTLED_NS = 4_000_000_000
"""A file that was touched less long ago may be touched again within one tick of its file system's clock."""

# Windows keeps no time of a file's last change, only one that any program may set.
_HAS_CHANGE_TIME = os.name == "posix"


class Mark(NamedTuple):
    """What the file system says of one name; it differs after every write, however the bytes got there."""

    device: int
    inode: int
    mode: int
    names: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, info: os.stat_result) -> Self:
        """Take the mark from what ``stat`` gave."""
        return cls(
            info.st_dev, info.st_ino, info.st_mode, info.st_nlink, info.st_size, info.st_mtime_ns, info.st_ctime_ns
        )

    def is_settled(self, now_ns: int) -> bool:
        """Say whether an equal mark later on proves equal bytes; ``now_ns`` was read before the mark."""
        return _HAS_CHANGE_TIME and max(self.modified_ns, self.changed_ns) < now_ns - SETTLED_NS


def marks(folder: Path, suffixes: tuple[str, ...]) -> dict[str, Mark]:
    """Give the mark of every name in `folder` that ends so; none where the folder is absent.

    Raises:
        PlantedLink: the folder is a link or a file.
        Inaccessible: the file system refuses.
    """
    try:
        with files.opened_folder(folder) as directory, os.scandir(folder if directory is None else directory) as found:
            return {entry.name: mark for entry in found if entry.name.endswith(suffixes) and (mark := _mark(entry))}
    except FileNotFoundError:
        return {}
    except OSError as error:
        seen = f"{folder.name}/ cannot be read: {error.strerror}."
        raise files.Inaccessible(seen, "Give this user the right to it, then try again.") from error


def _mark(entry: "os.DirEntry[str]") -> Mark | None:
    try:
        return Mark.of(entry.stat(follow_symlinks=False))
    except FileNotFoundError:  # it went while the folder was read
        return None
