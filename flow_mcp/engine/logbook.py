"""What happened in a workspace, one JSON line each, for a person who wonders later; never an argument or an output.

Several processes write at once: each line is appended in one step, and whoever finds the file full turns it over while
holding it, so that no line is lost. What cannot be written is not, and nobody is waited for: a log costs no call.
"""

import json
import os
import stat
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store.files import opened_folder, prepare_private

with suppress(ImportError):  # Windows has none, and there nothing is logged
    import fcntl

FOLDER = "log"
NAME = "flow.log"
FILE_BYTES_MAX = 1024 * 1024
OLDER_MAX = 3
FACT_CHARACTERS_MAX = 300
# Not blocking: a pipe in the file's place would keep its opener until somebody reads it.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_FLAGS |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_PRIVATE_MODE = 0o600


class Logbook:
    """The log of one workspace."""

    def __init__(self, private: Path) -> None:
        """Name the private folder; nothing is made before the first line."""
        self._folder = private / FOLDER

    def write(self, event: str, **facts: str | float | None) -> None:
        """Add a line: the time, the process, what happened, and some facts of it, each cut to 300 characters."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "pid": os.getpid(), "event": event}
        short = {name: fact[:FACT_CHARACTERS_MAX] if isinstance(fact, str) else fact for name, fact in facts.items()}
        data = json.dumps(line | short).encode() + b"\n"
        with suppress(OSError, BrokenWorld):
            prepare_private(self._folder)
            with opened_folder(self._folder) as folder:
                _append(folder, data)


def cause(error: BaseException) -> str:
    """Name the kind of an error and where it was raised; its own words may hold an argument or a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    return type(error).__name__ + "".join(f" at {Path(one.filename).name}:{one.lineno}" for one in frames[-1:])


def _append(folder: int | None, data: bytes) -> None:
    if not _appended(folder, data, may_turn_over=True):
        _appended(folder, data, may_turn_over=False)


def _appended(folder: int | None, data: bytes, *, may_turn_over: bool) -> bool:
    """Append to the file that has the name now; False where it was full and has lost its name."""
    descriptor = os.open(NAME, _FLAGS, _PRIVATE_MODE, dir_fd=folder)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
            return True  # planted: what is written there would be read or changed under another name
        if may_turn_over and info.st_size >= FILE_BYTES_MAX and _turned_over(descriptor, folder):
            return False
        os.write(descriptor, data)
        return True
    finally:
        os.close(descriptor)


def _turned_over(descriptor: int, folder: int | None) -> bool:
    """Give the full file the next name, unless another process has just done it; False while one does it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    if _inode(folder) == os.fstat(descriptor).st_ino:
        names = [NAME, *(f"{NAME}.{number}" for number in range(1, OLDER_MAX + 1))]
        for younger, older in reversed([*pairwise(names)]):
            with suppress(FileNotFoundError):
                os.replace(younger, older, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _inode(folder: int | None) -> int | None:
    """Say which file has the name now; None for none, between two files."""
    with suppress(FileNotFoundError):
        return os.stat(NAME, dir_fd=folder, follow_symlinks=False).st_ino
    return None
