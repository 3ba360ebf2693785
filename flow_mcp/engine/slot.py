"""Whether a check is under way in this workspace: a kernel lock that ends with the process that holds it."""

import os
import time
from contextlib import suppress
from pathlib import Path

from flow_mcp.store.files import open_kept

with suppress(ImportError):  # Windows has none, and there `open_kept` refuses in a sentence
    import fcntl

TRIES = 20
PROBE_S = 0.01


class Held:
    """The slot, taken; it is given back by whoever holds it last."""

    def __init__(self, descriptor: int) -> None:
        """Hold it by an open descriptor, which another process may be handed too."""
        self.descriptor = descriptor

    def give_back(self) -> None:
        """Let the next check begin."""
        # Said aloud: a program that is being started right now still has a copy of the descriptor.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.close(self.descriptor)

    def let_go(self) -> None:
        """Leave it to the process that was handed the descriptor."""
        os.close(self.descriptor)


class CheckSlot:
    """The one place for a running check."""

    def __init__(self, private: Path) -> None:
        """Name the private folder."""
        self._private = private

    def take(self) -> Held | None:
        """Take the slot; None where another check has it."""
        held = Held(open_kept(self._private, "check.lock"))
        if _try(held.descriptor, fcntl.LOCK_EX, TRIES):
            return held
        held.let_go()
        return None

    def is_taken(self) -> bool:
        """Say whether a live process holds the slot."""
        held = Held(open_kept(self._private, "check.lock"))
        try:
            return not _try(held.descriptor, fcntl.LOCK_SH, 1)
        finally:
            held.give_back()


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
