"""``flow-mcp deny``: a person's no to a draft, with what the next one should answer."""

import os
from pathlib import Path

from flow_mcp.cli.answer import Answer
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Because, Plan, PlanOption, Workspace, Yes, meant, start
from flow_mcp.cli.person import BY_CALLER, Decision, answering, settled
from flow_mcp.cli.words import packet_blocks, refusal
from flow_mcp.domain.commands import PlanDeny
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.server.advice import weightiest
from flow_mcp.server.approving import packet


def deny(  # noqa: PLR0913 - an option each
    plan: Plan = None,
    *,
    because: Because,
    plan_id: PlanOption = None,
    yes: Yes = False,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Say no to the draft, and why: the next draft has to answer it."""
    actor = answering(yes=yes)
    return _deny(meant(plan, plan_id), because, workspace, actor).told(as_json=as_json)


def _deny(plan_id: str | None, because: str, workspace: Path | None, actor: Actor) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(actor, plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    plan = state.document.plan
    ask = PlanDeny(plan_digest="" if plan is None else plan.digest(), because=because)
    advice = weightiest(engine.space.root, state.document, state.seen)
    shown = packet_blocks(packet(state.document, state.seen, advice))
    decision = Decision(ask, shown, "Say no to this plan?", "The draft is denied.", BY_CALLER)
    return settled(engine, state, actor, decision)
