from flow_mcp.domain.graph import cycle, order, ready
from tests.histories import CHAIN, feature, plan_of


def test_features_come_after_what_they_need_and_else_as_they_are_listed() -> None:
    assert order(plan_of(feature("c", "b"), feature("a"), feature("b", "a"), feature("d"))) == ("a", "b", "c", "d")


def test_a_circle_is_named_from_its_start_back_to_it() -> None:
    plan = plan_of(feature("a"), feature("x", "c"), feature("b", "c"), feature("c", "d"), feature("d", "b"))
    assert cycle(plan) == ("c", "d", "b", "c")
    assert order(plan) == ("a",)


def test_a_feature_that_needs_itself_is_a_circle() -> None:
    assert cycle(plan_of(feature("a", "a"))) == ("a", "a")


def test_an_unknown_need_is_no_circle() -> None:
    assert cycle(plan_of(feature("a", "nowhere"))) == ()
    assert cycle(CHAIN) == ()


def test_ready_is_what_has_not_passed_and_needs_nothing_more() -> None:
    assert [entry.id for entry in ready(CHAIN, frozenset())] == ["a"]
    assert [entry.id for entry in ready(CHAIN, frozenset({"a"}))] == ["b"]
    assert ready(CHAIN, frozenset({"a", "b"})) == ()
