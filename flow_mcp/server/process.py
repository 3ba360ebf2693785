"""The server as a process: its descriptors, its signals, and its end.

The standard library alone: all of it is in place before the slow imports start.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

WATCH_S: Final = 0.5
"""How often the parent and the client's end of standard output are looked at."""

GRACE_S: Final = 2.0
"""How long a server that is told to end may take to cancel its calls."""

CLEANUP_S: Final = 1.0
"""How long the clean-up may take after that."""

_LAST_WORDS_S: Final = 0.5

_ARMED: Final = b"\0"
"""What starts the grace; every other byte on the channel is the number of a signal."""


@dataclass(frozen=True, slots=True)
class Wire:
    """The client's two pipes, on descriptors that no child inherits and no print reaches."""

    fd_in: int
    fd_out: int


def take_wire() -> Wire:
    """Move the client's pipes aside: from now on standard input is empty, standard output is standard error.

    So a child cannot swallow a request, and a stray print cannot tear an answer. A standard descriptor that was
    closed becomes the null device: with no input to read, the server ends at once.
    """
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - the standard descriptors are 0, 1, 2
        pass
    wire = Wire(os.dup(0), os.dup(1))
    if hasattr(os, "set_blocking"):  # pragma: no branch - older Pythons on Windows have none, and need none
        # A launcher that hands its own pipes on may have made them non-blocking for itself.
        os.set_blocking(wire.fd_in, True)
        os.set_blocking(wire.fd_out, True)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return wire


class Ending:
    """The way out: asked for from any thread or signal, gone through once, never later than its time.

    A server may be told to end while a call blocks its event loop, while the client does not read, or while
    another process holds the client's end of the pipe. So a thread of its own watches for the parent's death and
    ends the process by force when the grace is over.

    Attributes:
        stop: cancels the calls so that the server returns; called from any thread, more than once.
        cleanup: called once before the process ends, in a thread of its own.
        last_words: answers what nobody else will answer; called after `cleanup`.
    """

    def __init__(self, parent: int, fd_out: int) -> None:
        self.stop: Callable[[], None] = self._finish_early
        self.cleanup: Callable[[], None] = _nothing
        self.last_words: Callable[[], None] = _nothing
        self._parent = parent
        self._fd_out = fd_out
        self._unarmed = [True]
        self._unfinished = [True]
        self._orders, self._told = socket.socketpair()
        self._told.settimeout(0)

    def watch(self) -> None:
        """Answer signals, and watch the parent; from the main thread.

        A handler in Python runs when the main thread comes round to it: not while that thread sits in a long call,
        and not when the signal strikes just before it begins to wait. So the interpreter itself writes the number
        of each signal to a socket, which the watching thread reads.
        """
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name, signal.SIGTERM), _heard_elsewhere)
        signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="flow-watch", daemon=True).start()

    def arm(self) -> None:
        """Start the grace: the process ends when it is over, whatever else happens."""
        if _once(self._unarmed):
            with contextlib.suppress(BlockingIOError):  # so many signals came that the grace has long begun
                self._told.send(_ARMED)

    def begin(self) -> None:
        """Start the grace and cancel the calls."""
        self.arm()
        self.stop()

    def finish(self, code: int) -> NoReturn:
        """Clean up within its time, and end the process. Interpreter teardown would wait for blocked threads."""
        self.arm()
        if _once(self._unfinished):
            _within(CLEANUP_S, self.cleanup)
            _within(_LAST_WORDS_S, self.last_words)
            _within(_LAST_WORDS_S, _flush)
        else:
            time.sleep(CLEANUP_S + 2 * _LAST_WORDS_S)
        os._exit(code)

    def _finish_early(self) -> None:
        self.finish(0)

    def _watch(self) -> None:
        while not (told := self._told_within(WATCH_S)):
            if os.getppid() != self._parent or _is_unread(self._fd_out):
                self.begin()
        self._grant(told)
        self.finish(0)

    def _grant(self, told: bytes) -> None:
        """Wait out the grace: the first signal cancels the calls, the second ends the waiting."""
        over_s = time.monotonic() + GRACE_S
        signals = 0
        while told:
            signals += len(told.replace(_ARMED, b""))
            if signals > 1:
                return
            if signals:
                self.begin()
            told = self._told_within(over_s - time.monotonic())

    def _told_within(self, wait_s: float) -> bytes:
        """Return what was told: signals, or that the grace begins; empty when the time is over."""
        ready, _, _ = select.select([self._orders], [], [], max(wait_s, 0))
        return self._orders.recv(64) if ready else b""


def _nothing() -> None:
    """Do nothing."""


def _heard_elsewhere(*_signal: object) -> None:
    """Do nothing: a signal needs a handler in Python to reach the socket, and the watching thread does the rest."""


def _once(token: list[bool]) -> bool:
    """Whether this caller is the first; safe in a signal handler."""
    with contextlib.suppress(IndexError):
        return token.pop()
    return False


def _within(limit_s: float, step: Callable[[], None]) -> None:
    """Run a step and leave it behind when it takes longer."""
    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    thread.join(limit_s)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _is_unread(fd_out: int) -> bool:
    """Whether the client closed its end; where the system cannot say so, the next write will."""
    return hasattr(select, "poll") and _hung_up(fd_out)


def _hung_up(fd_out: int) -> bool:
    poll = select.poll()
    poll.register(fd_out, 0)  # errors and hang-ups are always told
    return bool(poll.poll(0))
