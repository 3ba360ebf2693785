"""``flow-mcp observe``: run an approved command on this machine, for the external evidence that a plan asks for."""

import math
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Rows, Words
from flow_mcp.cli.codes import DONE, INTERRUPTED, PROBLEM
from flow_mcp.cli.interrupts import Interrupts
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, PlanOption, Workspace, start
from flow_mcp.cli.paper import plain
from flow_mcp.cli.words import refusal
from flow_mcp.domain.commands import CheckStart
from flow_mcp.domain.decision import Refused, call
from flow_mcp.domain.history import passes
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.plan import ExternalEvidence
from flow_mcp.engine.asked import Asked
from flow_mcp.engine.checks import Checks, Waited
from flow_mcp.server.views import observation_body, observed_sentence
from flow_mcp.workspace.platform import this_platform

WAIT_S: Final = 1.0
"""How long an interrupt may go unheard."""
ENDING_S: Final = 15.0
"""How long the end of an interrupted command is waited for."""

Requirement = Annotated[
    str | None,
    typer.Argument(metavar="REQUIREMENT", help="The requirement. Default: each that asks for this platform."),
]


@dataclass(frozen=True, slots=True)
class _Watched:
    """One entry, and what was seen of it."""

    entry: ExternalEvidence
    waited: Waited

    @property
    def missing(self) -> list[str]:
        """Name the cases of the entry that were not reported as passed."""
        report = None if self.waited.observation is None else self.waited.observation.report
        named = {} if report is None else {case.case: case.outcome for case in report.cases}
        return [case for case in self.entry.cases if named.get(case) != "passed"]

    @property
    def is_good(self) -> bool:
        """Whether it is the evidence that the entry asks for."""
        seen, plan = self.waited.observation, self.waited.document.plan
        return plan is not None and seen is not None and passes(plan, seen) and not self.missing


def observe(
    requirement: Requirement = None, *, plan_id: PlanOption = None, workspace: Workspace = None, as_json: AsJson = False
) -> Answer:
    """Run what the plan asks for on this platform, one command after the other, and record what was seen.

    An interrupt cancels the command that runs; its end is recorded.
    """
    return _observe(requirement, plan_id, workspace).told(as_json=as_json)


def _observe(requirement: str | None, plan_id: str | None, workspace: Path | None) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    held = engine.pending(plan_id)
    if isinstance(held, Refused):
        return refusal(held)
    document = held[0]
    entries = _entries(document, requirement)
    if not entries:
        return refusal(_nothing(document, requirement))
    checks = Checks(engine)
    seen: list[_Watched] = []
    with Interrupts() as interrupts:
        for entry in entries:
            waited = _watched(checks, document.plan_id, entry, interrupts)
            if isinstance(waited, Refused):
                return refusal(waited)
            seen.append(_Watched(entry, waited))
            if interrupts.came:
                break
    return _told(document.plan_id, seen, interrupted=interrupts.came)


def _listed(document: Document) -> tuple[ExternalEvidence, ...]:
    return () if document.plan is None else document.plan.external_evidence or ()


def _entries(document: Document, requirement: str | None) -> list[ExternalEvidence]:
    named = [entry for entry in _listed(document) if requirement in {None, entry.requirement}]
    return [entry for entry in named if entry.platform in {"any", this_platform()}]


def _nothing(document: Document, requirement: str | None) -> Refused:
    if document.plan is None:
        remedy = call("plan_save", {}, ("goal", "plan"), "An agent saves one, through the server.")
        return Refused("plan.approved-first", "There is no plan yet.", remedy, retryable=False)
    asked = ", ".join(f"{entry.requirement} on {entry.platform}" for entry in _listed(document)) or "nothing"
    wanted = "" if requirement is None else f" for {requirement!r}"
    seen = f"The plan asks this platform ({this_platform()}) for nothing{wanted}; in all it asks for {asked}."
    remedy = call("status", {"view": "plan"}, (), "Look at its external evidence.")
    return Refused("observe.listed-only", seen, remedy, retryable=False)


def _watched(checks: Checks, plan_id: str, entry: ExternalEvidence, interrupts: Interrupts) -> Waited | Refused:
    """Run one entry's command to its recorded end; after an interrupt, as long as its end is waited for."""
    ask = CheckStart(scope="external", command=entry.command.run, feature_id=None, requirement=entry.requirement)
    begun = checks.start(ask, Asked(Actor(role="manager"), plan_id=plan_id))
    if isinstance(begun, Refused):
        return begun
    check_id, given_up_at_s = str(begun.answer["check_id"]), math.inf
    while True:
        waited = checks.wait(plan_id, check_id, WAIT_S)
        if isinstance(waited, Refused) or waited.observation is not None or time.monotonic() > given_up_at_s:
            _say("")
            return waited
        if interrupts.came and given_up_at_s == math.inf:
            checks.cancel(plan_id, check_id)
            given_up_at_s = time.monotonic() + ENDING_S
        _say(f"{waited.elapsed_s or 0:.0f} s: {entry.command.run}")


def _say(line: str) -> None:
    """Tell a person at a terminal how long it has been."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{plain(line)[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()


def _told(plan_id: str, seen: Sequence[_Watched], *, interrupted: bool) -> Answer:
    is_good = all(one.is_good for one in seen) and not interrupted
    words = "Everything asked of this platform passes." if is_good else "Not everything passes; see below."
    words = "Interrupted; what ran is recorded." if interrupted else words
    code = INTERRUPTED if interrupted else DONE if is_good else PROBLEM
    told: list[JsonValue] = [_body(one) for one in seen]
    body: dict[str, JsonValue] = {"summary": words, "plan_id": plan_id, "observations": told}
    table = Rows(("for", "seen", "cases"), tuple((one.entry.requirement, *_row(one)) for one in seen))
    return Answer(body, (Words(words, "good" if is_good else "bad"), table), code)


def _body(one: _Watched) -> JsonValue:
    seen, asked = one.waited.observation, {"requirement": one.entry.requirement}
    if seen is None:
        return {**asked, "command": one.entry.command.run, "ended": None}
    return {**asked, **observation_body(one.waited.document, seen, one.waited.tail)}


def _row(one: _Watched) -> tuple[str, str]:
    seen, run = one.waited.observation, one.entry.command.run
    if seen is None:
        return f"{run} was asked to end and has not yet.", ""
    if seen.ended != "exited":
        why = f": {seen.sandbox.reason}" if seen.ended == "not-run" else "."
        return f"{run} is recorded as {seen.ended}{why}", ""
    return observed_sentence(one.waited.document, seen), f"not passed: {', '.join(one.missing)}" if one.missing else ""
