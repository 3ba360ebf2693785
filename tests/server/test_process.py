"""Every end of the server comes within its time and after the clean-up, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flow_mcp.server.process import CLEANUP_S, GRACE_S
from tests.server.rig import PATIENCE_S, TOY, Rig, running

_SLACK_S = 30.0
"""What a loaded machine may add to an end that takes no time; the calls that hold it up take 600 s."""


def _ended_within(rig: Rig, limit_s: float) -> int:
    started = time.monotonic()
    code = rig.wait()
    assert time.monotonic() - started < limit_s + _SLACK_S
    assert rig.marked("cleanup")
    return code


def test_an_idle_server_ends_with_its_input(legacy: Rig) -> None:
    legacy.close_input()
    assert _ended_within(legacy, 0) == 0
    assert legacy.errors().replace("STRAY import\n", "") == ""


def test_a_server_that_nobody_spoke_to_ends_with_its_input(fresh: Rig) -> None:
    fresh.close_input()
    assert _ended_within(fresh, 0) == 0


def test_a_terminal_that_is_closed_ends_the_server(tmp_path: Path) -> None:
    theirs, ours = os.openpty()
    command = [sys.executable, str(TOY), str(tmp_path)]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        os.close(theirs)
        os.close(ours)  # from now on reading fails, where a pipe would only end
        assert server.wait(PATIENCE_S) == 0
    assert (tmp_path / "cleanup").exists()


def test_a_closed_input_cancels_a_long_call_and_answers_it(legacy: Rig) -> None:
    request_id = legacy.start_call("slow", seconds=600)
    legacy.close_input()
    (answer,) = legacy.rest()
    assert answer["id"] == request_id
    assert answer["error"]["code"] == -32000
    assert legacy.marked("cancelled")
    assert _ended_within(legacy, 0) == 0


@pytest.mark.parametrize("tool", ["block", "freeze"])
def test_a_closed_input_ends_a_server_whose_call_cannot_be_cancelled(legacy: Rig, tool: str) -> None:
    request_id = legacy.start_call(tool, seconds=600)
    legacy.close_input()
    (answer,) = legacy.rest()
    assert (answer["id"], answer["error"]["code"]) == (request_id, -32000)
    assert _ended_within(legacy, GRACE_S + CLEANUP_S) == 0


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_cancels_the_calls_answers_them_and_ends(legacy: Rig, name: str) -> None:
    request_id = legacy.start_call("slow", seconds=600)
    legacy.process.send_signal(getattr(signal, name))
    (answer,) = legacy.rest()
    assert (answer["id"], answer["error"]["code"]) == (request_id, -32000)
    assert legacy.marked("cancelled")
    assert _ended_within(legacy, 0) == 0


def test_a_signal_ends_a_server_whose_event_loop_is_blocked(modern: Rig) -> None:
    modern.start_call("freeze", seconds=600)
    modern.process.send_signal(signal.SIGTERM)
    assert _ended_within(modern, GRACE_S) == 0
    assert len(modern.rest()) == 1


def test_a_second_signal_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    with running(tmp_path, "import flow_mcp.server.process as process; process.GRACE_S = 600") as rig:
        rig.handshake()
        rig.start_call("block", seconds=600)
        rig.process.send_signal(signal.SIGTERM)
        rig.process.send_signal(signal.SIGINT)
        assert _ended_within(rig, 0) == 0


def test_a_signal_that_does_not_wake_the_main_thread_ends_the_server_all_the_same(legacy: Rig) -> None:
    legacy.start_call("deafen", seconds=600)
    time.sleep(0.5)  # by now it sleeps
    legacy.process.send_signal(signal.SIGTERM)
    assert _ended_within(legacy, GRACE_S) == 0


def test_a_client_that_closes_its_ear_ends_an_idle_server(legacy: Rig) -> None:
    legacy.close_output()
    assert _ended_within(legacy, 1) == 0


def test_an_answer_that_nobody_can_hear_ends_the_server(legacy: Rig) -> None:
    legacy.close_output()
    legacy.post("tools/call", {"name": "echo"})
    assert _ended_within(legacy, 0) == 0


def test_a_client_that_does_not_read_keeps_nobody_from_ending_the_server(legacy: Rig) -> None:
    stdout = legacy.process.stdout
    assert stdout is not None
    legacy.post("resources/read", {"uri": "flow://size/3000000"})
    legacy.post("tools/call", {"name": "slow", "arguments": {"seconds": 600}})
    os.read(stdout.fileno(), 1)  # from here on the server waits for us to read the rest
    legacy.process.send_signal(signal.SIGTERM)
    assert _ended_within(legacy, GRACE_S + 1) == 0
    assert b"\n" not in stdout.read()


def test_no_last_word_is_written_into_the_middle_of_an_answer(legacy: Rig) -> None:
    stdout = legacy.process.stdout
    assert stdout is not None
    legacy.post("resources/read", {"uri": "flow://size/30000000"})
    legacy.post("tools/call", {"name": "slow", "arguments": {"seconds": 600}})
    os.read(stdout.fileno(), 1)
    legacy.process.send_signal(signal.SIGTERM)
    while piece := os.read(stdout.fileno(), 4096):
        assert b"\n" not in piece
        time.sleep(0.001)  # a slow reader: room in the pipe comes up all the time
    assert _ended_within(legacy, 0) == 0


def test_a_killed_client_leaves_no_server_behind_though_another_process_holds_its_pipes(tmp_path: Path) -> None:
    maker = [sys.executable, str(Path(__file__).with_name("orphan_maker.py")), str(tmp_path)]
    with subprocess.Popen(maker, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        assert client.stdout is not None
        bystander = int(client.stdout.readline())
        try:
            client.kill()
            started = time.monotonic()
            client.communicate(timeout=PATIENCE_S)  # standard error ends with the server, which holds it last
            assert time.monotonic() - started < 2 + _SLACK_S
        finally:
            os.kill(bystander, signal.SIGKILL)
    assert (tmp_path / "cleanup").exists()
