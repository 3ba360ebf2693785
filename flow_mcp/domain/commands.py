"""What may be asked of a document. Imperative names, closed models, nothing that a caller could report itself.

``CheckEnd`` comes from the runner or the host alone; no tool builds it.
"""

from typing import Literal

from flow_mcp.domain.base import Closed, Line, Text
from flow_mcp.domain.model import Observation, Scope
from flow_mcp.domain.plan import Plan


class PlanSave(Closed):
    """Create the draft, or replace it."""

    goal: Text
    plan: Plan


class PlanApprove(Closed):
    """Record an answer of yes to the plan with this digest, shown at this revision with this source."""

    plan_digest: Line
    shown_revision: int
    shown_source: Line


class PlanDeny(Closed):
    """Record a person's no to the draft with this digest."""

    plan_digest: Line
    because: Text


class RunStart(Closed):
    """Start the named feature, or the first that is ready."""

    feature_id: Line | None = None


class CheckStart(Closed):
    """Start to observe a listed command."""

    scope: Scope
    command: Line
    feature_id: Line | None = None
    requirement: Line | None = None


class CheckEnd(Closed):
    """Record what was observed of the pending check."""

    check_id: Line
    observation: Observation
    passing: tuple[Line, ...]


class ReviewStart(Closed):
    """Create the one review assignment of the active run."""

    summary: Text
    risks: tuple[Text, ...] = ()


class NewFinding(Closed):
    """A finding as a reviewer hands it in; ``finding_id`` repeats a live one."""

    severity: Literal["blocking", "advisory"]
    summary: Text
    evidence: Text | None = None
    finding_id: Line | None = None
    scope_blocker: bool = False


class ReviewSubmit(Closed):
    """Answer the pending assignment with a verdict."""

    assignment_id: Line
    verdict: Literal["passed", "failed"]
    summary: Text
    findings: tuple[NewFinding, ...] = ()


class RunReset(Closed):
    """Supersede the current run of a feature and of its dependents, and start the next where one is named."""

    feature_id: Line
    reason: Text
    next_feature_id: Line | None = None


class Close(Closed):
    """End the goal."""

    kind: Literal["completed", "accepted", "deferred", "abandoned"]
    summary: Text
    shown_source: Line | None = None


class Waive(Closed):
    """Record a person's decision about one case, one path with its bytes, or one feature's proof."""

    kind: Literal["case", "path", "proof"]
    value: Line
    because: Text
    shown_source: Line


class ResealDocument(Closed):
    """Take over a document that was edited outside Flow."""

    because: Text


Ask = (
    PlanSave
    | PlanApprove
    | PlanDeny
    | RunStart
    | CheckStart
    | CheckEnd
    | ReviewStart
    | ReviewSubmit
    | RunReset
    | Close
    | Waive
    | ResealDocument
)

KINDS: dict[type[Ask], str] = {
    PlanSave: "plan_save",
    PlanApprove: "plan_approve",
    PlanDeny: "plan_deny",
    RunStart: "run_start",
    CheckStart: "check_start",
    CheckEnd: "check_end",
    ReviewStart: "review_start",
    ReviewSubmit: "review_submit",
    RunReset: "run_reset",
    Close: "close",
    Waive: "waive",
    ResealDocument: "reseal",
}


def needs_source(ask: Ask) -> bool:
    """Say whether what follows is bound to the source, so that it must be looked at first."""
    leaves = isinstance(ask, Close) and ask.kind in {"deferred", "abandoned"}
    return not leaves and not isinstance(ask, PlanDeny | CheckEnd | ResealDocument)
