"""The speaking table, cell by cell."""

import pytest

from flow_mcp.domain.commands import KINDS, Ask
from flow_mcp.domain.decide import SPEAKING
from flow_mcp.domain.decision import Step
from tests.refusals import plan_cells, review_cells, work_cells
from tests.refusals.cells import CELLS, IMPOSSIBLE

REGISTERED = (plan_cells, review_cells, work_cells)
"""Importing these registers every history."""

ANYWHERE = frozenset({"plan_id", "operation_id", "expected_revision"})
TOOLS: dict[str, tuple[str, ...]] = {
    "status": ("view", "check_source"),
    "plan_save": ("goal", "plan"),
    "plan_approve": (),
    "run_start": ("feature_id",),
    "validate": ("scope", "command", "feature_id", "requirement", "via", "check_id", "wait_s", "cancel"),
    "review_start": ("summary", "risks"),
    "review_submit": ("assignment_id", "verdict", "summary", "findings"),
    "run_reset": ("feature_id", "reason", "next_feature_id"),
    "close": ("kind", "summary"),
}
NEEDED: dict[str, frozenset[str]] = {
    "plan_save": frozenset({"goal", "plan"}),
    "review_start": frozenset({"summary"}),
    "review_submit": frozenset({"assignment_id", "verdict", "summary"}),
    "run_reset": frozenset({"feature_id", "reason"}),
    "close": frozenset({"kind", "summary"}),
}


def is_well_formed(step: Step) -> bool:
    """Say whether a step is a call that the server knows, with everything that it needs."""
    if step.tool is None:
        return step.who == "person" and not step.arguments and not step.fill
    given = [*step.arguments, *step.fill]
    known = {*TOOLS[step.tool], *ANYWHERE}
    whole = NEEDED.get(step.tool, frozenset()) <= set(given)
    if step.tool == "validate":
        whole = ("scope" in given) != ("check_id" in given)
    return whole and set(given) <= known and len(set(given)) == len(given)


def cells() -> list[tuple[type[Ask], str]]:
    return [(kind, entry.id) for kind, rules in SPEAKING.items() for entry in rules]


@pytest.mark.parametrize(("kind", "rule_id"), cells(), ids=[f"{KINDS[kind]}-{rule}" for kind, rule in cells()])
def test_in_its_history_this_rule_speaks_first_and_says_what_helps(kind: type[Ask], rule_id: str) -> None:
    world, act = CELLS[kind, rule_id]()
    before = world.document
    refused = world.refusal(act)
    assert refused.rule == rule_id
    assert len(refused.seen.split()) > 2
    assert len(refused.remedy.say.split()) > 1
    assert is_well_formed(refused.remedy), refused.remedy
    assert world.document is before


def test_every_cell_of_the_table_has_its_history() -> None:
    assert set(cells()) == set(CELLS) | set(IMPOSSIBLE)
    assert not set(CELLS) & set(IMPOSSIBLE)
