"""What holds for every decision, whatever was asked."""

from dataclasses import replace

import pytest

from flow_mcp.domain.commands import Close, PlanSave, RunStart, needs_source
from flow_mcp.domain.decide import FOLLOW, SPEAKING, decide
from flow_mcp.domain.decision import Moment, Refused
from flow_mcp.domain.rule import ALL_RULES, REGISTRY, Question, held, plan_of, rule
from tests.histories import CHAIN, ONE, approved, running
from tests.simulator import MANAGER, World

NOW = Moment(at="now", fresh="f")


def test_every_request_has_its_rules_and_what_follows() -> None:
    assert set(SPEAKING) == {*FOLLOW, Close}


def test_what_is_bound_to_the_source_is_never_decided_blindly() -> None:
    world = approved()
    blind = replace(world.facts(MANAGER), source=None)
    with pytest.raises(AssertionError, match="never bind blindly"):
        decide(world.document, RunStart(), blind, NOW, ALL_RULES)
    assert isinstance(decide(World().document, RunStart(), blind, NOW, ALL_RULES), Refused)
    with pytest.raises(AssertionError, match="looks at the source first"):
        str(blind.look)


def test_leaving_and_what_only_records_need_no_look_at_the_source() -> None:
    kinds = {kind: needs_source(Close.model_validate({"kind": kind, "summary": "Over."})) for kind in _KINDS}
    assert kinds == {"completed": True, "accepted": True, "deferred": False, "abandoned": False}


_KINDS = ("completed", "accepted", "deferred", "abandoned")


def test_a_decision_changes_nothing_that_it_was_given() -> None:
    world = running()
    before = world.document.model_dump_json()
    world.check("broad")
    assert world.trail[2].model_dump_json() == before


def test_a_rule_is_registered_once() -> None:
    with pytest.raises(AssertionError, match="two rules are called"):
        held("plan.frozen", means="guard", claim="", limits="")
    with pytest.raises(AssertionError, match="two rules are called"):
        rule("plan.frozen", claim="", limits="")(lambda _: None)
    assert REGISTRY["plan.frozen"].claim


def test_a_guard_judges_the_plan_that_is_saved_else_the_stored_one() -> None:
    world = approved()
    facts = world.facts(MANAGER)
    assert plan_of(Question(world.document, PlanSave(goal="g", plan=CHAIN), facts)) == CHAIN
    assert plan_of(Question(world.document, RunStart(), facts)) == ONE
