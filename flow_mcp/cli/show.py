"""``flow-mcp show``: a plan as a page."""

from pathlib import Path

from flow_mcp.cli.answer import Answer, Raw
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, meant
from flow_mcp.cli.reading import read_plan, records
from flow_mcp.cli.words import refusal
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.markdown import page


def show(
    plan: Plan = None, *, plan_id: PlanOption = None, workspace: Workspace = None, as_json: AsJson = False
) -> Answer:
    """Print a plan as Markdown, with what was seen, judged and decided; --json prints the document."""
    return _show(meant(plan, plan_id), workspace).told(as_json=as_json)


def _show(plan_id: str | None, workspace: Path | None) -> Answer:
    held = read_plan(records(workspace), plan_id)
    if isinstance(held, Refused):
        return refusal(held)
    return Answer(held.document.as_json(), (Raw(page(held.document, held.lines)),))
