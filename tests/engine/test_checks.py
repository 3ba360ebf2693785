import subprocess
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.history import observations
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Asked, Done, State
from flow_mcp.store.lock import WorkspaceLock
from flow_mcp.workspace.disposal import disposed
from tests.engine.checking import holding, operations, running, said
from tests.engine.place import CHECK, GATE, MANAGER, PERSON, Hold, Place, external, last, plan

# Where an observation belongs.


def test_a_check_of_each_scope_is_recorded_where_it_belongs(place: Place) -> None:
    place.approved(plan(**external(CHECK, "new")))
    place.done(c.RunStart())
    place.work()
    place.observe("baseline", GATE.run)
    place.observe("external", CHECK.run, requirement="r1")
    for scope, command in (("focused", CHECK.run), ("broad", GATE.run)):
        place.observe(scope, command)  # type: ignore[arg-type]
    place.observe("proof", GATE.run, feature_id="bye")
    document = place.document
    assert [one.scope for one in document.baselines] == ["baseline"]
    assert [(one.scope, one.requirement) for one in document.externals] == [("external", "r1")]
    assert [one.scope for one in document.runs[0].observations] == ["focused", "broad", "proof"]
    assert document.runs[0].observations[-1].feature_id == "bye"
    assert all(one.revision == one.started_revision + 1 for one in observations(document))
    assert all(one.attested_by == "runner" and one.ineligible is None for one in observations(document))
    assert operations(document)[3:] == ["check_start", "check_end"] * 5


ENDINGS = {
    "passes": (["exit 0"], {}, "exited", 0, None, True),
    "fails": (["exit 3"], {}, "exited", 3, None, True),
    "is ended by the clock": (["sleep 60"], {"timeout_s": 1}, "timed-out", None, "timed-out", True),
    "kills itself": (["kill -9 $$"], {}, "signalled", None, "signalled", True),
    "says too much": (["head -c 11000000 /dev/zero"], {}, "exited", 0, "output-incomplete", False),
    "lacks its tool": (["no-such-tool"], {}, "exited", 127, None, True),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_every_ending_is_recorded_as_what_it_was(place: Place, how: str) -> None:
    lines, more, ended, code, ineligible, complete = ENDINGS[how]
    place.script("do.sh", *lines)
    running(place, "./do.sh", **more)
    seen = place.observe("focused", "./do.sh")
    assert (seen.ended, seen.exit_code, seen.ineligible, seen.complete) == (ended, code, ineligible, complete)
    assert last(place.document) == seen
    assert place.document.pending is None


@pytest.mark.parametrize(("run", "code"), [("no-such-tool --version", 127), ("./plain.txt", 126)])
def test_a_command_that_is_no_program_ends_by_the_shells_own_code(place: Place, run: str, code: int) -> None:
    place.write("plain.txt", "words\n")
    running(place, run)
    seen = place.observe("focused", run)
    assert (seen.ended, seen.exit_code, seen.ineligible) == ("exited", code, None)


def test_a_program_that_is_killed_within_a_command_gives_the_command_its_shells_code(place: Place) -> None:
    place.script("do.sh", "kill -9 $$")
    running(place, "./do.sh && ./run.sh .flow/reports/new.xml")
    seen = place.observe("focused", "./do.sh && ./run.sh .flow/reports/new.xml")
    assert (seen.ended, seen.exit_code, seen.ineligible) == ("exited", 137, None)


def test_where_no_bash_is_to_be_had_the_check_was_not_run(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(place)
    (tmp_path / "bin").mkdir()
    git = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / "bin" / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    seen = place.observe("focused", CHECK.run)
    assert (seen.ended, seen.exit_code, seen.ineligible, seen.complete) == ("not-run", None, "not-run", None)
    assert "No bash was found" in str(seen.sandbox.reason)


# One at a time.


def test_a_second_check_is_refused_with_the_id_of_the_first(place: Place, hold: Hold) -> None:
    plan_id, check_id = holding(place, hold)
    for checks in (place.checks, Checks(place.another())):
        refused = checks.start(c.CheckStart(scope="broad", command=GATE.run), Asked(MANAGER))
        assert isinstance(refused, Refused)
        assert (refused.rule, refused.retryable) == ("observe.settled-first", True)
        assert refused.remedy.arguments == {"plan_id": plan_id, "check_id": check_id}
    assert check_id in said(place, "start", "focused", hold.run)


def test_a_second_check_of_no_known_plan_is_refused_with_the_id_of_the_first(place: Place, hold: Hold) -> None:
    plan_id, check_id = holding(place, hold)
    refused = place.checks.start(c.CheckStart(scope="broad", command=GATE.run), Asked(MANAGER, plan_id="other"))
    assert isinstance(refused, Refused)
    assert refused.remedy.arguments == {"plan_id": plan_id, "check_id": check_id}


def test_while_a_cancelled_check_is_ending_the_next_one_is_asked_to_come_again(place: Place) -> None:
    running(place)
    held = place.another().slot.take()
    assert held is not None
    refused = place.checks.start(c.CheckStart(scope="focused", command=CHECK.run), Asked(MANAGER))
    held.give_back()
    assert isinstance(refused, Refused)
    assert (refused.rule, refused.remedy.tool, refused.retryable) == ("observe.settled-first", "status", True)
    assert place.observe("focused", CHECK.run).ended == "exited"


def test_a_refused_check_leaves_the_slot_free(place: Place) -> None:
    place.approved()
    refused = place.checks.start(c.CheckStart(scope="broad", command=GATE.run), Asked(MANAGER))
    assert isinstance(refused, Refused)
    assert refused.rule == "observe.active-run"
    assert not place.engine.slot.is_taken()


def test_nothing_is_decided_while_a_check_runs_but_others_read_and_write(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    place.refused("observe.settled-first", c.ReviewStart(summary="done"))
    place.refused("observe.settled-first", c.RunReset(feature_id="bye", reason="again"))
    other = place.another()
    state = other.read(MANAGER, None, look=True)
    assert isinstance(state, State)
    assert state.step.arguments == {"check_id": ids[1]}
    with WorkspaceLock(place.root / ".flow" / "lock").hold(5):
        pass
    waive = c.Waive(kind="path", value="tests/old.sh", because="known", shown_source=state.facts.digest)
    assert isinstance(other.ask(waive, Asked(PERSON)), Done)
    hold.release()
    assert place.ended(*ids).exit_code == 0
    assert operations(place.document)[-3:] == ["check_start", "waive", "check_end"]


# Before it starts.


def test_a_policy_that_requires_containment_refuses_before_anything_runs(place: Place) -> None:
    running(place, "./run.sh .flow/reports/new.xml", report=".flow/reports/new.xml")
    before = place.bytes()
    strict = Place(place.root, policy={"sandbox": "require"})
    ask = c.CheckStart(scope="focused", command="./run.sh .flow/reports/new.xml")
    refused = strict.checks.start(ask, Asked(MANAGER))
    assert isinstance(refused, Refused)
    assert refused.rule == "attest.sandbox"
    assert refused.remedy.who == "person"
    assert place.bytes() == before
    assert disposed(place.engine.space.private) == []


def test_a_start_replays_by_its_operation_id_while_it_runs_and_after(place: Place, hold: Hold) -> None:
    hold.install(place)
    running(place, hold.run)
    ask, asked = c.CheckStart(scope="focused", command=hold.run), Asked(MANAGER, operation_id="go")
    first = place.checks.start(ask, asked)
    assert isinstance(first, Done)
    hold.begun()
    for checks in (place.checks, Checks(place.another()), Place(place.root, policy={"sandbox": "require"}).checks):
        again = checks.start(ask, asked)
        assert isinstance(again, Done)
        assert again.replayed
        assert again.answer == first.answer
    hold.release()
    place.ended(first.document.plan_id, str(first.answer["check_id"]))
    assert operations(place.document)[-2:] == ["check_start", "check_end"]
    last_time = place.checks.start(ask, asked)
    assert isinstance(last_time, Done)
    assert last_time.replayed
    conflict = place.checks.start(c.CheckStart(scope="broad", command=GATE.run), asked)
    assert isinstance(conflict, Refused)
    assert conflict.rule == "write.operation-replays"


def test_a_start_that_another_process_has_just_made_is_not_run_twice(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.script("do.sh", f"echo ran >>'{tmp_path}/runs'")
    running(place, "./do.sh")
    ask, asked = c.CheckStart(scope="focused", command="./do.sh"), Asked(MANAGER, operation_id="go")
    first = place.checks.start(ask, asked)
    assert isinstance(first, Done)
    place.ended(first.document.plan_id, str(first.answer["check_id"]))
    place.settled()
    monkeypatch.setattr(place.engine, "replayed", lambda *_: None)
    monkeypatch.setattr(place.engine, "ask", lambda *_, **__: first_again(first))
    again = place.checks.start(ask, asked)
    assert isinstance(again, Done)
    assert again.replayed
    place.settled()
    assert (tmp_path / "runs").read_text() == "ran\n"


def first_again(done: Done) -> Done:
    return Done(done.document, done.answer, done.step, done.operation_id, replayed=True, seen=None)
