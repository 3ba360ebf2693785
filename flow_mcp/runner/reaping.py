"""End and account for all that a command started, where what loses its parent becomes a child of this process.

A child subreaper (Linux) is given every descendant whose parent died, whatever session, group or environment that has.
Nothing a command starts can leave it, so its own children are all there is to end, and their wait statuses tell what
they used. What can get away: a process that may not be signalled, as one of another user; one that the kernel cannot
end within ``REAP_S_MAX``; and what another service was asked to start, which never descended from the command.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import cache

from flow_mcp.runner.table import Process, Table
from flow_mcp.runner.tree import Tree

REAP_S_MAX = 10.0
_ROUND_S = 0.001
_IS_LINUX = sys.platform == "linux"
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 1, 36, 37


@cache
def _prctl() -> Callable[[int, int], int]:
    found = ctypes.CDLL(None).prctl
    found.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]

    def call(option: int, argument: int) -> int:
        return int(found(option, argument, 0, 0, 0))

    return call


def become_subreaper() -> bool:
    """Make this process the one that orphans among its descendants are given to; say whether it is (Linux only).

    A child does not inherit it. Such a process executes one command at a time: two at once would end each other's.
    """
    return _IS_LINUX and _prctl()(_SET_CHILD_SUBREAPER, 1) == 0


def is_subreaper() -> bool:
    """Say whether orphans among this process's descendants are given to it."""
    answer = ctypes.c_int(0)
    return _IS_LINUX and _prctl()(_GET_CHILD_SUBREAPER, ctypes.addressof(answer)) == 0 and answer.value == 1


def first_act(runner: int) -> Callable[[], None]:
    """Give what a new child does before it becomes the command: it dies with its runner, and no signal is lost on it.

    The kernel (Linux only) kills it when the thread that started it ends, by SIGKILL too. Signals that the runner
    ignores or holds back take their usual effect again: a program could not tell that from its own wish.

    Args:
        runner: the process that starts it.
    """
    prctl = _prctl() if _IS_LINUX else None
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]

    def act() -> None:
        for number in ignored:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if prctl is not None:
            prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != runner:  # it died before the line above could count
            os._exit(1)

    return act


def children_now(table: Table) -> frozenset[tuple[int, int]]:
    """Give the children of this process, the dead ones too, each as its number and its start."""
    found = (table.read(pid) for pid in table.children(os.getpid()))
    return frozenset((child.pid, child.started) for child in found if child is not None)


class Brood(Tree):
    """The tree of a command as a child subreaper sees it: its children that came after ``before``, and theirs."""

    def __init__(self, leader: int, token: str, table: Table, before: frozenset[tuple[int, int]]) -> None:
        """Take the leader of a new session, a child of this process.

        Args:
            leader: its process id.
            token: a word that stands in the marker of its descendants.
            table: where processes are looked up.
            before: the children of this process that are not the command's.
        """
        super().__init__(leader, token, table)
        self._before = before

    def look(self) -> None:
        """Note the memory of the living, and let go of the orphans that ended."""
        for process in self._all():
            self.peak_memory_bytes = max(self.peak_memory_bytes, self._table.peak_memory_bytes(process.pid))
        self._reap()

    def members(self) -> list[Process]:
        """Find the processes of the tree that were not reaped yet, the leader left out. Costs their number."""
        return [process for process in self._all() if process.pid != self._leader]

    def end(self) -> None:
        """Kill and reap until this process has no child of the command but its dead leader.

        It gives up after ``REAP_S_MAX``.
        """
        until_s = time.monotonic() + REAP_S_MAX
        while self._is_left_after_a_kill() and time.monotonic() < until_s:
            time.sleep(_ROUND_S)

    def _is_left_after_a_kill(self) -> bool:
        self.send(signal.SIGKILL)
        self._reap()
        # Until the leader is dead, its children are not given to this process.
        leader = self._table.read(self._leader)
        return bool(self._orphans()) or (leader is not None and leader.is_alive)

    def _all(self) -> list[Process]:
        found: dict[int, Process] = {}
        waiting = [self._leader, *self._orphans()]
        while waiting:
            process = self._table.read(waiting.pop())
            if process is not None and process.pid not in found:
                found[process.pid] = process
                waiting += self._table.children(process.pid)
        return list(found.values())

    def _orphans(self) -> list[int]:
        return [pid for pid, born in children_now(self._table) - self._before if pid != self._leader]

    def _reap(self) -> None:
        for orphan in self._orphans():
            pid, _, usage = os.wait4(orphan, os.WNOHANG)
            if pid:
                self.cpu_s += usage.ru_utime + usage.ru_stime
                # It was never a copy of the runner, so the runner's size is not in the figure.
                self.peak_memory_bytes = max(self.peak_memory_bytes, usage.ru_maxrss * 1024)
