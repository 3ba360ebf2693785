"""Where a goal stands and what helps next, derived from the document and the rules."""

from typing import Literal

from flow_mcp.domain.commands import Ask, Close, ReviewStart, RunReset, RunStart
from flow_mcp.domain.decide import SPEAKING, objections
from flow_mcp.domain.decision import Facts, Refused, Step, call, person
from flow_mcp.domain.follow import settled
from flow_mcp.domain.graph import ready
from flow_mcp.domain.history import (
    active_run,
    all_passed,
    approval,
    carried_findings,
    checks_of,
    derived_kind,
    failed_features,
    live_findings,
    passed_features,
    runs_of,
)
from flow_mcp.domain.model import Document, Review, Run
from flow_mcp.domain.rule import Question, Rulebook
from flow_mcp.domain.rules.proof import changed_verifiers, protected_kept, restoring
from flow_mcp.domain.rules.review import observe
from flow_mcp.domain.spoken import doubts, moved_since

Status = Literal["planning", "ready", "running", "blocked", "completed", "closed"]

FAILED_REVIEWS_MAX = 3
"""After so many failed reviews of one feature a person is asked."""

FINDINGS_NAMED = 3
SUMMARY_CHARACTERS = 200


def status(document: Document) -> Status:
    """Derive the status of a goal."""
    if document.closure is not None:
        return "closed"
    if approval(document) is None:
        return "planning"
    if active_run(document) is not None:
        return "running"
    if failed_features(document):
        return "blocked"
    return "completed" if all_passed(document) else "ready"


def _draft_step(document: Document) -> Step:
    plan = document.plan
    if plan is None:
        return call("plan_save", {}, ("goal", "plan"), "Plan the goal as features with checks, gate and proofs.")
    no = next((entry for entry in reversed(document.denials) if entry.plan_digest == plan.digest()), None)
    if no is not None and not document.approvals:
        say = f"The person said no: {no.because} Save a plan that answers it."
        return call("plan_save", {"goal": document.goal}, ("plan",), say)
    return call("plan_approve", {}, (), "Ask the person to approve this exact plan.")


def _reviewer_step(run: Run, review: Review, facts: Facts) -> Step:
    if facts.source is not None and facts.digest != review.source:
        say = f"{moved_since('since the assignment', facts)} Reset the run and show its checks again."
        return call("run_reset", {"feature_id": run.feature_id, "next_feature_id": run.feature_id}, ("reason",), say)
    say = "Dispatch the reviewer flow-reviewer with this assignment; status view review is its packet."
    arguments: dict[str, str] = {"assignment_id": review.id}
    fill = ("verdict", "summary", "findings")
    return Step(who="reviewer", tool="review_submit", arguments=dict(arguments), fill=fill, say=say)


def candidate(document: Document) -> Ask | None:
    """Give the request that would move this goal on; None where somebody else must act first."""
    run = active_run(document)
    if document.closure is not None or approval(document) is None or document.pending is not None:
        return None
    return None if run is not None and run.review is not None else _moving(document)


def _moving(document: Document) -> Ask:
    failed = failed_features(document)
    if active_run(document) is not None:
        return ReviewStart(summary="what was done")
    if failed:
        return RunReset(feature_id=failed[0], reason="answer the findings", next_feature_id=failed[0])
    if all_passed(document):
        return Close(kind="completed", summary="what was done")
    return RunStart()


def _step_of(question: Question, ask: Ask) -> Step:
    document = question.document
    if isinstance(ask, ReviewStart):
        return _review_step(question)
    if isinstance(ask, RunReset):
        return _retry(document, ask)
    if isinstance(ask, Close):
        return call("close", {"kind": "completed"}, ("summary",), "Every feature has passed: close the goal.")
    plan = document.plan
    able = () if plan is None else ready(plan, passed_features(document))
    gates = () if plan is None or plan.gate is None else (plan.gate.run,)
    say = f"Start {able[0].id}." + doubts(document, question.facts.platform, *gates)
    return call("run_start", {"feature_id": able[0].id}, (), say)


def _review_step(question: Question) -> Step:
    """Ask for the review; after a failed one its findings come first, and the work where nothing changed since."""
    document, run = question.document, active_run(question.document)
    found = () if run is None else carried_findings(document, run.feature_id, derived_kind(document, run.feature_id))
    blocking = [one for one in found if one.severity == "blocking"]
    if run is None or not blocking:
        return call("review_start", {}, ("summary", "risks"), "Everything asked for is shown: begin the review.")
    named = "; ".join(
        f"{one.id} ({' '.join(one.summary.split())[:SUMMARY_CHARACTERS]})" for one in blocking[:FINDINGS_NAMED]
    )
    plan = document.plan
    feature = None if plan is None else plan.feature(run.feature_id)
    checks = () if plan is None or feature is None else checks_of(plan, feature)
    if not checks or _judged_source(document, run.feature_id) != question.facts.digest:
        say = f"Everything asked for is shown: begin the review, and say how each finding was answered: {named}."
        return call("review_start", {}, ("summary", "risks"), say)
    say = (
        f"Do the work on {run.feature_id}: answer {named}, then observe this check. Where a finding needs no change, "
        "begin the review (review_start) and say why in its summary."
    )
    return observe(question, checks[0].run, say)


def _judged_source(document: Document, feature_id: str) -> str | None:
    """Give the source of the latest failed review of a feature."""
    results = [run.review.result for run in runs_of(document, feature_id) if run.review is not None]
    failed = [result.source for result in results if result is not None and result.verdict == "failed"]
    return failed[-1] if failed else None


def _retry(document: Document, ask: RunReset) -> Step:
    findings = live_findings(document, ask.feature_id)
    failures = sum(_failed(run) for run in document.runs if run.feature_id == ask.feature_id)
    if any(finding.scope_blocker for finding in findings) or failures >= FAILED_REVIEWS_MAX:
        why = f"{failures} reviews failed" if failures >= FAILED_REVIEWS_MAX else "a finding asks for another plan"
        return person(
            f"{ask.feature_id}: {why}. Decide: reset and go on (run_reset), defer and plan anew (close deferred), or "
            "`flow-mcp accept`."
        )
    arguments = {"feature_id": ask.feature_id, "next_feature_id": ask.next_feature_id}
    return call("run_reset", dict(arguments), ("reason",), "Reset the run, answer every finding, and try again.")


def _failed(run: Run) -> bool:
    return run.review is not None and run.review.result is not None and run.review.result.verdict == "failed"


def next_step(document: Document, facts: Facts, book: Rulebook) -> Step:
    """Name the next call that helps, or whom to wait for."""
    run = active_run(document)
    if document.closure is not None:
        return call("plan_save", {}, ("goal", "plan"), f"Closed as {document.closure.kind}. A new goal is a new plan.")
    if document.pending is not None and not facts.check_lost:
        return call("validate", {"check_id": document.pending.id}, (), "A check runs: wait for it.")
    if approval(document) is None:
        return _draft_step(document)
    if run is not None and run.review is not None:
        return _reviewer_step(run, run.review, facts)
    state = _settled(document, facts)
    ask = _moving(state)
    question = Question(state, ask, facts)
    refusals = objections(question, SPEAKING[type(ask)], book)
    if not refusals:
        return _foretold(question, _step_of(question, ask))
    return _foretold(question, refusals[0].remedy) if refusals[0].rule != protected_kept.id else refusals[0].remedy


def _foretold(question: Question, step: Step) -> Step:
    """Say beside a step what the final review will refuse: a frozen file that differs already."""
    changed = changed_verifiers(question)
    if not changed:
        return step
    say = f"{step.say} The final review refuses a changed frozen file. {restoring(changed[0])}"
    return step.model_copy(update={"say": say})


def _settled(document: Document, facts: Facts) -> Document:
    """Give the document as the next mutation will find it: a lost check is recorded as one that did not pass."""
    return settled(document, "runner-lost") if facts.check_lost else document


def open_refusals(document: Document, facts: Facts, book: Rulebook) -> tuple[Refused, ...]:
    """Say, rule by rule, what stands between the goal and its next step."""
    state = _settled(document, facts)
    ask = candidate(state)
    if ask is None:
        return ()
    return objections(Question(state, ask, facts), SPEAKING[type(ask)], book)
