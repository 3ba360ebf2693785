"""``flow-mcp approve``: a person's yes to exactly this plan."""

import os
from pathlib import Path

from flow_mcp.cli.answer import Answer, Words
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, Yes, meant, start
from flow_mcp.cli.person import BY_CALLER, BY_NOBODY_ELSE, Decision, answering, settled
from flow_mcp.cli.words import packet_blocks, refusal
from flow_mcp.domain.commands import PlanApprove
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.server.advice import weightiest
from flow_mcp.server.approving import packet


def approve(
    plan: Plan = None,
    *,
    plan_id: PlanOption = None,
    yes: Yes = False,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Show the plan, and approve exactly what was shown."""
    actor = answering(yes=yes)
    return _approve(meant(plan, plan_id), workspace, actor).told(as_json=as_json)


def _approve(plan_id: str | None, workspace: Path | None, actor: Actor) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(actor, plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    plan = state.document.plan
    ask = PlanApprove(
        plan_digest="" if plan is None else plan.digest(),
        shown_revision=state.document.revision,
        shown_source=state.facts.digest,
    )
    advice = weightiest(engine.space.root, state.document, state.seen)
    shown = (
        *packet_blocks(packet(state.document, state.seen, advice)),
        Words("`flow-mcp show` prints the whole plan.", "faint"),
    )
    otherwise = BY_CALLER if state.facts.policy.approve == "caller" else BY_NOBODY_ELSE
    decision = Decision(ask, shown, "Approve exactly this plan?", "The plan is approved.", otherwise)
    return settled(engine, state, actor, decision)
