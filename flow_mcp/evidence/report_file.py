"""Open the report that a command wrote, and nothing that merely stands at its path.

A command runs code that nobody has reviewed yet. What it leaves at the path of its report may be a link to an
older green report, a pipe that never ends, or a second name of a file elsewhere: every step is taken through
a folder's descriptor, no link is followed, and only a plain file with one name is read.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Literal, NoReturn

from flow_mcp.domain.errors import BrokenWorld

REPORT_FOLDER = (".flow", "reports")
REPORT_BYTES_MAX = 64 * 1024 * 1024

Reason = Literal[
    "missing",
    "stale",
    "link",
    "hard-link",
    "not-regular",
    "not-accessible",
    "not-supported",
    "empty",
    "too-large",
    "not-xml",
    "doctype",
    "encoding",
    "not-junit",
    "misplaced-case",
    "over-limits",
    "counters-disagree",
    "suite-error",
    "nameless",
]
"""Why a report does not count. The last three were read, but cannot be trusted."""

_REASONS: Mapping[int, Reason] = {errno.ENOENT: "missing", errno.ELOOP: "link", errno.ENOTDIR: "not-regular"}

# Windows opens no name below a folder's descriptor.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = os.O_RDONLY | _CLOEXEC | getattr(os, "O_DIRECTORY", 0)
# A pipe or a terminal that is put here after the look must not hold the reader.
_FILE_FLAGS = os.O_RDONLY | _CLOEXEC | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class UnreadableReport(Exception):  # noqa: N818 - named for the state of the report, which is no error of the program
    """The report does not count.

    Attributes:
        reason: which of the known reasons.
        detail: where in the file, or what the system said; may be empty.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def refuse(reason: Reason, detail: str) -> NoReturn:
    """Say that the report does not count."""
    raise UnreadableReport(reason, detail)


def report_parts(relative: str) -> tuple[str, ...]:
    """Split a report's path, which must lie below ``.flow/reports/``.

    Raises:
        ValueError: for any other path.
    """
    parts = PurePosixPath(relative).parts
    plain = relative == "/".join(parts) and ".." not in parts and "\0" not in relative and "\\" not in relative
    if not plain or parts[:2] != REPORT_FOLDER or len(parts) <= len(REPORT_FOLDER):
        message = "a report lies below .flow/reports/, named without '.', '..' or a backslash"
        raise ValueError(message)
    return parts


@contextmanager
def opened_report(root: Path, relative: str, started_ns: int) -> Iterator[int]:
    """Give a descriptor of a fresh, plain, bounded report file.

    Args:
        root: the folder in which the command ran.
        relative: the report's path below it.
        started_ns: the file system's time just before the command started, in nanoseconds.

    Raises:
        UnreadableReport: where no such file is there.
        ValueError: where the path is no report's path.
    """
    parts = report_parts(relative)
    if not _BY_DESCRIPTOR:
        refuse("not-supported", "")
    try:
        with _folder(root, parts[:-1]) as folder:
            descriptor = _open_plain(folder, parts[-1])
    except OSError as error:
        code = error.errno or 0
        refuse(_REASONS.get(code, "not-accessible"), "" if code in _REASONS else os.strerror(code))
    try:
        _expect_fresh(os.fstat(descriptor), started_ns)
        yield descriptor
    finally:
        os.close(descriptor)


def prepare_report(root: Path, relative: str) -> None:
    """Make the report's folders and remove what an earlier run left at its path.

    A folder at the path itself is left there: the reader refuses it.

    Raises:
        BrokenWorld: where a link stands in the way, or the file system refuses.
        ValueError: where the path is no report's path.
    """
    parts = report_parts(relative)
    try:
        _make_folders(root, parts[:-1])
        with _folder(root, parts[:-1]) as folder:
            _remove(folder, parts[-1])
    except (OSError, UnreadableReport) as error:
        seen = f"The folder of the report {relative} cannot be prepared: {_said(error)}."
        raise BrokenWorld(seen, "Make .flow a plain folder that this user may write to.") from error


def _said(error: OSError | UnreadableReport) -> str:
    if isinstance(error, OSError):
        return os.strerror(error.errno or 0)
    return "a link or a file stands where a folder belongs"


def _make_folders(root: Path, parts: tuple[str, ...]) -> None:
    for depth in range(len(parts)):
        with _folder(root, parts[:depth]) as folder, suppress(FileExistsError):
            os.mkdir(parts[depth], 0o700, dir_fd=folder)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)


@contextmanager
def _folder(root: Path, parts: tuple[str, ...]) -> Iterator[int]:
    descriptor = os.open(root, _FOLDER_FLAGS)
    try:
        for part in parts:
            _expect_kind(os.stat(part, dir_fd=descriptor, follow_symlinks=False), stat.S_ISDIR)
            inner = os.open(part, _FOLDER_FLAGS | _NO_FOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_plain(folder: int, name: str) -> int:
    # The look comes first because opening is an act by itself for a device or a pipe.
    _expect_kind(os.stat(name, dir_fd=folder, follow_symlinks=False), stat.S_ISREG)
    return os.open(name, _FILE_FLAGS, dir_fd=folder)


def _expect_kind(seen: os.stat_result, is_wanted: Callable[[int], bool]) -> None:
    if stat.S_ISLNK(seen.st_mode):
        refuse("link", "")
    if not is_wanted(seen.st_mode):
        refuse("not-regular", "")


def _expect_fresh(seen: os.stat_result, started_ns: int) -> None:
    _expect_kind(seen, stat.S_ISREG)
    faults: tuple[tuple[bool, Reason], ...] = (
        (seen.st_nlink != 1, "hard-link"),
        (seen.st_mtime_ns < started_ns, "stale"),
        (seen.st_size == 0, "empty"),
        (seen.st_size > REPORT_BYTES_MAX, "too-large"),
    )
    for is_faulty, reason in faults:
        if is_faulty:
            refuse(reason, "")
