"""``flow-mcp log``: every accepted mutation of a plan."""

from pathlib import Path

from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Rows
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, meant
from flow_mcp.cli.reading import read_plan, records
from flow_mcp.cli.words import refusal
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor, Operation

_HEAD = ("revision", "time", "kind", "actor", "entity")


def log(
    plan: Plan = None, *, plan_id: PlanOption = None, workspace: Workspace = None, as_json: AsJson = False
) -> Answer:
    """List the operations of a plan: revision, time, kind, who asked, and what it touched."""
    return _log(meant(plan, plan_id), workspace).told(as_json=as_json)


def _log(plan_id: str | None, workspace: Path | None) -> Answer:
    held = read_plan(records(workspace), plan_id)
    if isinstance(held, Refused):
        return refusal(held)
    document = held.document
    rows = tuple(
        (str(entry.revision), entry.at, entry.kind, who(entry.actor), entry.entity or "")
        for entry in document.operations
    )
    operations: list[JsonValue] = [_told(entry) for entry in document.operations]
    body: dict[str, JsonValue] = {"plan_id": document.plan_id, "revision": document.revision, "operations": operations}
    return Answer(body, (Rows(_HEAD, rows),))


def who(actor: Actor) -> str:
    """Name who asked, and through what."""
    through = [part for part in (actor.agent, actor.host, actor.channel) if part is not None]
    return f"{actor.role} ({', '.join(through)})" if through else actor.role


def _told(entry: Operation) -> JsonValue:
    told = entry.as_json()
    return {name: told[name] for name in ("id", "revision", "at", "kind", "actor", "entity") if name in told}
