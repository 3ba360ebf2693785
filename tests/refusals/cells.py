"""One history for each request and each rule that may speak on it: there this rule objects before any other."""

from collections.abc import Callable

from flow_mcp.domain.commands import (
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
from tests.histories import ONE
from tests.simulator import World

Cell = Callable[[], tuple[World, Callable[[], object]]]
"""Gives a world and the act that is refused in it."""

CELLS: dict[tuple[type[Ask], str], Cell] = {}

IMPOSSIBLE: dict[tuple[type[Ask], str], str] = {}
"""Cells that no history reaches, each with the reason. There are none."""

ACTS: dict[type[Ask], Callable[[World], object]] = {
    PlanSave: lambda world: world.save(ONE),
    PlanApprove: lambda world: world.approve(),
    PlanDeny: lambda world: world.deny(),
    RunStart: lambda world: world.start("a"),
    CheckStart: lambda world: world.begin("broad"),
    CheckEnd: lambda world: world.end(),
    ReviewStart: lambda world: world.review(),
    ReviewSubmit: lambda world: world.verdict(),
    RunReset: lambda world: world.reset("a", "a"),
    Close: lambda world: world.close(),
    Waive: lambda world: world.waive("proof", "a"),
    ResealDocument: lambda world: world.reseal(),
}
"""The plainest way to ask for each thing."""

LONG = "x" * (32 * 1024 + 1)
"""One byte more than a text may have."""


def speaks(kind: type[Ask], rule_id: str) -> Callable[[Cell], Cell]:
    """Register the history of one cell."""

    def registered(cell: Cell) -> Cell:
        assert (kind, rule_id) not in CELLS
        CELLS[kind, rule_id] = cell
        return cell

    return registered


def plainly(kind: type[Ask], rule_id: str, state: Callable[[], World]) -> None:
    """Register a cell in which the plainest request is refused in some state."""

    def cell() -> tuple[World, Callable[[], object]]:
        world = state()
        return world, lambda: ACTS[kind](world)

    speaks(kind, rule_id)(cell)
