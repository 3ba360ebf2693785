"""The server over real pipes: every request is answered once, whatever comes in, goes wrong or lies around."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.rig import TOY, Rig, running

_REQUEST = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "echo"}}


def test_three_hundred_requests_and_a_closed_input_get_three_hundred_answers(legacy: Rig) -> None:
    legacy.send_bytes(b"".join(json.dumps({**_REQUEST, "id": f"r{n}"}).encode() + b"\n" for n in range(300)))
    legacy.close_input()
    assert sorted(answer["id"] for answer in legacy.rest()) == sorted(f"r{n}" for n in range(300))
    assert legacy.wait() == 0


def test_a_client_that_only_closes_its_end_still_gets_the_results_of_short_calls(legacy: Rig) -> None:
    request_id = legacy.start_call("slow", seconds=0.1)
    legacy.close_input()
    (answer,) = legacy.rest()
    assert answer["id"] == request_id
    assert answer["result"]["structuredContent"] == {"summary": "slept"}


def test_a_last_line_without_a_line_feed_is_read(legacy: Rig) -> None:
    legacy.send_bytes(json.dumps({**_REQUEST, "id": 50}).encode())
    legacy.close_input()
    assert [answer["id"] for answer in legacy.rest()] == [50]


def test_carriage_returns_and_blank_lines_are_no_messages(shared: Rig) -> None:
    shared.send_bytes(b"\r\n \n" + json.dumps({**_REQUEST, "id": 51}).encode() + b"\r\n\n")
    assert shared.read()["id"] == 51


@pytest.mark.parametrize("kind", ["exit", "interrupt", "value", "group", "cancelled", "child"])
def test_a_tool_that_raises_is_answered_and_the_server_lives(shared: Rig, kind: str) -> None:
    result = shared.call("fail", kind=kind)
    assert result["isError"] is True
    assert "Flow failed inside" in result["structuredContent"]["summary"]
    assert "secret" not in result["structuredContent"]["summary"]
    assert shared.call("echo")["isError"] is False


def test_a_broken_world_is_told_in_its_own_words(shared: Rig) -> None:
    result = shared.call("fail", kind="world")
    assert result["isError"] is True
    assert result["structuredContent"] == {
        "summary": "The disk is full. Make room on it.",
        "broken": {"seen": "The disk is full.", "remedy": "Make room on it."},
    }


def test_half_a_surrogate_pair_goes_out_as_a_question_mark(shared: Rig) -> None:
    result = shared.call("answer", kind="half")
    assert result["structuredContent"] == {"summary": "half ? of a pair", "?": ["?"]}


@pytest.mark.parametrize("kind", ["nan", "object"])
def test_an_answer_that_is_no_json_is_a_failure_with_the_same_id(shared: Rig, kind: str) -> None:
    assert shared.call("answer", kind=kind)["isError"] is True


def test_stray_prints_and_children_never_reach_the_wire_and_read_nothing_from_it(legacy: Rig) -> None:
    request_id = legacy.post("tools/call", {"name": "stray"})
    behind = legacy.post("tools/call", {"name": "echo"})
    assert {legacy.read()["id"], legacy.read()["id"]} == {request_id, behind}
    legacy.close_input()
    assert legacy.line() == b""
    errors = legacy.errors()
    for stray in ("STRAY import", "STRAY buffered", "STRAY raw", "STRAY child\n0"):
        assert stray in errors


def test_a_line_over_the_bound_is_answered_costs_no_memory_and_is_skipped(shared: Rig) -> None:
    before = shared.call("memory")["structuredContent"]["peak_kib"]
    shared.send_bytes(b'{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"echo","x":"')
    for _ in range(100):
        shared.send_bytes(b"x" * 1024 * 1024)
    shared.send_bytes(b'"}}\n')
    refused = shared.read()
    assert refused["id"] == "big"
    assert refused["error"] == {"code": -32700, "message": "The line is longer than Flow reads."}
    assert shared.call("memory")["structuredContent"]["peak_kib"] - before < 40 * 1024


def test_a_request_just_under_the_bound_is_served(shared: Rig) -> None:
    answer = shared.ask("resources/read", {"uri": "flow://guide", "pad": "x" * (8 * 1024 * 1024 - 400)})
    assert answer["result"]["contents"][0]["text"] == "# Guide ?"


def test_answers_of_many_pipes_full_arrive_whole_and_in_turn(shared: Rig) -> None:
    ids = [shared.post("resources/read", {"uri": f"flow://size/{size}"}) for size in (3_000_000, 5, 70_000)]
    answers = {answer["id"]: answer for answer in (shared.read() for _ in ids)}
    assert [len(answers[i]["result"]["contents"][0]["text"]) for i in ids] == [3_000_000, 5, 70_000]


def test_a_cancelled_call_ends_and_is_not_answered(legacy: Rig) -> None:
    request_id = legacy.start_call("slow", seconds=60)
    legacy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}})
    assert legacy.call("echo")["isError"] is False
    assert legacy.marked("cancelled")
    legacy.close_input()
    assert legacy.rest() == []
    assert "Traceback" not in legacy.errors()


def test_a_full_pipe_holds_up_no_call(legacy: Rig) -> None:
    slow = legacy.start_call("slow", seconds=600)
    ids = [legacy.post("tools/call", {"name": "echo", "arguments": {"a": "x" * 1_000}}) for _ in range(100)]
    legacy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
    legacy.wait_for_mark("cancelled")
    assert sorted(legacy.read()["id"] for _ in ids) == ids


def test_a_system_without_poll_is_served_all_the_same(tmp_path: Path) -> None:
    with running(tmp_path, "import select; del select.poll") as rig:
        rig.handshake()
        assert rig.call("echo")["isError"] is False
        rig.close_output()
        rig.post("tools/call", {"name": "echo"})
        assert rig.wait() == 0


def test_the_cancellation_of_an_answered_call_changes_nothing(shared: Rig) -> None:
    shared.call("echo")
    for request_id in (2, "none such", None):
        params = {"requestId": request_id}
        shared.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    shared.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    assert shared.call("echo")["isError"] is False


def test_pipes_that_a_launcher_made_non_blocking_are_served(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    with os.fdopen(theirs, "wb") as pipe, running(tmp_path, stdin=ours) as rig:
        os.close(ours)
        rig.process.stdin = pipe
        rig.handshake()
        assert rig.call("echo")["isError"] is False


def test_closed_standard_descriptors_end_the_server_at_once(tmp_path: Path) -> None:
    script = f'exec "$0" {TOY} "$1" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", script, sys.executable, tmp_path], timeout=30, check=False)
    assert done.returncode == 0
    assert (tmp_path / "cleanup").exists()
