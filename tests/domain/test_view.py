import pytest

from flow_mcp.domain.commands import Close, NewFinding, ReviewStart, RunReset, RunStart
from flow_mcp.domain.decision import Step
from flow_mcp.domain.policy import Policy
from flow_mcp.domain.view import candidate, next_step, open_refusals, status
from tests.histories import (
    CHAIN,
    ONE,
    all_passed,
    approved,
    check_of,
    closed,
    drafted,
    failed,
    passed,
    resealed,
    reviewed,
    running,
    shown,
)
from tests.simulator import BLOCKING, MANAGER, World


def next_of(world: World) -> Step:
    return next_step(world.document, world.facts(MANAGER), world.book)


@pytest.mark.parametrize(
    ("world", "now", "tool", "who"),
    [
        (World(), "planning", "plan_save", "manager"),
        (drafted(), "planning", "plan_approve", "manager"),
        (approved(), "ready", "run_start", "manager"),
        (running(), "running", "validate", "manager"),
        (shown(), "running", "review_start", "manager"),
        (reviewed(), "running", "review_submit", "reviewer"),
        (failed(), "blocked", "run_reset", "manager"),
        (passed(plan=CHAIN), "ready", "run_start", "manager"),
        (all_passed(), "completed", "close", "manager"),
        (closed(), "closed", "plan_save", "manager"),
        (closed("deferred"), "closed", "plan_save", "manager"),
        (resealed(), "planning", "plan_approve", "manager"),
    ],
)
def test_status_and_the_next_call_follow_from_the_document(world: World, now: str, tool: str, who: str) -> None:
    assert status(world.document) == now
    step = next_of(world)
    assert (step.tool, step.who) == (tool, who)


def test_the_next_call_of_a_denied_draft_answers_the_no() -> None:
    world = drafted()
    world.deny("Too much.")
    step = next_of(world)
    assert (step.tool, step.fill, "Too much." in step.say) == ("plan_save", ("plan",), True)
    world.save(CHAIN)
    assert next_of(world).tool == "plan_approve"


def test_a_no_to_a_plan_that_was_approved_once_asks_again() -> None:
    world = resealed()
    world.deny("Not yet.")
    assert next_of(world).tool == "plan_approve"


def test_a_running_check_is_waited_for() -> None:
    world = running()
    world.begin("broad")
    assert next_of(world).arguments == {"check_id": "check-4"}
    assert open_refusals(world.document, world.facts(MANAGER), world.book) == ()


def test_a_lost_check_is_seen_as_the_next_mutation_will_record_it() -> None:
    world = shown()
    world.begin("broad")
    world.check_lost = True
    assert [refused.rule for refused in open_refusals(world.document, world.facts(MANAGER), world.book)] == [
        "review.veto-clear",
        "review.cases-kept",
        "review.final-checks",
    ]
    assert next_of(world).arguments == {"scope": "broad", "command": "pytest -q"}
    spare = shown()
    spare.begin("baseline")
    spare.check_lost = True
    assert next_of(spare).tool == "validate"


def test_where_the_source_moved_under_a_review_the_run_is_reset() -> None:
    world = reviewed()
    world.edit()
    assert next_of(world).arguments == {"feature_id": "a", "next_feature_id": "a"}
    world.blind = True
    assert next_of(world).tool == "review_submit"


def test_after_three_failed_reviews_a_person_decides() -> None:
    world = failed()
    for _ in range(2):
        assert next_of(world).tool == "run_reset"
        live = world.document.runs[-1]
        world.reset("a", "a")
        world.show()
        world.review()
        assert live.review is not None
        assert live.review.result is not None
        again = tuple(BLOCKING.model_copy(update={"finding_id": one.id}) for one in live.review.result.findings)
        world.verdict("failed", again)
    step = next_of(world)
    assert (step.who, "3 reviews failed" in step.say) == ("person", True)
    world.reset("a", "a")


def test_reviews_that_nobody_answered_are_no_failed_ones() -> None:
    world = running()
    for _ in range(3):
        world.show()
        world.review()
        world.reset("a", "a")
    world.show()
    world.review()
    world.verdict("failed", (BLOCKING,))
    assert next_of(world).tool == "run_reset"


def test_a_finding_that_blocks_the_scope_asks_a_person() -> None:
    world = reviewed()
    blocker = NewFinding(severity="blocking", summary="Wrong goal.", evidence="README", scope_blocker=True)
    world.verdict("failed", (blocker,))
    step = next_of(world)
    assert (step.who, "a finding asks for another plan" in step.say) == ("person", True)


def test_what_stands_open_is_listed_rule_by_rule() -> None:
    world = running()
    rules = [refused.rule for refused in open_refusals(world.document, world.facts(MANAGER), world.book)]
    assert rules == ["review.baseline-taken", "review.checks-passed", "review.proof-shown", "review.final-checks"]
    assert open_refusals(drafted().document, world.facts(MANAGER), world.book) == ()


def test_the_next_request_is_named_where_the_goal_can_move_by_itself() -> None:
    assert isinstance(candidate(approved().document), RunStart)
    assert isinstance(candidate(running().document), ReviewStart)
    assert isinstance(candidate(failed().document), RunReset)
    assert isinstance(candidate(all_passed().document), Close)
    for world in (drafted(), reviewed(), closed()):
        assert candidate(world.document) is None
    busy = running()
    busy.begin("focused", check_of("a").run)
    assert candidate(busy.document) is None


def test_a_policy_that_was_loosened_asks_the_person_first() -> None:
    for world in (approved(), shown(), all_passed(), approved(plan=ONE)):
        world.policy = Policy(sandbox="off")
        assert next_of(world).tool == "plan_approve"
