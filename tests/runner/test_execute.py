"""What the runner says of real commands, and what it leaves behind: nothing."""

import errno
import hashlib
import os
import secrets
import shlex
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner import execute as execute_module
from flow_mcp.runner import process
from flow_mcp.runner.execute import Outcome, execute
from flow_mcp.runner.order import MARKER, Order

Run = Callable[..., Outcome]
MakeOrder = Callable[..., Order]

_PYTHON = shlex.quote(sys.executable)
_ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def _ignore(_pid: int) -> None:
    pass


def test_the_exit_code_comes_from_the_wait_status_not_from_the_output(run: Run) -> None:
    seen = run("echo exit code 0; exit 3")
    assert (seen.ended, seen.exit_code, seen.signal, seen.tail) == ("exited", 3, None, "exit code 0\n")
    assert seen.complete


def test_a_pipeline_fails_where_any_part_of_it_fails(run: Run) -> None:
    assert run("false | true").exit_code == 1


def test_a_command_that_a_signal_ended_has_no_exit_code(run: Run) -> None:
    seen = run("kill -9 $$")
    assert (seen.ended, seen.exit_code, seen.signal) == ("signalled", None, 9)


def test_standard_output_and_error_are_one_stream_in_order(run: Run, tmp_path: Path) -> None:
    seen = run("echo a; echo b >&2; echo c")
    assert seen.tail == "a\nb\nc\n"
    assert (tmp_path / "output-0").read_bytes() == b"a\nb\nc\n"
    assert (seen.output_bytes, seen.output_digest) == (6, "sha256:" + hashlib.sha256(b"a\nb\nc\n").hexdigest())


def test_there_is_nothing_to_read_and_no_terminal(run: Run) -> None:
    seen = run("read -r x; echo read $?; test -t 1 || echo no tty; (: < /dev/tty) 2>/dev/null || echo no terminal")
    assert seen.tail == "read 1\nno tty\nno terminal\n"


def test_what_the_server_could_read_is_not_for_the_command(run: Run) -> None:
    reader, writer = os.pipe()
    before = os.dup(0)
    try:
        os.write(writer, b"a line of the protocol\n")
        os.dup2(reader, 0)
        assert run("read -r line; echo got $line").tail == "got\n"
    finally:
        os.dup2(before, 0)
        for descriptor in (reader, writer, before):
            os.close(descriptor)


def test_the_command_leads_a_session_of_its_own_in_the_orders_folder(make_order: MakeOrder) -> None:
    order = make_order(f"{_PYTHON} -c 'import os; print(os.getsid(0), os.getcwd())'")
    pids: list[int] = []
    seen = execute(order, threading.Event(), pids.append)
    assert seen.tail == f"{pids[0]} {os.path.realpath(order.folder)}\n"


def test_the_command_sees_the_orders_environment_and_a_marker(make_order: MakeOrder) -> None:
    order = make_order("env", more={"MINE": "1"})
    names = {line.partition("=")[0] for line in execute(order, threading.Event(), _ignore).tail.splitlines()}
    by_bash = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names - by_bash == (set(order.environment) | {MARKER}) - by_bash


def test_the_marker_of_an_outer_check_is_kept_beside_the_orders_own_token(make_order: MakeOrder) -> None:
    order = make_order(f"echo ${MARKER}", more={MARKER: "outer"})
    assert execute(order, threading.Event(), _ignore).tail == f"outer:{order.token}\n"


def test_an_argument_list_reaches_its_program_as_it_is_without_a_shell(make_order: MakeOrder) -> None:
    script = "import os, sys; print(sys.argv[1:], os.getsid(0) == os.getpid())"
    seen = execute(make_order((sys.executable, "-c", script, "$HOME", "a b", "")), threading.Event(), _ignore)
    assert seen.tail == "['$HOME', 'a b', ''] True\n"


def test_an_argument_lists_program_is_looked_for_on_the_orders_path(make_order: MakeOrder) -> None:
    order = make_order(("tool", "x"))
    tool = order.folder / "tool"
    tool.write_text("#!/bin/sh\necho found $1; exit 7\n")
    tool.chmod(0o755)
    seen = execute(make_order(("tool", "x"), more={"PATH": str(order.folder)}), threading.Event(), _ignore)
    assert (seen.exit_code, seen.tail) == (7, "found x\n")


def test_an_argument_lists_tree_is_ended_at_a_time_out(make_order: MakeOrder) -> None:
    order = make_order(("bash", "-c", "sleep 600 | sleep 600"), timeout_s=0.2)
    assert execute(order, threading.Event(), _ignore).ended == "timed-out"


def test_a_descriptor_of_the_server_does_not_reach_the_command(run: Run) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)  # noqa: FBT003 - by position only
    try:
        assert run(f"(: >&{writer}) 2>/dev/null || echo closed").tail == "closed\n"
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize(("size", "is_complete"), [(1000, True), (1001, False)])
def test_output_is_kept_to_the_cap_and_drained_past_it(make_order: MakeOrder, size: int, is_complete: bool) -> None:  # noqa: FBT001 - a table's column
    order = make_order(f"head -c {size} /dev/zero | tr '\\0' x; exit 7", output_bytes_max=1000)
    seen = execute(order, threading.Event(), _ignore)
    assert (seen.exit_code, seen.complete, seen.output_bytes) == (7, is_complete, size)
    assert order.output_path.read_bytes() == b"x" * 1000
    assert stat.S_IMODE(order.output_path.stat().st_mode) == 0o600
    assert seen.output_digest == "sha256:" + hashlib.sha256(b"x" * size).hexdigest()


def test_what_was_written_after_the_start_is_not_older_than_it(run: Run, tmp_path: Path) -> None:
    seen = run("echo x > made")
    assert (tmp_path / "workspace/made").stat().st_mtime_ns >= seen.started_ns


def test_duration_and_processor_time_are_those_of_the_command(run: Run) -> None:
    seen = run(f"{_PYTHON} -c 'sum(range(3_000_000))'")
    assert 0 < seen.cpu_s <= seen.duration_s * 4
    assert seen.duration_s < 60


def test_a_time_out_ends_the_command_without_an_exit_code(run: Run) -> None:
    seen = run("echo begun; sleep 600; exit 0", timeout_s=0.3)
    assert (seen.ended, seen.exit_code, seen.signal, seen.tail) == ("timed-out", None, None, "begun\n")
    assert seen.complete
    assert seen.duration_s < 60


def test_a_command_that_exits_0_on_sigterm_still_timed_out(run: Run) -> None:
    seen = run("trap 'sleep 0.3; echo tidied; exit 0' TERM; while :; do sleep 0.01; done", timeout_s=0.5)
    assert (seen.ended, seen.exit_code) == ("timed-out", None)
    assert seen.tail.endswith("tidied\n")


def test_a_cancel_ends_the_command(make_order: MakeOrder) -> None:
    cancel = threading.Event()
    seen = execute(make_order("sleep 600"), cancel, lambda _pid: cancel.set())
    assert (seen.ended, seen.exit_code) == ("cancelled", None)


def test_a_cancel_that_comes_after_the_end_changes_nothing(make_order: MakeOrder) -> None:
    cancel = threading.Event()

    def wait_for_the_end(pid: int) -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        cancel.set()

    assert execute(make_order("exit 4"), cancel, wait_for_the_end).exit_code == 4


@pytest.mark.parametrize("missing", [("pidfd_open",), ("pidfd_open", "waitid")])
def test_older_systems_see_the_same_end(run: Run, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]) -> None:
    for name in missing:
        monkeypatch.delattr(os, name, raising=False)
    assert run("exec >&- 2>&-; sleep 0.2; exit 5").exit_code == 5
    assert run("sleep 600", timeout_s=0.2).ended == "timed-out"


def test_a_kernel_without_pidfd_sees_the_same_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int) -> NoReturn:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    assert run("exit 6").exit_code == 6


def test_a_system_without_proc_still_ends_the_process_group(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(execute_module, "_PROC", tmp_path / "nothing")
    seen = run("sleep 600 | sleep 600", timeout_s=0.2)
    assert (seen.ended, seen.complete) == ("timed-out", True)


_LOADED = """
import sys
sys.path.insert(0, sys.argv[1])
import flow_mcp.runner.execute, flow_mcp.runner.lost
print(*sorted(name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names))
"""


def test_a_process_that_only_executes_loads_nothing_but_the_runner_and_its_error() -> None:
    root = Path(process.__file__).parents[2]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", _LOADED, root], capture_output=True, text=True, check=True)
    loaded = [name for name in done.stdout.split() if not name.startswith("flow_mcp.runner")]
    assert loaded == ["__main__", "flow_mcp", "flow_mcp.domain", "flow_mcp.domain.errors"]


# What cannot be started.


def test_a_folder_that_is_gone_is_said_and_leaves_no_output(make_order: MakeOrder) -> None:
    order = make_order("true")
    order.folder.rmdir()
    with pytest.raises(BrokenWorld, match="its folder is gone"):
        execute(order, threading.Event(), _ignore)
    assert not order.output_path.exists()


def test_a_folder_that_is_a_file_is_said(make_order: MakeOrder) -> None:
    order = make_order("true")
    order.folder.rmdir()
    order.folder.touch()
    with pytest.raises(BrokenWorld, match="its folder is a file"):
        execute(order, threading.Event(), _ignore)


def test_a_command_longer_than_the_system_takes_is_said(make_order: MakeOrder) -> None:
    with pytest.raises(BrokenWorld, match="too long for this system") as caught:
        execute(make_order(": " + "x" * (4 << 20)), threading.Event(), _ignore)
    assert caught.value.remedy == "Put the command into a script."


def test_a_command_with_a_nul_byte_is_said(make_order: MakeOrder) -> None:
    with pytest.raises(BrokenWorld, match="could not be started: embedded null byte"):
        execute(make_order("echo \0"), threading.Event(), _ignore)


def test_a_path_without_bash_is_said(make_order: MakeOrder, tmp_path: Path) -> None:
    with pytest.raises(BrokenWorld, match="No bash was found on PATH outside the workspace"):
        execute(make_order("true", more={"PATH": f"relative::{tmp_path}"}), threading.Event(), _ignore)


def test_a_bash_of_the_workspace_is_never_used(make_order: MakeOrder) -> None:
    order = make_order("echo real")
    planted = order.folder / "bin" / "bash"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    outside = order.output_path.parent / "outside"
    outside.mkdir()
    (outside / "bash").symlink_to(planted)
    path = os.pathsep.join([str(planted.parent), str(outside), os.environ["PATH"]])
    seen = execute(make_order("echo real", more={"PATH": path}), threading.Event(), _ignore)
    assert seen.tail == "real\n"


def test_a_link_of_the_workspace_to_the_real_bash_is_not_used_either(tmp_path: Path) -> None:
    real = process.find_bash(os.environ["PATH"], tmp_path)
    (tmp_path / "bash").symlink_to(real)
    assert process.find_bash(f"{tmp_path}{os.pathsep}{os.environ['PATH']}", tmp_path) == real


def test_no_bash_is_taken_from_any_folder_that_the_order_names(make_order: MakeOrder, tmp_path: Path) -> None:
    workspace = tmp_path / "original"
    (workspace / "bin").mkdir(parents=True)
    planted = workspace / "bin" / "bash"
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    more = {"PATH": f"{planted.parent}{os.pathsep}{os.environ['PATH']}"}
    assert execute(make_order("echo real", more=more), threading.Event(), _ignore).tail == "planted\n"
    order = make_order("echo real", more=more, outside=(tmp_path / "other", workspace))
    assert execute(order, threading.Event(), _ignore).tail == "real\n"


@pytest.mark.parametrize("mode", [None, 0o644, 0o755], ids=["absent", "not executable", "of no known format"])
def test_a_program_that_cannot_be_executed_is_named(make_order: MakeOrder, mode: int | None) -> None:
    order = make_order(("./tool",))
    if mode is not None:
        (order.folder / "tool").write_bytes(b"\0\0\0\0")
        (order.folder / "tool").chmod(mode)
    with pytest.raises(BrokenWorld, match=r"its program, \./tool, was not found, or it cannot be executed"):
        execute(order, threading.Event(), _ignore)
    assert not order.output_path.exists()


def test_a_platform_without_a_shell_is_refused_in_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_IS_POSIX", False)
    with pytest.raises(BrokenWorld, match="cannot be executed on this platform yet"):
        run("true")


_SIGCHLD_IGNORED = """
import os, signal, sys, threading
from pathlib import Path
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner.execute import execute
from flow_mcp.runner.order import Order, new_token
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
folder = Path(sys.argv[1])
order = Order("true", folder, 9, dict(os.environ), folder / "output", 1, 1,
    network="host", token=new_token(), outside=(), ends_with_runner=False)
try:
    execute(order, threading.Event(), print)
except BrokenWorld as error:
    print(error.seen)
"""


def test_a_server_that_cannot_learn_exit_codes_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SIGCHLD_IGNORED, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("The server was started with SIGCHLD ignored")


# What is left behind.


def _alive_with(mark: str) -> list[int]:
    """Look for the processes of a trial, independently of the runner: by a variable that only they have."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                is_marked = f"TRIAL={mark}\0".encode() in (entry / "environ").read_bytes()
            except OSError:
                continue
            if is_marked:
                found.append(int(entry.name))
    return found


_STUBBORN = """
trap '' TERM
stay() { while :; do sleep 600; done; }
stay > /dev/null 2>&1 &
( ( stay > /dev/null 2>&1 & ) )
setsid bash -c 'trap "" TERM; while :; do sleep 600; done' > /dev/null 2>&1 &
( setsid bash -c 'trap "" TERM; setsid sleep 600 & while :; do sleep 600; done' > /dev/null 2>&1 & )
touch ready-$TRIAL
"""


def _tell(cancel: threading.Event, path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)
    cancel.set()


def _survivors(make_order: MakeOrder, ending: str, trial: int) -> list[int]:
    mark = f"{ending}-{trial}-{secrets.token_hex(8)}"
    last = {"normal": "exit 0", "time-out": "wait", "cancel": "wait"}[ending]
    order = make_order(_STUBBORN + last, timeout_s=0.4 if ending == "time-out" else 60, more={"TRIAL": mark})
    cancel = threading.Event()
    teller = threading.Thread(target=_tell, args=(cancel, order.folder / f"ready-{mark}"))
    if ending == "cancel":
        teller.start()
    seen = execute(order, cancel, _ignore)
    if ending == "cancel":
        teller.join()
    assert seen.ended == {"normal": "exited", "time-out": "timed-out", "cancel": "cancelled"}[ending]
    return _alive_with(mark)


def _trials(make_order: MakeOrder, ending: str, count: int) -> list[list[int]]:
    """Run some at once: executions do not disturb each other."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda trial: _survivors(make_order, ending, trial), range(count)))


@_ON_LINUX
@pytest.mark.parametrize("ending", ["normal", "time-out", "cancel"])
def test_no_stubborn_process_survives_any_ending(
    make_order: MakeOrder, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(execute_module, "GRACE_S", 0.1)
    assert _trials(make_order, ending, 20) == [[]] * 20


@pytest.mark.long
@_ON_LINUX
@pytest.mark.parametrize("ending", ["normal", "time-out", "cancel"])
def test_no_stubborn_process_survives_any_of_200_endings(
    make_order: MakeOrder, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(execute_module, "GRACE_S", 0.1)
    found = _trials(make_order, ending, 200)
    print(f"{ending}: {sum(map(bool, found))} of 200 left survivors")  # noqa: T201 - a figure of the long run
    assert found == [[]] * 200


@_ON_LINUX
def test_the_trials_look_does_find_a_survivor(make_order: MakeOrder) -> None:
    mark = secrets.token_hex(8)
    order = make_order("sleep 600", more={"TRIAL": mark})
    cancel = threading.Event()

    def look(pid: int) -> None:
        while pid not in _alive_with(mark):  # for a moment after its start a program has no environment
            time.sleep(0.001)
        cancel.set()

    execute(order, cancel, look)
    assert _alive_with(mark) == []


@_ON_LINUX
def test_a_child_that_clears_its_environment_and_leaves_the_session_is_remembered(
    make_order: MakeOrder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(execute_module, "DRAIN_S_MAX", 0.2)
    script = "env -i setsid sleep 600 > /dev/null 2>&1 & echo $! > child; sleep 0.5"
    execute(make_order(script), threading.Event(), _ignore)
    child = int((tmp_path / "workspace/child").read_text())
    assert not Path(f"/proc/{child}/exe").exists()


@_ON_LINUX
def test_known_gap_an_orphan_that_cleared_its_environment_before_any_look_gets_away(
    make_order: MakeOrder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(execute_module, "_TICK_S", 60)
    orphan_script = "echo $$ > orphan; exec sleep 600"
    script = f"( env -i setsid bash -c '{orphan_script}' > /dev/null 2>&1 & ); until test -s orphan; do :; done"
    execute(make_order(script), threading.Event(), _ignore)
    orphan = int((tmp_path / "workspace/orphan").read_text())
    os.kill(orphan, 9)  # raises if it were gone


def test_output_that_others_keep_open_is_waited_for_then_incomplete(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute_module, "DRAIN_S_MAX", 0.5)
    begun_s = time.thread_time()
    seen = run("sleep 600 & echo x")
    assert (seen.exit_code, seen.complete, seen.tail) == (0, False, "x\n")
    assert time.thread_time() - begun_s < 0.25, "waiting keeps a processor busy"


def test_what_others_write_within_the_wait_still_counts(run: Run) -> None:
    seen = run("(sleep 0.2; echo late) & echo early")
    assert (seen.exit_code, seen.complete, seen.tail) == (0, True, "early\nlate\n")


def test_a_listener_that_fails_leaves_no_process(make_order: MakeOrder) -> None:
    pids: list[int] = []

    def fail(pid: int) -> NoReturn:
        pids.append(pid)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        execute(make_order("sleep 600"), threading.Event(), fail)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_command_that_may_not_be_signalled_does_not_hang_the_runner(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pid_path = tmp_path / "workspace" / "pid"
    with monkeypatch.context() as forbidden:
        forbidden.setattr(process, "END_S_MAX", 0.1)
        forbidden.setattr(execute_module, "GRACE_S", 0.1)
        forbidden.setattr(execute_module, "DRAIN_S_MAX", 0.1)
        forbidden.setattr(os, "killpg", lambda _pid, _number: None)
        seen = run("echo $$ > pid; exec sleep 600", timeout_s=0.5)
    pid = int(pid_path.read_text())
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert (seen.ended, seen.exit_code, seen.signal, seen.complete) == ("timed-out", None, None, False)


@_ON_LINUX
def test_200_runs_leave_no_descriptor_and_no_zombie(run: Run) -> None:
    run("true")
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    children = _children()
    for _ in range(200):
        run("true")
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert _children() == children


def _children() -> set[str]:
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


_PEAK = """
import os, resource, sys, threading
from pathlib import Path
from flow_mcp.runner.execute import execute
from flow_mcp.runner.order import Order, new_token
folder = Path(sys.argv[1])
def peak(size, name):
    order = Order(f"head -c {size} /dev/zero", folder, 600, dict(os.environ), folder / name, 1 << 20, 1 << 16,
        network="host", token=new_token(), outside=(), ends_with_runner=False)
    seen = execute(order, threading.Event(), lambda pid: None)
    assert seen.output_bytes == size and seen.exit_code == 0 and not seen.complete
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, seen.duration_s
small, _ = peak(2 << 20, "small")
large, seconds = peak(int(sys.argv[2]), "large")
print(large - small, seconds)
"""


def _growth_mib(folder: Path, size: int) -> tuple[int, float]:
    done = subprocess.run([sys.executable, "-c", _PEAK, folder, str(size)], capture_output=True, text=True, check=True)
    growth, seconds = done.stdout.split()
    return int(growth), float(seconds)


@_ON_LINUX
def test_256_mib_of_output_leave_memory_flat(tmp_path: Path) -> None:
    growth_mib, _ = _growth_mib(tmp_path, 256 << 20)
    assert growth_mib <= 4


@pytest.mark.long
@_ON_LINUX
def test_2_gib_of_output_leave_memory_flat(tmp_path: Path) -> None:
    growth_mib, seconds = _growth_mib(tmp_path, 2 << 30)
    print(f"2 GiB of output: {growth_mib} MiB more memory, {seconds:.1f} s")  # noqa: T201 - a figure of the long run
    assert growth_mib <= 4
