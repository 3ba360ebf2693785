"""A check depends on no server: whoever started it may go, and whoever comes finds it."""

import os
import signal
import threading
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.history import observations
from flow_mcp.engine.checks import Checks, Waited
from flow_mcp.engine.warm import Warm
from flow_mcp.workspace.disposal import disposed
from tests.engine.checking import elsewhere, holding, line, operations, running, said, ticket
from tests.engine.place import Hold, Place, is_alive, last, threads, until


def test_closing_a_servers_checks_leaves_them_running_and_another_one_finds_them(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    place.checks.close()
    place.checks.close()
    other = Checks(place.another())
    waited = other.wait(*ids, 0)
    assert isinstance(waited, Waited)
    assert (waited.observation, waited.tail) == (None, "holding\n")
    assert waited.elapsed_s is not None
    assert 0 <= waited.elapsed_s < 60
    again = place.checks.wait(*ids, 0)
    assert isinstance(again, Waited)
    assert again.tail == "holding\n"
    hold.release()
    assert place.ended(*ids).exit_code == 0


def test_what_another_server_closed_is_cancelled_from_a_third(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    place.checks.close()
    assert Checks(place.another()).cancel(*ids)
    ended = Checks(place.another()).wait(*ids, 60)
    assert isinstance(ended, Waited)
    assert ended.observation is not None
    assert ended.observation.ended == "cancelled"
    assert not is_alive(hold.begun())


@pytest.mark.parametrize("verb", ["leave", "start"])
def test_a_check_goes_on_when_its_server_ends(place: Place, hold: Hold, verb: str) -> None:
    hold.install(place)
    running(place, hold.run)
    with elsewhere(place, verb, "focused", hold.run) as server:
        check_id = line(server)
        hold.begun()
        if verb == "start":
            server.kill()
        server.wait(60)
    ids = (place.document.plan_id, check_id)
    assert is_alive(ticket(place, ids).pid)
    hold.release()
    assert place.ended(*ids).exit_code == 0
    assert operations(place.document)[-2:] == ["check_start", "check_end"]


def test_a_check_outlives_two_restarts_of_its_server(place: Place, hold: Hold) -> None:
    hold.install(place)
    running(place, hold.run)
    with elsewhere(place, "start", "focused", hold.run) as first:
        check_id = line(first)
        hold.begun()
        first.kill()
    ids = (place.document.plan_id, check_id)
    with elsewhere(place, "wait", *ids) as second:
        assert line(second) == "waiting"
        second.kill()
    with elsewhere(place, "wait", *ids) as third:
        assert line(third) == "waiting"
        hold.release()
        assert line(third) == "exited"
    assert [one.exit_code for one in observations(place.document)] == [0]


def test_the_command_and_its_runner_each_have_a_session_of_their_own(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    keeper, command = ticket(place, ids).pid, hold.begun()
    assert os.getsid(keeper) == keeper
    assert os.getsid(command) not in {os.getsid(0), keeper}
    assert os.getpgid(command) != os.getpgrp()
    hold.release()
    assert place.ended(*ids).exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_runner_that_is_told_to_end_ends_the_command_and_records_it_as_cancelled(
    place: Place, hold: Hold, number: signal.Signals
) -> None:
    ids = holding(place, hold)
    os.kill(ticket(place, ids).pid, number)
    seen = place.ended(*ids)
    assert (seen.ended, seen.ineligible) == ("cancelled", "cancelled")
    assert not is_alive(hold.begun())


def test_of_two_servers_that_start_at_once_one_gets_the_slot(place: Place, hold: Hold) -> None:
    hold.install(place)
    running(place, hold.run)
    with elsewhere(place, "race", "focused", hold.run) as one, elsewhere(place, "race", "focused", hold.run) as two:
        assert [line(one), line(two)] == ["ready", "ready"]
        for process in (one, two):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = sorted([line(one), line(two)])
        hold.release()
    assert answers[0].startswith("check-")
    assert answers[1].startswith("observe.settled-first ")
    place.settled()
    assert operations(place.document)[-2:] == ["check_start", "check_end"]
    assert last(place.document).exit_code == 0


# What stays behind.


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - a count of what is open


def resident_bytes() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def test_thirty_checks_leave_no_thread_no_descriptor_no_process_and_little_memory(place: Place) -> None:
    warm = Warm()
    place.checks = Checks(place.engine, warm)
    running(place, "test -f run.sh")
    try:
        place.observe("focused", "test -f run.sh")
        place.settled()
        assert warm._known is not None
        process = warm._known[0].pid
        until(lambda: children(process) == [])
        before = (threads(), threading.active_count(), descriptors(), children(os.getpid()))
        memory = resident_bytes()
        for _ in range(30):
            place.observe("focused", "test -f run.sh")
        place.settled()
        until(lambda: children(process) == [])
        assert (threads(), threading.active_count(), descriptors(), children(os.getpid())) == before
        assert resident_bytes() - memory < 16 * 1024 * 1024
        assert len(place.checks._begun) == 1
    finally:
        warm.close()
    assert len(observations(place.document)) == 31
    assert disposed(place.engine.space.private) == []
    assert list((place.root / ".flow" / "checks").glob("*.ticket")) == []


def test_a_check_from_another_process_leaves_nothing_behind_either(place: Place) -> None:
    running(place, "test -f run.sh")
    assert said(place, "start", "focused", "test -f run.sh") == "ended"
    assert disposed(place.engine.space.private) == []
    place.settled()
    assert list((place.root / ".flow" / "checks").glob("*.ticket")) == []


@pytest.mark.long
def test_two_hundred_killed_servers_leave_their_checks_to_end_and_nothing_behind(place: Place, tmp_path: Path) -> None:
    rounds, pids = 200, tmp_path / "pids"
    hidden = f"( env -i setsid sh -c 'trap \"\" TERM; echo $$ >>{pids}; exec sleep 600' >/dev/null 2>&1 & )"
    place.script("do.sh", hidden, "sleep 0.2")
    running(place, "./do.sh")
    for number in range(rounds):
        with elsewhere(place, "start", "focused", "./do.sh") as server:
            check_id = line(server)
            server.kill()
        assert place.ended(place.document.plan_id, check_id).exit_code == 0, number
        if number % 100 == 99:  # a run holds a bounded number of observations
            place.done(c.RunReset(feature_id="bye", reason="room", next_feature_id="bye"))
    found = [int(pid) for pid in pids.read_text().split()]
    survivors = [pid for pid in found if is_alive(pid)]
    print(f"\n{rounds} servers killed, {len(found)} daemons left by their checks, {len(survivors)} survivors")  # noqa: T201 - the figure
    assert (len(found), survivors) == (rounds, [])
    assert disposed(place.engine.space.private) == []
