"""Who may judge, and what a verdict must carry; what a person alone may waive."""

from collections.abc import Sequence

from flow_mcp.domain.cases import cases_named, has_cases, kept_cases
from flow_mcp.domain.commands import NewFinding, ReviewSubmit, Waive
from flow_mcp.domain.decision import Facts, Objection, call, person
from flow_mcp.domain.history import active_run, carried_findings, counted
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.baseline import no_cases_because
from flow_mcp.domain.rules.persons import counts_as_person, decides
from flow_mcp.domain.rules.proof import changed_verifiers, frozen_files
from flow_mcp.domain.rules.steps import reset, submit
from flow_mcp.domain.spoken import moved_since

NAMES_MAX = 8

REVIEWERS = frozenset({"flow-reviewer", "flow:flow-reviewer"})


def host_drove(document: Document) -> bool:
    """Say whether an attesting host drove this plan."""
    return any(operation.actor.host is not None for operation in document.operations)


def _identity_fault(document: Document, facts: Facts) -> str | None:
    actor = facts.actor
    if actor.host is not None:
        return None if actor.agent in REVIEWERS else f"The host says that {actor.agent or 'the manager'} called."
    if counts_as_person(facts):
        return None
    if actor.role != "reviewer":
        return "This connection is not the reviewer's."
    if facts.policy.reviewer == "attested":
        return "The policy asks for a reviewer that a host attests, and this connection is attested by none."
    if host_drove(document):
        return "An attesting host drove this plan, so only an attested reviewer or a person may judge."
    return None


@rule(
    "review.reserved-identity",
    claim="Only the reserved reviewer or a person submits a result.",
    limits="Where the host attests no agent, a reviewer-only connection is stored and shown as unattested. An exact "
    "accepted request replays for anyone.",
)
def reserved_identity(question: Question) -> Objection | None:
    """Object to a verdict from anyone but the reserved reviewer or a person (row review.reserved-identity)."""
    if not isinstance(question.ask, ReviewSubmit):
        return None
    fault = _identity_fault(question.document, question.facts)
    if fault is None:
        return None
    say = (
        "Dispatch the agent flow-reviewer, connect a reviewer with `flow-mcp serve --role reviewer`, or let a person "
        "judge with `flow-mcp review`."
    )
    return Objection(fault, submit(question.document, ("verdict", "summary"), say), retryable=False)


@rule(
    "review.assignment-pending",
    claim="A result answers a pending assignment.",
    limits="A reset under a pending assignment is shown to the next reviewer as unanswered.",
)
def assignment_pending(question: Question) -> Objection | None:
    """Object to an answer that nobody waits for (row review.assignment-pending)."""
    ask, run = question.ask, active_run(question.document)
    if not isinstance(ask, ReviewSubmit):
        return None
    if run is not None and run.review is not None and run.review.id == ask.assignment_id:
        return None
    seen = f"No assignment {ask.assignment_id!r} is pending."
    if run is not None and run.review is not None:
        return Objection(
            seen, submit(question.document, ("verdict", "summary"), "Answer the pending one."), retryable=False
        )
    return Objection(seen, call("status", {"view": "review"}, (), "See whether one is pending."), retryable=True)


def _blocking(findings: tuple[NewFinding, ...]) -> tuple[NewFinding, ...]:
    return tuple(finding for finding in findings if finding.severity == "blocking")


@rule(
    "review.failed-blocks",
    claim="A failed verdict names at least one blocking finding with evidence.",
    limits="",
)
def failed_blocks(question: Question) -> Objection | None:
    """Object to a no without a reason, or a blocking finding without evidence (row review.failed-blocks)."""
    ask = question.ask
    if not isinstance(ask, ReviewSubmit) or ask.verdict != "failed":
        return None
    blocking = _blocking(ask.findings)
    if blocking and all(finding.evidence and finding.evidence.strip() for finding in blocking):
        return None
    seen = "A failed verdict needs a blocking finding, and each blocking finding its evidence."
    say = "Say what was seen where, in findings[].evidence."
    return Objection(seen, submit(question.document, ("verdict", "summary", "findings"), say), retryable=False)


@rule(
    "review.passed-clean",
    claim="A passing verdict carries no blocking finding.",
    limits="Nor a scope blocker.",
)
def passed_clean(question: Question) -> Objection | None:
    """Object to a yes with a blocking finding (row review.passed-clean)."""
    ask = question.ask
    if not isinstance(ask, ReviewSubmit):
        return None
    stray = any(finding.scope_blocker and finding.severity != "blocking" for finding in ask.findings)
    if not stray and (ask.verdict != "passed" or not _blocking(ask.findings)):
        return None
    seen = "scope_blocker marks blocking findings only." if stray else "A passing verdict carries a blocking finding."
    say = "Fail the review, or make the finding advisory."
    return Objection(seen, submit(question.document, ("verdict", "summary", "findings"), say), retryable=False)


@rule(
    "review.findings-carried",
    claim="A failed review carries every live prior finding.",
    limits="Ids are given by Flow; a passing review clears what it does not repeat.",
)
def findings_carried(question: Question) -> Objection | None:
    """Object to a failed verdict that drops a live finding, or to an unknown id (row review.findings-carried)."""
    ask, run = question.ask, active_run(question.document)
    if not isinstance(ask, ReviewSubmit) or run is None or run.review is None:
        return None
    live = {finding.id for finding in carried_findings(question.document, run.feature_id, run.review.kind)}
    named = [finding.finding_id for finding in ask.findings if finding.finding_id is not None]
    unknown = sorted({name for name in named if name not in live})
    doubled = sorted({name for name in named if named.count(name) > 1})
    dropped = sorted(live - set(named)) if ask.verdict == "failed" else []
    if ask.verdict == "passed" and not decides(question.document, question.facts):
        blockers = [
            finding.id
            for finding in carried_findings(question.document, run.feature_id, run.review.kind)
            if finding.scope_blocker
        ]
        if blockers:
            seen = f"{blockers[0]} asks for another plan or a person's decision."
            say = "A person judges with `flow-mcp review`, or the plan is deferred and a new one answers it."
            return Objection(seen, person(say), retryable=False)
    if not (unknown or doubled or dropped):
        return None
    seen = f"Findings dropped: {dropped}; unknown: {unknown}; named twice: {doubled}."
    say = f"Repeat each live finding by its finding_id: {sorted(live)}; new findings have none."
    return Objection(seen, submit(question.document, ("verdict", "summary", "findings"), say), retryable=False)


@rule(
    "review.source-unmoved",
    claim="A passing result is accepted only for the source it was asked about.",
    limits="A failed result is recorded for its own digest even if the source moved.",
)
def source_unmoved(question: Question) -> Objection | None:
    """Object to a yes for a source that has moved (row review.source-unmoved)."""
    ask, run = question.ask, active_run(question.document)
    if not isinstance(ask, ReviewSubmit) or ask.verdict != "passed" or run is None or run.review is None:
        return None
    if run.review.source == question.facts.digest:
        return None
    seen = moved_since("since the assignment was made", question.facts)
    return Objection(
        seen, reset(run.feature_id, "The manager resets the run and shows its checks again."), retryable=True
    )


def _case_fault(question: Question, value: str) -> str | None:
    found = cases_named(kept_cases(question.document, question.facts.lines) or {}, value)
    if len(found) == 1:
        return None
    return f"{value!r} names {len(found)} kept cases{': ' if found else ''}{'; '.join(found[:5])}."


def _waiver_fault(question: Question, ask: Waive) -> str | None:
    if not ask.because.strip():
        return "A waiver needs its reason."
    if ask.kind == "case":
        return _case_fault(question, ask.value)
    if ask.kind == "path":
        source = question.facts.source
        known = {*(frozen_files(question) or {}), *(() if source is None else source.test_configuration)}
        return None if ask.value in known else f"{ask.value!r} is no single frozen file of this plan."
    plan = question.document.plan
    feature = None if plan is None else plan.feature(ask.value)
    claims = feature is not None and feature.proof is not None and feature.proof.kind != "none"
    return None if claims else f"{ask.value!r} is no feature that claims a proof."


@rule(
    "review.waived-by-person",
    claim="Only a person waives, one literal case, one path with its bytes, or one feature's proof at a time.",
    limits="With a reason; the closure becomes completed-with-waivers and lists them.",
)
def waived_by_person(question: Question) -> Objection | None:
    """Object to a waiver that is not one person's single decision (row review.waived-by-person)."""
    ask = question.ask
    if not isinstance(ask, Waive):
        return None
    allowed = decides(question.document, question.facts)
    fault = _waiver_fault(question, ask) if allowed else "Only a person waives."
    if fault is None:
        return None
    say = "A person, at a terminal: `flow-mcp waive case|path|proof NAME --because …`, one at a time."
    return Objection(fault, person(_waivable(question, ask) if allowed else say), retryable=False)


def _waivable(question: Question, ask: Waive) -> str:
    """Say what can be waived of a kind, or why nothing has to be."""
    if not ask.because.strip():
        return "Say why, with `--because`: the closure lists it."
    if ask.kind == "proof":
        plan = question.document.plan
        features = () if plan is None else plan.features
        claims = [one.id for one in features if one.proof is not None and one.proof.kind != "none"]
        return _listed("Features that claim a proof", claims) or "No feature of this plan claims a proof."
    if ask.kind == "path":
        changed = changed_verifiers(question) or ()
        return _listed("Frozen files that differ", changed) or "No frozen file differs, so none has to be waived."
    return _kept_words(question, ask.value)


def _listed(what: str, names: Sequence[str]) -> str:
    many = f", {NAMES_MAX} of {len(names)}" if len(names) > NAMES_MAX else ""
    return f"{what}{many}: {'; '.join(names[:NAMES_MAX])}." if names else ""


def _kept_words(question: Question, value: str) -> str:
    """Say which cases are kept, or why none is."""
    kept = kept_cases(question.document, question.facts.lines)
    if kept is None:
        return "The list of kept cases is missing: restore the plan's sidecar files from git first."
    meant = cases_named(kept, value)
    every = sorted({case for cases in kept.values() for case in cases})
    told = _listed("Name one of them whole", meant) or _listed("Kept are", every)
    return told or f"No case is kept, so none has to be waived: {_none_kept_because(question)}."


def _none_kept_because(question: Question) -> str:
    seen = [one for one in counted(question.document) if one.scope == "baseline"]
    if not seen:
        return "the gate was not observed on the approved source"
    if has_cases(seen[-1]):
        return "every case that passed was dropped or waived"
    return f"the baseline has no cases, {no_cases_because(seen[-1])}"
