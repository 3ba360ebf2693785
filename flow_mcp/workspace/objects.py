"""The content store: the bytes of kept sources by their digest, below ``.flow/objects``.

An object's name is the SHA-256 of its bytes, so that equal files of any number of sources are kept once, and bytes
that are not what their name says are never handed out. An object appears whole or not at all; it is not synced one by
one, since every reading is checked. A link is kept as its marked target, which is what its digest is of.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from flow_mcp.workspace.folders import PRIVATE_MODE, private_folder, remove_at
from flow_mcp.workspace.paths import FOLDER_FLAGS, exists, open_file, open_folder, told
from flow_mcp.workspace.writer import CREATE_FLAGS, write_all

FOLDER = "objects"
SHARD_DIGITS = 2
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PREFIX = len("sha256:")
_CHUNK_BYTES = 1024 * 1024
_MODE = 0o400
_FRESH = "new-"

Feed = Callable[[Callable[[bytes], None]], bool]
"""Hands over some bytes in pieces, and says whether they were whole."""


class Objects:
    """The content store of one workspace. Used in a ``with`` statement, which closes its folder."""

    def __init__(self, private: Path) -> None:
        """Prepare the store.

        Raises:
            PlantedLink: where a link stands in place of a private folder.
            Inaccessible: where it cannot be made.
        """
        self._folder = private_folder(private, FOLDER)
        self._top = open_folder(self._folder)
        self._shards: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._top)

    def has(self, digest: str) -> bool:
        """Tell whether bytes of this digest are kept; whether they are whole shows when they are read.

        Raises:
            Inaccessible: where that cannot be told.
        """
        with told(self._folder):
            return exists(self._place(digest), self._top)

    def keep(self, source: int) -> str:
        """Keep what an open file holds from where it stands, and give its digest.

        Raises:
            Inaccessible: where it cannot be read or written.
        """
        kept = self.keep_fed(lambda take: _fed(source, take))
        assert kept is not None, "a file that can be read is whole"  # noqa: S101 - a broken program
        return kept

    def keep_bytes(self, data: bytes) -> str:
        """Keep some bytes, and give their digest.

        Raises:
            Inaccessible: where they cannot be written.
        """
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if not self.has(digest):
            self.keep_fed(lambda take: _given(data, take))
        return digest

    def keep_fed(self, feed: Feed) -> str | None:
        """Keep what is fed in pieces, and give its digest; None, and nothing kept, where the feed says that it broke.

        Raises:
            Inaccessible: where it cannot be written.
        """
        fresh, total = f"{_FRESH}{secrets.token_hex(8)}", hashlib.sha256()
        with told(self._folder), ExitStack() as undo:
            descriptor = os.open(fresh, CREATE_FLAGS, _MODE, dir_fd=self._top)
            undo.callback(os.unlink, fresh, dir_fd=self._top)
            try:

                def take(data: bytes) -> None:
                    total.update(data)
                    write_all(descriptor, data)

                whole = feed(take)
            finally:
                os.close(descriptor)
            if not whole:
                return None
            digest = f"sha256:{total.hexdigest()}"
            os.rename(fresh, self._place(digest), src_dir_fd=self._top, dst_dir_fd=self._top)
            undo.pop_all()
        return digest

    def open(self, digest: str) -> int | None:
        """Open an object; the caller closes it, and checks its bytes. None where no file is kept under this name.

        Raises:
            Inaccessible: where it cannot be opened.
        """
        with told(self._folder):
            try:
                descriptor = open_file(self._place(digest), self._top)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ELOOP):
                    raise
                return None
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
            os.close(descriptor)
        return None

    def read(self, digest: str, *, bytes_max: int) -> bytes | None:
        """Give an object's bytes; None where none is kept, it is damaged, or it is larger than that.

        Raises:
            Inaccessible: where it cannot be read.
        """
        descriptor = self.open(digest)
        if descriptor is None:
            return None
        with told(self._folder), os.fdopen(descriptor, "rb") as file:
            data = file.read(bytes_max + 1)
        whole = len(data) <= bytes_max and f"sha256:{hashlib.sha256(data).hexdigest()}" == digest
        return data if whole else None

    def pieces(self, digest: str) -> Iterator[bytes]:
        """Give an object's bytes piece by piece, unchecked; none where none is kept.

        Raises:
            Inaccessible: where it cannot be read.
        """
        descriptor = self.open(digest)
        if descriptor is not None:
            with told(self._folder), os.fdopen(descriptor, "rb", buffering=0) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    yield chunk

    def is_whole(self, digest: str) -> bool:
        """Tell whether an object is kept, and its bytes are what its name says.

        Raises:
            Inaccessible: where it cannot be read.
        """
        total = hashlib.sha256()
        for piece in self.pieces(digest):
            total.update(piece)
        return f"sha256:{total.hexdigest()}" == digest and self.has(digest)

    def discard(self, digest: str) -> None:
        """Take away what is kept under a name, since it is damaged, so that it is kept anew.

        Raises:
            Inaccessible: where it cannot be removed.
        """
        with told(self._folder), suppress(FileNotFoundError):
            remove_at(self._place(digest), self._top)

    def _place(self, digest: str) -> bytes:
        """Give the path of an object below the store, in a folder that is there and no link."""
        assert _DIGEST.fullmatch(digest), f"{digest!r} is no digest"  # noqa: S101 - a broken program
        shard, name = digest[_PREFIX : _PREFIX + SHARD_DIGITS], digest[_PREFIX + SHARD_DIGITS :]
        if shard not in self._shards:
            with suppress(FileExistsError):
                os.mkdir(shard, PRIVATE_MODE, dir_fd=self._top)
            os.close(os.open(shard, FOLDER_FLAGS, dir_fd=self._top))
            self._shards.add(shard)
        return f"{shard}/{name}".encode()


def digest_of(source: int) -> str:
    """Give the digest of what an open file holds from where it stands.

    Raises:
        OSError: as the system says.
    """
    total = hashlib.sha256()
    while chunk := os.read(source, _CHUNK_BYTES):
        total.update(chunk)
    return f"sha256:{total.hexdigest()}"


def _fed(source: int, take: Callable[[bytes], None]) -> bool:
    while chunk := os.read(source, _CHUNK_BYTES):
        take(chunk)
    return True


def _given(data: bytes, take: Callable[[bytes], None]) -> bool:
    take(data)
    return True
