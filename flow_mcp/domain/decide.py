"""Say yes or no: for each request its rules in speaking order, and the document that follows."""

from collections.abc import Callable

from flow_mcp.domain import ending, follow
from flow_mcp.domain.commands import (
    Ask,
    CheckEnd,
    CheckStart,
    Close,
    PlanApprove,
    PlanDeny,
    PlanSave,
    ResealDocument,
    ReviewStart,
    ReviewSubmit,
    RunReset,
    RunStart,
    Waive,
    needs_source,
)
from flow_mcp.domain.decision import Accepted, Facts, Moment, Refused
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import Question, Rule, Rulebook
from flow_mcp.domain.rules import (
    approval,
    baseline,
    bounds,
    close,
    covered,
    life,
    observation,
    plan,
    proof,
    review,
    run,
    verdict,
)

FINAL_RULES: tuple[Rule, ...] = (
    close.every_feature_passed,
    close.source_unmoved,
    covered.artifacts_narrow,
    covered.links_inside,
    baseline.baseline_taken,
    review.veto_clear,
    review.final_checks,
    proof.final_external,
    review.cases_kept,
    proof.protected_kept,
    proof.proof_shown,
)
"""What a completed closing rests on; an accepting person passes over them, and is told which stand open."""

_START = (life.approved_first, life.closed_final, approval.unmoved, life.one_open)

SPEAKING: dict[type[Ask], tuple[Rule, ...]] = {
    PlanSave: (
        life.closed_final,
        life.one_open,
        life.goal_kept,
        life.frozen,
        bounds.bounded,
        plan.acyclic,
        plan.questions_answered,
        plan.commands_whole,
        plan.gate_whole,
        covered.artifacts_narrow,
        life.losses_carried,
    ),
    PlanApprove: (
        life.approved_first,
        life.closed_final,
        life.one_open,
        approval.unmoved,
        approval.exact,
        life.losses_carried,
        covered.artifacts_narrow,
        plan.questions_answered,
        approval.caller_bounded,
    ),
    PlanDeny: (life.approved_first, life.closed_final, approval.exact, bounds.bounded),
    RunStart: (
        *_START,
        run.one_active,
        run.not_blocked,
        run.feature_startable,
        bounds.bounded,
    ),
    CheckStart: (
        *_START,
        observation.settled_first,
        observation.needs_active_run,
        observation.before_review,
        observation.broad_is_gate,
        observation.listed_only,
        run.facts_present,
        bounds.bounded,
    ),
    CheckEnd: (life.closed_final, observation.pending_only),
    ReviewStart: (
        *_START,
        observation.settled_first,
        review.one_per_run,
        run.facts_present,
        covered.artifacts_narrow,
        covered.links_inside,
        baseline.baseline_taken,
        review.checks_passed,
        review.veto_clear,
        review.cases_kept,
        proof.proof_shown,
        review.final_checks,
        proof.final_external,
        proof.protected_kept,
        bounds.bounded,
    ),
    ReviewSubmit: (
        life.approved_first,
        life.closed_final,
        verdict.reserved_identity,
        verdict.assignment_pending,
        observation.settled_first,
        approval.unmoved,
        verdict.failed_blocks,
        verdict.passed_clean,
        verdict.findings_carried,
        verdict.source_unmoved,
        covered.artifacts_narrow,
        covered.links_inside,
        bounds.bounded,
    ),
    RunReset: (
        *_START,
        observation.settled_first,
        run.reset_current,
        run.one_active,
        run.not_blocked,
        run.feature_startable,
        bounds.bounded,
    ),
    Close: (
        life.approved_first,
        life.closed_final,
        close.accepted_by_person,
        approval.exact,
        observation.settled_first,
        approval.unmoved,
        *FINAL_RULES,
        bounds.bounded,
    ),
    Waive: (life.approved_first, life.closed_final, verdict.waived_by_person, approval.exact, bounds.bounded),
    ResealDocument: (life.approved_first, close.accepted_by_person, bounds.bounded),
}


FOLLOW: dict[type[Ask], Callable[..., Accepted]] = {
    PlanSave: follow.save,
    PlanApprove: follow.approve,
    PlanDeny: follow.deny,
    RunStart: follow.run_start,
    CheckStart: follow.check_start,
    CheckEnd: follow.check_end,
    RunReset: follow.run_reset,
    ReviewStart: ending.review_start,
    ReviewSubmit: ending.review_submit,
    Waive: ending.waive,
    ResealDocument: ending.reseal,
}
"""What an accepted request does; closing also needs the rules that stand open."""


def decide(document: Document, ask: Ask, facts: Facts, moment: Moment, book: Rulebook) -> Accepted | Refused:
    """Ask the rules in order; the first that objects is the answer, else give the document that follows."""
    state = document
    if document.pending is not None and facts.check_lost and not isinstance(ask, CheckEnd):
        state = _lost(document, book)
    question = Question(state, ask, facts)
    for entry in SPEAKING[type(ask)]:
        refusal = _asked(entry, question, book)
        if refusal is not None and not (_accepting(ask) and entry in FINAL_RULES):
            return refusal
    return _follows(question, moment, book)


def objections(question: Question, rules: tuple[Rule, ...], book: Rulebook) -> tuple[Refused, ...]:
    """Give every objection of some rules, in order."""
    found = (_asked(entry, question, book) for entry in rules)
    return tuple(refusal for refusal in found if refusal is not None)


def _accepting(ask: Ask) -> bool:
    return isinstance(ask, Close) and ask.kind == "accepted"


def _asked(entry: Rule, question: Question, book: Rulebook) -> Refused | None:
    objection = entry.guard(question) if entry.guard is not None and book.holds(entry.id) else None
    if objection is None:
        return None
    return Refused(entry.id, objection.seen, objection.remedy, objection.retryable)


def _lost(document: Document, book: Rulebook) -> Document:
    """Settle a check whose runner is gone; with its rule out, the check leaves no trace."""
    if book.holds(observation.ALWAYS_RECORDED.id):
        return follow.settled(document, "runner-lost")
    return document.model_copy(update={"pending": None})


def _open_rules(document: Document, ask: Close, facts: Facts, book: Rulebook) -> tuple[str, ...]:
    """Name every rule that an accepting person passes over: all that a completed closing would hear."""
    if not _accepting(ask):
        return ()
    completing = Question(document, ask.model_copy(update={"kind": "completed"}), facts)
    return tuple(refusal.rule for refusal in objections(completing, SPEAKING[Close], book))


def _follows(question: Question, moment: Moment, book: Rulebook) -> Accepted:
    document, ask, facts = question.document, question.ask, question.facts
    assert facts.source is not None or not needs_source(ask), "never bind blindly"  # noqa: S101 - a broken program
    if isinstance(ask, Close):
        state = document if book.holds(observation.ALWAYS_RECORDED.id) else _lost(document, book)
        return ending.closed(state, ask, facts, _open_rules(document, ask, facts, book))
    return FOLLOW[type(ask)](document, ask, facts, moment)
