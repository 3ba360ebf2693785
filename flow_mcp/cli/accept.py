"""``flow-mcp accept``: a person takes the goal as it is, although rules stand open."""

import os
from pathlib import Path

from flow_mcp.cli.answer import Answer
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Because, Plan, PlanOption, Workspace, Yes, meant, start
from flow_mcp.cli.person import BY_NOBODY_ELSE, Decision, answering, settled
from flow_mcp.cli.words import packet_blocks, refusal
from flow_mcp.domain.commands import Close
from flow_mcp.domain.decide import FINAL_RULES, objections
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.domain.rule import Question
from flow_mcp.server.approving import acceptance_question


def accept(  # noqa: PLR0913 - an option each
    plan: Plan = None,
    *,
    because: Because,
    plan_id: PlanOption = None,
    yes: Yes = False,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Close the goal as accepted, for the source that was shown; the rules that stand open are recorded."""
    actor = answering(yes=yes)
    return _accept(meant(plan, plan_id), because, workspace, actor).told(as_json=as_json)


def _accept(plan_id: str | None, because: str, workspace: Path | None, actor: Actor) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(actor, plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    digest = state.facts.digest
    ask = Close(kind="accepted", summary=because, shown_source=digest)
    found = objections(Question(state.document, ask, state.facts), FINAL_RULES, engine.book)
    shown = acceptance_question(state.document, tuple(f"{one.rule}: {one.seen}" for one in found), digest)
    packet = packet_blocks(f"{shown.message}\nBecause: {because}")
    question, summary, known = "Accept the goal as it is?", "The goal is accepted.", ("closure", "open_rules")
    decision = Decision(ask, packet, question, summary, BY_NOBODY_ELSE, known, {"closure": "accepted, by a person"})
    return settled(engine, state, actor, decision)
