import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_mcp.cli import cancel as module
from flow_mcp.domain.commands import RunStart
from flow_mcp.engine.checks import Checks
from flow_mcp.workspace.disposal import disposed
from tests.cli.conftest import Flow
from tests.cli.held import Held, held_plan, until
from tests.cli.rig import Holder, Project, run_flow
from tests.engine.place import is_alive


@pytest.fixture
def held(started: Project, tmp_path: Path) -> Iterator[Held]:
    """A check that runs, started by a process that has ended since."""
    program = Held(tmp_path / "held")
    program.install(started)
    started.drafted(plan=held_plan()).approved().ask(RunStart())
    ended = run_flow(started, "call", "validate", '{"scope": "baseline", "wait_s": 0}')
    assert ended.body["check"]["state"] == "running", ended
    program.begun()
    yield program
    program.release()


def ticket(project: Project) -> dict[str, object]:
    (path,) = (project.root / ".flow" / "checks").glob("*.ticket")
    found: dict[str, object] = json.loads(path.read_text())
    return found


def test_a_check_that_another_process_started_is_ended_and_recorded(started: Project, held: Held) -> None:
    pid, check = held.begun(), started.document.pending
    assert check is not None
    ended = run_flow(started, "cancel")
    assert (ended.code, ended.out, ended.err) == (0, f"{check.id} is recorded as cancelled.\n", "")
    (seen,) = started.document.baselines
    assert (seen.ended, seen.ineligible, started.document.pending) == ("cancelled", "cancelled", None)
    assert not is_alive(pid)


def test_the_answer_is_one_json_value(started: Project, held: Held, flow: Flow) -> None:
    document = started.document
    assert document.pending is not None
    ended = flow("cancel", "--json", document.plan_id)
    assert ended.body == {
        "summary": f"{document.pending.id} is recorded as cancelled.",
        "plan_id": document.plan_id,
        "check_id": document.pending.id,
        "state": "cancelled",
    }
    assert not is_alive(held.begun())


def test_where_no_check_runs_there_is_nothing_to_cancel(started: Project, flow: Flow) -> None:
    assert flow("cancel").out == "No check is running.\n"
    started.drafted().approved()
    before = started.path.read_bytes()
    ended = flow("cancel", "--json")
    assert (ended.code, ended.body["state"], ended.body["check_id"]) == (0, "none", None)
    assert started.path.read_bytes() == before


def test_an_unknown_plan_is_refused(started: Project, held: Held, flow: Flow) -> None:
    ended = flow("cancel", "nope")
    assert (ended.code, started.document.plan_id in ended.err) == (3, True)
    assert flow("cancel", "a", "--plan", "b").code == 2
    assert is_alive(held.begun())
    assert flow("cancel").code == 0


def test_a_check_whose_runner_was_killed_is_cleaned_up_and_said_to_be_lost(started: Project, held: Held) -> None:
    pid, keeper = held.begun(), int(str(ticket(started)["pid"]))
    os.kill(keeper, signal.SIGKILL)
    until(lambda: not is_alive(keeper))
    ended = run_flow(started, "cancel", "--json")
    assert (ended.code, ended.body["state"]) == (0, "lost")
    assert "is gone, and what it left running was ended" in ended.body["summary"]
    until(lambda: not is_alive(pid))
    assert disposed(started.root / ".flow") == []
    held.release()
    assert run_flow(started, "call", "validate", '{"scope": "baseline"}').code == 0
    assert [one.ended for one in started.document.baselines] == ["runner-lost", "exited"]


def test_one_that_cannot_be_recorded_yet_is_told_with_1(
    started: Project, held: Held, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.2)
    holding = Holder(started)
    ended = flow("cancel")
    told = flow("cancel", "--json")
    holding.release()
    assert (ended.code, "was asked to end and has not yet" in ended.out) == (1, True)
    assert (told.code, told.body["state"]) == (1, "ending")
    until(lambda: started.document.pending is None)
    assert started.document.baselines[0].ended == "cancelled"
    assert not is_alive(held.begun())


def test_a_runner_that_is_killed_meanwhile_is_told_as_a_refusal(
    started: Project, held: Held, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, keeper = held.begun(), int(str(ticket(started)["pid"]))

    def killed(*_: object) -> bool:
        os.kill(keeper, signal.SIGKILL)
        until(lambda: not is_alive(keeper))
        return True

    monkeypatch.setattr(Checks, "cancel", killed)
    ended = flow("cancel", "--json")
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "observe.always-recorded")
    until(lambda: not is_alive(pid))
    again = flow("cancel", "--json")
    assert (again.code, again.body["state"]) == (0, "lost")


def test_a_document_that_cannot_be_read_is_a_broken_world(started: Project, flow: Flow) -> None:
    started.drafted()
    started.path.write_text("{")
    assert flow("cancel").code == 4
