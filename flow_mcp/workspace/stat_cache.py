"""What was read of a path under which status: a hint that spares reading again, and never evidence.

A status is trusted only if the file was last touched a good while before it was read: a write within the same tick of
the clock, or through a memory map, need not show in it. The cache is kept on the disk for the next process; one that
is damaged, of another place or of another form is dropped, and that is all that can happen.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.contents import Read, Status
from flow_mcp.workspace.entries import Kind
from flow_mcp.workspace.folders import private_folder, read_private
from flow_mcp.workspace.line_endings import Plain
from flow_mcp.workspace.listing import FILES_MAX
from flow_mcp.workspace.paths import printable
from flow_mcp.workspace.writer import replace_file

RACY_NS = 60 * 1_000_000_000
"""So long before the reading a file must have been left alone: a store through a memory map moves no time sooner."""

FOLDER = "cache"
NAME = "status"
BYTES_MAX = 256 * 1024 * 1024

_FORM = b"flow status cache 1\n"
_HEX = rb"(?:[0-9a-f]{64})"
_BLOB = rb"(?:[0-9a-f]{40}|[0-9a-f]{64}|-)"
_NUMBER = rb"-?[0-9]{1,20}"
_LINE = re.compile(
    rb" ".join([rb"(%b) (%b) (%b) (%b) (%b) (%b)" % ((_NUMBER,) * 6), rb"([fxl])", rb"(%b) (%b)" % (_HEX, _BLOB)])
    + rb" (?:-|(%b) (%b) ([01])) ([^\n]+)\n" % (_HEX, _BLOB)
)
_KINDS: Mapping[bytes, tuple[Kind, bool]] = {b"f": ("file", False), b"x": ("file", True), b"l": ("link", False)}
_LETTERS = {kind: letter for letter, kind in _KINDS.items()}
_PREFIX = "sha256:"


class Known(NamedTuple):
    """What was read of a path.

    Attributes:
        status: under which it was read; None where there was nothing.
        trusted: whether the same status, seen again, speaks for the same bytes.
        read: what it was.
    """

    status: Status | None
    trusted: bool
    read: Read


def known(status: Status | None, read: Read, read_at_ns: int) -> Known:
    """Note what was read, in a reading that began at this time."""
    trusted = status is not None and read.kind in ("file", "link") and max(status[0], status[1]) + RACY_NS < read_at_ns
    return Known(status, trusted, read)


def load(private: Path, root: Path) -> dict[str, Known]:
    """Give what an earlier process knew of the files below a root; nothing where that cannot be used."""
    with suppress(BrokenWorld, OSError, ValueError):
        data = read_private(private / FOLDER / NAME, bytes_max=BYTES_MAX)
        return {} if data is None or _linked(private) else _parsed(data, root)
    return {}


def save(private: Path, root: Path, cache: Mapping[str, Known]) -> None:
    """Keep what is trusted for the next process, if Flow has a private folder here and it can be written."""
    body = _FORM + _place(root) + b"".join(_lines(cache))
    if not private.is_dir() or len(body) > BYTES_MAX:
        return
    with suppress(BrokenWorld):
        replace_file(private_folder(private, FOLDER), NAME, digest_bytes(body).encode() + b"\n" + body)


def _linked(private: Path) -> bool:
    return private.is_symlink() or (private / FOLDER).is_symlink()


def _place(root: Path) -> bytes:
    """Name a root in one line: no cache of another folder, or of another disk at its path, fits."""
    found = root.stat()
    return b"%b %d %d\n" % (printable(os.fsencode(root)).encode(), found.st_dev, found.st_ino)


def _lines(cache: Mapping[str, Known]) -> Iterable[bytes]:
    for path, (status, trusted, read) in cache.items():
        if trusted and status is not None:
            yield b"%d %d %d %d %d %d " % status + _read_text(read) + path.encode() + b"\n"


def _read_text(read: Read) -> bytes:
    letter = _LETTERS[read.kind, read.executable].decode()
    plain = "-" if read.plain is None else f"{_short(read.plain.digest)} {read.plain.blob or '-'} {read.plain.binary:d}"
    return f"{letter} {_short(read.digest)} {read.blob or '-'} {plain} ".encode()


def _short(digest: str) -> str:
    return digest.removeprefix(_PREFIX)


def _parsed(data: bytes, root: Path) -> dict[str, Known]:
    head, _, body = data.partition(b"\n")
    start = _FORM + _place(root)
    if head != digest_bytes(body).encode() or not body.startswith(start):
        return {}
    found: dict[str, Known] = {}
    at = len(start)
    while at < len(body):
        line = _LINE.match(body, at)
        if line is None or len(found) >= FILES_MAX:
            return {}
        found[line[13].decode()] = _known(line)
        at = line.end()
    return found


def _known(line: re.Match[bytes]) -> Known:
    change, write, size, inode, device, mode = map(int, line.group(1, 2, 3, 4, 5, 6))
    kind, executable = _KINDS[line[7]]
    plain = None if line[10] is None else Plain(_long(line[10]), _blob(line[11]), line[12] == b"1")
    read = Read(kind, executable, _long(line[8]), _blob(line[9]), plain)
    return Known((change, write, size, inode, device, mode), trusted=True, read=read)


def _long(digits: bytes) -> str:
    return _PREFIX + digits.decode()


def _blob(text: bytes) -> str:
    return "" if text == b"-" else text.decode()
