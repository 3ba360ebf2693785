"""``flow-mcp reseal``: a person takes over a document that was edited outside Flow."""

import os
from pathlib import Path
from typing import Annotated

import typer

from flow_mcp.cli.answer import Answer, Facts, Words
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Because, Workspace, Yes, start
from flow_mcp.cli.person import BY_NOBODY_ELSE, TERMINAL, answering, confirmed, unconfirmed
from flow_mcp.cli.words import accepted, refusal
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.setbacks import sentences
from flow_mcp.domain.view import status
from flow_mcp.engine.core import Asked, whole_digest
from flow_mcp.store.chain import fault

_COSTS = (
    "Every earlier approval, observation and review becomes the caller's word; the plan must be approved anew.",
    "Current runs are superseded, and completing needs fresh evidence.",
)


def reseal(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan whose document was edited.")],
    *,
    because: Because,
    yes: Yes = False,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Take over a document that was edited outside Flow: what was recorded before no longer counts as evidence."""
    return _reseal(plan, because, workspace, answering(yes=yes)).told(as_json=as_json)


def _reseal(plan_id: str, because: str, workspace: Path | None, actor: Actor) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    held = engine.edited(plan_id)
    if isinstance(held, Refused):
        return refusal(held)
    document = held.document
    shown = whole_digest(document)
    question = "Take over the document as it stands?"
    told = sentences(engine.plans.told(held).document)
    if actor == TERMINAL and not confirmed(_packet(document, because, shown, told), question, BY_NOBODY_ELSE):
        return unconfirmed()
    done = engine.reseal(Asked(actor, expected_revision=document.revision), plan_id, because, shown)
    return refusal(done) if isinstance(done, Refused) else accepted(done, "The document is resealed.")


def _packet(document: Document, because: str, shown: str, told: tuple[str, ...]) -> tuple[Words, Facts]:
    rows = (
        ("goal", tuple(document.goal.split("\n"))),
        ("status", (status(document),)),
        ("edited", (fault(document) or "its hash chain is whole, and what it says is not",)),
        *((("put back", told),) if told else ()),
        ("because", tuple(because.split("\n"))),
        ("costs", _COSTS),
        ("plan", (f"{document.plan_id}, revision {document.revision}",)),
        ("document", (shown,)),
    )
    return Words(f"Reseal {document.plan_id}", "strong"), Facts(rows)
