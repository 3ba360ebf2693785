"""Start a command's shell as the leader of a session of its own, and learn its end from the wait status alone."""

import errno
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner.order import MARKER, Order

_IS_POSIX = os.name == "posix"
_FAILURES: Mapping[int, tuple[str, str]] = {
    errno.E2BIG: ("the command or its environment is too long for this system", "Put the command into a script."),
    errno.EAGAIN: ("this user runs too many processes", "End some of them, then try again."),
    errno.ENOMEM: ("memory ran out", "End some programs, then try again."),
    errno.ENOENT: ("its folder is gone", "Restore the folder, then try again."),
    errno.ENOTDIR: ("its folder is a file", "Restore the folder, then try again."),
    errno.EACCES: ("its folder may not be entered", "Give this user the right to it, then try again."),
}
_UNKNOWN_REMEDY = "See that this user can start programs in the folder, then try again."


class End(NamedTuple):
    """A wait status: the exit code, or the signal as a negative number; and processor seconds used."""

    code: int
    cpu_s: float


def find_bash(path: str, folder: Path) -> str:
    """Give the first bash on a search path that lies outside the folder in which the command runs.

    Raises:
        BrokenWorld: where there is none, or this system has no way to run it.
    """
    if not _IS_POSIX:
        seen = "Commands cannot be executed on this platform yet."
        raise BrokenWorld(seen, "Run the check on Linux or macOS.")
    inside = os.path.realpath(folder)
    for entry in path.split(os.pathsep):
        found = os.path.join(entry, "bash")  # noqa: PTH118 - an entry need not be a path
        is_program = os.path.isabs(entry) and os.path.isfile(found) and os.access(found, os.X_OK)  # noqa: PTH113,PTH117 - the same
        if is_program and not any(_is_within(place, inside) for place in (entry, found)):
            return found
    seen = "No bash was found on PATH outside the workspace."
    raise BrokenWorld(seen, "Install bash, or start the server with a PATH that leads to it.")


def _is_within(path: str, folder: str) -> bool:
    real = os.path.realpath(path)
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def start(order: Order, token: str, output: int) -> "Leader":
    """Start the order's command, with standard output and error going to one descriptor.

    Args:
        order: what to run.
        token: put into the environment of the command, to know its descendants by.
        output: the descriptor to write to.

    Raises:
        BrokenWorld: where it cannot be started, or its end could not be seen.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        seen = "The server was started with SIGCHLD ignored, so the exit codes of commands are lost."
        raise BrokenWorld(seen, "Start the server from a program that leaves SIGCHLD at its default.")
    bash = find_bash(order.environment.get("PATH", os.defpath), order.folder)
    marker = ":".join(part for part in (order.environment.get(MARKER), token) if part)
    try:
        process = subprocess.Popen(  # noqa: S603 - the approved bytes go to bash as one argument
            [bash, "-o", "pipefail", "-c", order.run],
            cwd=order.folder,
            env={**order.environment, MARKER: marker},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(error) from error
    return Leader(process)


def _not_started(error: OSError | ValueError) -> BrokenWorld:
    code = error.errno if isinstance(error, OSError) else None
    said, remedy = _FAILURES.get(code or 0, (str(error), _UNKNOWN_REMEDY))
    return BrokenWorld(f"The command could not be started: {said}.", remedy)


class Leader:
    """The shell that was started. Only this class waits for it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._end: End | None = None
        self.pid = process.pid

    def has_exited(self) -> bool:
        """Say whether it has ended. Where the system can say so without reaping, its number stays taken."""
        if self._end is None and hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._reaped(os.WNOHANG) is not None

    def reap(self) -> End:
        """Wait for its end, and let go of it."""
        end = self._reaped(0)
        assert end is not None, "a wait that blocks ends in a status"  # noqa: S101 - a broken program stops
        return end

    def _reaped(self, options: int) -> End | None:
        if self._end is None:
            pid, status, usage = os.wait4(self.pid, options)
            if pid:
                self._end = End(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
                # So that Popen does not wait for it too.
                self._process.returncode = self._end.code
        return self._end

    def exit_descriptor(self) -> int | None:
        """Give a descriptor that becomes readable at its end, where the system has such; the caller closes it."""
        opener: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
        if opener is not None:
            with suppress(OSError):  # forbidden, or unknown to an old kernel
                return opener(self.pid)
        return None
