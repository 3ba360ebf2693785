"""The document that follows a judgement: a review, a waiver, a closing, a reseal."""

from itertools import count

from pydantic import JsonValue

from flow_mcp.domain.cases import NOT_APART, cases_named, has_cases, kept_cases, lines_of
from flow_mcp.domain.commands import Close, ResealDocument, ReviewStart, ReviewSubmit, Waive
from flow_mcp.domain.decision import Accepted, Facts, Moment
from flow_mcp.domain.follow import channel_of, moved, settled, superseded
from flow_mcp.domain.history import (
    active_run,
    approval,
    counted,
    derived_kind,
    floor,
    passed_features,
    run_observations,
)
from flow_mcp.domain.listing import with_listings
from flow_mcp.domain.model import (
    Allowance,
    Approval,
    Closure,
    ClosureKind,
    Document,
    Reseal,
    Review,
    Reviewer,
    ReviewResult,
    Run,
)
from flow_mcp.domain.naming import few
from flow_mcp.domain.plan import Finding
from flow_mcp.domain.rules.baseline import no_cases_because
from flow_mcp.domain.rules.persons import counts_as_person
from flow_mcp.domain.setbacks import sentences
from flow_mcp.domain.spoken import reviewer_words

_RAN = frozenset({"exited", "signalled", "timed-out"})
"""How a command ends of which it is known in what containment it ran."""


def _replaced(document: Document, run: Run) -> tuple[Run, ...]:
    return tuple(run if entry.id == run.id else entry for entry in document.runs)


def rests_on(document: Document, facts: Facts) -> tuple[str, ...]:
    """Name the observations that a review made now rests on: proofs, and the newest of each command and platform.

    Only current ones; of an older one the list of cases may be gone already.
    """
    newest = {(seen.command, seen.platform): seen for seen in counted(document)}
    proofs = [seen for seen in run_observations(document) if seen.scope == "proof"]
    found = sorted((*newest.values(), *proofs), key=lambda seen: seen.revision)
    return tuple(seen.id for seen in found if seen.source == facts.digest)


def review_start(document: Document, ask: ReviewStart, facts: Facts, _moment: Moment) -> Accepted:
    """Make the assignment of the active run."""
    run, source = active_run(document), facts.look
    assert run is not None, "review.one-per-run asked for an active run"  # noqa: S101 - a broken program
    kind = derived_kind(document, run.feature_id)
    review = Review(
        id=f"review-{document.revision + 1}",
        kind=kind,
        source=source.digest,
        observations=rests_on(document, facts),
        summary=ask.summary,
        risks=ask.risks,
        changed_paths=source.changed,
        modes_changed=_modes_changed(document, facts) or None,
        outside_targets=source.outside,
        revision=document.revision + 1,
    )
    after = moved(document, runs=_replaced(document, run.model_copy(update={"review": review})))
    answer: dict[str, JsonValue] = {"assignment_id": review.id, "kind": kind}
    answer["changed_paths"] = list(review.changed_paths)
    if review.outside_targets:
        answer["outside_targets"] = list(review.outside_targets)
    return Accepted(with_listings(after, ()), answer, review.id)


def _modes_changed(document: Document, facts: Facts) -> tuple[str, ...]:
    """Name the changed paths that are frozen and have the bytes that were frozen."""
    given, source = approval(document), facts.look
    lines = () if given is None else lines_of(document, facts.lines, given.protected) or ()
    frozen = {path: digest for digest, _, path in (line.partition(" ") for line in lines)}
    return tuple(path for path in source.changed if path in frozen and source.protected.get(path) == frozen[path])


def _reviewer(facts: Facts) -> Reviewer:
    actor = facts.actor
    if actor.host is not None and actor.agent is not None:
        return Reviewer(by="agent", name=actor.agent, attested=True)
    if actor.role == "person":
        certain = actor.channel in {"dialog", "signed"}
        return Reviewer(by="person", name="person", attested=certain, channel=actor.channel)
    return Reviewer(by="connection", name=actor.agent or actor.role, attested=False)


def _findings(document: Document, ask: ReviewSubmit, run: Run, review: Review) -> tuple[Finding, ...]:
    """Give new findings their ids; one that an inherited finding bears already is left to it."""
    owed = () if document.plan is None else document.plan.inherits
    taken = {finding.id for entry in owed for finding in entry.findings}
    names = (f"{run.feature_id}.R{review.revision}-{number:02d}" for number in count(1))
    fresh = (name for name in names if name not in taken)
    return tuple(
        Finding(
            id=given.finding_id or next(fresh),
            severity=given.severity,
            summary=given.summary,
            evidence=given.evidence,
            scope_blocker=given.scope_blocker,
        )
        for given in ask.findings
    )


def review_submit(document: Document, ask: ReviewSubmit, facts: Facts, _moment: Moment) -> Accepted:
    """Record the verdict; the run has passed or failed with it."""
    run = active_run(document) or next(run for run in reversed(document.runs) if run.review is not None)
    review = run.review
    assert review is not None, "review.assignment-pending asked for an assignment"  # noqa: S101 - a broken program
    result = ReviewResult(
        verdict=ask.verdict,
        summary=ask.summary,
        findings=_findings(document, ask, run, review),
        reviewer=_reviewer(facts),
        source=facts.look.digest,
        revision=document.revision + 1,
    )
    state = "passed" if ask.verdict == "passed" else "failed"
    judged = run.model_copy(update={"state": state, "review": review.model_copy(update={"result": result})})
    after = moved(document, runs=_replaced(document, judged))
    answer: dict[str, JsonValue] = {"run_id": run.id, "state": state}
    answer["findings"] = [finding.id for finding in result.findings]
    answer["reviewer"] = reviewer_words(result.reviewer)
    return Accepted(with_listings(after, ()), answer, review.id)


def waive(document: Document, ask: Waive, facts: Facts, _moment: Moment) -> Accepted:
    """Record what a person let go."""
    value, digest, source = ask.value, None, facts.look
    if ask.kind == "case":
        value = min(cases_named(kept_cases(document, facts.lines) or {}, ask.value), default=ask.value)
    if ask.kind == "path":
        digest = source.protected.get(value, source.test_configuration.get(value))
    entry = Allowance(
        kind=ask.kind,
        value=value,
        digest=digest,
        because=ask.because,
        channel=channel_of(facts),
        source=facts.look.digest,
        revision=document.revision + 1,
    )
    answer: dict[str, JsonValue] = {"waived": {"kind": ask.kind, "value": value}}
    return Accepted(moved(document, allowances=(*document.allowances, entry)), answer, None)


def reseal(document: Document, ask: ResealDocument, facts: Facts, _moment: Moment) -> Accepted:
    """Take the document as it stands: everything earlier is the caller's word, and current runs are superseded."""
    revision = max(document.revision, *(operation.revision for operation in document.operations), 0) + 1
    quiet = settled(document.model_copy(update={"revision": revision - 1}), "cancelled")
    features = frozenset(run.feature_id for run in quiet.runs)
    runs = quiet.runs
    if document.closure is None:
        runs = superseded(quiet.runs, features, "the document was edited outside Flow and resealed", revision)
    entry = Reseal(because=ask.because, channel=channel_of(facts), revision=revision)
    after = quiet.model_copy(update={"revision": revision, "runs": runs, "reseals": (*quiet.reseals, entry)})
    return Accepted(after, {"resealed": revision}, None)


def _notes(document: Document) -> tuple[str, ...]:
    """Say what a reader of the closure must know of weaker evidence."""
    plan, given, notes = document.plan, approval(document), []
    gate = None if plan is None else plan.gate
    if gate is not None and gate.no_report_because:
        notes.append(f"The gate writes no report: {gate.no_report_because}")
    if gate is not None and gate.narrowed_because:
        notes.append(f"The gate is narrowed: {gate.narrowed_because}")
    if given is None or given.by == "caller":
        notes.append("No person approved this plan: caller-declared." if given else "No approval was in force.")
        notes.extend(_approved_unseen(given))
    elif given.channel.endswith("-unverified"):
        notes.append(f"Approved through {given.channel}.")
    if len({entry.source for entry in document.approvals}) > 1:
        notes.append("The first approved source was lost; a person approved a later one in its place.")
    notes.extend(sentences(document))
    notes.extend(_baseline_notes(document))
    notes.extend(_reviewer_note(run) for run in document.runs if _unattested(run))
    if any(seen.sandbox.tier == "none" and seen.ended in _RAN for seen in counted(document)):
        notes.append("Commands ran without containment.")
    return tuple(dict.fromkeys(notes))


def _approved_unseen(given: Approval | None) -> list[str]:
    """Say what a person would have been shown, where nobody was asked."""
    if given is None or not given.targets_dirty:
        return []
    return [f"Targets differed from HEAD when the caller approved: {few(given.targets_dirty)}."]


def _baseline_notes(document: Document) -> list[str]:
    """Say why the baseline keeps no cases, where it keeps none."""
    taken = [seen for seen in document.baselines if seen.revision > floor(document)]
    if not taken or any(has_cases(seen) and seen.ineligible not in NOT_APART for seen in taken):
        return []
    return [f"The baseline has no cases: {no_cases_because(taken[-1])}."]


def _reviewer_note(run: Run) -> str:
    who = None if run.review is None or run.review.result is None else run.review.result.reviewer
    return f"Judged by a person through {who.channel}." if who and who.by == "person" else "Reviewer: unattested."


def _unattested(run: Run) -> bool:
    review = run.review
    return (
        run.state == "passed"
        and review is not None
        and review.result is not None
        and not review.result.reviewer.attested
    )


def waivers(document: Document) -> tuple[str, ...]:
    """List what a person waived, as the closure shows it."""
    since = floor(document)
    counting = [entry for entry in document.allowances if entry.revision > since]
    return tuple(f"{entry.kind} {entry.value}: {' '.join(entry.because.split())}" for entry in counting)


def closed(document: Document, ask: Close, facts: Facts, open_rules: tuple[str, ...]) -> Accepted:
    """End the goal; what still runs is cancelled, and an unfinished run is superseded."""
    let_go = waivers(document)
    kind: ClosureKind = "completed-with-waivers" if ask.kind == "completed" and let_go else ask.kind
    person = counts_as_person(facts)
    closure = Closure(
        kind=kind,
        summary=ask.summary,
        by="person" if person else "caller",
        channel=facts.actor.channel,
        source=facts.digest or None,
        platform=facts.platform,
        open_rules=open_rules,
        waivers=let_go,
        notes=_notes(document),
        revision=document.revision + 1,
    )
    quiet = settled(document, "cancelled")
    unfinished = frozenset(run.feature_id for run in quiet.runs if run.state == "active")
    runs = superseded(quiet.runs, unfinished - passed_features(quiet), f"closed as {kind}", document.revision + 1)
    after = moved(quiet, runs=runs, closure=closure)
    answer: dict[str, JsonValue] = {"closure": closure.as_json()}
    if open_rules:
        answer["open_rules"] = list(open_rules)
    return Accepted(with_listings(after, ()), answer, None)
