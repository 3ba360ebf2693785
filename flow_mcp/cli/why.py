"""``flow-mcp why``: what stands between the goal and its next step."""

import os
from pathlib import Path

from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Facts, Words
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, meant, start
from flow_mcp.cli.words import refusal, step_lines
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.domain.view import open_refusals
from flow_mcp.server.views import head, refusal_body, step_body


def why(
    plan: Plan = None, *, plan_id: PlanOption = None, workspace: Workspace = None, as_json: AsJson = False
) -> Answer:
    """Say, rule by rule, what stands between the goal and its next step, and what helps."""
    return _why(meant(plan, plan_id), workspace).told(as_json=as_json)


def _why(plan_id: str | None, workspace: Path | None) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(Actor(role="manager"), plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    found = open_refusals(state.document, state.facts, engine.book)
    summary = _summary(len(found))
    told: list[JsonValue] = [refusal_body(one)["refused"] for one in found]
    body = {"summary": summary, **head(state.document), "refusals": told, "next": step_body(state.step)}
    page: list[Block] = [Words(summary, "strong")]
    for one in found:
        page += [Words(f"{one.rule}: {one.seen}", "bad"), Facts((("remedy", step_lines(one.remedy)),))]
    return Answer(body, [*page, Facts((("next", step_lines(state.step)),))])


def _summary(count: int) -> str:
    if count == 0:
        return "No rule stands between the goal and its next step."
    return f"{count} rule{'' if count == 1 else 's'} stand{'s' if count == 1 else ''} before the next step."
