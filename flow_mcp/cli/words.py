"""The facts of an answer, as a person reads them: the same body that a program gets, laid out in lines."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Body, Facts, Words
from flow_mcp.cli.codes import REFUSED
from flow_mcp.domain.decision import Refused, Step
from flow_mcp.engine.core import Done
from flow_mcp.server.handlers import accepted as accepted_reply
from flow_mcp.server.views import refusal_body

LINE_CHARACTERS: Final = 100
_VERBS: Final = {"plan_approve": "approve", "review_submit": "review"}
_VIEWS: Final = {"next": "status", "plan": "show", "review": "review", "evidence": "show"}
_APART: Final = frozenset({"summary", "next", "replayed", "plan_id", "revision"})


def refusal(refused: Refused) -> Answer:
    """Tell a refusal: the rule, what was seen, and what helps."""
    page = (Words(f"Refused by {refused.rule}: {refused.seen}", "bad"), Facts((("next", step_lines(refused.remedy)),)))
    return Answer(refusal_body(refused), page, REFUSED, complaint=True)


def accepted(done: Done, summary: str) -> Answer:
    """Tell what changed and what is next."""
    body = accepted_reply(done, summary, done.answer).body
    return Answer(body, (Words(summary, "good"), facts(body, done.step)))


def facts(body: Body, step: Step | None) -> Facts:
    """Lay out a body: the plan first, then what it says, then what is next."""
    rows: list[tuple[str, tuple[str, ...]]] = []
    if "plan_id" in body:
        rows.append(("plan", (f"{body['plan_id']}, revision {body['revision']}",)))
    rows += [(name.replace("_", " "), tuple(lines(value))) for name, value in body.items() if name not in _APART]
    if step is not None:
        rows.append(("next", step_lines(step)))
    return Facts(tuple(rows))


def step_lines(step: Step) -> tuple[str, ...]:
    """Say who does what next, and by which verb a person does it."""
    if step.tool is None:
        return (step.say,)
    whom = "" if step.who == "manager" else f"{step.who}: "
    given = f" {json.dumps(step.arguments, ensure_ascii=False)}" if step.arguments else ""
    fill = f", with {', '.join(step.fill)}" if step.fill else ""
    verb = _verb(step)
    by_hand = "" if verb is None else f"; for a person: `flow-mcp {verb}`"
    return f"{whom}{step.tool}{given}{fill}{by_hand}", step.say


def _verb(step: Step) -> str | None:
    """Name the verb that does for a person what a tool does for an agent."""
    if step.tool == "status":
        return _VIEWS.get(str(step.arguments.get("view", "next")))
    if step.tool == "validate":
        return "observe" if step.arguments.get("scope") == "external" else None
    if step.tool == "close":
        return "accept" if step.arguments.get("kind") == "accepted" else None
    return _VERBS.get(step.tool or "")


def lines(value: JsonValue) -> list[str]:
    """Write a value in lines: short ones on one, long ones below each other."""
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, list):
        return _list(value)
    return _scalar(value).split("\n")


def _scalar(value: JsonValue) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _is_scalar(value: JsonValue) -> bool:
    return not isinstance(value, Mapping | list) and "\n" not in str(value)


def _object(value: Mapping[str, JsonValue]) -> list[str]:
    flat = ", ".join(f"{name} {_scalar(item)}" for name, item in value.items())
    if all(_is_scalar(item) for item in value.values()) and len(flat) <= LINE_CHARACTERS:
        return [flat or "none"]
    found: list[str] = []
    for name, item in value.items():
        inner = lines(item)
        found += [f"{name}: {inner[0]}"] if len(inner) == 1 else [f"{name}:", *(f"  {line}" for line in inner)]
    return found


def _list(value: Sequence[JsonValue]) -> list[str]:
    flat = ", ".join(_scalar(item) for item in value)
    if all(_is_scalar(item) for item in value) and len(flat) <= LINE_CHARACTERS:
        return [flat or "none"]
    return [line for item in value for line in _item(lines(item))]


def _item(inner: Sequence[str]) -> list[str]:
    return [f"- {inner[0]}", *(f"  {line}" for line in inner[1:])]


def packet_blocks(text: str) -> tuple[Block, ...]:
    """Show a packet as it is."""
    return tuple(Words(line) for line in text.split("\n"))
