import pytest
from pydantic import JsonValue

from flow_mcp.cli import words
from flow_mcp.cli.app import VERBS
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
    assert step_lines(step) == ("reviewer: review_submit; for a person: `flow-mcp review`", "Judge.")


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("plan_approve", {}, "plan_approve; for a person: `flow-mcp approve`"),
        ("status", {}, "status; for a person: `flow-mcp status`"),
        ("status", {"view": "plan"}, 'status {"view": "plan"}; for a person: `flow-mcp show`'),
        ("status", {"view": "review"}, 'status {"view": "review"}; for a person: `flow-mcp review`'),
        ("status", {"view": "full"}, 'status {"view": "full"}'),
        ("close", {"kind": "accepted"}, 'close {"kind": "accepted"}; for a person: `flow-mcp accept`'),
        ("close", {"kind": "completed"}, 'close {"kind": "completed"}'),
        ("validate", {"scope": "external"}, 'validate {"scope": "external"}; for a person: `flow-mcp observe`'),
        ("validate", {"scope": "broad"}, 'validate {"scope": "broad"}'),
        ("run_start", {}, "run_start"),
    ],
)
def test_where_a_person_has_a_verb_for_a_tool_it_is_named_too(
    tool: str, arguments: dict[str, JsonValue], expected: str
) -> None:
    assert step_lines(call(tool, arguments, (), "Do it.")) == (expected, "Do it.")


def test_every_verb_that_is_named_for_a_person_is_one() -> None:
    known = {verb.name for verb in VERBS}
    assert {*words._VERBS.values(), *words._VIEWS.values(), "observe", "accept"} <= known


def test_facts_begin_with_the_plan_and_end_with_the_step() -> None:
    body: dict[str, JsonValue] = {"summary": "s", "plan_id": "p", "revision": 3, "open_plans": ["a"], "next": {}}
    assert facts(body, person("Wait.")).rows == (
        ("plan", ("p, revision 3",)),
        ("open plans", ("a",)),
        ("next", ("Wait.",)),
    )
    assert facts({"x": 1}, None).rows == (("x", ("1",)),)
