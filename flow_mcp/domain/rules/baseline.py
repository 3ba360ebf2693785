"""The gate on the approved source: when it counts, when it is due again, and what it says of lost cases."""

from flow_mcp.domain.cases import NOT_APART, has_cases
from flow_mcp.domain.decision import Objection
from flow_mcp.domain.history import counted, latest
from flow_mcp.domain.model import Observation
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.review import judged
from flow_mcp.domain.rules.steps import validate
from flow_mcp.domain.spoken import NOT_STARTED


def no_cases_because(baseline: Observation) -> str:
    """Say why a baseline keeps no cases."""
    report = baseline.report
    if baseline.ineligible is not None:
        return baseline.ineligible
    if report is None:
        return "the gate writes no report"
    return "no case was executed" if report.reason is None else f"its report is {report.reason}"


def baseline_due(question: Question) -> str | None:
    """Say why a baseline is due on this platform; None when it was taken."""
    plan, facts = question.document.plan, question.facts
    if plan is None or plan.gate is None:
        return None
    seen = [one for one in counted(question.document) if (one.command, one.platform) == (plan.gate.run, facts.platform)]
    later = [one for one in seen if one.scope in {"focused", "broad"}]
    with_cases = min((one.revision for one in later if has_cases(one)), default=None)
    there = min((one.revision for one in later if one.ended == "exited" and not _tool_missing(one)), default=None)
    taken = [one for one in seen if one.scope == "baseline" and _taken(one, there)]
    if not taken:
        return "The gate was not observed on the approved source."
    if with_cases is None or any(_shows_cases(one) or one.revision > with_cases for one in taken):
        return None
    return "The gate reports cases now and its baseline had none."


def _shows_cases(baseline: Observation) -> bool:
    return has_cases(baseline) and baseline.ineligible not in NOT_APART


def _tool_missing(seen: Observation) -> bool:
    return seen.exit_code in NOT_STARTED


def _taken(baseline: Observation, tool_there: int | None) -> bool:
    """Say whether a baseline counts; one without its tool does not, where the tool was there before it was asked again.

    A tool that the work itself brings is not in the approved source: asked again after it was there, it counts.
    """
    if baseline.ended in {"cancelled", "runner-lost"} or baseline.ineligible == "not-run":
        return False
    return not _tool_missing(baseline) or tool_there is None or baseline.revision > tool_there


@rule(
    "review.baseline-taken",
    claim="Reviews come after the baseline.",
    limits="In a copy of the approved source, on the platform of the review; red is fine. Taken with no cases and its "
    "reason where there is no readable report or no copy can stand apart, then again once the gate reports cases.",
)
def baseline_taken(question: Question) -> Objection | None:
    """Object to a review, or a closing, without the gate seen on the approved source (row review.baseline-taken)."""
    asked, due = judged(question), baseline_due(question)
    gate = None if asked is None else asked[0].gate
    if gate is None or due is None:
        return None
    seen = latest(question.document, gate.run, question.facts.platform)
    say = "Observe the gate on the approved source; red is fine."
    if seen is not None and seen.scope == "baseline" and seen.ended == "cancelled":
        say = "It was cancelled: observe the gate on the approved source again; red is fine."
    return Objection(due, validate("baseline", gate.run, say), retryable=False)
