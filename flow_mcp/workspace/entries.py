"""What the source is made of: its entries, and the manifest whose digest evidence is bound to (ws-fp/4).

The digest names what lies on the disk: path, kind, owner's executable bit and bytes of every file and link that
``listing`` names, and where nested repositories start. Paths that are tracked and gone, and folders, stand in the
manifest and not in the digest: git cannot commit either, and a commit must not move the digest.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.folders import PRIVATE_NAME
from flow_mcp.workspace.paths import raw_path
from flow_mcp.workspace.patterns import matches
from flow_mcp.workspace.records import Records

Kind = Literal["file", "link", "missing", "dir", "special", "nested"]
BlobHash = Literal["sha1", "sha256"]

VERSION: Literal["ws-fp/4"] = "ws-fp/4"
LINK_PREFIX = b"link\0"

# What is hashed, by kind; the two kinds of file are told apart by their executable bit.
_MARKS: dict[tuple[Kind, bool], bytes] = {
    ("file", False): b"f",
    ("file", True): b"x",
    ("link", False): b"l",
    ("special", False): b"s",
    ("nested", False): b"m",
}


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


def link_digest(target: bytes) -> str:
    """Give the digest of a link's marked target."""
    return digest_bytes(LINK_PREFIX + target)


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
    parts = (sealed_part(raw, entry) for raw, entry in ordered)
    return Manifest(tuple(entry for _, entry in ordered), sealed_digest(parts))


def sealed_part(raw: bytes, entry: SourceEntry) -> bytes:
    """Give what an entry adds to what is hashed; nothing for what the digest does not cover."""
    mark = _MARKS.get((entry.kind, entry.executable))
    return b"" if mark is None else b"%d:%b%b%d:%b" % (len(raw), raw, mark, len(entry.digest), entry.digest.encode())


def sealed_digest(parts: Iterable[bytes]) -> str:
    """Give the digest of a source from its parts, in the order of the paths' bytes."""
    return digest_bytes(b"".join((VERSION.encode() + b"\0", *parts)))
