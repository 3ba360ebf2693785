"""``flow-mcp review``: a person judges the pending assignment."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Misused, Words
from flow_mcp.cli.findings import carried, prompted_findings, prompted_text, written
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Summary, Workspace, Yes, meant, start
from flow_mcp.cli.paper import show
from flow_mcp.cli.person import TERMINAL, Decision, answering, prompted, settled
from flow_mcp.cli.words import facts, refusal
from flow_mcp.domain.commands import NewFinding, ReviewSubmit
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.history import active_run, carried_findings
from flow_mcp.domain.model import Actor
from flow_mcp.domain.plan import Finding
from flow_mcp.engine.core import State
from flow_mcp.server.views import status_body

_NOTE = "--finding 'blocking: what is wrong :: what was seen where', or 'advisory: …'. May be repeated."


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, as far as the person gave it."""

    passed: bool | None
    summary: str | None
    findings: tuple[NewFinding, ...]


@dataclass(frozen=True, slots=True)
class Flags:
    """What was said on the command line."""

    passed: bool | None
    summary: str | None
    findings: Sequence[str]
    carry: Sequence[str]

    def judged(self, live: Sequence[Finding]) -> Judged:
        """Read the flags; ``live`` are the findings that can be carried."""
        return Judged(self.passed, self.summary, (*written(self.findings), *carried(self.carry, live)))


def review(  # noqa: PLR0913 - an option each
    plan: Plan = None,
    *,
    passed: Annotated[bool | None, typer.Option("--pass/--fail", help="The verdict.", show_default=False)] = None,
    summary: Summary = None,
    finding: Annotated[list[str] | None, typer.Option("--finding", metavar="TEXT", help=_NOTE)] = None,
    carry: Annotated[
        list[str] | None, typer.Option("--carry", metavar="FINDING", help="Repeat a prior finding. May be repeated.")
    ] = None,
    plan_id: PlanOption = None,
    yes: Yes = False,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Show the packet of the pending review, and record a verdict; what is not given is asked for."""
    flags = Flags(passed, summary, finding or (), carry or ())
    actor = answering(yes=yes)
    return _review(meant(plan, plan_id), flags, workspace, actor).told(as_json=as_json)


def _review(plan_id: str | None, flags: Flags, workspace: Path | None, actor: Actor) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(actor, plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    run = active_run(state.document)
    if run is None or run.review is None:
        seen = "No assignment is pending."
        return refusal(Refused("review.assignment-pending", seen, state.step, retryable=True))
    live = carried_findings(state.document, run.feature_id, run.review.kind)
    judged, packet = flags.judged(live), _packet(state)
    if actor == TERMINAL and (judged.passed is None or judged.summary is None):
        show(packet)
        judged, packet = _asked(judged, live), ()
    ask = _submission(run.review.id, judged)
    question = f"Record this verdict: {ask.verdict}?"
    decision = Decision(ask, (*packet, _verdict(ask)), question, f"The review of {run.id} has {ask.verdict}.")
    return settled(engine, state, actor, decision)


def _packet(state: State) -> tuple[Block, ...]:
    body = status_body(state, "review")
    return Words(str(body["summary"]), "strong"), facts(body, None)


def _asked(judged: Judged, live: Sequence[Finding]) -> Judged:
    """Ask the person for what the flags leave open; a failed review carries every live finding."""
    passed = _verdict_of(prompted("Your verdict, pass or fail:")) if judged.passed is None else judged.passed
    findings = judged.findings
    if not passed and not findings:
        findings = (*carried((finding.id for finding in live), live), *prompted_findings())
    summary = judged.summary or prompted_text("What you judged, in a sentence:")
    return Judged(passed, summary, findings)


def _verdict_of(text: str) -> bool:
    known = {"pass": True, "passed": True, "fail": False, "failed": False}
    if text not in known:
        seen = f"A verdict is pass or fail, not {text[:40]!r}."
        raise Misused(seen, "Nothing was recorded; begin again.")
    return known[text]


def _submission(assignment_id: str, judged: Judged) -> ReviewSubmit:
    if judged.passed is None or not judged.summary:
        seen = "The verdict or its summary is missing, so nothing was recorded."
        raise Misused(seen, "Give --pass or --fail, and --summary.")
    return ReviewSubmit(
        assignment_id=assignment_id,
        verdict="passed" if judged.passed else "failed",
        summary=judged.summary,
        findings=judged.findings,
    )


def _verdict(ask: ReviewSubmit) -> Block:
    findings: list[JsonValue] = [finding.as_json() for finding in ask.findings]
    return facts({"verdict": ask.verdict, "judged": ask.summary, "findings": findings}, None)
