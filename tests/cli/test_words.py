import pytest
from pydantic import JsonValue

from flow_mcp.cli.words import facts, lines, step_lines
from flow_mcp.domain.decision import Step, call, person


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ["none"]),
        (True, ["yes"]),
        (False, ["no"]),
        (3, ["3"]),
        ("a\nb", ["a", "b"]),
        ([], ["none"]),
        ({}, ["none"]),
        (["a", "b"], ["a, b"]),
        ({"a": 1, "b": None}, ["a 1, b none"]),
        (["a" * 60, "b" * 60], ["- " + "a" * 60, "- " + "b" * 60]),
        (["a\nb"], ["- a", "  b"]),
        ([{"a": 1}], ["- a 1"]),
        ({"a": {"b": 1}}, ["a: b 1"]),
        ({"a": ["x", "y\nz"], "b": 2}, ["a:", "  - x", "  - y", "    z", "b: 2"]),
        ({"a": "x" * 120}, ["a: " + "x" * 120]),
    ],
)
def test_a_value_is_a_line_where_it_fits_and_lines_where_not(value: JsonValue, expected: list[str]) -> None:
    assert lines(value) == expected


def test_a_step_names_the_call_what_to_fill_in_and_who_makes_it() -> None:
    assert step_lines(person("Decide.")) == ("Decide.",)
    assert step_lines(call("close", {"kind": "deferred"}, ("summary",), "End it.")) == (
        'close {"kind": "deferred"}, with summary',
        "End it.",
    )
    step = Step(who="reviewer", tool="review_submit", say="Judge.")
    assert step_lines(step) == ("reviewer: review_submit", "Judge.")


def test_facts_begin_with_the_plan_and_end_with_the_step() -> None:
    body: dict[str, JsonValue] = {"summary": "s", "plan_id": "p", "revision": 3, "open_plans": ["a"], "next": {}}
    assert facts(body, person("Wait.")).rows == (
        ("plan", ("p, revision 3",)),
        ("open plans", ("a",)),
        ("next", ("Wait.",)),
    )
    assert facts({"x": 1}, None).rows == (("x", ("1",)),)
