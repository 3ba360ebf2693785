from flow_mcp.domain.graph import circles, order, ready
from tests.histories import CHAIN, feature, plan_of


def test_features_come_after_what_they_need_and_else_as_they_are_listed() -> None:
    assert order(plan_of(feature("c", "b"), feature("a"), feature("b", "a"), feature("d"))) == ("a", "b", "c", "d")


def test_a_circle_is_given_with_what_its_features_need_of_it_and_nothing_beside() -> None:
    plan = plan_of(feature("a"), feature("x", "c"), feature("b", "c", "a"), feature("c", "d"), feature("d", "b"))
    assert circles(plan) == ({"b": ("c",), "c": ("d",), "d": ("b",)},)
    assert order(plan) == ("a",)


def test_a_feature_that_needs_itself_is_a_circle() -> None:
    assert circles(plan_of(feature("a", "a"))) == ({"a": ("a",)},)


def test_every_circle_is_given_those_that_go_through_one_another_together() -> None:
    plan = plan_of(feature("a", "b", "c"), feature("b", "a"), feature("c", "a"), feature("d", "e"), feature("e", "d"))
    assert circles(plan) == ({"a": ("b", "c"), "b": ("a",), "c": ("a",)}, {"d": ("e",), "e": ("d",)})


def test_an_unknown_need_is_no_circle() -> None:
    assert circles(plan_of(feature("a", "nowhere"))) == ()
    assert circles(CHAIN) == ()


def test_ready_is_what_has_not_passed_and_needs_nothing_more() -> None:
    assert [entry.id for entry in ready(CHAIN, frozenset())] == ["a"]
    assert [entry.id for entry in ready(CHAIN, frozenset({"a"}))] == ["b"]
    assert ready(CHAIN, frozenset({"a", "b"})) == ()
