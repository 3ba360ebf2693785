"""The manifest of the source, and the digest that evidence is bound to (ws-fp/4).

The digest names what lies on the disk: path, kind, owner's executable bit and raw bytes of every file and link that
``listing`` names, and where nested repositories start. Paths that are tracked and gone, and folders, stand in the
manifest and not in the digest: git cannot commit either, and a commit must not move the digest.

Bytes are hashed as they lie there. Line endings that Git attributes would normalise are not: ``_content_of`` is
the one place where that belongs.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Literal

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.folders import PRIVATE_NAME
from flow_mcp.workspace.listing import GIT_NAME, Listed, list_source
from flow_mcp.workspace.paths import Descent, exists, inaccessible, open_file, raw_path, split
from flow_mcp.workspace.patterns import matches
from flow_mcp.workspace.records import Records

Kind = Literal["file", "link", "missing", "dir", "special", "nested"]
BlobHash = Literal["sha1", "sha256"]

VERSION: Literal["ws-fp/4"] = "ws-fp/4"
READ_TRIES = 3
_CHUNK_BYTES = 1024 * 1024

# What is hashed, by kind; the two kinds of file are told apart by their executable bit.
_MARKS: dict[tuple[Kind, bool], bytes] = {
    ("file", False): b"f",
    ("file", True): b"x",
    ("link", False): b"l",
    ("special", False): b"s",
    ("nested", False): b"m",
}
# What opening and reading a link say when the path became something else since it was looked at.
_MOVED = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL))
_LINK_PREFIX = b"link\0"
_SPECIAL_PREFIX = b"special\0"


class Unstable(BrokenWorld):
    """A file changes while it is read."""

    def __init__(self, path: str) -> None:
        seen = f"{path!r} changes while it is read."
        super().__init__(seen, "Stop what writes it, or name it in .gitignore, then try again.")


class Displaced(BrokenWorld):
    """A repository lies where a file is tracked, and git lists nothing of what is in it."""

    def __init__(self, path: str) -> None:
        seen = f"{path!r} is tracked as a file, and a repository lies in its place: git lists nothing in it."
        super().__init__(seen, "Move the repository away, or tell git of it: remove the file from the index.")


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One path of the source.

    Attributes:
        path: printable and unique; ``paths.raw_path`` gives the bytes.
        kind: file, link, missing (tracked and gone), dir, special (pipe, socket, device) or nested (repository).
        executable: the owner's executable bit of a file.
        digest: ``sha256:`` and 64 digits of a file's bytes, of a link's marked target, of a special's type; else empty.
        raw: the digest of the bytes as they lie there, where ``digest`` is of other ones (line endings that Git
            attributes normalise); else empty. It is no part of what the entry is.
    """

    path: str
    kind: Kind
    executable: bool
    digest: str
    raw: str = field(default="", compare=False)

    @property
    def stored(self) -> str:
        """The digest under which the bytes as they lie there are kept."""
        return self.raw or self.digest


@dataclass(frozen=True, slots=True)
class Manifest:
    """The whole source, in the order of the paths' bytes, and its digest."""

    entries: tuple[SourceEntry, ...]
    digest: str

    def present(self) -> dict[str, SourceEntry]:
        """Give path to entry of what the digest covers."""
        return {entry.path: entry for entry in self.entries if (entry.kind, entry.executable) in _MARKS}


class Total:
    """The digest of some bytes and, where a hash of git's is named, the id that git gives to them."""

    def __init__(self, size: int, blob_hash: BlobHash | None) -> None:
        self._content = hashlib.sha256()
        self._blob = None if blob_hash is None else hashlib.new(blob_hash, usedforsecurity=False)
        if self._blob is not None:
            self._blob.update(b"blob %d\0" % size)

    def update(self, data: bytes) -> None:
        """Take in the next bytes."""
        self._content.update(data)
        if self._blob is not None:
            self._blob.update(data)

    def digest(self) -> str:
        """Give ``sha256:`` and 64 digits."""
        return f"sha256:{self._content.hexdigest()}"

    def blob(self) -> str:
        """Give the object id; empty where none was asked for."""
        return "" if self._blob is None else self._blob.hexdigest()


@dataclass(frozen=True, slots=True)
class Content:
    """An entry, and the id that git would give to its bytes; empty where none was asked for or there is none."""

    entry: SourceEntry
    blob: str


def take_manifest(root: Path, records: Records, artifacts: Sequence[str]) -> Manifest:
    """Read the source below a root (row attest.source).

    Raises:
        Unstable: where a file changes under the reading three times.
        Displaced: where a repository lies in place of a tracked file.
        BrokenWorld: where the source cannot be listed or read; the kinds are those of ``listing.list_source``.
        ValueError: for a plans folder or a glob that is refused.
    """
    kept = sourced(list_source(root), records, artifacts)
    return seal(content.entry for content in read_source(root, kept, None))


def sourced(listing: Mapping[str, Listed], records: Records, artifacts: Sequence[str]) -> dict[str, Listed]:
    """Leave out Flow's private folder, its records, and the artifacts."""
    kept = kept_paths(listing, records, artifacts)
    return {path: listed for path, listed in listing.items() if path in kept}


def kept_paths(paths: Iterable[str], records: Records, artifacts: Sequence[str]) -> frozenset[str]:
    """Give the paths that are neither Flow's private folder, nor its records, nor named by an artifact glob."""
    private = f"{PRIVATE_NAME}/"
    outside = [
        path for path in paths if path != PRIVATE_NAME and not path.startswith(private) and not records.own(path)
    ]
    return frozenset(outside) - (matches(artifacts, outside) if artifacts else frozenset())


def seal(entries: Iterable[SourceEntry]) -> Manifest:
    """Order entries and compute their digest: a prefix with the version, then each entry, lengths first."""
    ordered = sorted(((raw_path(entry.path), entry) for entry in entries), key=itemgetter(0))
    total = hashlib.sha256(VERSION.encode() + b"\0")
    for raw, entry in ordered:
        mark = _MARKS.get((entry.kind, entry.executable))
        if mark is not None:
            total.update(b"%d:%b%b%d:%b" % (len(raw), raw, mark, len(entry.digest), entry.digest.encode()))
    return Manifest(tuple(entry for _, entry in ordered), f"sha256:{total.hexdigest()}")


def read_source(root: Path, listing: Mapping[str, Listed], blob_hash: BlobHash | None) -> Iterator[Content]:
    """Read what is listed, in that order, without following a link on the way.

    Raises:
        Unstable: where a file changes under the reading three times.
        Displaced: where a repository lies in place of a tracked file.
        Inaccessible: where something cannot be read.
    """
    with Descent(root) as descent:
        for path, listed in listing.items():
            folder_path, name = split(listed.raw)
            try:
                folder = descent.folder(folder_path)
                content = _gone(path) if folder is None else _read(folder, name, path, blob_hash)
            except OSError as error:
                raise inaccessible(root / path, error) from error
            if content.entry.kind == "dir":
                content = _folder(descent, path, listed)
            yield content


def _folder(descent: Descent, path: str, listed: Listed) -> Content:
    kind: Kind = "nested" if listed.boundary else "dir"
    folder = descent.folder(listed.raw)
    if not listed.boundary and folder is not None and exists(GIT_NAME, folder):
        raise Displaced(path)
    return Content(SourceEntry(path, kind, executable=False, digest=""), "")


def _gone(path: str) -> Content:
    return Content(SourceEntry(path, "missing", executable=False, digest=""), "")


def _read(folder: int, name: bytes, path: str, blob_hash: BlobHash | None) -> Content:
    for _ in range(READ_TRIES):
        content = _read_once(folder, name, path, blob_hash)
        if content is not None:
            return content
    raise Unstable(path)


def _read_once(folder: int, name: bytes, path: str, blob_hash: BlobHash | None) -> Content | None:
    """Read one path; None where it became something else meanwhile."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return _gone(path)
    if stat.S_ISREG(mode):
        return _file(folder, name, path, blob_hash)
    if stat.S_ISLNK(mode):
        return _link(folder, name, path, blob_hash)
    if stat.S_ISDIR(mode):
        return Content(SourceEntry(path, "dir", executable=False, digest=""), "")
    digest = digest_bytes(_SPECIAL_PREFIX + b"%o" % stat.S_IFMT(mode))
    return Content(SourceEntry(path, "special", executable=False, digest=digest), "")


def _link(folder: int, name: bytes, path: str, blob_hash: BlobHash | None) -> Content | None:
    try:
        target = os.readlink(name, dir_fd=folder)
    except OSError as error:
        _raise_unless_moved(error)
        return None
    total = Total(len(target), blob_hash)
    total.update(target)
    return Content(link_entry(path, target), total.blob())


def _raise_unless_moved(error: OSError) -> None:
    if error.errno not in _MOVED:
        raise error


def link_entry(path: str, target: bytes) -> SourceEntry:
    """Describe a link: its digest is marked, so that a file with the target's text is another thing."""
    return SourceEntry(path, "link", executable=False, digest=digest_bytes(_LINK_PREFIX + target))


def _file(folder: int, name: bytes, path: str, blob_hash: BlobHash | None) -> Content | None:
    try:
        descriptor = open_file(name, folder)
    except OSError as error:
        _raise_unless_moved(error)
        return None
    try:
        before = os.fstat(descriptor)
        total = _content_of(descriptor, before.st_size, blob_hash) if stat.S_ISREG(before.st_mode) else None
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if total is None or _moment(before) != _moment(after):
        return None
    executable = bool(after.st_mode & stat.S_IXUSR)
    return Content(SourceEntry(path, "file", executable=executable, digest=total.digest()), total.blob())


def _moment(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _content_of(descriptor: int, size: int, blob_hash: BlobHash | None) -> Total | None:
    """Hash exactly ``size`` bytes; None where the file has more or fewer."""
    total, left = Total(size, blob_hash), size
    while left >= 0 and (chunk := os.read(descriptor, min(_CHUNK_BYTES, left + 1))):
        left -= len(chunk)
        total.update(chunk)
    return total if left == 0 else None
