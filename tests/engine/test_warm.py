"""The warm process: there when it is needed, gone with its server, and of no workspace."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine import warm as warm_module
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.slot import CheckSlot
from flow_mcp.engine.warm import Line, Warm
from flow_mcp.engine.warm_process import HELLO
from tests.engine.checking import ROOT, holding, kill_keeper, line, running, ticket
from tests.engine.place import CHECK, Hold, Place, is_alive, make, until
from tests.engine.test_keeper import SPEC

BROKEN = "import sys, socket; wire = socket.socket(fileno=int(sys.argv[1])); "


@pytest.fixture
def warm() -> Iterator[Warm]:
    one = Warm()
    yield one
    one.close()


def number(warm: Warm) -> int:
    assert warm._known is not None
    return warm._known[0].pid


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[int]:
    (tmp_path / ".flow").mkdir(mode=0o700)
    held = CheckSlot(tmp_path / ".flow").take()
    assert held is not None
    yield held.descriptor
    held.give_back()


def test_one_warm_process_serves_until_it_is_closed(warm: Warm, place: Place) -> None:
    place.checks = Checks(place.engine, warm)
    running(place)
    warm.close()
    warm.ready()
    first = number(warm)
    for _ in range(2):
        place.observe("focused", CHECK.run)
    assert number(warm) == first
    warm.close()
    assert not is_alive(first)
    warm.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_where_the_warm_process_was_killed_the_next_check_starts_a_new_one(
    warm: Warm, place: Place, how: signal.Signals
) -> None:
    place.checks = Checks(place.engine, warm)
    running(place)
    place.observe("focused", CHECK.run)
    first = number(warm)
    os.kill(first, how)
    assert place.observe("focused", CHECK.run).ended == "exited"
    assert number(warm) != first


def test_an_interrupt_does_not_end_the_warm_process(warm: Warm) -> None:
    warm.ready()
    first = number(warm)
    os.kill(first, signal.SIGINT)
    warm.ready()
    assert number(warm) == first


def test_a_check_goes_on_when_the_warm_process_that_forked_it_is_killed(warm: Warm, place: Place, hold: Hold) -> None:
    place.checks = Checks(place.engine, warm)
    ids = holding(place, hold)
    os.kill(number(warm), signal.SIGKILL)
    assert place.engine.slot.is_taken()
    hold.release()
    assert place.ended(*ids).exit_code == 0


def test_a_runner_that_ended_is_no_zombie_of_the_warm_process(warm: Warm, place: Place, hold: Hold) -> None:
    place.checks = Checks(place.engine, warm)
    ids = holding(place, hold)
    keeper = ticket(place, ids).pid
    kill_keeper(place, ids, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{keeper}").exists())


def descriptors(pid: int) -> list[str]:
    return [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]


def test_an_idle_warm_process_has_nothing_of_a_workspace(warm: Warm, place: Place) -> None:
    place.checks = Checks(place.engine, warm)
    running(place)
    warm.ready()
    before = sorted(link.partition(":")[0] for link in descriptors(number(warm)))
    place.observe("focused", CHECK.run)
    place.settled()
    until(lambda: sorted(link.partition(":")[0] for link in descriptors(number(warm))) == before)
    assert before == ["/dev/null", "/dev/null", "/dev/null", "socket"]
    locks = Path("/proc/locks").read_text().splitlines()
    assert [row for row in locks if row.split()[-4] == str(number(warm))] == []


# With its server.

SERVER = """
import sys
from flow_mcp.engine.warm import WARM
WARM.ready()
print(WARM._known[0].pid, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_the_warm_process_ends_with_its_server(how: str) -> None:
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        warm = int(line(server))
        assert is_alive(warm)
        if how == "kill":
            server.kill()
    until(lambda: not is_alive(warm))


def test_a_warm_process_that_stands_still_holds_up_no_exit(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_module, "END_S", 0.05)
    warm.ready()
    stopped = number(warm)
    os.kill(stopped, signal.SIGSTOP)
    warm.close()
    assert not is_alive(stopped)


# What can go wrong.


def test_a_process_that_ends_at_once_is_said_and_tried_anew(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(warm_module, "_PROGRAM", "raise SystemExit(1)")
        with pytest.raises(BrokenWorld, match="could not be started: Connection reset"):
            warm.ready()
    warm.ready()
    assert is_alive(number(warm))


def test_a_process_that_says_nothing_is_given_up(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_module, "_PROGRAM", BROKEN + "wire.recv(1)")
    monkeypatch.setattr(warm_module, "START_S", 0.05)
    with pytest.raises(BrokenWorld, match="could not be started"):
        warm.ready()
    assert warm._known is None


def test_a_process_of_another_version_is_refused(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_module, "_PROGRAM", BROKEN + "wire.sendall(b'flow-mcp 99'); wire.recv(1)")
    with pytest.raises(BrokenWorld, match="another version") as caught:
        warm.ready()
    assert "Restart" in caught.value.remedy
    assert warm._known is None


def test_where_no_process_can_be_forked_the_order_is_refused_and_the_next_one_is_tried_anew(
    warm: Warm, slot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = "import os, sys; from flow_mcp.engine import warm_process as w\n"
    refusing += f"def fork(): raise OSError({errno.EAGAIN}, 'no')\nos.fork = fork; w.main(int(sys.argv[1]))"
    monkeypatch.setattr(warm_module, "_PROGRAM", refusing)
    with pytest.raises(BrokenWorld, match="temporarily unavailable"):
        warm.launch(SPEC, slot)
    assert warm._known is None


@pytest.mark.parametrize("after", ["", "wire.recv(3)", "wire.recv(10); wire.sendall(b'?'); wire.recv(1)"])
def test_a_wire_that_breaks_in_the_middle_of_an_order_is_said(
    warm: Warm, slot: int, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    monkeypatch.setattr(warm_module, "_PROGRAM", f"{BROKEN}wire.sendall({HELLO!r}); {after}")
    with pytest.raises(BrokenWorld, match="could not be started"):
        warm.launch(SPEC, slot)
    assert warm._known is None


def test_an_order_that_is_not_taken_in_time_is_never_taken(warm: Warm, slot: int) -> None:
    warm.ready()
    stopped = number(warm)
    assert warm._known is not None
    warm._known[1].settimeout(0.05)
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(BrokenWorld, match="could not be started"):
        warm.launch(SPEC, slot)
    assert not is_alive(stopped)


def test_where_no_more_files_may_be_open_that_is_said(warm: Warm, slot: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    warm.ready()
    monkeypatch.setattr(os, "pipe", full)
    with pytest.raises(BrokenWorld, match="Too many open files"):
        warm.launch(SPEC, slot)


def test_an_order_of_any_size_arrives(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"LC_LONG{number}" for number in range(5)]
    place.script("do.sh", *(f'[ "${{#{name}}}" = 100000 ] || exit 1' for name in names))
    running(place, "./do.sh")
    for name in names:
        monkeypatch.setenv(name, "x" * 100_000)
    assert place.observe("focused", "./do.sh").exit_code == 0


def test_a_line_is_open_for_whoever_waits_though_it_was_forgotten() -> None:
    reader, writer = os.pipe()
    one = Line(reader)
    answers: list[bool] = []
    waiter = threading.Thread(target=lambda wait=one.wait: answers.append(wait(60)))
    waiter.start()
    del one
    os.fstat(reader)
    os.close(writer)
    waiter.join(60)
    assert answers == [True]
    del waiter
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


def test_a_line_says_whether_its_process_has_ended() -> None:
    reader, writer = os.pipe()
    one = Line(reader)
    assert not one.wait(-1)
    assert not one.wait(0.01)
    os.close(writer)
    assert one.wait(0)


# A hostile workspace.

TRAPS = ("flow_mcp/__init__.py", "json.py", "sitecustomize.py", "usercustomize.py", "socket.py", "pydantic/__init__.py")


SERVER_OF_TESTS = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tests.engine.elsewhere import run; "


def serve(place: Place, first: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run another process in the workspace's own folder, with something to do first."""
    program = f"{first}; {SERVER_OF_TESTS} run(sys.argv[1:])"
    command = [sys.executable, "-P", "-c", program, str(ROOT), str(place.root), *words]
    return subprocess.run(command, cwd=place.root, capture_output=True, text=True, timeout=60, check=False)


def test_no_module_is_taken_from_the_workspace_that_the_server_was_started_in(place: Place, tmp_path: Path) -> None:
    for name in TRAPS:
        place.write(name, f"open({str(tmp_path / 'trapped')!r}, 'a').write({name!r})\nraise SystemExit('trapped')\n")
    running(place, "test -f json.py")
    done = serve(place, "pass", "start", "focused", "test -f json.py")
    assert (done.stdout.splitlines()[-1:], done.stderr) == (["ended"], "")
    assert place.document.runs[0].observations[-1].exit_code == 0
    assert not (tmp_path / "trapped").exists()


def test_a_server_that_ignores_its_childrens_ends_has_its_checks(place: Place) -> None:
    running(place)
    ignoring = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    done = serve(place, ignoring, "start", "focused", CHECK.run)
    assert (done.stdout.splitlines()[-1:], done.stderr) == (["ended"], "")
    assert place.document.runs[0].observations[-1].exit_code == 2


def test_two_workspaces_are_served_by_one_warm_process(warm: Warm, place: Place, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    both = (place, Place(make(tmp_path / "other")))
    for one in both:
        one.checks = Checks(one.engine, warm)
        running(one)
    begun = [one.begin("focused", CHECK.run) for one in both]
    assert [one.ended(*ids).ended for one, ids in zip(both, begun, strict=True)] == ["exited", "exited"]
