"""``flow-mcp waive``: a person lets one case, one path or one feature's proof go."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from flow_mcp.cli.answer import Answer, Facts
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Because, Name, PlanOption, Workspace, Yes, start
from flow_mcp.cli.person import Decision, answering, settled
from flow_mcp.cli.words import refusal
from flow_mcp.domain.commands import Waive
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor, Document

Kind = Literal["case", "path", "proof"]


def waive(  # noqa: PLR0913 - an option each
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="case, path or proof.")],
    name: Name,
    *,
    because: Because,
    plan_id: PlanOption = None,
    yes: Yes = False,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Waive one literal test case, one frozen path with its bytes, or one feature's proof."""
    actor = answering(yes=yes)
    return _waive((kind, name, because), plan_id, workspace, actor).told(as_json=as_json)


def _waive(what: tuple[Kind, str, str], plan_id: str | None, workspace: Path | None, actor: Actor) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(actor, plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    kind, name, because = what
    ask = Waive(kind=kind, value=name, because=because, shown_source=state.facts.digest)
    decision = Decision(ask, (_packet(state.document, ask),), f"Let this {kind} go?", f"The {kind} is waived.")
    return settled(engine, state, actor, decision)


def _packet(document: Document, ask: Waive) -> Facts:
    return Facts(
        (
            ("goal", tuple(document.goal.split("\n"))),
            ("because", tuple(ask.because.split("\n"))),
            ("plan", (f"{document.plan_id}, revision {document.revision}",)),
            ("source", (ask.shown_source,)),
        )
    )
