"""``flow-mcp status``: where the goal stands and what is next."""

import os
from pathlib import Path

from flow_mcp.cli.answer import Answer, Words
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, meant, start
from flow_mcp.cli.words import facts, refusal
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.engine.core import Engine
from flow_mcp.engine.folder import read_folder
from flow_mcp.server.approving import caller_refusal
from flow_mcp.server.views import several_body, status_body, step_body, workspace_body


def status(
    plan: Plan = None, *, plan_id: PlanOption = None, workspace: Workspace = None, as_json: AsJson = False
) -> Answer:
    """Say where the goal stands and what is next: the facts that the tool of this name answers."""
    return _status(meant(plan, plan_id), workspace).told(as_json=as_json)


def _status(plan_id: str | None, workspace: Path | None) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(Actor(role="manager"), plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state) if plan_id is not None else _several(engine, state)
    body, step = status_body(state, "next"), state.step
    hopeless = caller_refusal(state.document, state.facts, engine.book) if step.tool == "plan_approve" else None
    if hopeless is not None:
        step = hopeless.remedy
        body |= {"approval_refused": hopeless.seen, "next": step_body(step)}
    return Answer(body, (Words(str(body["summary"]), "strong"), facts(body, step)))


def _several(engine: Engine, refused: Refused) -> Answer:
    """List the open plans where it is not known which one is meant."""
    body = several_body(read_folder(engine.plans), engine.worktree, engine.settings.policy, refused.remedy)
    body |= {"workspace": workspace_body(engine.space)}
    return Answer(body, (Words(str(body["summary"]), "strong"), facts(body, refused.remedy)))
