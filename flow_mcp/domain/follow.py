"""The document that follows an accepted request. Nothing here refuses: the rules have spoken."""

from collections.abc import Iterable

from pydantic import JsonValue

from flow_mcp.domain.commands import (
    CheckEnd,
    CheckStart,
    PlanApprove,
    PlanDeny,
    PlanSave,
    RunReset,
    RunStart,
)
from flow_mcp.domain.decision import Accepted, Facts, Moment
from flow_mcp.domain.graph import order, ready
from flow_mcp.domain.history import (
    active_run,
    approval,
    carried_findings,
    dependents,
    derived_kind,
    passed_features,
    unanswered,
)
from flow_mcp.domain.listing import listing_of, manifest_lines, with_listings
from flow_mcp.domain.model import (
    Approval,
    Channel,
    Denial,
    Document,
    Ended,
    Observation,
    PendingCheck,
    Run,
    Sandbox,
    Superseded,
)
from flow_mcp.domain.rules.persons import counts_as_person

NAMED_MAX = 20
"""So many paths are written down with an approval of each kind."""


def moved(document: Document, **changes: object) -> Document:
    """Give the document one revision later."""
    return document.model_copy(update={"revision": document.revision + 1, **changes})


def channel_of(facts: Facts) -> Channel:
    """Give the channel of an answer."""
    return facts.actor.channel or "caller"


def save(document: Document, ask: PlanSave, facts: Facts, _moment: Moment) -> Accepted:
    """Keep the draft, with what earlier plans owe."""
    plan = ask.plan.model_copy(update={"inherits": facts.owed})
    listings = [listing_of(facts.lines[kept.listing]) for owed in facts.owed for kept in owed.kept]
    saved = moved(document, goal=ask.goal, plan=plan, worktree=facts.worktree)
    answer: dict[str, JsonValue] = {"plan_digest": plan.digest(), "order": list(order(plan))}
    if facts.owed:
        answer["inherits"] = [owed.plan_id for owed in facts.owed]
    return Accepted(with_listings(saved, listings), answer, None)


def approve(document: Document, ask: PlanApprove, facts: Facts, moment: Moment) -> Accepted:
    """Record the yes; a second one keeps the first one's source and frozen files where they are at hand."""
    first = document.approvals[0] if document.approvals else None
    source, commit = facts.look.digest, facts.look.commit
    targets_dirty = facts.look.targets_dirty[:NAMED_MAX]
    unfrozen = tuple(path for path in facts.look.verifiers if path not in facts.look.protected)[:NAMED_MAX]
    protected = listing_of(manifest_lines(facts.look.protected))
    if first is not None and facts.copy_present:
        last = document.approvals[-1]
        source, commit, targets_dirty = last.source, last.commit, last.targets_dirty or ()
    person = counts_as_person(facts)
    given = Approval(
        by="person" if person else "caller",
        channel=channel_of(facts),
        plan_digest=ask.plan_digest,
        source=source,
        commit=commit,
        protected=protected.digest if first is None else first.protected,
        targets_dirty=targets_dirty or None,
        unfrozen=(unfrozen or None) if first is None else first.unfrozen,
        policy=facts.policy,
        revision=document.revision + 1,
        at=moment.at,
    )
    approved = moved(document, approvals=(*document.approvals, given))
    answer: dict[str, JsonValue] = {"approval": {"by": given.by, "channel": given.channel}}
    if given.by == "caller" and given.targets_dirty:
        answer["targets_dirty"] = list(given.targets_dirty)
    return Accepted(with_listings(approved, (protected,)), answer, None)


def deny(document: Document, ask: PlanDeny, facts: Facts, _moment: Moment) -> Accepted:
    """Record the no, for the next draft to answer."""
    no = Denial(
        plan_digest=ask.plan_digest,
        because=ask.because,
        channel=channel_of(facts),
        revision=document.revision + 1,
    )
    return Accepted(moved(document, denials=(*document.denials, no)), {"denied": ask.because}, None)


def started(document: Document, feature_id: str, facts: Facts) -> Run:
    """Make the next run of a feature, at the revision that follows."""
    attempt = 1 + sum(run.feature_id == feature_id for run in document.runs)
    return Run(
        id=f"{feature_id}.{attempt}",
        feature_id=feature_id,
        attempt=attempt,
        state="active",
        started_source=facts.look.digest,
        started_revision=document.revision + 1,
    )


def run_start(document: Document, ask: RunStart, facts: Facts, _moment: Moment) -> Accepted:
    """Start the named feature, or the first that is ready."""
    plan = document.plan
    able = () if plan is None else ready(plan, passed_features(document))
    run = started(document, ask.feature_id or able[0].id, facts)
    answer = run_answer(document, run)
    return Accepted(moved(document, runs=(*document.runs, run), worktree=facts.worktree), answer, run.id)


def run_answer(document: Document, run: Run) -> dict[str, JsonValue]:
    """Say what a started run must do: its feature and the findings that it must answer."""
    feature = None if document.plan is None else document.plan.feature(run.feature_id)
    answer: dict[str, JsonValue] = {
        "run_id": run.id,
        "feature": None if feature is None else feature.as_json(),
    }
    findings = carried_findings(document, run.feature_id, derived_kind(document, run.feature_id))
    if findings:
        answer["findings"] = [finding.as_json() for finding in findings]
    silent = unanswered(document, run.feature_id)
    if silent:
        answer["unanswered_reviews"] = list(silent)
    return answer


def check_start(document: Document, ask: CheckStart, facts: Facts, _moment: Moment) -> Accepted:
    """Enter the check that runs now."""
    run, given = active_run(document), approval(document)
    of_run = ask.scope in {"focused", "broad", "proof"}
    source = given.source if ask.scope == "baseline" and given is not None else facts.look.digest
    pending = PendingCheck(
        id=f"check-{document.revision + 1}",
        scope=ask.scope,
        command=ask.command,
        feature_id=ask.feature_id if ask.scope == "proof" else None,
        requirement=ask.requirement if ask.scope == "external" else None,
        run_id=run.id if of_run and run is not None else None,
        source=source,
        platform=facts.platform,
        started_revision=document.revision + 1,
    )
    answer: dict[str, JsonValue] = {"check_id": pending.id, "scope": ask.scope, "command": ask.command}
    return Accepted(moved(document, pending=pending), answer, pending.id)


def check_end(document: Document, ask: CheckEnd, _facts: Facts, _moment: Moment) -> Accepted:
    """Record what was seen of the pending check."""
    pending = document.pending
    if pending is None:  # the rule observe.pending-only was taken out: record it for the active run
        run = active_run(document)
        pending = PendingCheck(
            id=ask.check_id,
            scope=ask.observation.scope,
            command=ask.observation.command,
            run_id=None if run is None else run.id,
            source=ask.observation.source,
            platform=ask.observation.platform,
            started_revision=document.revision,
        )
    listing = listing_of(ask.passing)
    recorded = _bound(ask.observation, pending, document.revision + 1)
    if recorded.report is not None and recorded.report.reason is None:
        report = recorded.report.model_copy(update={"passing": listing.digest})
        recorded = recorded.model_copy(update={"report": report})
    after = moved(document, pending=None, **_placed(document, pending, recorded))
    return Accepted(with_listings(after, (listing,)), {"observation": recorded.as_json()}, recorded.id)


def _bound(seen: Observation, pending: PendingCheck, revision: int) -> Observation:
    """Bind an observation to the check that was started, whatever it says of itself."""
    return seen.model_copy(
        update={
            "id": f"o{revision}",
            "scope": pending.scope,
            "command": pending.command,
            "feature_id": pending.feature_id,
            "requirement": pending.requirement,
            "started_revision": pending.started_revision,
            "revision": revision,
        }
    )


def _placed(document: Document, pending: PendingCheck, seen: Observation) -> dict[str, object]:
    if pending.scope == "baseline":
        return {"baselines": (*document.baselines, seen)}
    if pending.scope == "external":
        return {"externals": (*document.externals, seen)}
    runs = tuple(
        run.model_copy(update={"observations": (*run.observations, seen)}) if run.id == pending.run_id else run
        for run in document.runs
    )
    return {"runs": runs}


def settled(document: Document, ended: Ended) -> Document:
    """Record the pending check as one that ended without a result, at the revision that follows."""
    pending = document.pending
    if pending is None:
        return document
    seen = Observation(
        id="",
        scope=pending.scope,
        command=pending.command,
        attested_by="runner",
        ended=ended,
        platform=pending.platform,
        source=pending.source,
        sandbox=Sandbox(tier="none", reason="the command's end was not seen"),
        ineligible="cancelled" if ended == "cancelled" else "runner-lost",
        started_revision=pending.started_revision,
        revision=0,
    )
    recorded = _bound(seen, pending, document.revision + 1)
    return document.model_copy(update={"pending": None, **_placed(document, pending, recorded)})


def superseded(runs: Iterable[Run], features: frozenset[str], reason: str, revision: int) -> tuple[Run, ...]:
    """Supersede every current run of some features."""
    note = Superseded(reason=reason, revision=revision)
    return tuple(
        run.model_copy(update={"state": "superseded", "superseded": note})
        if run.feature_id in features and run.state != "superseded"
        else run
        for run in runs
    )


def run_reset(document: Document, ask: RunReset, facts: Facts, _moment: Moment) -> Accepted:
    """Supersede the feature's run and its dependents' runs, and start the next one where it is named."""
    plan = document.plan
    gone = frozenset({ask.feature_id}) | (frozenset() if plan is None else dependents(plan, ask.feature_id))
    names: list[JsonValue] = [run.id for run in document.runs if run.feature_id in gone and run.state != "superseded"]
    runs = superseded(document.runs, gone, ask.reason, document.revision + 1)
    answer: dict[str, JsonValue] = {"superseded": names}
    after = document.model_copy(update={"runs": runs})
    if ask.next_feature_id is None:
        return Accepted(with_listings(moved(after), ()), answer, None)
    run = started(after, ask.next_feature_id, facts)
    answer |= run_answer(after, run)
    after = moved(after, runs=(*runs, run), worktree=facts.worktree)
    return Accepted(with_listings(after, ()), answer, run.id)
