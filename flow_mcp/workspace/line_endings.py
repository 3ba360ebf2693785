"""The form of a text with plain line feeds, and git's own guess at whether bytes are a text."""

from collections.abc import Iterable
from dataclasses import dataclass

from flow_mcp.workspace.entries import BlobHash, Total

# Bytes that git takes for a sign of no text; line ends are counted apart.
_UNPRINTABLE = bytes(byte for byte in range(32) if byte not in b"\b\t\n\r\x0c\x1b") + b"\x7f"
_END_OF_FILE = b"\x1a"
_PRINTABLE_PER_UNPRINTABLE_BITS = 7


@dataclass(frozen=True, slots=True)
class Plain:
    """Bytes that hold CRLF, with each CRLF made a line feed.

    Attributes:
        digest: ``sha256:`` and 64 digits.
        blob: the id that git gives to them; empty where none was asked for.
        binary: whether git takes the bytes, as they are, for no text.
    """

    digest: str
    blob: str
    binary: bool


class Pairs:
    """Counts CRLF over pieces of one stream."""

    def __init__(self) -> None:
        self.count = 0
        self._after_return = False

    def update(self, data: bytes) -> None:
        """Take in the next bytes, at least one."""
        if self._after_return and data.startswith(b"\n"):
            self.count += 1
        self._after_return = False
        if b"\r" in data:
            self.count += data.count(b"\r\n")
            self._after_return = data.endswith(b"\r")


def plain_form(pieces: Iterable[bytes], size: int, blob_hash: BlobHash | None) -> Plain:
    """Read bytes whose form with plain line feeds has this size."""
    total, shape, held = Total(size, blob_hash), _Shape(), b""
    for piece in pieces:
        data = held + piece
        held = data[-1:] if data.endswith(b"\r") else b""
        data = data.removesuffix(b"\r")
        shape.update(data)
        total.update(data.replace(b"\r\n", b"\n"))
    shape.update(held)
    total.update(held)
    return Plain(total.digest(), total.blob(), shape.binary())


class _Shape:
    """What git counts of bytes, in pieces that part no CRLF."""

    def __init__(self) -> None:
        self._lone_return = False
        self._nul = False
        self._unprintable = 0
        self._printable = 0
        self._last = b""

    def update(self, data: bytes) -> None:
        returns, pairs = data.count(b"\r"), data.count(b"\r\n")
        unprintable = len(data) - len(data.translate(None, _UNPRINTABLE))
        self._lone_return |= returns != pairs
        self._nul |= b"\0" in data
        self._unprintable += unprintable
        self._printable += len(data) - unprintable - returns - data.count(b"\n")
        self._last = data[-1:] or self._last

    def binary(self) -> bool:
        unprintable = self._unprintable - (self._last == _END_OF_FILE)
        return self._lone_return or self._nul or self._printable >> _PRINTABLE_PER_UNPRINTABLE_BITS < unprintable
