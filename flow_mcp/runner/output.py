"""Keep a command's output: a capped private file, its tail, its size and its digest; memory stays flat.

Secrets are hidden before anything is written or shown. Size and digest are those of what the command wrote.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner.redaction import HELD_BYTES_MAX, Redactor

_NEW_PRIVATE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

# Terminal sequences go whole, where they are whole: a broken one must not hide what follows it.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
# Control characters but newline and tab, and what turns the direction of a line on a person's screen.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


class Output:
    """Takes a command's output as it comes."""

    def __init__(self, descriptor: int, bytes_max: int, tail_bytes_max: int, redactor: Redactor) -> None:
        self._descriptor = descriptor
        self._room_bytes = bytes_max
        self._tail_bytes_max = tail_bytes_max
        # A secret that reaches into the tail is known by what stands before it.
        self._held_bytes_max = tail_bytes_max + HELD_BYTES_MAX
        self._held = bytearray()
        self._redactor = redactor
        self._stream = redactor.stream()
        self._hash = hashlib.sha256()
        self.total_bytes = 0
        self.is_stored_whole = True

    def take(self, chunk: bytes) -> None:
        """Take the next bytes; past the cap, or when the disk is full, they are only counted and digested."""
        self.total_bytes += len(chunk)
        self._hash.update(chunk)
        self._held += chunk[-self._held_bytes_max :]
        if len(self._held) > 2 * self._held_bytes_max:
            del self._held[: -self._held_bytes_max]
        if self.is_stored_whole:
            self._keep(self._stream.take(chunk))

    def finish(self) -> None:
        """Keep also what may have been the beginning of a secret."""
        if self.is_stored_whole:
            self._keep(self._stream.finish())

    def _keep(self, clean: bytes) -> None:
        try:
            self._store(memoryview(clean)[: self._room_bytes])
        except OSError:
            self.is_stored_whole = False
        else:
            self._room_bytes -= len(clean)
            self.is_stored_whole = self._room_bytes >= 0

    def _store(self, kept: memoryview) -> None:
        while kept:
            kept = kept[os.write(self._descriptor, kept) :]

    @property
    def digest(self) -> str:
        """Name all bytes taken, stored or not."""
        return "sha256:" + self._hash.hexdigest()

    def tail(self) -> str:
        """Give the end of the output as text that is safe to show."""
        held = bytes(self._held[-self._held_bytes_max :])
        end = self._redactor.end_of(held, max(0, len(held) - self._tail_bytes_max))[-self._tail_bytes_max :]
        if self.total_bytes > self._tail_bytes_max:
            end = end[:3].lstrip(_CONTINUATION_BYTES) + end[3:]
        text = _SEQUENCE.sub("", end.decode("utf-8", "replace"))
        # Once more: a sequence may have stood within a secret.
        return self._redactor.text(_UNPRINTABLE.sub("", text))


@contextmanager
def new_output(path: Path, bytes_max: int, tail_bytes_max: int, redactor: Redactor) -> Iterator[tuple[Output, int]]:
    """Create the output file, for its owner alone; also give the file system's time then, in nanoseconds.

    Where a broken world ends the use of it, the file is removed again.

    Raises:
        BrokenWorld: where something already stands there, or the file cannot be made.
    """
    try:
        descriptor = os.open(path, _NEW_PRIVATE_FILE, 0o600)
    except OSError as error:
        seen = f"The file for the command's output, {path}, cannot be created: {os.strerror(error.errno or 0)}."
        raise BrokenWorld(seen, "Make its folder writable for this user, and let nothing stand at its path.") from error
    try:
        yield Output(descriptor, bytes_max, tail_bytes_max, redactor), os.fstat(descriptor).st_mtime_ns
    except BrokenWorld:
        path.unlink()
        raise
    finally:
        os.close(descriptor)
