"""End what the command of a lost runner left: a runner that was killed could not do it itself."""

import os
import signal
import time
from pathlib import Path

from flow_mcp.runner.order import is_token
from flow_mcp.runner.table import Table
from flow_mcp.runner.tree import Marked

STOP_S_MAX = 1.0
_PROC = Path("/proc")


def end_lost(token: str) -> int:
    """End every process that bears a token as a whole word of its marker, or descends from one that does.

    They are stopped first, so that none can start another unseen, then killed. Never ends this process or one of its
    ancestors. What it cannot know: a process that cleared its environment and whose ancestors up to one that bears
    the token are dead. What it cannot end: what this user may not look into or signal. Without ``/proc`` it ends
    nothing.

    Args:
        token: that of the order, which is too long to be guessed or to be met by chance.

    Returns:
        How many it ended.
    """
    assert is_token(token), "a token is one word"  # noqa: S101 - a broken program stops
    table = Table(_PROC)
    lost = Marked(token, table, frozenset(table.line(os.getpid())))
    _stop(lost)
    lost.end()
    left = {(process.pid, process.started) for process in lost.members()}
    return len(lost.seen - left)


def _stop(lost: Marked) -> None:
    until_s = time.monotonic() + STOP_S_MAX
    before = -1
    while len(lost.seen) > before and time.monotonic() < until_s:
        before = len(lost.seen)
        lost.send(signal.SIGSTOP)
