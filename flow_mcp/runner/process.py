"""Start a command as the leader of a session of its own, and learn its end from the wait status alone."""

import errno
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner.order import MARKER, Order
from flow_mcp.runner.reaping import first_act
from flow_mcp.runner.table import Table

_IS_POSIX = os.name == "posix"
_FAILURES: Mapping[int, tuple[str, str]] = {
    errno.E2BIG: ("the command or its environment is too long for this system", "Put the command into a script."),
    errno.EAGAIN: ("this user runs too many processes", "End some of them, then try again."),
    errno.ENOMEM: ("memory ran out", "End some programs, then try again."),
    errno.ENOENT: ("its folder is gone", "Restore the folder, then try again."),
    errno.ENOTDIR: ("its folder is a file", "Restore the folder, then try again."),
    errno.EACCES: ("its folder may not be entered", "Give this user the right to it, then try again."),
}
_OF_A_PROGRAM = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC}
# The kernel's counters of a process's memory are exact to less than this.
_UNSHARP_BYTES = 4 * 1024 * 1024
END_S_MAX = 10.0
_ROUND_S = 0.001
_UNKNOWN_REMEDY = "See that this user can start programs in the folder, then try again."


class End(NamedTuple):
    """What a wait status says, of the process and of the children it waited for.

    Attributes:
        code: the exit code, or the signal as a negative number.
        cpu_s: processor seconds used.
        peak_memory_bytes: the largest resident set of one process; 0 where it cannot be told from the runner's own.
    """

    code: int
    cpu_s: float
    peak_memory_bytes: int


def find_bash(path: str, *folders: Path) -> str:
    """Give the first bash on a search path that lies in none of the folders.

    Args:
        path: names of folders, as in PATH.
        folders: where the command runs, and where else a program may be of the model's making.

    Raises:
        BrokenWorld: where there is none, or this system has no way to run it.
    """
    _refuse_other_systems()
    avoided = [os.path.realpath(folder) for folder in folders]
    for entry in path.split(os.pathsep):
        found = os.path.join(entry, "bash")  # noqa: PTH118 - an entry need not be a path
        is_program = os.path.isabs(entry) and os.path.isfile(found) and os.access(found, os.X_OK)  # noqa: PTH113,PTH117 - the same
        if is_program and not any(_is_within(place, folder) for place in (entry, found) for folder in avoided):
            return found
    seen = "No bash was found on PATH outside the workspace."
    raise BrokenWorld(seen, "Install bash, or start the server with a PATH that leads to it.")


def _refuse_other_systems() -> None:
    if not _IS_POSIX:
        seen = "Commands cannot be executed on this platform yet."
        raise BrokenWorld(seen, "Run the check on Linux or macOS.")


def _is_within(path: str, folder: str) -> bool:
    real = os.path.realpath(path)
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def start(order: Order, output: int, table: Table) -> "Leader":
    """Start the order's command, with standard output and error going to one descriptor.

    Args:
        order: what to run.
        output: the descriptor to write to.
        table: where processes are looked up.

    Raises:
        BrokenWorld: where it cannot be started, or its end could not be seen.
    """
    _refuse_other_systems()
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        seen = "The server was started with SIGCHLD ignored, so the exit codes of commands are lost."
        raise BrokenWorld(seen, "Start the server from a program that leaves SIGCHLD at its default.")
    arguments = _arguments(order)
    try:
        process = subprocess.Popen(  # noqa: S603 - the approved bytes go to bash as one argument, or to no shell
            arguments,
            cwd=order.folder,
            env={**order.environment, MARKER: _marker(order)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_first_act_of(order),  # noqa: PLW1509 - None but in a process of one thread
        )
    except (OSError, ValueError) as error:
        raise _not_started(error, order, arguments[0]) from error
    return Leader(process, table.peak_memory_bytes(os.getpid()))


def _arguments(order: Order) -> list[str]:
    if isinstance(order.run, str):
        bash = find_bash(order.environment.get("PATH", os.defpath), order.folder, *order.outside)
        return [bash, "-o", "pipefail", "-c", order.run]
    return list(order.run)


def _marker(order: Order) -> str:
    return ":".join(part for part in (order.environment.get(MARKER), order.token) if part)


def _first_act_of(order: Order) -> Callable[[], None] | None:
    if not order.ends_with_runner:
        return None
    is_main = threading.current_thread() is threading.main_thread()
    assert is_main, "the kernel would kill the command when this thread ends"  # noqa: S101 - a broken program stops
    return first_act(os.getpid())


def _not_started(error: OSError | ValueError, order: Order, program: str) -> BrokenWorld:
    code, place = (error.errno, error.filename) if isinstance(error, OSError) else (None, None)
    if code in _OF_A_PROGRAM and str(place) != str(order.folder):
        seen = f"The command could not be started: its program, {program}, was not found, or it cannot be executed."
        return BrokenWorld(seen, "Install it, or put the folder that holds it on PATH, then try again.")
    said, remedy = _FAILURES.get(code or 0, (str(error), _UNKNOWN_REMEDY))
    return BrokenWorld(f"The command could not be started: {said}.", remedy)


class Leader:
    """The process that was started. Only this class waits for it."""

    def __init__(self, process: "subprocess.Popen[bytes]", runner_peak_bytes: int) -> None:
        """Take a new process.

        Args:
            process: it.
            runner_peak_bytes: the most memory that the process which started it has had; 0 where that is not known.
        """
        self._process = process
        self._runner_peak_bytes = runner_peak_bytes
        self._end: End | None = None
        self.pid = process.pid

    def has_exited(self) -> bool:
        """Say whether it has ended. Where the system can say so without reaping, its number stays taken."""
        if self._end is None and hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._reaped() is not None

    def reap(self) -> End:
        """Wait for its end, and let go of it.

        One that may not be signalled, as another user's, may not end: it is given up after ``END_S_MAX``, and counts
        as killed.
        """
        until_s = time.monotonic() + END_S_MAX
        while (end := self._reaped()) is None:
            if time.monotonic() > until_s:
                self._let_go(End(-signal.SIGKILL, 0.0, 0))
            time.sleep(_ROUND_S)
        return end

    def _reaped(self) -> End | None:
        if self._end is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                peak_bytes = self._sure(usage.ru_maxrss * 1024)
                self._let_go(End(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, peak_bytes))
        return self._end

    def _let_go(self, end: End) -> None:
        self._end = end
        # So that Popen does not wait for it too.
        self._process.returncode = end.code

    def _sure(self, peak_bytes: int) -> int:
        # Until it became another program it was a copy of the runner, and the kernel counts that in.
        is_sure = 0 < self._runner_peak_bytes < peak_bytes - _UNSHARP_BYTES
        return peak_bytes if is_sure else 0

    def exit_descriptor(self) -> int | None:
        """Give a descriptor that becomes readable at its end, where the system has such; the caller closes it."""
        opener: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
        if opener is not None:
            with suppress(OSError):  # forbidden, or unknown to an old kernel
                return opener(self.pid)
        return None
