"""Every file is reached through a descriptor of its folder, and its bytes change whole or not at all.

A folder or file that someone planted as a link is refused, not followed: what Flow writes stays where
the person sees it, and what it reads was written there.
"""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld

PRIVATE_MODE = 0o700
IGNORE_NAME = ".gitignore"

# Windows opens neither folders nor names below them; reading goes by path there, writing refuses.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd
# Python itself keeps every descriptor from started programs (O_CLOEXEC).
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER_FLAGS = _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)
# A pipe put in place of a file would hold its reader for ever, were it not for O_NONBLOCK.
_READ_FLAGS = _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KEPT_FLAGS = _NO_FOLLOW | os.O_RDWR | os.O_CREAT
_TEMP_FLAGS = _NO_FOLLOW | os.O_WRONLY | os.O_CREAT | os.O_EXCL
_TEMP = re.compile(r"\.[^/]+\.[0-9a-f]{16}\.tmp")

_ALLOW = "Give this user the right to it, then try again."
_FREE = "Free some space, then try again."
_WORDS = {
    errno.ENOSPC: ("the disk is full", _FREE),
    errno.EDQUOT: ("this user's share of the disk is full", _FREE),
    errno.EROFS: (
        "the file system is read-only",
        "Work in a folder that can be written, or mount it writable.",
    ),
    errno.EACCES: ("permission is denied", _ALLOW),
    errno.EPERM: ("the operation is not permitted", _ALLOW),
    errno.ENOENT: ("its folder is gone", "Restore the folder, then try again."),
    errno.EIO: ("the disk reports an error", "Check the disk and its file system before anything else."),
}


class PlantedLink(BrokenWorld):
    """A link, or another thing of the wrong kind, stands where Flow's own file or folder belongs."""


class Unwritable(BrokenWorld):
    """The file system refuses a write; the old bytes stand."""


class Inaccessible(BrokenWorld):
    """The file system refuses a read."""


class Oversized(BrokenWorld):
    """A file holds more than its reader accepts."""


@contextmanager
def opened_folder(folder: Path) -> Iterator[int | None]:
    """Hold a descriptor of `folder` itself; None on Windows, which has none.

    Only the last part of the path is refused as a link: a folder's parents are their owner's matter.

    Raises:
        PlantedLink: a link or a file stands in the folder's place.
        OSError: the folder is absent or out of reach.
    """
    if not _BY_DESCRIPTOR:
        _refuse_other_than_folder(folder)
        yield None
        return
    try:
        descriptor = os.open(folder, _FOLDER_FLAGS)
    except OSError:
        _refuse_other_than_folder(folder)
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def prepare_private(folder: Path) -> None:
    """Make `folder` the private place of its user: mode 0700, ignored by git.

    Raises:
        PlantedLink: a link, a file or another user's folder stands in its place.
        Unwritable: the file system refuses.
    """
    _make(folder, PRIVATE_MODE)
    with _opened_to_write(folder, f"{folder.name}/") as directory:
        info = os.fstat(directory)
        if info.st_uid != os.geteuid():
            seen = f"{folder.name}/ belongs to another user (number {info.st_uid})."
            raise PlantedLink(seen, "Run Flow as that user, or remove the folder.")
        if stat.S_IMODE(info.st_mode) & 0o777 != PRIVATE_MODE:
            os.fchmod(directory, PRIVATE_MODE)
        try:
            ignore = os.stat(IGNORE_NAME, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            _replace(directory, IGNORE_NAME, b"*\n", durably=True)
        else:
            _refuse_other_than_file(ignore, f"{folder.name}/{IGNORE_NAME}")


def prepare_folder(folder: Path) -> None:
    """Make `folder` for everyone whom the user's own settings allow, unless it is there.

    Raises:
        PlantedLink: a link or a file stands in its place.
        Unwritable: the file system refuses, or its parent is absent.
    """
    _make(folder, 0o777)
    with _opened_to_write(folder, f"{folder.name}/"):
        pass  # opening it has asked whether it is one


def read_bytes(folder: Path, name: str, bytes_max: int) -> bytes | None:
    """Return the bytes of the file `name` in `folder`, or None where there is none.

    Args:
        folder: the folder that holds it; an absent folder holds none.
        name: one plain name, no path.
        bytes_max: the most that is accepted.

    Raises:
        PlantedLink: the folder or the file is a link, of another kind, or linked from elsewhere.
        Oversized: the file holds more than `bytes_max`.
        Inaccessible: the file system refuses.
    """
    shown = _shown(folder, name)
    try:
        with opened_folder(folder) as directory:
            data = _read(folder / name if directory is None else Path(name), directory, shown, bytes_max)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _told(Inaccessible, f"{shown} cannot be read", error) from error
    if len(data) > bytes_max:
        seen = f"{shown} holds more than {bytes_max} bytes."
        raise Oversized(seen, f"Restore it, for example with `git checkout -- {shown}`.")
    return data


def write_atomic(folder: Path, name: str, data: bytes) -> None:
    """Replace the file `name` in `folder` by `data`, durably, or leave the old bytes (`write.atomic-locked`).

    A reader sees the old bytes or the new ones at every instant. The caller holds the workspace's lock.

    Raises:
        PlantedLink: the folder or the file is a link, of another kind, or linked from elsewhere.
        Unwritable: the file system refuses.
    """
    shown = _shown(folder, name)
    with _opened_to_write(folder, shown) as directory:
        with suppress(FileNotFoundError):
            _refuse_foreign(os.stat(name, dir_fd=directory, follow_symlinks=False), shown)
        _replace(directory, name, data, durably=True)
        _settle(directory, shown)


def write_hint(folder: Path, name: str, data: bytes) -> None:
    """Let `data` take the place of whatever stands at `name` in `folder`, whole but not durably.

    For what may be lost: it is as good as absent after a power loss.

    Raises:
        PlantedLink: the folder is a link or of another kind.
        Unwritable: the file system refuses, or a folder stands at `name`.
    """
    with _opened_to_write(folder, _shown(folder, name)) as directory:
        _replace(directory, name, data, durably=False)


def open_kept(folder: Path, name: str) -> int:
    """Open the file `name` in `folder`, which is never replaced; make it, with mode 0600, if it is absent.

    Returns:
        A descriptor that a started program does not inherit; the caller closes it.

    Raises:
        PlantedLink: the folder or the file is a link or of another kind.
        Unwritable: the file system refuses.
    """
    shown = _shown(folder, name)
    with _opened_to_write(folder, shown) as directory:
        with suppress(FileNotFoundError):
            _refuse_other_than_file(os.stat(name, dir_fd=directory, follow_symlinks=False), shown)
        descriptor = os.open(name, _KEPT_FLAGS, 0o600, dir_fd=directory)
        try:
            _refuse_other_than_file(os.fstat(descriptor), shown)
        except PlantedLink:
            os.close(descriptor)
            raise
        return descriptor


def sweep_stale(folder: Path, age_s: float) -> int:
    """Remove what killed writers left in `folder` and return how many files that were.

    Only this user's own temporary files, older than `age_s` seconds, are touched. The caller holds the
    workspace's lock.

    Raises:
        PlantedLink: the folder is a link or a file.
        Unwritable: the file system refuses.
    """
    written_before_s = time.time() - age_s
    with _opened_to_write(folder, f"{folder.name}/") as directory:
        return sum(_swept(directory, name, written_before_s) for name in os.listdir(directory))  # noqa: PTH208 - a descriptor


def list_names(folder: Path, suffix: str) -> list[str]:
    """Return the sorted names in `folder` that end in `suffix`; none where the folder is absent.

    Hidden names are left out, and so are those that cannot be shown to a person.

    Raises:
        PlantedLink: the folder is a link or a file.
        Inaccessible: the file system refuses.
    """
    try:
        with opened_folder(folder) as directory:
            names = os.listdir(folder if directory is None else directory)  # noqa: PTH208 - a descriptor
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _told(Inaccessible, f"{folder.name}/ cannot be read", error) from error
    return sorted(n for n in names if n.endswith(suffix) and not n.startswith(".") and n.isprintable())


@contextmanager
def _opened_to_write(folder: Path, shown: str) -> Iterator[int]:
    """Hold a descriptor of `folder`, and put into words what the file system refuses meanwhile."""
    try:
        with opened_folder(folder) as directory:
            if directory is None:
                seen = f"{shown} is not written: Flow cannot guard a write against planted links on Windows."
                raise Unwritable(seen, "Work under WSL, Linux or macOS; reading works here.")
            yield directory
    except OSError as error:
        raise _told(Unwritable, f"{shown} cannot be written", error) from error


def _make(folder: Path, mode: int) -> None:
    """Make `folder` durably, or leave what stands in its place."""
    shown = f"{folder.name}/"
    # The way to the workspace may lead through links: that is the user's choice.
    with _opened_to_write(Path(os.path.realpath(folder.parent)), shown) as parent:
        try:
            os.mkdir(folder.name, mode, dir_fd=parent)
        except FileExistsError:
            return
        _settle(parent, shown)


def _read(place: Path, directory: int | None, shown: str, bytes_max: int) -> bytes:
    """Return up to one byte more than `bytes_max` of a regular file that nothing else links to."""
    _refuse_foreign(os.stat(place, dir_fd=directory, follow_symlinks=False), shown)
    descriptor = os.open(place, _READ_FLAGS, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as file:
        # Asked again of what was opened: the name may have changed hands in between.
        _refuse_foreign(os.fstat(descriptor), shown)
        return file.read(bytes_max + 1)


def _replace(directory: int, name: str, data: bytes, *, durably: bool) -> None:
    """Write a temporary file beside `name`, then let it take the name."""
    temp = f".{name}.{secrets.token_hex(8)}.tmp"
    try:
        descriptor = os.open(temp, _TEMP_FLAGS, 0o666, dir_fd=directory)
        try:
            _write_whole(descriptor, data)
            if durably:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temp, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temp, dir_fd=directory)
        raise


def _write_whole(descriptor: int, data: bytes) -> None:
    """Write all of `data`, however little the system takes at a time."""
    rest = memoryview(data)
    while rest:
        written_bytes = os.write(descriptor, rest)
        if not written_bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rest = rest[written_bytes:]


def _settle(directory: int, shown: str) -> None:
    """Make a name survive a power loss, where the file system has a way to."""
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOTSUP}:
            return
        what = f"{shown} is in place, but the disk does not confirm that it survives a power loss"
        raise _told(Unwritable, what, error) from error


def _swept(directory: int, name: str, written_before_s: float) -> bool:
    """Remove `name` if it is an own temporary file that old; say whether it was."""
    if not _TEMP.fullmatch(name):
        return False
    info = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mtime > written_before_s:
        return False
    os.unlink(name, dir_fd=directory)
    return True


def _refuse_other_than_folder(folder: Path) -> None:
    """Refuse a link, a Windows junction, or a file where a folder belongs."""
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode) or bool(getattr(info, "st_reparse_tag", 0)):
        seen = f"{folder.name} is a {_kind(info)} where a folder belongs."
        raise PlantedLink(seen, "Find out who put it there, then remove it or put the real folder back.")


def _refuse_other_than_file(info: os.stat_result, shown: str) -> None:
    """Refuse a link, a folder, a device, a pipe or a socket where a file belongs."""
    if not stat.S_ISREG(info.st_mode):
        seen = f"{shown} is a {_kind(info)} where a regular file belongs."
        raise PlantedLink(seen, "Find out who put it there, then remove it or put the real file back.")


def _refuse_foreign(info: os.stat_result, shown: str) -> None:
    """Refuse what is no regular file, or is one that can be changed through another name."""
    _refuse_other_than_file(info, shown)
    if info.st_nlink > 1:
        seen = f"{shown} has {info.st_nlink} names (hard links), so it can change from elsewhere."
        raise PlantedLink(seen, f"Copy it and put the copy in its place: cp {shown} new && mv new {shown}")


def _kind(info: os.stat_result) -> str:
    """Name the kind of a file for a person."""
    kinds = {stat.S_IFDIR: "folder", stat.S_IFREG: "file", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(info.st_mode), "device, pipe or socket")


def _told(kind: type[BrokenWorld], what: str, error: OSError) -> BrokenWorld:
    """Say in plain words why the system refused, and what a person can do."""
    code = error.errno or errno.EIO
    other = f"the system says {os.strerror(code)!r}", "Remove the cause, then try again."
    why, remedy = _WORDS.get(code, other)
    return kind(f"{what}: {why}.", remedy)


def _shown(folder: Path, name: str) -> str:
    """Return the name as a person reads it; a path in its place is a broken program."""
    if name in {"", ".", ".."} or any(mark in name for mark in "/\\:\0"):
        message = f"not one plain file name: {name!r}"
        raise AssertionError(message)
    return f"{folder.name}/{name}"
