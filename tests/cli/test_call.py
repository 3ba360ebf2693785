import asyncio
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flow_mcp.cli.call import INPUT_BYTES_MAX, _interrupted, _Shell
from flow_mcp.domain.plan import Gate
from flow_mcp.server.desk import Question, Reply
from tests.cli.conftest import Flow
from tests.cli.held import until
from tests.cli.rig import FLOW, GATE, PLAN, REPORT, SLUG, Project, run_flow

SLOW = f"{sys.executable} tests/slow.py"


def test_one_tool_call_answers_as_the_server_does(drafted: Project, flow: Flow) -> None:
    ended = flow("call", "status")
    assert (ended.code, ended.err) == (0, "")
    assert ended.body["plan_id"] == drafted.document.plan_id
    assert flow("call", "status", "{}", "--json").out == ended.out
    assert json.loads(run_flow(drafted, "call", "status", '{"view": "plan"}').out)["goal"] == "Add slug"


def test_a_mutation_is_accepted_once_under_its_name(approved: Project, flow: Flow) -> None:
    ended = flow("call", "run_start", '{"operation_id": "mine"}')
    assert (ended.code, ended.body["run_id"]) == (0, "slug.1")
    again = flow("call", "run_start", '{"operation_id": "mine"}')
    assert (again.code, again.body["replayed"]) == (0, True)
    assert approved.document.revision == 3


def test_a_refusal_is_answered_on_standard_output_with_3(drafted: Project, flow: Flow) -> None:
    ended = flow("call", "run_start")
    assert (ended.code, ended.err) == (3, "")
    assert ended.body["refused"]["rule"] == "plan.approved-first"
    assert drafted.document.revision == 1


def test_the_shell_is_no_reviewer(pending: Project, flow: Flow) -> None:
    review = pending.document.runs[0].review
    assert review is not None
    given = {"assignment_id": review.id, "verdict": "passed", "summary": "Fine."}
    ended = flow("call", "review_submit", json.dumps(given))
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "review.reserved-identity")


def test_a_person_is_not_asked_through_a_call(drafted: Project, flow: Flow) -> None:
    ended = flow("call", "plan_approve")
    assert (ended.code, "flow-mcp approve" in ended.body["pending"]) == (0, True)
    ended = flow("call", "close", '{"kind": "accepted", "summary": "Fine."}')
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "close.accepted-by-person")
    assert drafted.document.approvals == ()
    assert asyncio.run(_Shell().ask(Question("Yes?", ()))) is None


def test_arguments_come_from_standard_input_too(started: Project) -> None:
    plan = PLAN.as_json()
    del plan["inherits"]
    given = json.dumps({"goal": "Add slug", "plan": plan}).encode()
    ended = run_flow(started, "call", "plan_save", "-", stdin=given)
    assert (ended.code, ended.body["revision"]) == (0, 1)


def test_a_check_is_waited_for_to_its_end(worked: Project, flow: Flow) -> None:
    ended = flow("call", "validate", json.dumps({"scope": "focused", "command": SLUG}))
    assert (ended.code, ended.body["observation"]["passes"]) == (0, True)
    assert worked.document.pending is None
    refused = flow("call", "validate", '{"scope": "focused", "command": "true"}')
    assert (refused.code, refused.body["refused"]["rule"]) == (3, "observe.listed-only")


def test_a_check_that_is_not_waited_for_goes_on_without_the_process_that_started_it(worked: Project) -> None:
    ended = run_flow(worked, "call", "validate", json.dumps({"scope": "focused", "command": SLUG, "wait_s": 0}))
    assert (ended.code, ended.body["check"]["state"]) == (0, "running")
    again = json.dumps({"check_id": ended.body["check"]["id"]})
    later = run_flow(worked, "call", "validate", again)
    assert (later.code, later.body["observation"]["passes"]) == (0, True)
    assert worked.document.pending is None


def test_a_check_that_is_named_is_looked_at_once(worked: Project, flow: Flow) -> None:
    worked.observe("broad", GATE)
    ended = flow("call", "validate", f'{{"check_id": "check-{worked.document.revision - 1}", "wait_s": 0}}')
    assert (ended.code, ended.body["observation"]["scope"]) == (0, "broad")
    assert flow("call", "validate", '{"check_id": "check-999", "wait_s": 0}').code == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_cancels_the_check_and_records_it(started: Project, number: signal.Signals) -> None:
    started.write("tests/slow.py", "import time\ntime.sleep(60)\n")
    started.drafted(plan=PLAN.model_copy(update={"gate": Gate(run=SLOW, report=REPORT)})).approved()
    process = subprocess.Popen(
        [FLOW, "call", "validate", '{"scope": "baseline"}'],
        cwd=started.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for_output(started, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"check-3 is cancelled: it is recorded, and counts as no pass.\n"
    (seen,) = started.document.baselines
    assert (seen.ended, started.document.pending) == ("cancelled", None)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"check": {"id": "check-3"}}, "check-3 was asked to end and has not yet"),
        ({"summary": "It passes.", "observation": {"ended": "exited"}}, "check-3 came to its end: It passes."),
        ({"summary": "Refused."}, "check-3 came to its end: Refused."),
    ],
)
def test_what_became_of_an_interrupted_check_is_told(body: dict[str, object], told: str) -> None:
    assert told in _interrupted(Reply(body, is_error=False), "check-3")


def wait_for_output(project: Project, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the check has begun: its output file is made then."""
    deadline_s = time.monotonic() + 30
    while not [*(project.root / ".flow").glob("checks/*.log")]:
        assert process.poll() is None
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (("stats",), "There is no tool 'stats'. Did you mean status?"),
        (("xyzzy",), "The tools are status, plan_save"),
        (("status", "{"), "breaks off"),
        (("status", "[]"), "no JSON object"),
        (("status", '{"a": 1, "a": 2}'), "twice"),
        (("status", "\udcff"), "UTF-8"),
        (("status", ""), "breaks off"),
        (("status", '{"view": "nope"}'), "view"),
        (("status", '{"colour": "red"}'), "no field"),
        (("status", "{}", "more"), "more"),
        ((), "TOOL"),
    ],
)
def test_a_mistake_is_told_with_2(started: Project, flow: Flow, arguments: tuple[str, ...], seen: str) -> None:
    ended = flow("call", *arguments)
    assert ended.code == 2
    assert seen in " ".join(ended.text.split())
    assert not (started.root / "plans").exists()


def test_endless_input_is_refused(started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b" " * (INPUT_BYTES_MAX + 1)))
    monkeypatch.setattr(sys, "stdin", stdin)
    ended = flow("call", "status", "-")
    assert (ended.code, str(INPUT_BYTES_MAX) in ended.text) == (2, True)
    monkeypatch.setattr(sys, "stdin", None)
    assert flow("call", "status", "-").code == 2
    assert started.root.exists()


def test_the_users_own_configuration_names_what_tells_them_and_the_repository_does_not(
    drafted: Project, tmp_path: Path
) -> None:
    notes, config = tmp_path / "notes", tmp_path / "home" / "flow-mcp" / "config.yaml"
    program = tmp_path / "tell.py"
    program.write_text(f"import sys; open({str(notes)!r}, 'w').write(sys.argv[-1])")
    command = f"notify: [{sys.executable}, {program}]\n"
    drafted.write("flow.yaml", command)
    ended = run_flow(drafted, "call", "plan_approve")
    assert (ended.code, "a repository cannot name a command to run" in ended.err) == (4, True)
    (drafted.root / "flow.yaml").unlink()
    config.parent.mkdir()
    config.write_text(command)
    assert run_flow(drafted, "call", "plan_approve").code == 0
    until(lambda: notes.exists() and "flow-mcp approve" in notes.read_text())
