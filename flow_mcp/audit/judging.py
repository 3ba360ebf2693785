"""Whether each feature was worked on, judged, and passed, and whether what was judged is what was closed."""

from flow_mcp.audit.record import Record, Said
from flow_mcp.domain.model import Document, ReviewResult
from flow_mcp.domain.plan import Finding


def feature_without_passing_run(record: Record) -> Said:
    """Name features that no run stands for."""
    standing = {run.feature_id for run in record.document.runs if run.state == "passed"}
    yield from (f"feature {one.id} has no passing run" for one in record.plan.features if one.id not in standing)


def run_without_review(record: Record) -> Said:
    """Name runs that are called passed though no review passed them."""
    passed = {run.id for run, _, result in record.reviews if result.verdict == "passed"}
    for run in record.document.runs:
        is_final = run.review is not None and run.review.kind == "final"
        if run.state == "passed" and not is_final and (run.id not in passed or run.superseded is not None):
            yield f"run {run.id} is called passed and no review of it passed"


def run_without_evidence(record: Record) -> Said:
    """Name passed runs whose review rests on no pass of a check of the feature."""
    for run, review, _ in record.reviews:
        feature = next((one for one in record.plan.features if one.id == run.feature_id), None)
        if run.state != "passed" or feature is None:
            continue
        rests_on = [one for one in record.seen if one.id in review.observations and one.source == review.source]
        shown = {one.command for one in rests_on if record.passes(one) and one.revision < review.revision}
        gate = (record.plan.gate,) if record.plan.gate is not None else ()
        missing = [check.run for check in feature.checks or gate if check.run not in shown]
        yield from (f"the review of run {run.id} rests on no pass of {check!r}" for check in missing)


def no_final_review(record: Record) -> Said:
    """Say so where no run that counts had a final review."""
    if record.final is None:
        yield "no final review"


def final_review_without_result(record: Record) -> Said:
    """Say so where the final review was not answered with a pass."""
    final = record.final
    result = None if final is None else final[1].result
    if final is not None and (result is None or result.verdict != "passed" or result.revision <= record.since):
        yield f"the final review {final[1].id} was not passed"


def source_moved(record: Record) -> Said:
    """Say so where the closed source is not the one that was judged."""
    closure, final = record.document.closure, record.final
    if closure is None or final is None:
        return
    result = final[1].result
    if closure.source != final[1].source or (result is not None and result.source != final[1].source):
        yield "the source that was closed is not the one that the final review judged"


def findings_open(record: Record) -> Said:
    """Name blocking findings that no later passing review cleared."""
    live: dict[str, dict[str, Finding]] = {}
    for run, _, result in record.reviews:
        of_feature = {} if result.verdict == "passed" else live.setdefault(run.feature_id, {})
        live[run.feature_id] = of_feature | {one.id: one for one in result.findings if one.severity == "blocking"}
    inherited = [one for owed in record.plan.inherits for one in owed.findings if one.severity == "blocking"]
    judged = any(review.kind == "final" and result.verdict == "passed" for _, review, result in record.reviews)
    left = [one for each in live.values() for one in each.values()] + ([] if judged else inherited)
    yield from (f"the blocking finding {one.id} was not cleared" for one in left)


def scope_blocker_passed(record: Record) -> Said:
    """Name findings that only a person or a new plan can answer, and that anyone else passed over."""
    live: dict[str, set[str]] = {}
    owed = {one.id for entry in record.plan.inherits for one in entry.findings if one.scope_blocker}
    for run, review, result in record.reviews:
        if result.verdict == "failed":
            live.setdefault(run.feature_id, set()).update(one.id for one in result.findings if one.scope_blocker)
            continue
        stood = live.pop(run.feature_id, set()) | (owed if review.kind == "final" else set())
        if result.reviewer.by != "person":
            yield from (
                f"{review.id} passed over {name}, which only a person or a new plan answers" for name in sorted(stood)
            )


def reviewer_is_manager(record: Record) -> Said:
    """Name reviews that were answered by whoever did the work."""
    document = record.document
    managers = {one.actor.agent for one in document.operations if one.actor.role == "manager"} - {None}
    for run, review, result in record.reviews:
        is_same = result.reviewer.name in managers or _role(document, result) == "manager"
        if run.state == "passed" and result.reviewer.by != "person" and is_same:
            yield f"{review.id} was answered by whoever did the work"


def _role(document: Document, result: ReviewResult) -> str | None:
    return next((one.actor.role for one in document.operations if one.revision == result.revision), None)


def setback_untold(record: Record) -> Said:
    """Say so where the document was put back and the final reviewer's assignment was made without a word of it."""
    final = record.final
    for entry in record.document.taken_back or ():
        if final is not None and entry.revision > final[1].revision:
            yield (
                f"{final[1].id} was assigned before it was written down that the document had been put back from "
                f"revision {entry.from_revision} to {entry.to_revision}"
            )


def work_under_way(record: Record) -> Said:
    """Say so where something was not ended."""
    document = record.document
    if document.pending is not None:
        yield f"{document.pending.id} is under way"
    yield from (f"run {run.id} is active" for run in document.runs if run.state == "active")
