"""What a child subreaper leaves behind of a command, whatever that did to get away: nothing."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from flow_mcp.runner import execute as execute_module
from flow_mcp.runner import reaping
from flow_mcp.runner.execute import Outcome, execute
from flow_mcp.runner.order import Order
from flow_mcp.runner.reaping import Brood
from flow_mcp.runner.table import Table
from tests.runner.trials import alive_in, end_all_in, wait_for

Run = Callable[..., Outcome]
MakeOrder = Callable[..., Order]
StartKeeper = Callable[..., "subprocess.Popen[str]"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has child subreapers")

_PYTHON = shlex.quote(sys.executable)
_ENDINGS = {"normal": "exited", "time-out": "timed-out", "cancel": "cancelled"}

# Twice forked, in a session of its own, deaf to SIGTERM, nothing in its environment; with a child that is the same.
_HIDING = """
( env -i setsid bash -c 'trap "" TERM
    ( env -i setsid bash -c "trap \\"\\" TERM; touch ready; while :; do sleep 600; done" & )
    while :; do sleep 600; done' > /dev/null 2>&1 & )
until test -e ready; do sleep 0.01; done
touch settled
"""


def _survivors(start_keeper: StartKeeper, folder: Path, ending: str) -> set[int]:
    folder.mkdir()
    last = "exit 0" if ending == "normal" else "sleep 600 & wait"
    keeper = start_keeper(_HIDING + last, folder, timeout_s=0.7 if ending == "time-out" else 60)
    if ending == "cancel":
        wait_for((folder / "settled").exists)
        keeper.send_signal(signal.SIGUSR1)
    said = keeper.communicate()[0].splitlines()
    outcome = json.loads(said[1])
    assert outcome["ended"] == _ENDINGS[ending]
    assert outcome["children"] == []
    return alive_in(folder)


def _trials(start_keeper: StartKeeper, tmp_path: Path, ending: str, count: int) -> list[set[int]]:
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda trial: _survivors(start_keeper, tmp_path / str(trial), ending), range(count)))


@pytest.mark.parametrize("ending", _ENDINGS)
def test_no_daemon_that_hides_survives_any_ending(start_keeper: StartKeeper, tmp_path: Path, ending: str) -> None:
    assert _trials(start_keeper, tmp_path, ending, 5) == [set()] * 5


@pytest.mark.long
@pytest.mark.parametrize("ending", _ENDINGS)
def test_no_daemon_that_hides_survives_any_of_200_endings(
    start_keeper: StartKeeper, tmp_path: Path, ending: str
) -> None:
    found = _trials(start_keeper, tmp_path, ending, 200)
    print(f"{ending} in a subreaper: {sum(map(bool, found))} of 200 left survivors")  # noqa: T201 - a figure of the long run
    assert found == [set()] * 200


def test_without_a_subreaper_the_same_daemon_does_survive(start_keeper: StartKeeper, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    keeper = start_keeper(_HIDING, folder, reaps=False, tick_s=60)
    keeper.communicate()
    found = alive_in(folder)
    end_all_in(folder)
    assert found


def test_orphans_that_end_while_the_command_runs_do_not_pile_up(start_keeper: StartKeeper, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    orphans = "for i in {1..20}; do ( true & ); done"
    # Bash itself reads, so that nothing but the command's own process is a child of the keeper.
    script = f'{orphans}; sleep 0.5; echo $(< /proc/$PPID/task/$PPID/children) "$$"'
    outcome = json.loads(start_keeper(script, folder).communicate()[0].splitlines()[1])
    children, leader = outcome["tail"].split()
    assert children == leader


def test_output_that_a_hidden_daemon_keeps_open_does_not_hang_the_runner(
    start_keeper: StartKeeper, tmp_path: Path
) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    keeper = start_keeper("( env -i setsid sleep 600 & ); echo said", folder)
    outcome = json.loads(keeper.communicate()[0].splitlines()[1])
    assert (outcome["exit_code"], outcome["complete"], outcome["tail"]) == (0, False, "said\n")
    assert alive_in(folder) == set()


_WITH_CHILDREN = """
import os, subprocess, sys, threading
from pathlib import Path
from flow_mcp.runner.execute import execute
from flow_mcp.runner.order import Order, new_token
from flow_mcp.runner.reaping import become_subreaper
become_subreaper()
alive = subprocess.Popen(["sleep", "600"])
dead = subprocess.Popen(["true"])
os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
folder = Path(sys.argv[1])
order = Order("( setsid sleep 600 & )", folder, 9, dict(os.environ), folder / "output", 1, 1,
    network="host", token=new_token(), outside=(), ends_with_runner=False)
execute(order, threading.Event(), lambda pid: None)
print(alive.poll(), dead.wait())
alive.kill()
alive.wait()
"""


def test_children_from_before_the_start_are_not_the_commands(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _WITH_CHILDREN, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "None 0\n"


_EVERY_ENDING = """
import os, sys, threading
from dataclasses import replace
from pathlib import Path
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner import execute as module
from flow_mcp.runner.order import Order, new_token
from flow_mcp.runner.reaping import become_subreaper

module.GRACE_S = module.DRAIN_S_MAX = 0.05
if sys.argv[2] == "subreaper":
    become_subreaper()
folder = Path(sys.argv[1])
usual = Order("true", folder, 60, dict(os.environ), folder / "output", 1, 1,
    network="host", token=new_token(), outside=(), ends_with_runner=True)
left = "( env -i setsid sleep 600 & ) ; sleep 600 & "

def fail(pid):
    raise RuntimeError

def end(ending):
    cancel = threading.Event()
    if ending == "cancelled":
        return module.execute(replace(usual, run=left + "wait"), cancel, lambda pid: cancel.set())
    if ending == "timed-out":
        return module.execute(replace(usual, run=left + "wait", timeout_s=0.1), cancel, lambda pid: None)
    if ending == "not-started":
        return module.execute(replace(usual, folder=folder / "gone"), cancel, lambda pid: None)
    if ending == "no-output":
        return module.execute(replace(usual, output_path=folder / "gone" / "output"), cancel, lambda pid: None)
    return module.execute(replace(usual, run=left), cancel, fail if ending == "failed" else lambda pid: None)

def held():
    tasks = Path("/proc/self/task").iterdir()
    return sorted(os.listdir("/proc/self/fd")), [(task / "children").read_text() for task in tasks]

before = held()
for ending in sys.argv[3:]:
    for _ in range(3):
        try:
            end(ending)
        except (RuntimeError, BrokenWorld) as error:
            assert ending in ("not-started", "failed", "no-output"), error
        (folder / "output").unlink(missing_ok=True)
        assert held() == before, (ending, held(), before)
print("nothing left")
"""


@pytest.mark.parametrize("kind", ["subreaper", "other"])
def test_no_ending_leaves_a_descriptor_or_a_zombie(tmp_path: Path, kind: str) -> None:
    endings = ["normal", "timed-out", "cancelled", "not-started", "failed", "no-output"]
    arguments = [sys.executable, "-c", _EVERY_ENDING, str(tmp_path), kind, *endings]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("nothing left\n", "")
    if kind == "subreaper":
        assert alive_in(tmp_path) == set()
    end_all_in(tmp_path)


def test_a_command_in_a_thread_is_not_bound_to_it(make_order: MakeOrder) -> None:
    bound = replace(make_order("true"), ends_with_runner=True)
    raised: list[BaseException] = []

    def go() -> None:
        try:
            execute(bound, threading.Event(), lambda _pid: None)
        except AssertionError as error:
            raised.append(error)

    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    assert str(raised[0]) == "the kernel would kill the command when this thread ends"


def test_a_child_whose_runner_is_gone_already_ends_itself() -> None:
    script = "from flow_mcp.runner.reaping import first_act; first_act(1 << 30)(); print('alive')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize("is_linux", [True, False])
def test_a_child_whose_runner_lives_goes_on(is_linux: bool) -> None:  # noqa: FBT001 - a table's column
    script = f"import os; from flow_mcp.runner import reaping; reaping._IS_LINUX = {is_linux}; "
    script += "reaping.first_act(os.getppid())(); print('alive')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n")


_DEAF = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
"""


def test_signals_that_the_keeper_ignores_or_holds_back_reach_its_command(
    start_keeper: StartKeeper, tmp_path: Path
) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    script = "import signal; print(signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    keeper = start_keeper(f"{_PYTHON} -c {shlex.quote(script)}", folder, first=_DEAF)
    outcome = json.loads(keeper.communicate()[0].splitlines()[1])
    assert outcome["tail"] == f"{signal.default_int_handler} set()\n"


_HEADLESS = """
import ctypes, os, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
open("new", "w").write(str(os.getpid()))
os.rename("new", "pid")
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_daemon_whose_first_thread_is_dead_is_ended_too(start_keeper: StartKeeper, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    headless = f"( env -i setsid {_PYTHON} -c {shlex.quote(_HEADLESS)} > /dev/null 2>&1 & )"
    until = "until test -e pid && grep -q zombie /proc/$(< pid)/status; do sleep 0.01; done"
    outcome = json.loads(start_keeper(f"{headless}; {until}", folder).communicate()[0].splitlines()[1])
    assert (outcome["exit_code"], outcome["children"]) == (0, [])
    assert not Path("/proc", (folder / "pid").read_text()).exists()


# Each forks the next and is gone: whoever looks for it finds it dead.
_RELAY = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("ready", "w").close()
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
"""


def test_what_forks_and_exits_for_ever_is_ended_too(start_keeper: StartKeeper, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    relay = f"( env -i {_PYTHON} -S -c {shlex.quote(_RELAY)} > /dev/null 2>&1 & )"
    keeper = start_keeper(f"{relay}; until test -e ready; do sleep 0.01; done", folder)
    outcome = json.loads(keeper.communicate()[0].splitlines()[1])
    assert (outcome["exit_code"], outcome["children"]) == (0, [])
    assert alive_in(folder) == set()


def test_other_systems_have_no_subreaper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaping, "_IS_LINUX", False)
    assert not reaping.become_subreaper()
    assert not reaping.is_subreaper()


def test_a_subreaper_whose_system_lists_no_children_goes_by_the_marker(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(execute_module, "is_subreaper", lambda: True)
    monkeypatch.setattr(Table, "lists_children", lambda _table, _pid: False)
    monkeypatch.setattr(execute_module, "Brood", refuse)
    assert run("exit 3").exit_code == 3


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make up a table of processes, in which this one is 50, its command's is 100, and nothing can be ended."""
    monkeypatch.setattr(os, "getpid", lambda: 50)
    monkeypatch.setattr(os, "killpg", lambda _pid, _number: None)
    monkeypatch.setattr(os, "kill", lambda _pid, _number: None)
    monkeypatch.setattr(os, "wait4", lambda _pid, _options: (0, 0, None))
    monkeypatch.setattr(reaping, "REAP_S_MAX", 0.05)
    _put(tmp_path, 50, "100 ", "S")
    _put(tmp_path, 100, "", "Z")
    return tmp_path


def _put(proc: Path, pid: int, children: str, state: str) -> None:
    tasks = proc / str(pid) / "task" / str(pid)
    tasks.mkdir(parents=True, exist_ok=True)
    (tasks / "children").write_text(children)
    (proc / str(pid) / "stat").write_text(f"{pid} (x) {state} 50 1 1 {'0 ' * 13}1 0 5 0\n")


def _waits(proc: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> int:
    """Count the times that the end of the made-up tree is waited for."""
    waits = 0

    def wait(_seconds: float) -> None:
        nonlocal waits
        waits += 1
        meanwhile()

    monkeypatch.setattr(time, "sleep", wait)
    Brood(100, "abc", Table(proc), frozenset()).end()
    return waits


def test_nothing_is_waited_for_where_only_the_dead_leader_is_left(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _waits(proc, monkeypatch, lambda: None) == 0


def test_an_orphan_that_cannot_be_ended_is_given_up_after_a_while(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(proc, 50, "100 15 ", "S")
    _put(proc, 15, "", "D")
    assert _waits(proc, monkeypatch, lambda: None) > 1


def test_a_leader_that_is_not_dead_yet_is_waited_for_since_it_may_have_children(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(proc, 100, "", "S")
    assert _waits(proc, monkeypatch, lambda: _put(proc, 100, "", "Z")) == 1


def test_who_is_met_twice_while_it_passes_to_this_process_counts_once(proc: Path) -> None:
    _put(proc, 50, "100 15 ", "S")
    _put(proc, 100, "15 404 ", "Z")
    _put(proc, 15, "", "S")
    assert [process.pid for process in Brood(100, "abc", Table(proc), frozenset()).members()] == [15]
