"""The contents of git's objects, as ``cat-file --batch`` writes them."""

from collections.abc import Callable
from typing import IO

_CHUNK_BYTES = 1024 * 1024
_HEAD_BYTES_MAX = 200
_HEAD_WORDS = 3


class Blobs:
    """The contents of objects, one after the other."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def copy_next(self, consume: Callable[[bytes], None], *, bytes_max: int) -> bool:
        """Hand over the next object in pieces; False where git does not have it whole as a blob, or it is larger.

        After False nothing more can be read.
        """
        head = self._stream.readline(_HEAD_BYTES_MAX).split()
        if len(head) != _HEAD_WORDS or head[1] != b"blob":
            return False
        left = int(head[2])
        if left > bytes_max:
            return False
        while left > 0:
            piece = self._stream.read(min(left, _CHUNK_BYTES))
            if not piece:
                return False
            consume(piece)
            left -= len(piece)
        return self._stream.read(1) == b"\n"
