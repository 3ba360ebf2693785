"""A warm process that the processes of checks are forked from.

Starting a Python with the engine in it costs a third of a second; a fork of one that stands ready costs a few
milliseconds. The server cannot fork itself, since it has threads. The warm process ends when its server does; what it
forked has a session of its own and goes on.
"""

import atexit
import errno
import os
import select
import socket
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from typing import Protocol

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine.keeper import Spec
from flow_mcp.engine.warm_process import HELLO, LENGTH_BYTES, READY

START_S = 30.0
END_S = 5.0
_PROGRAM = "import sys; from flow_mcp.engine.warm_process import main; main(int(sys.argv[1]))"


class Handle(Protocol):
    """A check that was started from this process; it goes on when the handle is dropped."""

    def wait(self, seconds: float) -> bool:
        """Wait for its end, and say whether it has ended."""


class Launcher(Protocol):
    """What starts the process of a check."""

    def ready(self) -> None:
        """See that a check can be started.

        Raises:
            BrokenWorld: where it cannot.
        """

    def launch(self, spec: Spec, slot: int) -> Handle:
        """Start a check's process and hand it the slot's descriptor.

        Raises:
            BrokenWorld: where it cannot be started.
        """


class Line:
    """The line to a check's process: it is hung up when the process ends."""

    def __init__(self, descriptor: int) -> None:
        """Take the reading end of a pipe whose other end the process holds."""
        self._descriptor = descriptor
        # Not before the last use of it: while one thread forgets an ended check, another may wait for it.
        weakref.finalize(self, os.close, descriptor)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, and say whether it has ended."""
        return _has_news(self._descriptor, seconds)


def _has_news(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class Warm:
    """Starts checks from a warm process, which it starts when it is first needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._known: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._mutex = threading.Lock()

    def ready(self) -> None:
        """See that the warm process is there.

        Raises:
            BrokenWorld: where it cannot be started, or is of another version of Flow than this process.
        """
        with self._mutex:
            self._ready()

    def launch(self, spec: Spec, slot: int) -> Line:
        """Start a check's process and hand it the slot's descriptor.

        Raises:
            BrokenWorld: where it cannot be started.
        """
        data = spec.dumps()
        with self._mutex:
            wire = self._ready()
            try:
                return _ordered(wire, data, slot)
            except OSError as error:
                self._drop()  # else it may take the order yet
                raise _not_started(error) from error

    def close(self) -> None:
        """End the warm process; what it started goes on."""
        with self._mutex:
            if self._known is not None:
                process, wire = self._known
                wire.close()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(END_S)
            self._drop()

    def _ready(self) -> socket.socket:
        """Give the wire to a process that listens; between orders it says nothing, unless it is gone."""
        if self._known is not None and _has_news(self._known[1].fileno(), 0):
            self._drop()
        if self._known is None:
            self._known = _started()
        return self._known[1]

    def _drop(self) -> None:
        if self._known is not None:
            process, wire = self._known
            self._known = None
            wire.close()
            process.kill()
            process.wait()


def _ordered(wire: socket.socket, data: bytes, slot: int) -> Line:
    """Send one order, and wait until there is a process for it."""
    reader, writer = os.pipe()
    line = Line(reader)
    try:
        message = len(data).to_bytes(LENGTH_BYTES, "big") + data
        sent = socket.send_fds(wire, [message], [slot, writer])
        wire.sendall(message[sent:])
        answer = wire.recv(1)
    finally:
        os.close(writer)
    if answer != READY:
        code = errno.EAGAIN if answer else errno.ECONNRESET
        raise OSError(code, os.strerror(code))
    return line


def _started() -> tuple["subprocess.Popen[bytes]", socket.socket]:
    ours, theirs = socket.socketpair()
    process: subprocess.Popen[bytes] | None = None
    try:
        with theirs:
            # -P: no module is taken from the folder that the server was started in.
            process = subprocess.Popen(  # noqa: S603 - argument list, no shell
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        ours.settimeout(START_S)
        _greet(ours.recv(len(HELLO) + 1))
    except (OSError, BrokenWorld) as error:
        ours.close()
        if process is not None:
            process.kill()
            process.wait()
        raise error if isinstance(error, BrokenWorld) else _not_started(error) from error
    return process, ours


def _greet(hello: bytes) -> None:
    """See that a new process is of this version: what another one writes, this one may be unable to read."""
    if not hello:
        raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
    if hello != HELLO:
        seen = "Flow was replaced by another version while this server ran."
        raise BrokenWorld(seen, "Restart the server, so that all of it is of one version.")


def _not_started(error: OSError) -> BrokenWorld:
    seen = f"The process for a check could not be started: {error.strerror or type(error).__name__}."
    return BrokenWorld(seen, "End some programs, then try again; `flow-mcp doctor` looks for what is missing.")


WARM = Warm()
"""The one of this process."""
atexit.register(WARM.close)
