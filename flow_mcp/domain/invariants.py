"""What is true of every document; asked before each write and after each load.

A document that breaks one is refused, never repaired. What a plan's commands may look like is not asked again: the
tables behind those rules grow, and a document that was right when it was approved stays readable.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from flow_mcp.domain.cases import lines_of
from flow_mcp.domain.commands import Close
from flow_mcp.domain.decision import Facts, SourceFacts
from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.graph import order
from flow_mcp.domain.history import approval, final_review, floor, observations
from flow_mcp.domain.model import Actor, Document, Observation, Review, Run
from flow_mcp.domain.rule import Question, Rule, Rulebook
from flow_mcp.domain.rules import baseline, close, proof, review
from flow_mcp.domain.rules.plan import open_questions

Lines = Mapping[str, tuple[str, ...]]
Check = Callable[[Document, Lines], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Invariant:
    """One thing that is true of every document.

    Attributes:
        id: stable name.
        claim: what is true.
        defends: the rules that it stands behind; with one of them taken out for a proof, it is silent too.
        check: gives a sentence for each breach.
    """

    id: str
    claim: str
    defends: frozenset[str]
    check: Check


INVARIANTS: dict[str, Invariant] = {}


def invariant(name: str, *, claim: str, defends: tuple[str, ...]) -> Callable[[Check], Check]:
    """Register a check of the whole document."""

    def registered(check: Check) -> Check:
        INVARIANTS[name] = Invariant(name, claim, frozenset(defends), check)
        return check

    return registered


def breaches(document: Document, lines: Lines, book: Rulebook) -> tuple[str, ...]:
    """Give every breach, each with the invariant's name."""
    held = [entry for entry in INVARIANTS.values() if not entry.defends & book.out]
    return tuple(f"{entry.id}: {fault}" for entry in held for fault in entry.check(document, lines))


@invariant(
    "document.revisions-contiguous",
    claim="Each revision has one operation, since the last reseal without a gap.",
    defends=("write.one-revision",),
)
def _revisions(document: Document, _lines: Lines) -> Iterator[str]:
    since = floor(document)
    revisions = [operation.revision for operation in document.operations if operation.revision >= since]
    first = since or 1
    # The length first: a hostile revision may be any number.
    right = len(revisions) == document.revision + 1 - first
    if not right or revisions != list(range(first, document.revision + 1)):
        yield f"operations stand at revisions {revisions[:5]}…, and the document is at {document.revision}"
    ids = [operation.id for operation in document.operations]
    if len(set(ids)) != len(ids):
        yield "an operation id stands twice"


@invariant("document.ids-unique", claim="Runs, observations and reviews have ids of their own.", defends=())
def _ids(document: Document, _lines: Lines) -> Iterator[str]:
    kinds = {
        "run": [run.id for run in document.runs],
        "observation": [seen.id for seen in observations(document)],
        "review": [run.review.id for run in document.runs if run.review is not None],
    }
    for kind, ids in kinds.items():
        if len(set(ids)) != len(ids):
            yield f"a {kind} id stands twice"


@invariant(
    "plan.well-formed",
    claim="The stored plan answers its questions and is an acyclic graph.",
    defends=("plan.acyclic", "plan.questions-answered"),
)
def _plan(document: Document, _lines: Lines) -> Iterator[str]:
    if document.plan is None:
        return
    yield from open_questions(document.plan)
    known = {feature.id for feature in document.plan.features}
    if len(order(document.plan)) != len(document.plan.features) or len(known) != len(document.plan.features):
        yield "the features form no acyclic graph over unique ids"


@invariant(
    "approval.agrees",
    claim="An approval in force is of exactly the stored plan; a plan that has runs was approved.",
    defends=("plan.frozen", "plan.approved-first", "approve.exact"),
)
def _approval(document: Document, _lines: Lines) -> Iterator[str]:
    given = approval(document)
    if given is not None and (document.plan is None or given.plan_digest != document.plan.digest()):
        yield "the approval is of another plan"
    if document.runs and not document.approvals:
        yield "there are runs of a plan that was never approved"


@invariant("run.one-active", claim="At most one run is active.", defends=("run.one-active", "run.not-blocked"))
def _one_active(document: Document, _lines: Lines) -> Iterator[str]:
    active = [run.id for run in document.runs if run.state == "active"]
    if len(active) > 1:
        yield f"{' and '.join(active)} are active at once"


def _state_of(run: Run) -> str:
    if run.superseded is not None:
        return "superseded"
    if run.review is None or run.review.result is None:
        return "active"
    return run.review.result.verdict


@invariant(
    "run.state-agrees",
    claim="A run's stored state is the one that its review and supersession give.",
    defends=("reset.current-run",),
)
def _states(document: Document, _lines: Lines) -> Iterator[str]:
    known = set() if document.plan is None else {feature.id for feature in document.plan.features}
    current: set[str] = set()
    for run in document.runs:
        if run.state != _state_of(run):
            yield f"run {run.id} is stored as {run.state} and is {_state_of(run)}"
        if run.feature_id not in known:
            yield f"run {run.id} is of an unknown feature"
        if run.state != "superseded" and run.feature_id in current:
            yield f"feature {run.feature_id} has two current runs"
        current |= {run.feature_id} if run.state != "superseded" else set()


def _passed_then(document: Document, revision: int) -> frozenset[str]:
    return frozenset(
        run.feature_id
        for run in document.runs
        if run.review is not None
        and run.review.result is not None
        and run.review.result.verdict == "passed"
        and run.review.result.revision < revision
        and (run.superseded is None or run.superseded.revision > revision)
    )


@invariant(
    "review.kind-agrees",
    claim="A review's stored kind is the one derived at its revision.",
    defends=("review.kind-derived",),
)
def _kinds(document: Document, _lines: Lines) -> Iterator[str]:
    known = frozenset() if document.plan is None else {feature.id for feature in document.plan.features}
    for run in document.runs:
        if run.review is None:
            continue
        others = known - {run.feature_id}
        kind = "final" if _passed_then(document, run.review.revision) >= others else "feature"
        if run.review.kind != kind:
            yield f"review {run.review.id} is stored as {run.review.kind} and is {kind}"


@invariant(
    "review.verdict-agrees",
    claim="A failed result has a blocking finding with evidence; a passed one has none.",
    defends=("review.failed-blocks", "review.passed-clean"),
)
def _verdicts(document: Document, _lines: Lines) -> Iterator[str]:
    for run in document.runs:
        if run.review is None or run.review.result is None:
            continue
        result = run.review.result
        blocking = [finding for finding in result.findings if finding.severity == "blocking"]
        if (result.verdict == "failed") != bool(blocking) or not all(finding.evidence for finding in blocking):
            yield f"the verdict of review {run.review.id} does not agree with its findings"


@invariant(
    "review.source-agrees",
    claim="A passed result is of the source that was asked about.",
    defends=("review.source-unmoved",),
)
def _review_source(document: Document, _lines: Lines) -> Iterator[str]:
    for run in document.runs:
        held: Review | None = run.review
        result = None if held is None else held.result
        if held is None or result is None or result.verdict != "passed":
            continue
        if result.source != held.source:
            yield f"review {held.id} passed on another source than the assigned one"


@invariant(
    "observation.listed",
    claim="Every observation is of a listed command, broad and baseline ones of the gate.",
    defends=("observe.listed-only", "observe.broad-is-gate"),
)
def _listed(document: Document, _lines: Lines) -> Iterator[str]:
    for seen in observations(document):
        if document.plan is None or document.plan.command(seen.command) is None:
            yield f"observation {seen.id} is of a command that the plan does not list"
        elif seen.scope in {"broad", "baseline"} and not _of_gate(document, seen):
            yield f"observation {seen.id} is called {seen.scope} and is not of the gate"


def _of_gate(document: Document, seen: Observation) -> bool:
    plan = document.plan
    return plan is not None and plan.gate is not None and plan.gate.run == seen.command


def _before_review(run: Run) -> Iterator[Observation]:
    if run.review is not None:
        yield from (seen for seen in run.observations if seen.started_revision > run.review.revision)


@invariant(
    "observation.before-review",
    claim="A run's observations come before its review, and from between its start and now.",
    defends=("observe.before-review", "observe.always-recorded", "observe.pending-only"),
)
def _observed_in_time(document: Document, _lines: Lines) -> Iterator[str]:
    for run in document.runs:
        for seen in _before_review(run):
            yield f"observation {seen.id} of run {run.id} came after its review"
        for seen in run.observations:
            if not run.started_revision < seen.started_revision <= seen.revision <= document.revision:
                yield f"observation {seen.id} does not lie within run {run.id}"


@invariant("listing.agrees", claim="A listing's digest is of its lines.", defends=())
def _listings(document: Document, _lines: Lines) -> Iterator[str]:
    for entry in document.listings:
        if entry.lines is not None and entry.digest != digest_json(list(entry.lines)):
            yield f"listing {entry.digest} holds other lines"


@invariant(
    "allowance.of-person",
    claim="No waiver and no accepting came from a caller.",
    defends=("review.waived-by-person", "close.accepted-by-person"),
)
def _persons(document: Document, _lines: Lines) -> Iterator[str]:
    decisions = [(entry.channel, entry.revision) for entry in document.allowances]
    decisions += [(entry.channel, entry.revision) for entry in document.reseals]
    for channel, revision in decisions:
        if channel == "caller":
            yield f"the decision at revision {revision} came from a caller"
    if document.closure is not None and document.closure.kind == "accepted" and document.closure.by != "person":
        yield "the goal was accepted by a caller"


_RESTS_ON: tuple[Rule, ...] = (
    close.every_feature_passed,
    close.source_unmoved,
    baseline.baseline_taken,
    review.veto_clear,
    review.final_checks,
    proof.final_external,
    review.cases_kept,
    proof.proof_shown,
)


@invariant(
    "closure.quiet",
    claim="A closed plan has no active run and no pending check.",
    defends=("plan.closed-final", "observe.settled-first"),
)
def _quiet(document: Document, _lines: Lines) -> Iterator[str]:
    if document.closure is None:
        return
    if document.pending is not None or any(run.state == "active" for run in document.runs):
        yield "it is closed and something is still under way"


@invariant(
    "closure.supported",
    claim="A completed closure has what the close and final-review rows ask.",
    defends=tuple(entry.id for entry in _RESTS_ON),
)
def _supported(document: Document, lines: Lines) -> Iterator[str]:
    closure = document.closure
    if closure is None or not closure.kind.startswith("completed") or closure.revision <= floor(document):
        return
    final, given = final_review(document), approval(document)
    if final is None or given is None:
        yield "it is closed as completed without a final review or an approval in force"
        return
    question = Question(document, Close(kind="completed", summary=closure.summary), _facts_then(document, lines))
    for entry in _RESTS_ON:
        objection = None if entry.guard is None else entry.guard(question)
        if objection is not None:
            yield f"it is closed as completed and {entry.id} stands open: {objection.seen}"


def _facts_then(document: Document, lines: Lines) -> Facts:
    """Give the facts that a closed document itself holds: its closing source and platform."""
    closure, given = document.closure, approval(document)
    assert closure is not None, "asked of closed documents"  # noqa: S101 - a broken program
    assert given is not None, "asked of approved documents"  # noqa: S101 - a broken program
    frozen = lines_of(document, lines, given.protected) or ()
    source = SourceFacts(
        digest=closure.source or "",
        commit=None,
        protected={path: digest for digest, _, path in (line.partition(" ") for line in frozen)},
        verifiers=(),
        protected_dirty=(),
        targets_dirty=(),
        test_configuration={},
        changed=(),
        outside=(),
        hidden=(),
        outward=(),
        since_judged=(),
    )
    return Facts(
        actor=Actor(role="flow"),
        policy=given.policy,
        platform=closure.platform or "other",
        worktree=document.worktree,
        other_open=None,
        owed=(),
        source=source,
        copy_present=True,
        start_present=True,
        check_lost=False,
        lines=lines,
    )
