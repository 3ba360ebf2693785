import pytest

from flow_mcp.domain import decide, invariants
from flow_mcp.domain.rule import ALL_RULES, REGISTRY, Rulebook
from flow_mcp.domain.rules import write
from tests.proofs import plan_proofs, review_proofs, work_proofs
from tests.proofs.engine_proofs import ENGINE_PROOFS
from tests.proofs.record import PROOFS
from tests.simulator import Forbidden

TWICE = frozenset({"plan.bounded", "observe.always-recorded"})
"""Proved here, and once more with a real engine: what of them the engine holds."""

SHADOWED: dict[str, str] = {}
"""Rules that cannot be the only objection, each with the reason. There are none."""

REGISTERED = (decide, invariants, write, plan_proofs, review_proofs, work_proofs)
"""Importing these registers every rule and every proof."""


@pytest.mark.parametrize("rule_id", sorted(PROOFS))
def test_a_rule_alone_keeps_its_forbidden_state_out(rule_id: str) -> None:
    assert PROOFS[rule_id](ALL_RULES) == rule_id


@pytest.mark.parametrize("rule_id", sorted(PROOFS))
def test_without_its_rule_the_forbidden_state_is_really_stored(rule_id: str) -> None:
    with pytest.raises(Forbidden):
        PROOFS[rule_id](Rulebook(out=frozenset({rule_id, *SHADOWED.get(rule_id, "").split()})))


def test_every_registered_rule_is_proved_here_or_with_a_real_engine() -> None:
    assert set(PROOFS) | set(ENGINE_PROOFS) == set(REGISTRY)
    assert set(PROOFS) & set(ENGINE_PROOFS) == TWICE


def test_every_guard_speaks_on_some_request() -> None:
    speaking = {entry.id for rules in decide.SPEAKING.values() for entry in rules}
    assert speaking == {entry.id for entry in REGISTRY.values() if entry.guard is not None}
