"""Workspace paths: strict text, printable names for any bytes, and folders opened without following a link."""

import errno
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from flow_mcp.domain.errors import BrokenWorld

PATH_BYTES_MAX = 4096
DEPTH_MAX = 128

FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# A pipe or terminal that takes the file's place must neither hold its opener nor become its terminal.
READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_BY_DESCRIPTOR = os.open in os.supports_dir_fd
_FOLDER_MODE = 0o755

# Ranges, not str.isprintable: the same bytes keep the same name under every Unicode version.
_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = re.compile(
    "[\\\\\x00-\x1f\x7f-\x9f\xad\u180e\u200b-\u200d\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffb"
    f"{_BIDIRECTIONAL}\udc80-\udcff\U000e0000-\U000e0fff]"
)
_DECEPTIVE = re.compile(f"[{_BIDIRECTIONAL}]")
_DRIVE = re.compile(r"[A-Za-z]:")
_ESCAPED = re.compile(rb"\\(?:(\\)|x([0-9a-f]{2}))|\\")


class Inaccessible(BrokenWorld):
    """The file system refuses a read or a write that Flow needs."""


class TooDeep(BrokenWorld):
    """A path has more folders than Flow opens."""

    def __init__(self, path: str) -> None:
        seen = f"{path[:200]!r} lies deeper than {DEPTH_MAX} folders."
        super().__init__(seen, "Move it up, remove it, or name it in .gitignore.")


def safe_relative(text: str) -> str:
    """Give a workspace-relative POSIX path in its plain form, without ``.`` steps and without a closing slash.

    Raises:
        ValueError: in plain words, for text that is empty, absolute, longer than 4,096 bytes, leaves the workspace
            or names it as a whole, or holds a backslash or a character that a person cannot see.
    """
    problem = _problem(text)
    if problem is not None:
        message = f"The path {text[:80]!r} {problem}."
        raise ValueError(message)
    return "/".join(part for part in text.split("/") if part not in ("", "."))


def _problem(text: str) -> str | None:
    checks = (
        (text == "", "is empty"),
        (any("\ud800" <= mark <= "\udfff" for mark in text), "is not valid Unicode"),
        (len(text.encode("utf-8", "replace")) > PATH_BYTES_MAX, f"is longer than {PATH_BYTES_MAX} bytes"),
        ("\x00" in text, "holds a NUL character"),
        (_unseen(text), "holds a control character"),
        ("\\" in text, "holds a backslash; separate folders by '/'"),
        (text.startswith(("/", "~")) or _DRIVE.match(text), "is absolute; name it relative to the workspace"),
        (".." in text.split("/"), "holds '..' and could leave the workspace"),
        (all(part in ("", ".") for part in text.split("/")), "names the workspace itself"),
    )
    return next((words for found, words in checks if found), None)


def _unseen(text: str) -> bool:
    return bool(_DECEPTIVE.search(text)) or any(unicodedata.category(mark) in ("Cc", "Zl", "Zp") for mark in text)


def printable(raw: bytes) -> str:
    r"""Name a path of any bytes: one text a path, every text printable, ``\xNN`` for a byte that would not show."""
    text = raw.decode("utf-8", "surrogateescape")
    return _HIDDEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    if found[0] == "\\":
        return "\\\\"
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode("utf-8", "surrogateescape"))


def raw_path(text: str) -> bytes:
    """Give the bytes that ``printable`` named.

    Raises:
        ValueError: for text that ``printable`` cannot have made.
    """
    raw = text.encode("utf-8")
    return raw if b"\\" not in raw else _ESCAPED.sub(_unescape, raw)


def _unescape(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return b"\\"
    if found[2]:
        return bytes.fromhex(found[2].decode())
    message = "a backslash in a stored path starts neither '\\\\' nor '\\xNN'"
    raise ValueError(message)


def split(raw: bytes) -> tuple[bytes, bytes]:
    """Give the folder and the name of a path."""
    folder, _, name = raw.rpartition(b"/")
    return folder, name


@contextmanager
def told(where: Path | str) -> Iterator[None]:
    """Turn an error of the file system into a broken world that names the place."""
    try:
        yield
    except OSError as error:
        raise inaccessible(where, error) from error


def inaccessible(where: Path | str, error: OSError) -> Inaccessible:
    """Say that the file system refused at this place, and why."""
    known = isinstance(error.filename, str | bytes)
    name = f" ({printable(os.fsencode(error.filename))})" if known else ""
    seen = f"{str(where)!r} cannot be read or written{name}: {error.strerror or error}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Inaccessible(seen, "Free some space, then try again.")
    return Inaccessible(seen, "Give this user the right to it, or remove it, then try again.")


def open_folder(path: Path) -> int:
    """Open a folder itself: a link in its place is refused.

    Raises:
        Inaccessible: where it cannot be opened, or the platform has no descriptor-relative access.
    """
    if not _BY_DESCRIPTOR:
        seen = "This platform cannot open files relative to a folder."
        raise Inaccessible(seen, "Use Linux or macOS for work on the source.")
    with told(path):
        return os.open(path, FOLDER_FLAGS)


def open_file(name: bytes, folder: int) -> int:
    """Open a file in a folder for reading, never through a link and never waiting for a pipe.

    Raises:
        OSError: as the system says.
    """
    return os.open(name, READ_FLAGS, dir_fd=folder)


def exists(name: bytes, folder: int) -> bool:
    """Tell whether anything has this name in an open folder, a link that leads nowhere included.

    Raises:
        OSError: as the system says.
    """
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


class Descent:
    """One chain of open folders below a top, so that sorted paths cost one open a folder and follow no link."""

    def __init__(self, top: Path) -> None:
        self._top = open_folder(top)
        self._open: list[tuple[bytes, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(0)
        os.close(self._top)

    def folder(self, path: bytes) -> int | None:
        """Open the folder at a path below the top; None where there is none, or a link stands on the way.

        Raises:
            TooDeep: below more than 128 folders.
            OSError: as the system says.
        """
        for name in self._missing(path):
            descriptor, _ = self._enter(name)
            if descriptor is None:
                return None
            self._open.append((name, descriptor))
        return self._here()

    def made(self, path: bytes) -> int:
        """Open the folder at a path below the top, and make what is missing; a file or link in the way is removed.

        Raises:
            TooDeep: below more than 128 folders.
            OSError: as the system says.
        """
        for name in self._missing(path):
            descriptor, obstacle = self._enter(name)
            self._open.append((name, self._create(name, obstacle=obstacle) if descriptor is None else descriptor))
        return self._here()

    def _missing(self, path: bytes) -> list[bytes]:
        """Close what does not lead to the path, and give the names that are not open yet."""
        names = path.split(b"/") if path else []
        if len(names) > DEPTH_MAX:
            raise TooDeep(printable(path))
        shared = 0
        while shared < min(len(names), len(self._open)) and self._open[shared][0] == names[shared]:
            shared += 1
        self._leave(shared)
        return names[shared:]

    def _here(self) -> int:
        return self._open[-1][1] if self._open else self._top

    def _leave(self, depth: int) -> None:
        while len(self._open) > depth:
            os.close(self._open.pop()[1])

    def _enter(self, name: bytes) -> tuple[int | None, bool]:
        """Open a folder; where there is none, tell whether something else stands there."""
        try:
            return os.open(name, FOLDER_FLAGS, dir_fd=self._here()), False
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
            return None, error.errno != errno.ENOENT

    def _create(self, name: bytes, *, obstacle: bool) -> int:
        if obstacle:
            os.unlink(name, dir_fd=self._here())
        os.mkdir(name, _FOLDER_MODE, dir_fd=self._here())
        return os.open(name, FOLDER_FLAGS, dir_fd=self._here())
