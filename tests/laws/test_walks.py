"""Laws that hold wherever a goal has come to, by honest moves or not."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flow_mcp.domain.view import open_refusals, status
from tests.histories import all_passed, approved, drafted, failed, passed, resealed, reviewed, running, shown
from tests.laws.follower import leave, to_the_end, told
from tests.laws.moves import MOVES, PLANS
from tests.laws.twin import lies
from tests.simulator import MANAGER, No, World

STATES: tuple[Callable[[], World], ...] = (
    World,
    *(lambda plan=plan: drafted(plan=plan) for plan in PLANS),
    *(lambda plan=plan: approved(plan=plan) for plan in PLANS),
    *(lambda plan=plan: running(plan=plan) for plan in PLANS),
    *(lambda plan=plan: all_passed(plan=plan) for plan in PLANS),
    shown,
    reviewed,
    failed,
    passed,
    resealed,
)
WALKS = st.tuples(
    st.sampled_from(STATES),
    st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.integers(0, 999)), max_size=20),
)
Walk = tuple[Callable[[], World], list[tuple[str, int]]]
STEPS_MAX = 80


def walk(world: World, moves: list[tuple[str, int]]) -> None:
    """Go where the moves lead; a refused one leads nowhere. Try to complete the goal at every step."""
    for name, number in moves:
        with suppress(No):
            MOVES[name](world, number)
        status(world.document)
        told(world)
        open_refusals(world.document, world.facts(MANAGER), world.book)
        if world.document.closure is not None:
            assert name != "close" or lies(world) == []
            return
        bold = world.clone()
        with suppress(No):
            bold.close()
        assert lies(bold) == []


def holds(state: Callable[[], World], moves: list[tuple[str, int]]) -> None:
    """Walk, then leave each way, then go on honestly to the end."""
    world = state()
    walk(world, moves)
    if world.document.closure is None:
        for kind in ("deferred", "abandoned", "accepted"):
            leave(world.clone(), kind)
        to_the_end(world, STEPS_MAX)
        assert ending(world).startswith("completed")
        assert lies(world) == []


def ending(world: World) -> str:
    """Say how a goal ended."""
    return "" if world.document.closure is None else world.document.closure.kind


@settings(max_examples=150, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(WALKS)
def test_no_goal_is_completed_by_a_lie_and_every_honest_one_can_be_completed(found: Walk) -> None:
    holds(*found)


@pytest.mark.long
@settings(max_examples=3000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(WALKS)
def test_no_lie_and_no_dead_end_in_thousands_of_walks(found: Walk) -> None:
    holds(*found)
