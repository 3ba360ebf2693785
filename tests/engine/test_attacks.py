"""Lies that once got through: each is a test of its whole kind."""

from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.domain.plan import Proof
from flow_mcp.engine.core import Done
from tests.engine.place import CHECK, GATE, MANAGER, PERSON, REVIEWER, Place, approval_of, feature, make, plan


@pytest.fixture
def headless(tmp_path: Path) -> Place:
    root = tmp_path / "headless"
    root.mkdir()
    return Place(make(root), policy={"approve": "caller"})


@pytest.mark.parametrize("rules", ["*\n", "helper.sh\n.gitignore\n"])
def test_an_ignore_file_that_hides_itself_among_source_moves_the_digest(place: Place, rules: str) -> None:
    before = place.approved().approvals[0].source
    place.write("tests/.gitignore", rules)
    assert place.state().facts.digest != before
    place.done(c.RunStart())
    place.write("tests/helper.sh", "true\n")
    assert place.state().facts.digest == place.document.runs[0].started_source


def test_a_test_configuration_that_is_ignored_is_seen_all_the_same(place: Place) -> None:
    place.write(".gitignore", ".flow/\ncache/\nconftest.py\n")
    place.approved()
    place.done(c.RunStart())
    place.write("tests/conftest.py", "raise SystemExit\n")
    source = place.state().facts.source
    assert source is not None
    assert "tests/conftest.py" in source.changed
    assert "tests/conftest.py" in source.test_configuration


def test_a_cache_that_ignores_itself_moves_nothing(place: Place) -> None:
    before = place.approved().approvals[0].source
    place.write(".pytest_cache/.gitignore", "*\n")
    place.write(".pytest_cache/v/x", "1\n")
    assert place.state().facts.digest == before


def test_a_source_that_moves_while_the_person_reads_is_not_approved(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    shown = approval_of(place.state())
    place.write("tests/old.sh", "true\n")
    place.refused("approve.exact", shown, PERSON)


def test_a_lost_copy_is_not_replaced_by_a_caller(headless: Place) -> None:
    headless.write("tests/note.txt", "x\n")
    headless.done(c.PlanSave(goal="Say good-bye", plan=plan(protected=None)))
    headless.git("add", ".")
    headless.git("commit", "--quiet", "--message=more")
    headless.write("greeting.txt", "hello you\n")
    headless.done(approval_of(headless.state()), MANAGER)
    headless.write("greeting.txt", "hello there\n")
    headless.forget_sources()
    headless.refused("approve.caller-bounded", approval_of(headless.state()), MANAGER)
    done = headless.done(approval_of(headless.state()), PERSON)
    assert len({given.source for given in done.document.approvals}) == 2
    closed = headless.done(c.Close(kind="abandoned", summary="not wanted")).document.closure
    assert closed is not None
    assert any("first approved source was lost" in note for note in closed.notes)


def test_a_caller_cannot_thaw_the_verifiers_by_naming_none(headless: Place) -> None:
    headless.done(c.PlanSave(goal="Say good-bye", plan=plan(protected=())))
    refused = headless.refused("approve.caller-bounded", approval_of(headless.state()), MANAGER)
    assert "tests/old.sh" in refused.seen


def test_a_caller_cannot_hide_its_edits_behind_an_unborn_branch(headless: Place) -> None:
    headless.write("tests/old.sh", "true\n")
    headless.git("symbolic-ref", "HEAD", "refs/heads/none")
    headless.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    headless.refused("approve.caller-bounded", approval_of(headless.state()), MANAGER)


def test_a_caller_cannot_ask_round_a_person_who_said_no(headless: Place) -> None:
    headless.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    digest = approval_of(headless.state()).plan_digest
    headless.done(c.PlanDeny(plan_digest=digest, because="too small"), PERSON)
    headless.done(c.PlanSave(goal="Say good-bye", plan=plan(summary="Say good-bye, too.")))
    headless.refused("approve.caller-bounded", approval_of(headless.state()), MANAGER)


def test_what_an_inherited_plan_froze_is_looked_at_whatever_the_new_one_protects(place: Place) -> None:
    place.approved()
    place.done(c.Close(kind="deferred", summary="later"))
    place.approved(plan(protected=("run.sh",)), goal="Again")
    place.done(c.RunStart())
    place.work()
    place.write("tests/old.sh", "true\n")
    place.evidence()
    refused = place.refused("review.protected-kept", c.ReviewStart(summary="done"))
    assert "tests/old.sh" in refused.seen


def test_a_script_that_is_missing_on_the_approved_source_is_no_proof(place: Place) -> None:
    run = "python3 check.py"
    place.approved(
        plan(
            feature(
                proof=Proof(kind="command", run=run), checks=(CHECK.model_copy(update={"run": run, "report": None}),)
            )
        )
    )
    place.done(c.RunStart())
    place.work()
    place.write("check.py", "print('fine')\n")
    seen = place.observe("proof", run, feature_id="bye")
    assert seen.proof is not None
    assert seen.proof.outcome != "failed"


def test_a_scope_blocker_is_not_passed_over_by_another_reviewer(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.evidence()
    blocker = c.NewFinding(severity="blocking", summary="wrong goal", evidence="plan", scope_blocker=True)
    place.reviewed("failed", blocker)
    place.done(c.RunReset(feature_id="bye", reason="again", next_feature_id="bye"))
    place.evidence()
    review = str(place.done(c.ReviewStart(summary="done")).answer["assignment_id"])
    submit = c.ReviewSubmit(assignment_id=review, verdict="passed", summary="fine")
    assert place.refused("review.findings-carried", submit, REVIEWER).remedy.who == "person"
    place.done(submit, PERSON)


def test_a_damaged_copy_is_set_aside_and_made_anew(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.damage("hello\n")
    assert place.observe("baseline", GATE.run).ended == "not-run"
    assert place.observe("baseline", GATE.run).exit_code == 0


def test_a_literal_target_is_one_path(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.write("deep/greeting.txt", "x\n")
    source = place.state().facts.source
    assert source is not None
    assert source.outside == ("deep/greeting.txt",)


def test_a_glob_that_cannot_be_matched_is_refused_by_name(place: Place) -> None:
    answer = place.ask(c.PlanSave(goal="g", plan=plan(artifacts=("out/[[:alpha:]]",))))
    assert isinstance(answer, Refused)
    assert answer.rule == "plan.artifacts-narrow"
    assert "out/[[:alpha:]]" in answer.seen


def test_a_list_of_globs_beyond_the_limit_is_refused(place: Place) -> None:
    answer = place.ask(c.PlanSave(goal="g", plan=plan(artifacts=tuple(f"out/{number}" for number in range(1_025)))))
    assert isinstance(answer, Refused)
    assert "1024 globs at most" in answer.seen


def test_an_actor_without_a_role_of_its_own_decides_nothing(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    place.refused("approve.caller-bounded", approval_of(place.state()), Actor(role="flow"))
    assert isinstance(place.ask(c.Close(kind="abandoned", summary="x")), Done)
