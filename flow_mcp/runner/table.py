"""Read the table of processes: who lives, who descends from whom, what each bears, how much memory it had."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from flow_mcp.runner.order import MARKER

_MARKER = MARKER.encode() + b"="
_PEAK = b"VmHWM:"
_DEAD = "ZX"


class Process(NamedTuple):
    """One line of the process table.

    Attributes:
        pid: its number.
        started: when it started, which tells it from a later one with its number.
        is_alive: whether any of its threads lives: the first one may be dead, and the process at work.
        parent: the number of its parent.
        group: that of its process group.
        session: that of its session.
    """

    pid: int
    started: int
    is_alive: bool
    parent: int
    group: int
    session: int


class Table:
    """The processes of this system, as the files under ``/proc`` show them. Where there are none, it is empty."""

    def __init__(self, proc: Path) -> None:
        """Take the folder in which the system shows its processes."""
        self._proc = proc

    def everyone(self) -> Iterator[Process]:
        """Give every process, the dead ones that nobody waited for too."""
        with suppress(OSError):
            for entry in self._proc.iterdir():
                found = self.read(int(entry.name)) if entry.name.isdecimal() else None
                if found is not None:
                    yield found

    def read(self, pid: int) -> Process | None:
        """Give one process; None where there is none of this number."""
        try:
            line = (self._proc / str(pid) / "stat").read_text("ascii", "replace")
        except OSError:
            return None
        # The name in brackets is the program's choice and may hold anything, brackets too.
        fields = line.rpartition(")")[2].split()
        state, parent, group, session = fields[:4]
        is_alive = state not in _DEAD or int(fields[17]) > 1
        return Process(pid, int(fields[19]), is_alive, int(parent), int(group), int(session))

    def children(self, pid: int) -> list[int]:
        """Give the numbers of a process's children, the dead ones too."""
        found: list[int] = []
        with suppress(OSError):
            for task in (self._proc / str(pid) / "task").iterdir():
                found += [int(child) for child in (task / "children").read_text("ascii").split()]
        return found

    def lists_children(self, pid: int) -> bool:
        """Say whether this system keeps lists of children: an old or a small kernel need not."""
        return (self._proc / str(pid) / "task" / str(pid) / "children").exists()

    def line(self, pid: int) -> set[int]:
        """Give the numbers of a process and of all its ancestors."""
        found: set[int] = set()
        while pid and pid not in found:
            found.add(pid)
            process = self.read(pid)
            pid = 0 if process is None else process.parent
        return found

    def words(self, pid: int) -> frozenset[bytes] | None:
        """Give the words of a process's marker; None where it has no environment, as while it becomes a program."""
        try:
            variables = (self._proc / str(pid) / "environ").read_bytes()
        except OSError:  # gone, or another user's
            return frozenset()
        if not variables:
            return None
        markers = (one.removeprefix(_MARKER) for one in variables.split(b"\0") if one.startswith(_MARKER))
        return frozenset(word for marker in markers for word in marker.split(b":"))

    def peak_memory_bytes(self, pid: int) -> int:
        """Give the largest resident set that a process has had so far; 0 where that is not known, or it is dead."""
        try:
            status = (self._proc / str(pid) / "status").read_bytes()
        except OSError:
            return 0
        found = status.partition(_PEAK)[2].split(maxsplit=1)
        return int(found[0]) * 1024 if found else 0
