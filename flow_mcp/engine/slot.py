"""Whether a check is under way in this workspace: a kernel lock that ends with the process that holds it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flow_mcp.store.files import open_kept

with suppress(ImportError):  # Windows has none, and there `open_kept` refuses in a sentence
    import fcntl

TRIES = 20
PROBE_S = 0.01


class CheckSlot:
    """The one place for a running check."""

    def __init__(self, private: Path) -> None:
        """Name the private folder."""
        self._private = private

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Hold the slot; gives False where another check has it."""
        descriptor = open_kept(self._private, "check.lock")
        try:
            yield _try(descriptor, fcntl.LOCK_EX, TRIES)
        finally:
            _give_back(descriptor)

    def is_taken(self) -> bool:
        """Say whether a live process holds the slot."""
        descriptor = open_kept(self._private, "check.lock")
        try:
            return not _try(descriptor, fcntl.LOCK_SH, 1)
        finally:
            _give_back(descriptor)


def _try(descriptor: int, mode: int, tries: int) -> bool:
    """Take the lock without waiting; a probe may hold it for an instant, so that a taker tries again."""
    for left in reversed(range(tries)):
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PROBE_S if left else 0)
        else:
            return True
    return False


def _give_back(descriptor: int) -> None:
    # Said aloud: a program that is being started right now still has a copy of the descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
