"""Runs, checks and the life of a plan."""

from collections.abc import Callable

import pytest

from flow_mcp.domain.commands import CheckStart, ResealDocument
from flow_mcp.domain.decide import objections
from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Scope
from flow_mcp.domain.plan import Requirement
from flow_mcp.domain.rule import Question
from flow_mcp.domain.rules.life import closed_final
from tests.fabricated import GREEN, RED, Result
from tests.histories import (
    CHAIN,
    ELSEWHERE,
    GATE,
    ONE,
    PAIR,
    all_passed,
    approved,
    check_of,
    closed,
    drafted,
    external,
    failed,
    feature,
    passed,
    plan_of,
    reviewed,
    running,
    shown,
)
from tests.simulator import BLOCKING, PERSON, World


def test_without_a_name_the_first_ready_feature_starts() -> None:
    world = approved(plan=plan_of(feature("b", "a"), feature("a")))
    assert world.start().answer["run_id"] == "a.1"


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("z", "There is no feature 'z'; the plan has a, b."),
        ("a", "Feature 'a' has passed already."),
    ],
)
def test_what_cannot_start_says_why(name: str, seen: str) -> None:
    world = passed(plan=CHAIN)
    refused = world.refusal(lambda: world.start(name))
    assert (refused.rule, refused.seen) == ("run.feature-startable", seen)
    assert refused.remedy.arguments == {"feature_id": "b"}


def test_where_every_feature_has_passed_the_goal_can_be_closed() -> None:
    world = all_passed()
    refused = world.refusal(world.start)
    assert (refused.seen, refused.remedy.tool) == ("Every feature has passed.", "close")
    assert world.refusal(lambda: world.begin("broad")).remedy.tool == "close"


def test_a_failed_feature_is_reset_before_anything_else_starts() -> None:
    world = failed(plan=PAIR)
    assert world.refusal(world.start).remedy.arguments == {"feature_id": "a", "next_feature_id": "a"}
    world.reset("a", "b")


def test_a_reset_to_what_cannot_start_offers_what_can() -> None:
    world = running(plan=CHAIN)
    refused = world.refusal(lambda: world.reset("a", "b"))
    assert refused.remedy.arguments == {"feature_id": "a", "next_feature_id": "a"}


def test_what_has_no_current_run_is_not_reset() -> None:
    world = all_passed()
    refused = world.refusal(lambda: world.reset("z"))
    assert (refused.rule, refused.remedy.arguments) == ("reset.current-run", {"kind": "deferred"})
    assert passed(plan=CHAIN).refusal(lambda: passed(plan=CHAIN).reset("b")).remedy.tool == "run_start"


def test_a_reset_keeps_findings_and_tells_them_to_the_next_run() -> None:
    world = failed()
    answer = world.reset("a", "a").answer
    assert [finding["id"] for finding in _dicts(answer["findings"])] == ["a.R12-01"]
    assert (answer["superseded"], answer["run_id"]) == (["a.1"], "a.2")
    assert world.document.runs[0].superseded is not None


def _dicts(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value


def test_a_passed_feature_can_be_reset_under_a_pending_review_of_another() -> None:
    world = passed(plan=PAIR)
    world.start("b")
    world.show()
    world.review()
    world.reset("a")
    world.verdict()
    assert world.refusal(world.close).rule == "close.every-feature-passed"


def test_a_run_goes_on_only_where_its_start_is_known() -> None:
    world = shown()
    world.start_present = False
    for act in (
        world.review,
        lambda: world.begin("broad"),
        lambda: world.begin("proof", check_of("a").run, feature="a"),
    ):
        refused = world.refusal(act)
        assert (refused.rule, refused.remedy.tool) == ("run.facts-present", "run_reset")
    world.check("baseline")


@pytest.mark.parametrize("scope", ["baseline", "focused", "broad"])
def test_without_the_approved_copy_neither_baseline_nor_work_goes_on(scope: Scope) -> None:
    world = running()
    world.copy_present = False
    refused = world.refusal(lambda: world.begin(scope))
    assert (refused.rule, refused.remedy.tool) == ("run.facts-present", "plan_approve")


def test_external_evidence_needs_no_private_facts_and_no_run() -> None:
    world = approved(plan=ELSEWHERE)
    world.copy_present = world.start_present = False
    world.other_open = "another"
    world.external()
    assert [seen.platform for seen in world.document.externals] == ["darwin"]
    assert [seen.requirement for seen in world.document.externals] == ["r"]


NO_PROOF = feature("a", proof="none").model_copy(update={"checks": (check_of("a"),)})


@pytest.mark.parametrize(
    "ask",
    [
        CheckStart(scope="focused", command="true"),
        CheckStart(scope="focused", command=check_of("a").run + " "),
        CheckStart(scope="external", command=GATE.run, requirement="r"),
        CheckStart(scope="external", command="pytest e2e"),
        CheckStart(scope="external", command="pytest e2e", requirement="q"),
        CheckStart(scope="proof", command=check_of("a").run, feature_id="b"),
        CheckStart(scope="proof", command=check_of("a").run, feature_id="z"),
        CheckStart(scope="proof", command=check_of("a").run),
        CheckStart(scope="proof", command=check_of("a").run, feature_id="a"),
    ],
)
def test_only_what_the_plan_lists_for_a_scope_is_run(ask: CheckStart) -> None:
    plan = plan_of(NO_PROOF, feature("b"))
    requirement = Requirement(id="r", text="It works anywhere.")
    world = running(
        plan=plan.model_copy(update={"requirements": (requirement,), "external_evidence": (external("any"),)})
    )
    refused = world.refusal(lambda: world.ask(ask))
    assert refused.rule == "observe.listed-only"
    assert "pytest tests/test_a.py" in refused.remedy.say


def test_a_check_is_bound_to_what_was_started_whatever_it_says_of_itself() -> None:
    world = running()
    world.begin("focused", check_of("a").run)
    pending = world.pending
    world.end()
    (seen,) = world.document.runs[0].observations
    assert (seen.id, seen.scope, seen.command) == ("o5", "focused", check_of("a").run)
    assert (seen.started_revision, seen.revision) == (pending.started_revision, 5)
    assert world.refusal(lambda: world.end(check_id=pending.id)).rule == "observe.pending-only"


def test_a_lost_check_is_settled_by_the_next_mutation() -> None:
    world = shown()
    world.begin("broad")
    world.check_lost = True
    refused = world.refusal(world.review)
    assert refused.rule == "review.veto-clear"
    assert world.document.pending is not None
    world.begin("broad")
    lost = world.document.runs[0].observations[-1]
    assert (lost.ended, lost.ineligible, lost.revision) == ("runner-lost", "runner-lost", 13)
    assert world.pending.id == "check-13"
    world.check_lost = False
    world.end()
    world.review()


def test_late_news_of_a_lost_check_that_is_not_settled_yet_is_recorded() -> None:
    world = running()
    world.begin("broad")
    world.check_lost = True
    world.end(GREEN)
    assert [seen.ineligible for seen in observations(world.document)] == [None]


def test_what_no_rule_holds_back_is_settled_in_a_reset_a_waiver_or_an_approval() -> None:
    acts: tuple[Callable[[World], object], ...] = (
        lambda world: world.reset("a"),
        lambda world: world.waive("proof", "a"),
        lambda world: world.reseal(),
    )
    for act in acts:
        world = running()
        world.begin("broad")
        world.check_lost = True
        act(world)
        assert world.document.pending is None
        assert len(observations(world.document)) == 1


@pytest.mark.parametrize("kind", ["deferred", "abandoned", "accepted"])
def test_leaving_cancels_and_records_a_running_check(kind: str) -> None:
    world = running()
    world.begin("baseline")
    world.close(kind, PERSON)
    assert [seen.ineligible for seen in world.document.baselines] == ["cancelled"]
    assert [run.state for run in world.document.runs] == ["superseded"]
    assert world.refusal(world.end).rule == "plan.closed-final"


def test_a_run_can_start_while_a_baseline_is_taken() -> None:
    world = approved()
    world.begin("baseline")
    world.start()
    world.end()
    assert len(world.document.baselines) == 1


def test_while_a_check_runs_nothing_is_decided() -> None:
    world = shown()
    world.begin("broad")
    for act in (lambda: world.begin("broad"), world.review, lambda: world.reset("a"), world.close):
        refused = world.refusal(act)
        assert (refused.rule, refused.retryable) == ("observe.settled-first", True)
        assert refused.remedy.arguments == {"check_id": "check-12"}


def test_observations_of_the_plan_go_on_under_a_review_and_those_of_the_run_do_not() -> None:
    world = reviewed(plan=CHAIN)
    world.check("baseline")
    assert world.refusal(lambda: world.begin("focused", check_of("a").run)).rule == "observe.before-review"


@pytest.mark.parametrize("kind", ["completed", "accepted", "deferred", "abandoned"])
def test_a_closed_plan_does_not_move(kind: str) -> None:
    world = closed(kind)
    for act in (world.start, world.deny, lambda: world.save(ONE), lambda: world.close("deferred")):
        refused = world.refusal(act)
        assert (refused.rule, refused.remedy.tool) == ("plan.closed-final", "plan_save")


def test_a_person_may_reseal_a_closed_plan() -> None:
    world = closed()
    question = Question(world.document, ResealDocument(because="Merged."), world.facts(PERSON))
    assert [refused.rule for refused in objections(question, (closed_final,), world.book)] == []


def test_identical_content_is_refused_after_approval_too() -> None:
    world = approved()
    assert world.refusal(lambda: world.save(ONE)).rule == "plan.frozen"


def test_a_draft_can_be_left_and_a_goal_without_a_plan_has_nothing_to_leave() -> None:
    for kind in ("deferred", "abandoned", "accepted"):
        world = drafted()
        world.close(kind, PERSON)
    assert World().refusal(lambda: World().close("deferred")).rule == "plan.approved-first"


def test_a_second_draft_waits_for_the_first() -> None:
    world = World(other_open="first")
    refused = world.refusal(lambda: world.save(ONE))
    assert refused.remedy.arguments == {"kind": "deferred", "plan_id": "first"}


def test_a_plan_is_driven_from_where_its_last_run_started() -> None:
    world = approved()
    world.worktree = "elsewhere"
    world.start()
    assert world.document.worktree == "elsewhere"


def test_a_finding_of_a_failed_review_does_not_stop_another_feature_after_its_reset() -> None:
    world = failed(plan=PAIR)
    world.reset("a")
    world.finish("b")
    world.finish("a")
    world.close()


def test_a_failed_final_review_is_answered_in_a_new_run() -> None:
    world = passed(plan=PAIR)
    world.start("b")
    world.show()
    world.review()
    world.verdict("failed", (BLOCKING,))
    assert world.refusal(world.close).remedy.arguments == {"feature_id": "b", "next_feature_id": "b"}
    world.reset("b", "b")
    world.check("broad", result=RED)
    world.edit()
    world.show()
    world.review()
    world.verdict()
    world.close()


def test_a_host_that_says_passed_without_a_code_is_taken_at_its_word() -> None:
    world = running(plan=plan_of(feature("a", proof="none")))
    world.check("baseline")
    world.check("focused", check_of("a").run, Result(code=None, host_success=True))
    world.check("broad")
    world.review()
