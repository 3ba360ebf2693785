"""End everything that a command started, as far as a process without containment can.

A process belongs to the command when it is in the command's session or process group, descends from it, bears its
marker in the environment, or was seen to do so before. What can get away: a process that, before any look of Flow's,
has cleared its environment, left the session and lost its parent; one that forks and exits faster than it is looked
for; one of another user, which may not be signalled; and where there is no ``/proc``, whatever left the process group.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SWEEP_S_MAX = 2.0
_ROUND_S = 0.005
_UNSURE_S_MAX = 0.25
_KERNEL_THREADS_PARENT = 2


class Process(NamedTuple):
    """One line of the process table. ``started`` tells a process from a later one with its number."""

    pid: int
    started: int
    state: str
    parent: int
    group: int
    session: int


class Tree:
    """The processes of one command. Its leader must not be reaped while the tree is in use."""

    def __init__(self, leader: int, marker: str, proc: Path) -> None:
        """Take the leader of a new session.

        Args:
            leader: its process id, which is its session's and group's too.
            marker: text that stands in the environment of its descendants only.
            proc: where the process table is.
        """
        self._leader = leader
        self._marker = marker.encode()
        self._proc = proc
        self._known: dict[int, int] = {}
        self._is_unsure = False
        found = self._read(leader)
        self._started = 0 if found is None else found.started

    def remember(self) -> None:
        """Note the living descendants, so that they are found after they lost their parent. Costs their number."""
        waiting = [self._leader]
        while waiting:
            children = self._children(waiting.pop())
            for child in set(children) - set(self._known):
                found = self._read(child)
                if found is not None:
                    self._known[child] = found.started
            waiting += children

    def send(self, number: int) -> int:
        """Send a signal to the whole tree, and say how many processes beside the leader were alive in it."""
        members = self.members()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)
        for process in members:
            self._send_to(process, number)
        return len(members)

    def end(self) -> None:
        """Kill until nothing of the tree is left; give up after ``SWEEP_S_MAX``."""
        begun_s = time.monotonic()
        while self._is_worth_a_round(self.send(signal.SIGKILL), time.monotonic() - begun_s):
            time.sleep(_ROUND_S)

    def _is_worth_a_round(self, alive: int, spent_s: float) -> bool:
        return spent_s < (SWEEP_S_MAX if alive else _UNSURE_S_MAX if self._is_unsure else 0)

    def members(self) -> list[Process]:
        """Find the living processes of the tree, the leader left out. Costs a look at every process there is."""
        self._is_unsure = False
        # A descendant is never older than its ancestor.
        young = (process for process in self._table() if process.started >= self._started)
        table = {process.pid: process for process in young if process.state not in "ZX"}
        self._known = {pid: born for pid, born in self._known.items() if pid in table and table[pid].started == born}
        grown = {process.pid for process in table.values() if self._is_marked(process)} | set(self._known)
        mine = {self._leader}
        while grown:
            mine |= grown
            grown = {process.pid for process in table.values() if process.parent in mine} - mine
        members = [table[pid] for pid in mine - {self._leader}]
        self._known |= {process.pid: process.started for process in members}
        return members

    def _is_marked(self, process: Process) -> bool:
        if self._leader in {process.session, process.group}:
            return True
        try:
            found = (self._proc / str(process.pid) / "environ").read_bytes()
        except OSError:  # gone, or another user's
            return False
        # A process has no environment for a moment while it becomes another program.
        self._is_unsure = self._is_unsure or (not found and process.parent != _KERNEL_THREADS_PARENT)
        return self._marker in found

    def _send_to(self, process: Process, number: int) -> None:
        # Its number can only have passed to another process if all numbers went round since the line before.
        found = self._read(process.pid)
        if found is not None and found.started == process.started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)

    def _table(self) -> Iterator[Process]:
        with suppress(OSError):
            for entry in self._proc.iterdir():
                found = self._read(int(entry.name)) if entry.name.isdecimal() else None
                if found is not None:
                    yield found

    def _read(self, pid: int) -> Process | None:
        try:
            line = (self._proc / str(pid) / "stat").read_text("ascii", "replace")
        except OSError:
            return None
        # The name in brackets is the program's choice and may hold anything, brackets too.
        fields = line.rpartition(")")[2].split()
        state, parent, group, session = fields[:4]
        return Process(pid, int(fields[19]), state, int(parent), int(group), int(session))

    def _children(self, pid: int) -> list[int]:
        found: list[int] = []
        with suppress(OSError):
            for task in (self._proc / str(pid) / "task").iterdir():
                found += [int(child) for child in (task / "children").read_text("ascii").split()]
        return found
