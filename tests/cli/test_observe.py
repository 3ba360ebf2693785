import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_mcp.cli import observe as module
from flow_mcp.domain.commands import Close, RunStart
from flow_mcp.domain.model import Sandbox
from flow_mcp.domain.plan import Command, ExternalEvidence
from flow_mcp.engine.checks import Waited
from flow_mcp.workspace.platform import this_platform
from tests.cli.conftest import Flow
from tests.cli.held import HELD, Held, entry, external_plan, until
from tests.cli.rig import APP_DONE, FLOW, SLUG, Holder, Project, run_flow, terminal
from tests.engine.place import git, is_alive

OTHER = "win32" if this_platform() != "win32" else "linux"


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    program = Held(tmp_path / "held")
    yield program
    program.release()


def begun(project: Project, *entries: ExternalEvidence) -> Project:
    """Approve a plan that asks for external evidence, and do its work."""
    project.drafted(plan=external_plan(*entries)).approved()
    project.ask(RunStart())
    project.write("app.py", APP_DONE)
    return project


def held_entry(requirement: str) -> ExternalEvidence:
    return entry(requirement, Command(run=HELD))


def test_what_the_plan_asks_of_this_platform_is_run_and_recorded(started: Project, flow: Flow) -> None:
    begun(started, entry("r1", None, "any", "slug"), entry("r2", None, OTHER), entry("r3", None, this_platform()))
    ended = flow("observe")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Everything asked of this platform passes.\n")
    assert f"{SLUG} passes (external)." in ended.out
    seen = started.document.externals
    assert [(one.requirement, one.ended, one.exit_code) for one in seen] == [("r1", "exited", 0), ("r3", "exited", 0)]
    assert all(one.platform == this_platform() for one in seen)


def test_the_answer_is_one_json_value(started: Project, flow: Flow) -> None:
    begun(started, entry("r1", None, "any", "slug"), entry("r2"))
    ended = flow("observe", "r1", "--json")
    assert (ended.body["summary"], ended.body["plan_id"]) == (
        "Everything asked of this platform passes.",
        started.document.plan_id,
    )
    (told,) = ended.body["observations"]
    assert (told["requirement"], told["passes"], told["cases"]) == ("r1", True, {"slug": "passed"})


def test_a_command_that_does_not_pass_ends_with_1_and_the_next_one_runs_all_the_same(
    started: Project, flow: Flow
) -> None:
    failing = Command(
        run=f"{sys.executable} tests/check.py .flow/reports/none.xml none", report=".flow/reports/none.xml"
    )
    begun(
        started, entry("r1", failing), entry("r2", Command(run="not-a-program")), entry("r3", Command(run="cat app.py"))
    )
    ended = flow("observe")
    assert ended.code == 1
    assert ended.out.startswith("Not everything passes; see below.\n")
    assert "does not pass (external)." in ended.out
    assert "could not start (exit code 127)" in ended.out
    assert "cat app.py passes (external)." in ended.out
    assert len(started.document.externals) == 3


def test_a_case_that_did_not_pass_is_named(started: Project, flow: Flow) -> None:
    begun(started, entry("r1", None, "any", "slug", "gone"))
    ended = flow("observe")
    assert (ended.code, "not passed: gone" in ended.out) == (1, True)
    assert flow("observe", "--json").body["observations"][0]["passes"]


def test_a_command_that_did_not_come_to_its_own_end_is_told_by_how_it_ended(
    started: Project, held: Held, flow: Flow
) -> None:
    held.install(started)
    begun(started, entry("r1", Command(run=HELD, timeout_s=1)))
    ended = flow("observe")
    assert (ended.code, f"{HELD} is recorded as timed-out." in ended.out) == (1, True)
    document = started.document
    sandbox = Sandbox(tier="none", reason="The copy cannot be made.")
    unrun = document.externals[0].model_copy(update={"ended": "not-run", "sandbox": sandbox})
    watched = module._Watched(entry("r1"), Waited(document, unrun, "", None))
    assert module._row(watched)[0] == f"{SLUG} is recorded as not-run: The copy cannot be made."


def test_before_approval_it_is_refused_in_a_sentence(started: Project, flow: Flow) -> None:
    ended = flow("observe")
    assert (ended.code, "There is no plan yet." in ended.err) == (3, True)
    started.drafted(plan=external_plan(entry("r1")))
    before = started.path.read_bytes()
    ended = flow("observe", "--json")
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "plan.approved-first")
    assert started.path.read_bytes() == before


def test_what_is_not_asked_of_this_platform_is_refused_with_what_is(started: Project, flow: Flow) -> None:
    begun(started, entry("r1"), entry("r2", None, OTHER))
    for name in ("r2", "nope"):
        ended = flow("observe", name, "--json")
        assert (ended.code, ended.body["refused"]["rule"]) == (3, "observe.listed-only")
        assert f"r1 on any, r2 on {OTHER}" in ended.body["refused"]["seen"]
        assert repr(name) in ended.body["refused"]["seen"]
    assert started.document.externals == ()


def test_a_plan_that_asks_for_none_or_is_closed_or_unknown_is_refused(approved: Project, flow: Flow) -> None:
    ended = flow("observe")
    assert (ended.code, "it asks for nothing" in ended.err) == (3, True)
    assert flow("observe", "--plan", "nope").code == 3
    approved.ask(Close(kind="deferred", summary="Later."))
    begun(approved, entry("r1"))
    approved.ask(Close(kind="deferred", summary="Later."))
    assert flow("observe").code == 3


def test_a_fresh_clone_gives_the_evidence_for_its_platform(
    started: Project, flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(started, entry("r1", None, "any", "slug"))
    started.git("add", ".")
    started.git("commit", "-qm", "work")
    clone = Project(tmp_path / "clone")
    git(tmp_path, "clone", "--quiet", str(started.root), str(clone.root))
    monkeypatch.chdir(clone.root)
    ended = flow("observe")
    assert (ended.code, ended.err) == (0, "")
    (seen,) = clone.document.externals
    assert (seen.requirement, seen.exit_code, seen.ineligible) == ("r1", 0, None)
    state = started.engine().read(clone.document.operations[0].actor, None, look=True)
    assert seen.source == state.facts.digest  # type: ignore[union-attr]
    assert flow("verify").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_cancels_the_command_and_its_end_is_recorded(
    started: Project, held: Held, number: signal.Signals
) -> None:
    held.install(started)
    begun(started, held_entry("r1"), entry("r2"))
    command = [str(FLOW), "observe", "--json"]
    process = subprocess.Popen(command, cwd=started.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pid = held.begun()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")
    body = json.loads(out)
    assert body["summary"] == "Interrupted; what ran is recorded."
    assert [one["ended"] for one in body["observations"]] == ["cancelled"]
    assert [(one.requirement, one.ended) for one in started.document.externals] == [("r1", "cancelled")]
    assert started.document.pending is None
    assert not is_alive(pid)


def test_an_end_that_cannot_be_recorded_yet_is_not_waited_for_for_ever(
    started: Project, held: Held, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.install(started)
    begun(started, held_entry("r1"))
    monkeypatch.setattr(module, "ENDING_S", 0.0)
    monkeypatch.setattr(module, "WAIT_S", 0.1)
    holding: list[Holder] = []

    def interrupt(_line: str) -> None:
        if not holding:
            held.begun()
            holding.append(Holder(started))
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(module, "_say", interrupt)
    ended = flow("observe")
    told = started.document.pending
    holding[0].release()
    assert (ended.code, told is not None) == (130, True)
    assert f"{HELD} was asked to end and has not yet." in ended.out
    until(lambda: started.document.pending is None)
    assert started.document.externals[0].ended == "cancelled"


def test_an_unended_command_is_told_in_json_too(started: Project, flow: Flow) -> None:
    begun(started, entry("r1"))
    document = started.document
    waited = Waited(document, None, "", 1.0)
    answer = module._told(document.plan_id, [module._Watched(entry("r1"), waited)], interrupted=True)
    assert answer.body["observations"] == [{"requirement": "r1", "command": SLUG, "ended": None}]
    assert flow("status").code == 0


def test_a_check_that_runs_already_is_said_and_nothing_is_started(started: Project, held: Held, flow: Flow) -> None:
    held.install(started)
    begun(started, held_entry("r1"))
    process = subprocess.Popen([FLOW, "observe"], cwd=started.root, stdout=subprocess.DEVNULL)
    held.begun()
    ended = flow("observe", "--json")
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "observe.settled-first")
    held.release()
    assert process.wait(60) == 0
    assert len(started.document.externals) == 1


def test_a_check_that_is_settled_meanwhile_is_told_as_a_refusal(started: Project, held: Held) -> None:
    held.install(started)
    begun(started, held_entry("r1"))
    process = subprocess.Popen([FLOW, "observe"], cwd=started.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pid = held.begun()
    started.ask(Close(kind="deferred", summary="Later."))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in out + err) in {(1, False), (3, False)}
    until(lambda: not is_alive(pid))


def test_a_person_at_a_terminal_sees_how_long_it_takes(started: Project, held: Held) -> None:
    held.install(started)
    begun(started, entry("r1", Command(run=HELD)))
    with terminal() as (slave, person):
        narrow = {**os.environ, "COLUMNS": "12"}
        process = subprocess.Popen([FLOW, "observe"], cwd=started.root, env=narrow, stdout=slave, stderr=slave)
        os.close(slave)
        held.begun()
        until(lambda: b" s: " in person._seen)
        held.release()
        assert process.wait(60) == 0
        assert f" s: {HELD[:3]}" in person.seen


def test_the_installed_command_says_the_same(started: Project) -> None:
    begun(started, entry("r1"))
    ended = run_flow(started, "observe")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "Everything asked of this platform passes.")
