"""Guards are total: any of them may be asked of any request in any state, and says yes or no."""

from collections.abc import Callable

import pytest

from flow_mcp.domain.commands import (
    KINDS,
    Ask,
    CheckEnd,
    CheckStart,
    Close,
    PlanApprove,
    PlanDeny,
    PlanSave,
    ResealDocument,
    ReviewStart,
    ReviewSubmit,
    RunReset,
    RunStart,
    Waive,
)
from flow_mcp.domain.decide import SPEAKING, objections
from flow_mcp.domain.policy import Policy
from flow_mcp.domain.rule import REGISTRY, Question
from tests.fabricated import GREEN, Result, observation_of
from tests.histories import (
    ELSEWHERE,
    ONE,
    PAIR,
    all_passed,
    approved,
    closed,
    drafted,
    failed,
    passed,
    resealed,
    reviewed,
    running,
    shown,
)
from tests.refusals.test_refusals import is_well_formed
from tests.simulator import MANAGER, PERSON, World, stray


def _checking() -> World:
    world = running(plan=ELSEWHERE)
    world.begin("broad")
    return world


def _without_gate() -> World:
    """A document that no version of Flow wrote: even there no guard stumbles."""
    world = running()
    world.document = world.document.model_copy(update={"plan": ONE.model_copy(update={"gate": None})})
    return world


STATES: dict[str, Callable[[], World]] = {
    "blank": World,
    "drafted": drafted,
    "approved": approved,
    "running": running,
    "checking": _checking,
    "shown": shown,
    "reviewed": reviewed,
    "failed": failed,
    "passed": lambda: passed(plan=PAIR),
    "all passed": all_passed,
    "closed": closed,
    "resealed": resealed,
    "without gate": _without_gate,
}


def asks(world: World) -> tuple[Ask, ...]:
    """Give one request of each kind, and the kinds' variants that guards tell apart."""
    base = running()
    end = CheckEnd(check_id="check-0", observation=observation_of(base.plan, stray(base), GREEN, (), None), passing=())
    return (
        PlanSave(goal="g", plan=ONE),
        PlanApprove(plan_digest="sha256:x", shown_revision=world.document.revision, shown_source=world.source),
        PlanDeny(plan_digest="sha256:x", because="No."),
        RunStart(),
        RunStart(feature_id="a"),
        CheckStart(scope="broad", command="pytest -q"),
        CheckStart(scope="baseline", command="true"),
        CheckStart(scope="external", command="pytest e2e", requirement="r"),
        CheckStart(scope="proof", command="pytest tests/test_a.py", feature_id="a"),
        end,
        ReviewStart(summary="Done."),
        ReviewSubmit(assignment_id="review-0", verdict="passed", summary="Fine."),
        ReviewSubmit(assignment_id="review-0", verdict="failed", summary="Not fine."),
        RunReset(feature_id="a", reason="Again."),
        RunReset(feature_id="a", reason="Again.", next_feature_id="a"),
        Close(kind="completed", summary="Over."),
        Close(kind="accepted", summary="Over."),
        Close(kind="deferred", summary="Over."),
        Waive(kind="case", value="works", because="Known.", shown_source="s1"),
        Waive(kind="path", value="a.py", because="Known.", shown_source="s1"),
        Waive(kind="proof", value="a", because="Known.", shown_source="s1"),
        ResealDocument(because="Merged."),
    )


@pytest.mark.parametrize("state", sorted(STATES))
@pytest.mark.parametrize("facts", [{}, {"blind": True}, {"other_open": "another", "policy": Policy(sandbox="off")}])
def test_every_guard_answers_in_every_state_and_objects_only_where_it_speaks(
    state: str, facts: dict[str, object]
) -> None:
    world = STATES[state]()
    for name, value in facts.items():
        setattr(world, name, value)
    guards = tuple(REGISTRY.values())
    for ask in asks(world):
        speaking = {entry.id for entry in SPEAKING[type(ask)]}
        for actor in (MANAGER, PERSON):
            for refused in objections(Question(world.document, ask, world.facts(actor)), guards, world.book):
                assert refused.rule in speaking, KINDS[type(ask)]
                assert refused.seen, (KINDS[type(ask)], refused.rule)
                assert is_well_formed(refused.remedy), (KINDS[type(ask)], refused)


def test_an_observation_that_nobody_sees_through_passes_no_guard() -> None:
    world = running()
    world.check("broad", result=Result(report=False))
    assert world.refusal(world.review).rule == "review.baseline-taken"
