import errno
import fcntl
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store import lock
from flow_mcp.store.files import PlantedLink, Unwritable
from flow_mcp.store.lock import Busy, Unlockable, WorkspaceLock

LONG_S = 60.0
SHORT_S = 0.02

HOLDER = """
import pathlib, sys
from flow_mcp.store.lock import WorkspaceLock
with WorkspaceLock(pathlib.Path(sys.argv[1])).hold(60):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@contextmanager
def script(text: str, *arguments: object, measured: bool = False) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", text, *map(str, arguments)]
    # A program that is killed cannot hand in what of the code it ran.
    environment = {name: value for name, value in os.environ.items() if measured or "COVERAGE" not in name}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def go_on(process: "subprocess.Popen[str]") -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def is_free(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def after(event: threading.Event, act: Callable[[], None]) -> None:
    def wait_and_act() -> None:
        assert event.wait(LONG_S)
        act()

    threading.Thread(target=wait_and_act).start()


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    event = threading.Event()
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_EX:
            event.set()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    return event


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    semaphore = threading.Semaphore(0)
    real = lock._Gate._queue_up

    def queue_up(gate: lock._Gate, place: lock._Place) -> None:
        real(gate, place)
        semaphore.release()

    monkeypatch.setattr(lock._Gate, "_queue_up", queue_up)
    return semaphore


def test_the_lock_is_held_inside_the_block_and_free_after_it(path: Path) -> None:
    with WorkspaceLock(path).hold(SHORT_S):
        assert not is_free(path)
    assert is_free(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_error_inside_the_block_frees_the_lock(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), WorkspaceLock(path).hold(SHORT_S):
        raise ZeroDivisionError
    assert is_free(path)


COUNTER = """
import json, pathlib, sys, time
from flow_mcp.store.lock import WorkspaceLock
folder, waits = pathlib.Path(sys.argv[1]), []
lock, counter = WorkspaceLock(folder / "lock"), folder / "counter"
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    asked_s = time.monotonic()
    with lock.hold(60):
        waits.append(time.monotonic() - asked_s)
        number = int(counter.read_text())
        counter.write_text("")
        counter.write_text(str(number + 1))
print(json.dumps(waits))
"""


def test_16_processes_that_count_20_times_each_lose_nothing_and_none_of_them_starves(tmp_path: Path) -> None:
    (tmp_path / "counter").write_text("0")
    command = [sys.executable, "-c", COUNTER, str(tmp_path)]
    counters = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(16)]
    assert [line_of(process) for process in counters] == ["ready"] * 16
    for process in counters:
        go_on(process)
    waits_s = [json.loads(process.communicate()[0]) for process in counters]
    assert (tmp_path / "counter").read_text() == "320"
    print(f"worst wait of 320: {max(map(max, waits_s)):.3f} s")  # noqa: T201 - a figure for who asks with -s
    assert max(map(max, waits_s)) < LONG_S / 2


def test_threads_of_one_process_exclude_each_other(path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def enter_often(number: int) -> None:
        # Each thread has an instance of its own: one path is one lock all the same.
        own = WorkspaceLock(path)
        for _ in range(50):
            with own.hold(LONG_S):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=enter_often, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert len(most) == 400
    assert set(most) == {1}


def test_threads_get_the_lock_in_the_order_in_which_they_asked(path: Path, queued: threading.Semaphore) -> None:
    shared = WorkspaceLock(path)
    order: list[int] = []

    def enter(number: int) -> None:
        with shared.hold(LONG_S):
            order.append(number)

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(6)]
    with shared.hold(LONG_S):
        queued.acquire()
        for thread in threads:
            thread.start()
            assert queued.acquire(timeout=LONG_S)
    for thread in threads:
        thread.join(LONG_S)
    assert order == [0, 1, 2, 3, 4, 5]


def test_a_thread_that_gives_up_in_the_queue_leaves_its_place_to_the_next(
    path: Path, queued: threading.Semaphore
) -> None:
    shared = WorkspaceLock(path)
    outcomes: list[str] = []

    def enter(timeout_s: float) -> None:
        try:
            with shared.hold(timeout_s):
                outcomes.append("held")
        except Busy:
            outcomes.append("busy")

    impatient = threading.Thread(target=enter, args=(SHORT_S,))
    patient = threading.Thread(target=enter, args=(LONG_S,))
    with shared.hold(LONG_S):
        queued.acquire()
        impatient.start()
        assert queued.acquire(timeout=LONG_S)
        patient.start()
        impatient.join(LONG_S)
    patient.join(LONG_S)
    assert outcomes == ["busy", "held"]


def test_a_thread_that_asks_for_what_it_holds_is_a_broken_program(path: Path) -> None:
    with WorkspaceLock(path).hold(LONG_S):
        with pytest.raises(AssertionError, match="/lock already"), WorkspaceLock(path).hold(LONG_S):
            pass
        assert not is_free(path)
    assert is_free(path)


def test_a_lock_that_stays_held_is_busy_and_says_how_long_and_to_try_again(path: Path) -> None:
    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        with pytest.raises(Busy) as caught, WorkspaceLock(path).hold(SHORT_S):
            pass
    assert f"{path.parent.name}/lock stayed locked for 0.02 s" in caught.value.seen
    assert caught.value.remedy.startswith("Try again")
    assert isinstance(caught.value, BrokenWorld)


@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
def test_a_caller_without_time_gets_a_free_lock_and_is_refused_a_held_one(path: Path, timeout_s: float) -> None:
    with WorkspaceLock(path).hold(timeout_s):
        assert not is_free(path)
    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        with pytest.raises(Busy), WorkspaceLock(path).hold(timeout_s):
            pass


def test_a_waiter_gets_the_lock_when_its_holder_is_done(path: Path, waiting: threading.Event) -> None:
    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        after(waiting, lambda: go_on(holder))
        with WorkspaceLock(path).hold(LONG_S):
            assert waiting.is_set()
            assert not is_free(path)
    assert is_free(path)


def test_a_lock_holder_killed_by_sigkill_lets_the_next_one_in(path: Path, waiting: threading.Event) -> None:
    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        after(waiting, holder.kill)
        with WorkspaceLock(path).hold(LONG_S):
            assert holder.wait(LONG_S) == -signal.SIGKILL


def lock_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "flow-lock"]


def test_many_waits_that_are_given_up_leave_one_thread_and_one_descriptor_and_none_in_the_end(
    path: Path, waiting: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptors = Path("/dev/fd")
    started: list[lock._KernelWait] = []
    real = lock._KernelWait.start

    def start(wait: lock._KernelWait) -> None:
        started.append(wait)
        real(wait)

    def give_up() -> None:
        # A new instance each time: what is left over belongs to the path.
        with pytest.raises(Busy), WorkspaceLock(path).hold(SHORT_S / 10):
            pass

    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        before = len(list(descriptors.iterdir()))
        while not waiting.is_set():
            give_up()
        monkeypatch.setattr(lock._KernelWait, "start", start)
        for _ in range(50):
            give_up()
        assert not started
        assert len(list(descriptors.iterdir())) == before + 1
        go_on(holder)
        with WorkspaceLock(path).hold(LONG_S):
            pass
        for thread in lock_threads():
            thread.join(LONG_S)
        assert len(list(descriptors.iterdir())) == before
    assert is_free(path)


def test_a_wait_that_was_given_up_does_not_keep_a_lock_that_it_gets_late(path: Path) -> None:
    own = WorkspaceLock(path)
    with script(HOLDER, path) as first:
        assert line_of(first) == "held"
        with pytest.raises(Busy), own.hold(SHORT_S):
            pass
        go_on(first)
    with script(HOLDER, path) as second:
        assert line_of(second) == "held"
        go_on(second)
        with own.hold(LONG_S):
            pass


def test_a_grant_that_comes_as_the_caller_gives_up_is_given_back(path: Path) -> None:
    wait = lock._KernelWait(lock._LockFile(path))
    wait.start()
    assert wait.ended.wait(LONG_S)
    assert not is_free(path)
    wait.abandon()
    assert is_free(path)
    assert not wait.resume()


FORK = """
import os, pathlib, signal, sys
from flow_mcp.store.lock import Busy, WorkspaceLock
lock = WorkspaceLock(pathlib.Path(sys.argv[1]))
with lock.hold(60):
    if os.fork():
        signal.pause()
try:
    with lock.hold(0.05):
        print("child got in", flush=True)
except Busy:
    print("child kept out", flush=True)
sys.stdin.readline()
with lock.hold(60):
    print("child holds at last", flush=True)
"""


def test_a_forked_child_neither_holds_nor_frees_nor_outlives_its_parents_lock(path: Path) -> None:
    with script(FORK, path) as parent:
        assert line_of(parent) == "child kept out"
        with pytest.raises(Busy), WorkspaceLock(path).hold(SHORT_S):
            pass
        parent.kill()
        with WorkspaceLock(path).hold(LONG_S):
            assert not is_free(path)
        go_on(parent)
        assert line_of(parent) == "child holds at last"


FORK_AMONG_THREADS = """
import os, pathlib, sys, threading
from flow_mcp.store.lock import Busy, WorkspaceLock
lock, held, done = WorkspaceLock(pathlib.Path(sys.argv[1])), threading.Event(), threading.Event()
def hold():
    with lock.hold(60):
        held.set()
        done.wait(60)
threads = [threading.Thread(target=hold) for _ in range(3)]
for thread in threads:
    thread.start()
held.wait(60)
child = os.fork()
if not child:
    try:
        with lock.hold(0.05):
            print("child got in", flush=True)
    except Busy:
        print("child kept out", flush=True)
    with lock.hold(60):
        print("child holds at last", flush=True)
    sys.exit(7)
sys.stdin.readline()
done.set()
for thread in threads:
    thread.join(60)
print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
with lock.hold(60):
    print("parent goes on", flush=True)
"""


def test_a_child_forked_while_other_threads_hold_and_wait_begins_with_nothing(path: Path) -> None:
    with script(FORK_AMONG_THREADS, path, measured=True) as parent:
        assert line_of(parent) == "child kept out"
        go_on(parent)
        assert line_of(parent) == "child holds at last"
        assert line_of(parent) == "child ended with 7"
        assert line_of(parent) == "parent goes on"
        assert parent.wait(LONG_S) == 0


START = """
import pathlib, signal, subprocess, sys
from flow_mcp.store.lock import WorkspaceLock
with WorkspaceLock(pathlib.Path(sys.argv[1])).hold(60):
    code = "import sys; print('started', flush=True); sys.stdin.readline()"
    subprocess.Popen([sys.executable, "-c", code], close_fds=False)
    signal.pause()
"""


def test_a_program_that_its_holder_started_does_not_keep_the_lock(path: Path) -> None:
    with script(START, path) as parent:
        assert line_of(parent) == "started"
        assert not is_free(path)
        parent.kill()
        with WorkspaceLock(path).hold(LONG_S):
            pass
        go_on(parent)


def test_a_program_that_is_just_being_started_does_not_keep_a_lock_that_was_given_back(path: Path) -> None:
    with WorkspaceLock(path).hold(LONG_S):
        # Between fork and exec, such a program has a copy of every descriptor.
        copies = [os.dup(file._file.fileno()) for file in lock._PROCESS.files]
    assert len(copies) == 1
    assert is_free(path)
    os.close(copies[0])


GIVING_UP = """
import pathlib, sys
from flow_mcp.store.lock import Busy, WorkspaceLock
try:
    with WorkspaceLock(pathlib.Path(sys.argv[1])).hold(0.02):
        print("got in", flush=True)
except Busy:
    print("gave up", flush=True)
"""


def test_a_program_ends_at_once_though_its_wait_was_given_up(path: Path) -> None:
    with WorkspaceLock(path).hold(LONG_S), script(GIVING_UP, path) as process:
        assert line_of(process) == "gave up"
        assert process.wait(LONG_S / 2) == 0


INTERRUPTED = """
import fcntl, os, pathlib, signal, sys, threading
from flow_mcp.store.lock import WorkspaceLock
signal.signal(signal.SIGINT, signal.default_int_handler)
real = fcntl.flock
def flock(descriptor, operation):
    if operation == fcntl.LOCK_EX:
        os.kill(os.getpid(), signal.SIGINT)
    real(descriptor, operation)
fcntl.flock = flock
lock = WorkspaceLock(pathlib.Path(sys.argv[1]))
try:
    with lock.hold(60):
        print("got in", flush=True)
except KeyboardInterrupt:
    print("interrupted in the wait", flush=True)
sys.stdin.readline()
fcntl.flock = real
try:
    with lock.hold(60):
        signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted in the block", flush=True)
with lock.hold(60):
    print("held", flush=True)
sys.stdin.readline()
"""


def test_an_interrupt_while_waiting_or_holding_leaves_a_free_lock(path: Path) -> None:
    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        with script(INTERRUPTED, path) as interrupted:
            assert line_of(interrupted) == "interrupted in the wait"
            assert not is_free(path)
            go_on(holder)
            with WorkspaceLock(path).hold(LONG_S):
                pass
            go_on(interrupted)
            assert line_of(interrupted) == "interrupted in the block"
            assert line_of(interrupted) == "held"
            with WorkspaceLock(path).hold(LONG_S):
                pass


@pytest.mark.parametrize("interrupts", [[], [KeyboardInterrupt()]])
def test_the_lock_is_left_once_or_once_more_where_an_interrupt_struck_in_the_very_act(
    path: Path, monkeypatch: pytest.MonkeyPatch, interrupts: list[KeyboardInterrupt]
) -> None:
    real = lock._Gate.leave
    left: list[lock._Place] = []

    def leave(gate: lock._Gate, place: lock._Place) -> None:
        if interrupts:
            raise interrupts.pop()
        left.append(place)
        real(gate, place)

    monkeypatch.setattr(lock._Gate, "leave", leave)
    with suppress(KeyboardInterrupt), WorkspaceLock(path).hold(LONG_S):
        assert not is_free(path)
    assert is_free(path)
    assert len(left) == 1


def test_a_wait_that_an_interrupt_kept_from_beginning_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted_start(_: lock._KernelWait) -> None:
        raise KeyboardInterrupt

    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"
        with monkeypatch.context() as interrupted:
            interrupted.setattr(lock._KernelWait, "start", interrupted_start)
            with pytest.raises(KeyboardInterrupt), WorkspaceLock(path).hold(LONG_S):
                pass
        go_on(holder)
        with WorkspaceLock(path).hold(LONG_S):
            pass


def test_a_wait_that_was_given_up_before_it_began_never_begins(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[lock._LockFile] = []
    monkeypatch.setattr(lock._LockFile, "wait_locked", begun.append)
    wait = lock._KernelWait(lock._LockFile(path))
    wait.abandon()
    wait.start()
    for thread in lock_threads():
        thread.join(LONG_S)
    assert not begun
    assert not wait.resume()


@pytest.mark.parametrize("made_anew", [False, True])
def test_a_lock_file_that_was_removed_meanwhile_excludes_nobody_so_its_waiter_takes_the_new_one(
    path: Path, waiting: threading.Event, *, made_anew: bool
) -> None:
    with script(HOLDER, path) as holder:
        assert line_of(holder) == "held"

        def remove_and_go_on() -> None:
            path.unlink()
            if made_anew:
                path.touch()
            go_on(holder)

        after(waiting, remove_and_go_on)
        with WorkspaceLock(path).hold(LONG_S):
            assert not is_free(path)


def test_a_lock_file_that_is_replaced_again_and_again_is_busy_in_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock._LockFile, "is_at", lambda *_: False)
    with pytest.raises(Busy), WorkspaceLock(path).hold(SHORT_S):
        pass
    assert is_free(path)


def make_folder(place: Path) -> None:
    place.mkdir()


def make_link(place: Path) -> None:
    place.symlink_to(place.parent / "elsewhere")


@pytest.mark.parametrize("plant", [make_link, os.mkfifo, make_folder])
def test_a_planted_thing_in_the_lock_files_place_is_refused(path: Path, plant: Callable[[Path], None]) -> None:
    plant(path)
    with pytest.raises(PlantedLink), WorkspaceLock(path).hold(SHORT_S):
        pass
    assert not (path.parent / "elsewhere").exists()


def test_a_lock_in_a_planted_or_absent_folder_is_refused_and_the_next_try_can_do(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / ".flow").symlink_to(tmp_path / "real")
    own = WorkspaceLock(tmp_path / ".flow" / "lock")
    with pytest.raises(PlantedLink), own.hold(SHORT_S):
        pass
    (tmp_path / ".flow").unlink()
    with pytest.raises(Unwritable, match="its folder is gone"), own.hold(SHORT_S):
        pass
    (tmp_path / ".flow").mkdir()
    with own.hold(SHORT_S):
        assert not (tmp_path / "real" / "lock").exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS])
@pytest.mark.parametrize("refused", [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX])
def test_a_file_system_without_locks_is_refused_in_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int, refused: int
) -> None:
    def flock(_: int, operation: int) -> None:
        if operation == refused:
            raise OSError(code, os.strerror(code))
        if operation == fcntl.LOCK_EX | fcntl.LOCK_NB:
            raise BlockingIOError
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as network:
        network.setattr(fcntl, "flock", flock)
        with pytest.raises(Unlockable, match=os.strerror(code)) as caught, WorkspaceLock(path).hold(LONG_S):
            pass
    assert "local disk" in caught.value.remedy
    with WorkspaceLock(path).hold(LONG_S):
        pass


def windows_module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    assert lock.__file__
    spec = importlib.util.spec_from_file_location("lock_on_windows", lock.__file__)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec.loader.exec_module(module)
    return module


def test_where_the_system_has_no_kernel_locks_the_module_imports_and_refuses(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = windows_module(monkeypatch)
    with pytest.raises(module.Unlockable, match="Windows"), module.WorkspaceLock(path).hold(LONG_S):
        pass
    assert not path.exists()
