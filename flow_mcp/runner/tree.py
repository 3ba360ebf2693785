"""End everything that a command started, as far as a process without containment can.

A process belongs to the command when it is in the command's session or process group, descends from it, bears its
marker in the environment, or was seen to do so before. What can get away: a process that, before any look of Flow's,
has cleared its environment, left the session and lost its parent; one that forks and exits faster than it is looked
for; one of another user, which may not be signalled; and where there is no ``/proc``, whatever left the process group.
Where the process that runs the command is a child subreaper, ``reaping`` knows better.
"""

import os
import signal
import time
from contextlib import suppress

from flow_mcp.runner.table import Process, Table

SWEEP_S_MAX = 2.0
_ROUND_S = 0.005
_UNSURE_S_MAX = 0.25
_KERNEL_THREADS_PARENT = 2


class Marked:
    """The processes that bear a word in their marker, and what descends from them.

    Attributes:
        seen: the numbers and starts of all that were ever found.
    """

    def __init__(self, token: str, table: Table, spared: frozenset[int]) -> None:
        """Take the word.

        Args:
            token: a whole word of the marker of those meant.
            table: where processes are looked up.
            spared: numbers that are never meant.
        """
        self.seen: set[tuple[int, int]] = set()
        self._token = token.encode()
        self._table = table
        self._spared = spared
        self._known: dict[int, int] = {}
        self._is_unsure = False

    def send(self, number: int) -> int:
        """Send a signal to all of them, and say how many there were."""
        members = self.members()
        self._send_at_once(number)
        for process in members:
            self._send_to(process, number)
        return len(members)

    def _send_at_once(self, number: int) -> None:
        """Send it to what takes one call; nothing is known of that here."""

    def end(self) -> None:
        """Kill until nothing of them is left; give up after ``SWEEP_S_MAX``."""
        begun_s = time.monotonic()
        while self._is_worth_a_round(self.send(signal.SIGKILL), time.monotonic() - begun_s):
            time.sleep(_ROUND_S)

    def _is_worth_a_round(self, alive: int, spent_s: float) -> bool:
        return spent_s < (SWEEP_S_MAX if alive else _UNSURE_S_MAX if self._is_unsure else 0)

    def members(self) -> list[Process]:
        """Find the living ones. Costs a look at every process there is."""
        self._is_unsure = False
        table = {one.pid: one for one in self._table.everyone() if one.is_alive and self._may_be_one(one)}
        self._known = {pid: born for pid, born in self._known.items() if pid in table and table[pid].started == born}
        grown = {process.pid for process in table.values() if self._is_one(process)} | set(self._known)
        found = self._roots()
        while grown:
            found |= grown
            grown = {process.pid for process in table.values() if process.parent in found} - found
        members = [table[pid] for pid in found - self._roots()]
        self._known |= {process.pid: process.started for process in members}
        self.seen |= {(process.pid, process.started) for process in members}
        return members

    def _roots(self) -> set[int]:
        return set()

    def _may_be_one(self, process: Process) -> bool:
        return process.pid not in self._spared

    def _is_one(self, process: Process) -> bool:
        words = self._table.words(process.pid)
        self._is_unsure = self._is_unsure or (words is None and process.parent != _KERNEL_THREADS_PARENT)
        return words is not None and self._token in words

    def _send_to(self, process: Process, number: int) -> None:
        # Its number can only have passed to another process if all numbers went round since the line before.
        found = self._table.read(process.pid)
        if found is not None and found.started == process.started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


class Tree(Marked):
    """The processes of one command beside its leader, which must not be reaped while the tree is in use.

    Attributes:
        cpu_s: processor seconds of what was reaped of it.
        peak_memory_bytes: the largest resident set of one of its processes that was seen, the leader's included.
    """

    def __init__(self, leader: int, token: str, table: Table) -> None:
        """Take the leader of a new session.

        Args:
            leader: its process id, which is its session's and group's too.
            token: a word that stands in the marker of its descendants only.
            table: where processes are looked up.
        """
        super().__init__(token, table, frozenset())
        self._leader = leader
        found = table.read(leader)
        self._started = 0 if found is None else found.started
        self.cpu_s = 0.0
        self.peak_memory_bytes = 0

    def look(self) -> None:
        """Note the living descendants and their memory, so that they are found after they lost their parent.

        Costs their number.
        """
        waiting = [self._leader]
        while waiting:
            pid = waiting.pop()
            self.peak_memory_bytes = max(self.peak_memory_bytes, self._table.peak_memory_bytes(pid))
            children = self._table.children(pid)
            for child in set(children) - set(self._known):
                found = self._table.read(child)
                if found is not None:
                    self._known[child] = found.started
            waiting += children

    def _send_at_once(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)

    def _roots(self) -> set[int]:
        return {self._leader}

    def _may_be_one(self, process: Process) -> bool:
        # A descendant is never older than its ancestor.
        return process.started >= self._started

    def _is_one(self, process: Process) -> bool:
        return self._leader in {process.session, process.group} or super()._is_one(process)
