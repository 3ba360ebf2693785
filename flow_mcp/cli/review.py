"""``flow-mcp review``: a person judges the pending assignment."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block
from flow_mcp.cli.findings import carried, prompted_findings, written
from flow_mcp.cli.judging import judging_page
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Summary, Workspace, Yes, fault, meant, start
from flow_mcp.cli.paper import show
from flow_mcp.cli.person import TERMINAL, Decision, answering, insisted, reached, settled
from flow_mcp.cli.words import facts, refusal
from flow_mcp.domain.commands import NewFinding, ReviewSubmit
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.history import active_run, carried_findings
from flow_mcp.domain.model import Actor, Review, Run
from flow_mcp.domain.plan import Finding
from flow_mcp.engine.core import State
from flow_mcp.engine.gather import Workspace as Space
from flow_mcp.server.packet import with_differences
from flow_mcp.server.views import status_body

_VERDICTS: Final = {"pass": True, "passed": True, "fail": False, "failed": False}
_OTHERWISE: Final = ", or let a reviewer's connection judge (`flow-mcp serve --role reviewer`)"
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
    judged, packet = flags.judged(live), _packet(engine.space, state, run, run.review)
    if actor == TERMINAL and (judged.passed is None or judged.summary is None):
        reached(_OTHERWISE)
        show(packet)
        judged, packet = _asked(judged, live), ()
    ask = _submission(run.review.id, judged)
    question = f"Record this verdict: {ask.verdict}?"
    shown, summary = (*packet, _verdict(ask)), f"The review of {run.id} has {ask.verdict}."
    decision = Decision(ask, shown, question, summary, _OTHERWISE, told={"reviewer": "a person at a terminal"})
    return settled(engine, state, actor, decision)


def _packet(space: Space, state: State, run: Run, review: Review) -> tuple[Block, ...]:
    plan = state.document.plan
    feature = None if plan is None else plan.feature(run.feature_id)
    body = with_differences(space, state, status_body(state, "review"))
    return tuple(judging_page(state, review, feature, body))


def _asked(judged: Judged, live: Sequence[Finding]) -> Judged:
    """Ask the person for what the flags leave open; a failed review carries every live finding."""
    passed = judged.passed
    if passed is None:
        passed = _VERDICTS[insisted("Your verdict, pass or fail:", _no_verdict)]
    findings = judged.findings
    if not passed and not findings:
        findings = carried((finding.id for finding in live), live)
        findings += prompted_findings(needed=all(one.severity != "blocking" for one in findings))
    summary = judged.summary or insisted("What you judged, in a sentence:", fault)
    return Judged(passed, summary, findings)


def _no_verdict(text: str) -> str | None:
    return None if text in _VERDICTS else "a verdict is pass or fail"


def _submission(assignment_id: str, judged: Judged) -> ReviewSubmit:
    """Give the request; what a script left open does not matter, since no script's verdict is recorded."""
    return ReviewSubmit(
        assignment_id=assignment_id,
        verdict="passed" if judged.passed else "failed",
        summary=judged.summary or "none",
        findings=judged.findings,
    )


def _verdict(ask: ReviewSubmit) -> Block:
    findings: list[JsonValue] = [finding.as_json() for finding in ask.findings]
    return facts({"verdict": ask.verdict, "judged": ask.summary, "findings": findings}, None)
