"""Reads one path of the source: its status, and its bytes when they are asked for, without following a link."""

import errno
import os
import stat
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.workspace.entries import BlobHash, Kind, Total, Unstable, link_digest
from flow_mcp.workspace.line_endings import Pairs, Plain, plain_form
from flow_mcp.workspace.paths import open_file

READ_TRIES = 3
_CHUNK_BYTES = 1024 * 1024

# What opening and reading a link say when the path became something else since it was looked at.
_MOVED = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL))
_SPECIAL_PREFIX = b"special\0"

Status = tuple[int, int, int, int, int, int]
"""Times of the last change and the last write (ns), size, inode, device, mode: what every write moves."""

_SIZE, _MODE = 2, 5

status_of = attrgetter("st_ctime_ns", "st_mtime_ns", "st_size", "st_ino", "st_dev", "st_mode")


class Read(NamedTuple):
    """What one path is, whatever Git attributes say of it.

    Attributes:
        kind: as of a ``SourceEntry``, but that every folder is a ``dir``.
        executable: the owner's executable bit of a file.
        digest: of the bytes as they lie there; empty where there are none.
        blob: the id that git would give to them; empty where none was asked for or there is none.
        plain: of a file that holds CRLF, its form with plain line feeds.
    """

    kind: Kind
    executable: bool
    digest: str
    blob: str
    plain: Plain | None


GONE = Read("missing", executable=False, digest="", blob="", plain=None)
FOLDER = Read("dir", executable=False, digest="", blob="", plain=None)


def status_at(name: bytes, folder: int) -> Status | None:
    """Give the status of a name in an open folder; None where there is nothing.

    Raises:
        OSError: as the system says.
    """
    try:
        found: Status = status_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None
    return found


def read_at(path: str, name: bytes, folder: int, blob_hash: BlobHash | None) -> tuple[Status | None, Read]:
    """Read a name in an open folder, and give the status that the bytes were read under.

    Raises:
        Unstable: where it changes under the reading three times.
        OSError: as the system says.
    """
    for _ in range(READ_TRIES):
        status = status_at(name, folder)
        if status is None:
            return None, GONE
        found = _read(name, folder, status, blob_hash)
        if found is not None:
            return status, found
    raise Unstable(path)


def _read(name: bytes, folder: int, status: Status, blob_hash: BlobHash | None) -> Read | None:
    """Read what has this status; None where it became something else meanwhile."""
    mode = status[_MODE]
    if stat.S_ISDIR(mode):
        return FOLDER
    try:
        if stat.S_ISREG(mode):
            return _file(name, folder, status, blob_hash)
        if stat.S_ISLNK(mode):
            found = _link(name, folder, blob_hash)
            return found if status_at(name, folder) == status else None
    except OSError as error:
        if error.errno not in _MOVED:
            raise
        return None
    digest = digest_bytes(_SPECIAL_PREFIX + b"%o" % stat.S_IFMT(mode))
    return Read("special", executable=False, digest=digest, blob="", plain=None)


def _link(name: bytes, folder: int, blob_hash: BlobHash | None) -> Read:
    target = os.readlink(name, dir_fd=folder)
    total = Total(len(target), blob_hash)
    total.update(target)
    return Read("link", executable=False, digest=link_digest(target), blob=total.blob(), plain=None)


def _file(name: bytes, folder: int, status: Status, blob_hash: BlobHash | None) -> Read | None:
    descriptor = open_file(name, folder)
    try:
        if status_of(os.fstat(descriptor)) != status:
            return None
        found = _content(descriptor, status, blob_hash)
        return found if status_of(os.fstat(descriptor)) == status else None
    finally:
        os.close(descriptor)


def _content(descriptor: int, status: Status, blob_hash: BlobHash | None) -> Read | None:
    """Hash exactly as many bytes as the status says; None where the file has more or fewer."""
    size = status[_SIZE]
    total, pairs, got = Total(size, blob_hash), Pairs(), 0
    for piece in _pieces(descriptor, size):
        got += len(piece)
        total.update(piece)
        pairs.update(piece)
    if got != size:
        return None
    plain = None
    if pairs.count:
        os.lseek(descriptor, 0, os.SEEK_SET)
        plain = plain_form(_pieces(descriptor, size), size - pairs.count, blob_hash)
    executable = bool(status[_MODE] & stat.S_IXUSR)
    return Read("file", executable, total.digest(), total.blob(), plain)


def _pieces(descriptor: int, size: int) -> Iterator[bytes]:
    """Give a file's bytes, at most one more than this size."""
    left = size
    while left >= 0 and (piece := os.read(descriptor, min(_CHUNK_BYTES, left + 1))):
        left -= len(piece)
        yield piece
        if left == 0 and len(piece) < _CHUNK_BYTES:
            return  # one byte more was asked for, and did not come


def small_file(name: bytes, folder: int, bytes_max: int) -> bytes | None:
    """Give a file's bytes, one more than the bound of a larger one; None for what is no file that can be read."""
    try:
        descriptor = open_file(name, folder)
    except OSError:
        return None
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return b"".join(_pieces(descriptor, bytes_max)) if regular else None
    finally:
        os.close(descriptor)
