"""Execute one command to its end and say what the operating system saw of it.

Nothing here contains the command: it may do what this user may do. What it started is ended with it, as far as
``reaping`` and ``tree`` can; the exit code comes from the wait status alone, never from a word of the output.
"""

import os
import selectors
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flow_mcp.runner.order import Order
from flow_mcp.runner.output import Output, new_output
from flow_mcp.runner.process import Leader, start
from flow_mcp.runner.reaping import Brood, children_now, is_subreaper
from flow_mcp.runner.table import Table
from flow_mcp.runner.tree import Tree

Ended = Literal["exited", "signalled", "timed-out", "cancelled"]

GRACE_S = 2.0
DRAIN_S_MAX = 2.0
_TICK_S = 0.05
_BLIND_TICK_S = 0.005
# A look at very many processes may not keep a processor busy.
_LOOK_SHARE = 10
_CHUNK_BYTES = 256 * 1024
_PROC = Path("/proc")


@dataclass(frozen=True)
class Outcome:
    """What was seen of one execution.

    Attributes:
        ended: how the command ended.
        exit_code: its exit code; None unless it exited by itself.
        signal: the signal that ended it; None unless it was signalled.
        complete: whether the kept file holds all of the output, but for the secrets hidden in it.
        output_bytes: size of all output, kept or not.
        output_digest: ``sha256:`` and the digest of all output, kept or not.
        tail: the end of the output as text that is safe to show, with its secrets hidden.
        started_ns: the file system's time just before the start, in nanoseconds: what is older was there before.
        duration_s: wall-clock seconds from the start to the end of the command.
        cpu_s: processor seconds, user and system, of the command and of the children it waited for. In a child
            subreaper it is exact for the whole tree, but for children whose parent told the kernel that it would not
            wait for them.
        peak_memory_bytes: the largest resident set that any one process of the command had. The kernel counts the
            runner's own size into that of the process which became the command. So it is exact, for the processes of
            which ``cpu_s`` is, where it exceeds the runner's own peak by 4 MiB; so is that of an orphan a child
            subreaper reaped. Else it is the most that looks about every 50 ms saw: never too high, maybe too low.
            None where nothing was seen.
    """

    ended: Ended
    exit_code: int | None
    signal: int | None
    complete: bool
    output_bytes: int
    output_digest: str
    tail: str
    started_ns: int
    duration_s: float
    cpu_s: float
    peak_memory_bytes: int | None


def execute(order: Order, cancel: threading.Event, started: Callable[[int], None]) -> Outcome:
    """Run a command until it ends, times out or is cancelled; then end whatever it left behind.

    It runs in a session of its own, without a terminal and with nothing to read; bytes run under
    ``bash -o pipefail -c``. A time-out or a cancel sends SIGTERM to the whole tree, and SIGKILL two seconds later.
    After the command has ended, what still writes to its output has two seconds, then it is ended too and the output
    is not complete. In a child subreaper nothing that descends from the command is left (see ``reaping``), elsewhere
    what ``tree`` can find. Blocks; meant for a thread of its own.

    Args:
        order: what to run.
        cancel: set by another thread to end it.
        started: told the process id as soon as there is one.

    Raises:
        BrokenWorld: where the command could not be started; nothing is left of the attempt.
    """
    table = Table(_PROC)
    before = children_now(table) if is_subreaper() and table.lists_children(os.getpid()) else None
    with ExitStack() as stack:
        kept = new_output(order.output_path, order.output_bytes_max, order.tail_bytes_max, order.redactor)
        output, started_ns = stack.enter_context(kept)
        selector = stack.enter_context(selectors.DefaultSelector())
        reader, writer = os.pipe()
        stack.callback(os.close, reader)
        try:
            leader = start(order, writer, table)
        finally:
            os.close(writer)
        of_marks = Tree(leader.pid, order.token, table)
        tree = of_marks if before is None else Brood(leader.pid, order.token, table, before)
        execution = _Execution(leader, tree, output, selector, reader)
        with closing(execution):
            started(leader.pid)
            ended = execution.follow(cancel, order.timeout_s)
        return execution.outcome(ended, started_ns)


class _Execution:
    """A command that runs, and everything that is watched of it."""

    def __init__(self, leader: Leader, tree: Tree, output: Output, selector: selectors.BaseSelector, pipe: int) -> None:
        self._leader = leader
        self._tree = tree
        self._output = output
        self._selector = selector
        self._pipe = pipe
        self._begun_at_s = time.monotonic()
        self._duration_s = 0.0
        self._next_look_s = 0.0
        self._is_whole = False
        self._exit_descriptor = leader.exit_descriptor()

    def follow(self, cancel: threading.Event, timeout_s: float) -> Ended:
        """Take output until the command ends or is made to, and end its tree."""
        for descriptor in (self._pipe, self._exit_descriptor):
            if descriptor is not None:
                self._selector.register(descriptor, selectors.EVENT_READ)
        self._pump(lambda: self._leader.has_exited() or cancel.is_set(), timeout_s)
        if self._leader.has_exited():
            self._duration_s = time.monotonic() - self._begun_at_s
            self._is_whole = self._pump(self._is_at_end, DRAIN_S_MAX)
            return "exited"
        ended: Ended = "cancelled" if cancel.is_set() else "timed-out"
        self._tree.send(signal.SIGTERM)
        self._pump(self._is_gone, GRACE_S)
        self._tree.end()
        self._duration_s = time.monotonic() - self._begun_at_s
        self._is_whole = self._pump(self._is_at_end, DRAIN_S_MAX)
        return ended

    def outcome(self, ended: Ended, started_ns: int) -> Outcome:
        """Say what was seen, once it is closed."""
        end = self._leader.reap()
        self._output.finish()
        exited = ended == "exited" and end.code >= 0
        signalled = ended == "exited" and end.code < 0
        return Outcome(
            ended="signalled" if signalled else ended,
            exit_code=end.code if exited else None,
            signal=-end.code if signalled else None,
            complete=self._is_whole and self._output.is_stored_whole,
            output_bytes=self._output.total_bytes,
            output_digest=self._output.digest,
            tail=self._output.tail(),
            started_ns=started_ns,
            duration_s=self._duration_s,
            cpu_s=end.cpu_s + self._tree.cpu_s,
            peak_memory_bytes=max(end.peak_memory_bytes, self._tree.peak_memory_bytes) or None,
        )

    def close(self) -> None:
        """Leave nothing behind, also where something was raised on the way. Then the leader is reaped."""
        self._tree.end()
        self._leader.reap()
        if self._exit_descriptor is not None:
            os.close(self._exit_descriptor)

    def _is_at_end(self) -> bool:
        return self._pipe not in self._selector.get_map()

    def _is_gone(self) -> bool:
        return self._leader.has_exited() and not self._tree.members()

    def _pump(self, is_done: Callable[[], bool], seconds: float) -> bool:
        """Take output until something is done; say whether it was done in time."""
        until_s = time.monotonic() + seconds
        while not is_done():
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return False
            # With nothing left to wake it, it must look by itself.
            tick_s = _TICK_S if self._selector.get_map() else _BLIND_TICK_S
            self._take(min(left_s, tick_s))
        return True

    def _take(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            chunk = os.read(key.fd, _CHUNK_BYTES) if key.fd == self._pipe else b""
            if chunk:
                self._output.take(chunk)
            else:
                # The end of the output, or of the command: either would wake the selector for ever.
                self._selector.unregister(key.fd)
        if time.monotonic() >= self._next_look_s:
            begun_s = time.monotonic()
            self._tree.look()
            spent_s = time.monotonic() - begun_s
            self._next_look_s = begun_s + max(_TICK_S, _LOOK_SHARE * spent_s)
