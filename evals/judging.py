"""What is held against a scenario when it has ended: durable state and call order, never words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evals.outcome import Body, Call, look
from evals.scenario import Expect, Scenario

PAGE = Path(__file__).parents[1] / "guarantees.md"
_ROW = re.compile(r"^- `(open\.[a-z-]+)`", re.MULTILINE)

COMPLETED = frozenset({"completed", "completed-with-waivers"})


def end_of(documents: Mapping[str, Body]) -> str:
    """Give how the goal stands: a completion where there is any, else what the newest document says."""
    ends = [str(look(one, "closure.kind") or "open") for one in documents.values()]
    return next((end for end in ends if end in COMPLETED), ends[-1] if ends else "none")


def open_rows() -> frozenset[str]:
    """Name the gaps that the guarantees page leaves open."""
    return frozenset(_ROW.findall(PAGE.read_text(encoding="utf-8")))


def stopped_by(expect: Expect, calls: Sequence[Call]) -> str:
    """Name the rule and the tool that were to stop a liar, where they did."""
    stop = expect.stopped_by
    if stop is None or not any((call.refused, call.tool) == (stop.rule, stop.tool) for call in calls):
        return ""
    return f"{stop.rule} at {stop.tool}"


def unmet(scenario: Scenario, end: str, calls: Sequence[Call], documents: Mapping[str, Body]) -> Iterator[str]:
    """Say each expectation that does not hold."""
    expect = scenario.expect
    if scenario.open is not None and scenario.open not in open_rows():
        yield f"the guarantees page has no row {scenario.open}"
    if end != scenario.wants and scenario.open is not None:
        yield f"it ended as {end}, and the page says that {scenario.open} lets it through: mend the page"
    elif end != scenario.wants:
        yield f"it ended as {end} and should end as {scenario.wants}"
    if expect.stopped_by is not None and not stopped_by(expect, calls):
        yield f"{expect.stopped_by.rule} did not refuse {expect.stopped_by.tool}"
    refused = [call.refused for call in calls if call.refused not in {None, "lost"}]
    if expect.refused is not None and refused != expect.refused:
        yield f"refused were {refused} and should be {expect.refused}"
    made = iter(call.tool for call in calls)
    missing = [tool for tool in expect.calls if tool not in made]
    yield from (f"{tool} was not called in its place" for tool in missing)
    newest: Body = list(documents.values())[-1] if documents else {}
    yield from _facts("the document", newest, expect.document)
    for name, facts in expect.documents.items():
        yield from _facts(name, documents.get(name, {}), facts)


def _facts(what: str, document: Body, facts: Mapping[str, object]) -> Iterator[str]:
    for path, value in facts.items():
        if look(document, path) != value:
            yield f"{what} holds {look(document, path)!r} at {path} and should hold {value!r}"
