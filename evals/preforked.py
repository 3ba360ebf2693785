"""One process that has imported the program, and forks a server of itself for each that is asked for.

Half a second of every cold start is imports, and a round of the evals starts two hundred programs. What is forked is
the same program on the same kind of pipes; ``--cold`` starts each by its own command instead, as a host does.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

ATTACH: Final = Path(__file__).with_name("attach.py")
_BYTES_AT_ONCE: Final = 1 << 16
_STANDARD: Final = (0, 1, 2)
# What `flow-mcp serve` and `flow-mcp verify` import when they are called.
_IMPORTED: Final = (
    "flow_mcp.cli.app",
    "flow_mcp.cli.opening",
    "flow_mcp.cli.serve",
    "flow_mcp.cli.verify",
    "flow_mcp.guarantees",
    "flow_mcp.server.app",
    "flow_mcp.server.flow_desk",
    "flow_mcp.server.late_desk",
    "flow_mcp.server.table",
    "flow_mcp.server.texts",
    "flow_mcp.server.transport",
)


@contextmanager
def preforked() -> Iterator[tuple[str, ...]]:
    """Give the words that start a program as a fork: after them come a file for its process id, and its command."""
    with tempfile.TemporaryDirectory(prefix="flow-eval-") as folder:
        place = str(Path(folder) / "socket")
        command = [sys.executable, "-m", "evals.preforked", place]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:  # noqa: S603 - our own
            assert server.stdout is not None  # noqa: S101 - it is a pipe
            server.stdout.readline()  # from here on it listens
            yield (sys.executable, "-I", "-S", str(ATTACH), place)
            server.communicate()


def main(place: str) -> None:
    """Listen at a socket file until standard input is closed."""
    for name in _IMPORTED:
        import_module(name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(64)
        print(flush=True)  # noqa: T201 - says that it listens
        _Forks(listener).serve()


class _Forks:
    """The programs under way, each with the socket of whoever waits for it."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._waiting: dict[int, socket.socket] = {}
        self._ended, told = socket.socketpair()
        told.setblocking(False)  # noqa: FBT003 - the call has no other form
        signal.signal(signal.SIGCHLD, lambda *_: None)  # so that the number is written
        signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        self._told = told

    def serve(self) -> None:
        while True:
            ready, _, _ = select.select([self._listener, self._ended, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            if self._ended in ready:
                self._ended.recv(_BYTES_AT_ONCE)
                self._tell()
            if self._listener in ready:
                self._begin(self._listener.accept()[0])

    def _begin(self, asking: socket.socket) -> None:
        said, descriptors, _, _ = socket.recv_fds(asking, _BYTES_AT_ONCE, len(_STANDARD))
        while piece := asking.recv(_BYTES_AT_ONCE):
            said += piece
        pid = os.fork()
        if pid == 0:
            for each in (self._listener, self._ended, self._told, asking, *self._waiting.values()):
                each.close()
            _become(json.loads(said), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self._waiting[pid] = asking
        asking.sendall(f"{pid}\n".encode())

    def _tell(self) -> None:
        while self._waiting:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._waiting.pop(pid) as asking, suppress(OSError):  # whoever asked may be gone
                asking.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _become(asked: dict[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Be the program that was asked for."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor, number in zip(descriptors, _STANDARD, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        words = asked["words"]
        sys.argv[:] = words[1:] if words[0] == sys.executable else words
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
