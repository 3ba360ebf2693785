"""One lock a workspace: the kernel's, fair, and free again the moment its holder dies.

The holder is one thread of one process. In front of the kernel's lock stands a queue of this process's
threads, so that each process waits at most once in the kernel. A forked child has neither lock nor queue.
The lock file is never deleted: deleting it would let a second holder in.
"""

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store.files import open_kept

try:
    import fcntl
except ImportError:  # Windows
    _KERNEL_LOCKS = False
else:
    _KERNEL_LOCKS = True


class Busy(BrokenWorld):
    """Another thread or process kept the lock for as long as the caller waits; trying again helps."""


class Unlockable(BrokenWorld):
    """The system or the file system offers no kernel lock, so nothing is written there."""


class WorkspaceLock:
    """The lock of one workspace, among all processes and threads of this machine (`write.atomic-locked`).

    Any number of instances of one path are one lock.

    Args:
        path: the lock file, which is made if it is absent; its folder exists.
    """

    def __init__(self, path: Path) -> None:
        self._gate = _PROCESS.gate(path.absolute())

    @contextmanager
    def hold(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock; waiters of one process get it in the order in which they asked.

        Raises:
            Busy: others kept it for `timeout_s` seconds.
            Unlockable: there is no kernel lock here.
            PlantedLink: a link, or no regular file, stands in the lock file's place.
            Unwritable: the lock file cannot be opened.
            AssertionError: this thread holds the lock already.
        """
        place, call = _Place(), _Call()
        # An interrupt can strike in the very act of leaving: then the end of `call` leaves once more.
        keeper = weakref.finalize(call, self._gate.leave, place)
        try:
            self._gate.enter(place, timeout_s)
            yield
        finally:
            self._gate.leave(place)
            # An interrupt that strikes in a finalizer is lost.
            keeper.detach()


class _Call:
    """What lives exactly as long as one call of `hold`."""


class _Signal:
    """Wakes the one who waits for it. Unlike an event of the standard library it survives an interrupt."""

    def __init__(self) -> None:
        self._shut = threading.Lock()
        self._shut.acquire()

    def give(self) -> None:
        """Let one waiter go on, now or as soon as it waits."""
        if self._shut.locked():
            self._shut.release()

    def wait(self, timeout_s: float) -> bool:
        """Return True once it was given, False after `timeout_s` seconds."""
        return self._shut.acquire(timeout=max(0.0, timeout_s))


class _Place:
    """One caller's place in the queue, with what it has to give back."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.turn = _Signal()
        self.file: _LockFile | None = None
        self.wait: _KernelWait | None = None


class _Gate:
    """What the threads of this process share of one lock file: a queue, and one wait in the kernel."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shown = f"{path.parent.name}/{path.name}"
        self.start()

    def start(self) -> None:
        """Begin with an empty queue; a forked child does so anew."""
        # A second entry by the same thread must not block: the end of a call may come at any moment.
        self._mutex = threading.RLock()
        self._queue: deque[_Place] = deque()
        self._wait: _KernelWait | None = None

    def enter(self, place: _Place, timeout_s: float) -> None:
        """Return when `place` has the queue's turn and the kernel's lock."""
        if not _KERNEL_LOCKS:
            seen = f"{self._shown} cannot be locked: Windows has no lock of the kind that Flow needs to write."
            raise Unlockable(seen, "Work under WSL, Linux or macOS; reading works here.")
        deadline_s = time.monotonic() + timeout_s
        self._queue_up(place)
        if not (place.turn.wait(timeout_s) and self._lock(place, deadline_s)):
            seen = f"{self._shown} stayed locked for {timeout_s:g} s by another Flow process or thread."
            raise Busy(seen, "Try again: the lock is free as soon as its holder is done or dead.")

    def leave(self, place: _Place) -> None:
        """Give back whatever `place` has, and let the next one in; a second time finds nothing to do."""
        try:
            if place.wait:
                place.wait.abandon()
            if place.file:
                place.file.close()
        finally:
            with self._mutex:
                if place in self._queue:
                    self._queue.remove(place)
                self._call_first()

    def _queue_up(self, place: _Place) -> None:
        """Put `place` at the end of the queue."""
        with self._mutex:
            if any(other.thread == place.thread for other in self._queue):
                message = f"this thread holds {self._shown} already"
                raise AssertionError(message)
            self._queue.append(place)
            self._call_first()

    def _call_first(self) -> None:
        """Tell the first in the queue that its turn has come."""
        if self._queue:
            self._queue[0].turn.give()

    def _lock(self, place: _Place, deadline_s: float) -> bool:
        """Take the kernel's lock for the first in the queue; False where the deadline passes first."""
        while file := self._take(place, deadline_s):
            if file.is_at(self._path):
                return True
            # Someone removed the lock file or its folder meanwhile: this lock excludes nobody.
            file.close()
            if time.monotonic() > deadline_s:
                break
        return False

    def _take(self, place: _Place, deadline_s: float) -> "_LockFile | None":
        """Return the file that `place` has locked; None where the deadline passes first."""
        if self._wait is None or not self._wait.resume():
            # The kernel's own waiting begins with such a try too: it costs the waiters nothing.
            file = place.file = _LockFile(self._path)
            if file.try_lock():
                return file
            self._wait = place.wait = _KernelWait(file)
            place.file = None
            self._wait.start()
        place.wait = self._wait
        if not place.wait.ended.wait(deadline_s - time.monotonic()):
            return None
        return place.wait.file.granted()


class _LockFile:
    """One open lock file: with it goes its lock. A fork closes it in the child."""

    def __init__(self, path: Path) -> None:
        self._shown = f"{path.parent.name}/{path.name}"
        self._error: OSError | None = None
        with _PROCESS.forking:
            self._file = FileIO(open_kept(path.parent, path.name), "r+")
            _PROCESS.files.add(self)

    def try_lock(self) -> bool:
        """Take the lock if it is free."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._unlockable(error) from error
        return True

    def wait_locked(self) -> None:
        """Take the lock when the kernel grants it, or keep its refusal for `granted`."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error

    def granted(self) -> "_LockFile":
        """Return this file, whose wait has ended well."""
        if self._error:
            raise self._unlockable(self._error) from self._error
        return self

    def is_at(self, path: Path) -> bool:
        """Say whether `path` still names this very file."""
        try:
            return os.path.samestat(path.lstat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Give the lock back and close; a second time, or after a fork, there is nothing to do."""
        with _PROCESS.forking:
            if not self._file.closed:
                # Said aloud: a program that is being started right now still has a copy of the descriptor.
                with suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)
                self._file.close()
            _PROCESS.files.discard(self)

    def close_copy(self) -> None:
        """Close a forked child's copy, which leaves the parent's lock as it is."""
        self._file.close()

    def _unlockable(self, error: OSError) -> Unlockable:
        seen = f"{self._shown} cannot be locked: the file system says {error.strerror!r}."
        return Unlockable(seen, "Keep the workspace on a local disk: many network folders have no locks.")


class _KernelWait:
    """A thread that waits in the kernel, since only waiting there is fair, and waiting here can be given up.

    A wait that nobody wants any more stays until it is granted, and gives the lock back at once; the next
    caller of the process takes it up again. So a process never has two, however often callers give up.
    """

    def __init__(self, file: _LockFile) -> None:
        self.file = file
        self.ended = _Signal()
        self._mutex = threading.RLock()
        self._goes_on = False
        self._wanted = True

    def start(self) -> None:
        """Begin to wait."""
        threading.Thread(target=self._run, name="flow-lock", daemon=True).start()

    def _run(self) -> None:
        if self._begin():
            self.file.wait_locked()
            self._end()

    def _begin(self) -> bool:
        """Go on, unless the wait was given up already and its file closed."""
        with self._mutex:
            self._goes_on = self._wanted
            return self._goes_on

    def _end(self) -> None:
        """Hand the lock over, or give it back where nobody wants it any more."""
        with self._mutex:
            self._goes_on = False
            self.ended.give()
            if not self._wanted:
                self.file.close()

    def resume(self) -> bool:
        """Want the lock again; False where the wait has ended, or was given up before it began."""
        with self._mutex:
            self._wanted = self._goes_on
            return self._wanted

    def abandon(self) -> None:
        """Stop wanting the lock, even if it was granted a moment ago."""
        with self._mutex:
            self._wanted = False
            if not self._goes_on:
                self.file.close()


class _Process:
    """What this process has of locks. A fork waits until nothing of it is half done."""

    def __init__(self) -> None:
        self._gates: dict[Path, _Gate] = {}
        self.start()

    def start(self) -> None:
        """Begin with no open file."""
        # A second entry by the same thread must not block: a signal handler may fork.
        self.forking = threading.RLock()
        self.files: set[_LockFile] = set()

    def gate(self, path: Path) -> _Gate:
        """Return the one gate of `path`."""
        with self.forking:
            return self._gates.setdefault(path, _Gate(path))

    def before_fork(self) -> None:
        """Let no file be half opened or half closed in the child."""
        self.forking.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self.forking.release()

    def after_fork_in_child(self) -> None:
        """Have nothing: the lock, its waiters and its queue are the parent's."""
        for file in self.files:
            file.close_copy()
        self.start()
        for gate in self._gates.values():
            gate.start()


_PROCESS = _Process()
if _KERNEL_LOCKS:
    os.register_at_fork(
        before=_PROCESS.before_fork,
        after_in_parent=_PROCESS.after_fork_in_parent,
        after_in_child=_PROCESS.after_fork_in_child,
    )
