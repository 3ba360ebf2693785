"""The false-completion audit: what a document closed as completed does not show.

It judges apart from the rules: it reads the model alone, and says anew what each word of the contract means. Where it
and a rule disagree over a document, one of the two is wrong.
"""

from collections.abc import Mapping

from flow_mcp.audit import deciding, evidence, judging, kept
from flow_mcp.audit.record import Finder, Gap, Lines, Record, WorkspaceFacts
from flow_mcp.domain.model import Document

__all__ = ["COMPLETED", "FINDERS", "RESEALED", "Gap", "WorkspaceFacts", "audit"]

COMPLETED = frozenset({"completed", "completed-with-waivers"})
"""The closures that claim that the goal is met."""

FINDERS: Mapping[str, Finder] = {
    "feature-without-passing-run": judging.feature_without_passing_run,
    "run-without-review": judging.run_without_review,
    "run-without-evidence": judging.run_without_evidence,
    "no-final-review": judging.no_final_review,
    "final-review-without-result": judging.final_review_without_result,
    "source-moved": judging.source_moved,
    "findings-open": judging.findings_open,
    "scope-blocker-passed": judging.scope_blocker_passed,
    "reviewer-is-manager": judging.reviewer_is_manager,
    "setback-untold": judging.setback_untold,
    "work-under-way": judging.work_under_way,
    "gate-never-observed": evidence.gate_never_observed,
    "gate-not-passing": evidence.gate_not_passing,
    "check-not-passing": evidence.check_not_passing,
    "failure-stands": evidence.failure_stands,
    "external-unmet": evidence.external_unmet,
    "external-revoked": evidence.external_revoked,
    "baseline-missing": evidence.baseline_missing,
    "proof-missing": evidence.proof_missing,
    "cases-unreadable": kept.cases_unreadable,
    "cases-lost": kept.cases_lost,
    "verifiers-changed": kept.verifiers_changed,
    "artifact-hides-source": kept.artifact_hides_source,
    "approval-missing": deciding.approval_missing,
    "narrowed-by-caller": deciding.narrowed_by_caller,
    "waiver-without-person": deciding.waiver_without_person,
    "waivers-untold": deciding.waivers_untold,
}
"""What is looked for: the stable name of each gap, and what finds it."""

RESEALED = "evidence-resealed"
"""The gap of a closure that rests on what a reseal made the caller's word."""


def audit(document: Document, lines: Lines, workspace: WorkspaceFacts | None) -> tuple[Gap, ...]:
    """Give what a completed document does not show; nothing for one that is open or claims no completion.

    A workspace speaks only where its source still is the closed one: later work may change anything, and no later
    tree can say what an earlier one held.

    Args:
        document: what is judged.
        lines: the lines of its listings, by digest, those of sidecar files too.
        workspace: what is there now; None where it is not at hand.
    """
    closure = document.closure
    if closure is None or closure.kind not in COMPLETED:
        return ()
    since = document.reseals[-1].revision if document.reseals else 0
    found = _gaps(Record(document, lines, workspace, since))
    if since == 0:
        return found
    anyway = {gap.id for gap in _gaps(Record(document, lines, workspace, 0))}
    stale = [gap for gap in found if gap.id not in anyway]
    told = (Gap(RESEALED, f"since the reseal at revision {since}: {stale[0].seen}"),) if stale else ()
    return tuple(gap for gap in found if gap.id in anyway) + told


def _gaps(record: Record) -> tuple[Gap, ...]:
    return tuple(Gap(name, seen) for name, finder in FINDERS.items() for seen in finder(record))
