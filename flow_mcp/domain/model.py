"""The document of one goal: what was planned, approved, observed, judged and closed.

Status is derived, never stored (view.py). Revisions carry causality; times are notes for people.
Fields that a later schema adds are optional, and absent ones are not written.
"""

from typing import Literal

from pydantic import Field, JsonValue

from flow_mcp.domain.base import Closed, Line, Text
from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.plan import Finding, Plan, Platform
from flow_mcp.domain.policy import Policy

SCHEMA = 1

Scope = Literal["focused", "broad", "external", "baseline", "proof"]
Channel = Literal["dialog", "signed", "terminal-unverified", "page-unverified", "caller"]
Ended = Literal["exited", "signalled", "timed-out", "cancelled", "runner-lost", "not-run"]
Ineligible = Literal[
    "cancelled",
    "timed-out",
    "signalled",
    "runner-lost",
    "not-run",
    "exit-code-unavailable",
    "output-incomplete",
    "output-completeness-unknown",
    "source-drift",
    "path-dependent",
]
ClosureKind = Literal["completed", "completed-with-waivers", "accepted", "deferred", "abandoned"]


class Listing(Closed):
    """A sorted list of lines named by its digest; ``lines`` is absent when a sidecar file holds them."""

    digest: Line
    count: int
    lines: tuple[Line, ...] | None = None


class Approval(Closed):
    """Who approved exactly what, through which channel.

    ``source``, ``protected`` and what differed are those of the first approval, also when it is asked again.

    Attributes:
        commit: there when the tree was clean.
        targets_dirty: files that targets name and that differed from HEAD already, the first of them; absent for none.
        unfrozen: verifiers of Flow's own default list that the plan does not freeze, likewise.
    """

    by: Literal["person", "caller"]
    channel: Channel
    plan_digest: Line
    source: Line
    commit: Line | None = None
    protected: Line
    targets_dirty: tuple[Line, ...] | None = None
    unfrozen: tuple[Line, ...] | None = None
    policy: Policy
    revision: int
    at: Line


class DeclaredCase(Closed):
    """What the report said of a case that the plan names."""

    case: Line
    outcome: Literal["passed", "failed", "skipped", "absent"]


class Report(Closed):
    """What a JUnit report proved; ``reason`` says why it could not be read. ``passing`` names a listing.

    Attributes:
        detail: where in the file that was seen, or what the system said; never content of the file.
    """

    path: Line
    reason: Line | None = None
    detail: Line | None = None
    passed: int
    failed: int
    skipped: int
    passing: Line | None = None
    cases: tuple[DeclaredCase, ...] = ()


class Sandbox(Closed):
    """Which containment was proven for one execution."""

    tier: Literal["bwrap", "landlock", "none"]
    proven: tuple[Line, ...] = ()
    reason: Line | None = None


class ProofFacts(Closed):
    """What a proof run showed on the approved source with today's test files.

    Attributes:
        approved: digest of the approved source that was used.
        outcome: how the check ended there.
        tests_changed: whether a test file is new or differs since approval.
        control: how the same command ended on the approved source with the approved tests, where that was asked;
            where it could not (it names a test file that was not there), whether it passes in a copy of today's source.
    """

    approved: Line
    outcome: Literal["passed", "failed", "uncollected", "usage", "missing-tool", "timed-out", "no-result"]
    tests_changed: bool
    control: Literal["ended", "passed-with-change", "usage", "missing-tool", "timed-out", "no-result"] | None = None


class Observation(Closed):
    """What the runner or the host saw of one command. The model has no way to supply any of it.

    Attributes:
        in_place: why the command ran in the workspace itself; absent where it ran in a copy of ``source``.
        inputs: ignored folders that its copy was lent.
        shared_inputs: those that were links into the workspace, so that what was written there stays.
        left: what the command changed in its copy beside ignored files: changed, removed or added, and the path.
        duration_ms: how long the command ran, a note for people as the next two are.
        cpu_ms: processor time of its whole tree.
        peak_memory_bytes: largest resident set of any one of its processes, where that could be seen.
    """

    id: Line
    scope: Scope
    command: Line
    feature_id: Line | None = None
    requirement: Line | None = None
    attested_by: Line
    ended: Ended
    exit_code: int | None = None
    host_success: bool | None = None
    output_digest: Line | None = None
    output_bytes: int | None = None
    complete: bool | None = None
    platform: Platform
    source: Line
    report: Report | None = None
    sandbox: Sandbox
    proof: ProofFacts | None = None
    ineligible: Ineligible | None = None
    drifted: tuple[Line, ...] = ()
    in_place: Line | None = None
    inputs: tuple[Line, ...] | None = None
    shared_inputs: tuple[Line, ...] | None = None
    left: tuple[Line, ...] | None = None
    duration_ms: int | None = None
    cpu_ms: int | None = None
    peak_memory_bytes: int | None = None
    started_revision: int
    revision: int


class Reviewer(Closed):
    """Who judged, and how that is known."""

    by: Literal["agent", "connection", "person"]
    name: Line
    attested: bool
    channel: Channel | None = None


class ReviewResult(Closed):
    """A verdict with its findings, and the source it was given on."""

    verdict: Literal["passed", "failed"]
    summary: Text
    findings: tuple[Finding, ...]
    reviewer: Reviewer
    source: Line
    revision: int


class Review(Closed):
    """The one assignment of a run, and its result once there is one.

    Attributes:
        modes_changed: frozen files among the changed paths whose bytes are as approved; absent for none.
    """

    id: Line
    kind: Literal["feature", "final"]
    source: Line
    observations: tuple[Line, ...]
    summary: Text
    risks: tuple[Text, ...] = ()
    changed_paths: tuple[Line, ...]
    modes_changed: tuple[Line, ...] | None = None
    outside_targets: tuple[Line, ...] = ()
    revision: int
    result: ReviewResult | None = None


class Superseded(Closed):
    """Why a run no longer counts."""

    reason: Text
    revision: int


class Run(Closed):
    """One attempt at one feature."""

    id: Line
    feature_id: Line
    attempt: int
    state: Literal["active", "passed", "failed", "superseded"]
    started_source: Line
    started_revision: int
    observations: tuple[Observation, ...] = ()
    review: Review | None = None
    superseded: Superseded | None = None


class PendingCheck(Closed):
    """A check that was started and has not ended."""

    id: Line
    scope: Scope
    command: Line
    feature_id: Line | None = None
    requirement: Line | None = None
    run_id: Line | None = None
    source: Line
    platform: Platform
    started_revision: int


class Allowance(Closed):
    """A person's recorded decision about one case, one path with its bytes, or one feature's proof."""

    kind: Literal["case", "path", "proof"]
    value: Line
    digest: Line | None = None
    because: Text
    channel: Channel
    source: Line
    revision: int


class Denial(Closed):
    """A person said no to exactly this draft, and why."""

    plan_digest: Line
    because: Text
    channel: Channel
    revision: int


class Reseal(Closed):
    """A person took over a document that was edited outside Flow."""

    because: Text
    channel: Channel
    revision: int


class TakenBack(Closed):
    """The document was put back: what had been written of it in the same worktree is not in it.

    Attributes:
        from_revision: where it was.
        to_revision: where it was then found; not lower where another line of history took its place.
        after: kind of the last operation that is not in it.
        revision: the one that wrote this down.
    """

    from_revision: int
    to_revision: int
    after: Line = Field(pattern="^[a-z_]{1,40}$")
    revision: int


class Closure(Closed):
    """How the goal ended. ``open_rules`` stood open when a person accepted; ``notes`` are what a reader must know."""

    kind: ClosureKind
    summary: Text
    by: Literal["person", "caller"]
    channel: Channel | None = None
    source: Line | None = None
    platform: Platform | None = None
    open_rules: tuple[Line, ...] = ()
    waivers: tuple[Line, ...] = ()
    notes: tuple[Text, ...] = ()
    revision: int


class Actor(Closed):
    """Who asked for a mutation, as far as Flow knows."""

    role: Literal["manager", "reviewer", "person", "flow"]
    channel: Channel | None = None
    agent: Line | None = None
    host: Line | None = None


class Operation(Closed):
    """One accepted mutation. ``body`` binds the document after it and everything else that this entry says."""

    id: Line
    kind: Line
    input: Line
    revision: int
    actor: Actor
    at: Line
    entity: Line | None = None
    answer: dict[str, JsonValue]
    body: Line
    previous: Line

    def digest(self) -> str:
        """Name this entry for the next one to point at."""
        return digest_json(self.as_json())


class Document(Closed):
    """The whole state of one goal."""

    schema_version: int = Field(alias="schema")
    plan_id: Line
    goal: Text
    worktree: Line
    revision: int
    plan: Plan | None = None
    approvals: tuple[Approval, ...] = ()
    denials: tuple[Denial, ...] = ()
    baselines: tuple[Observation, ...] = ()
    externals: tuple[Observation, ...] = ()
    pending: PendingCheck | None = None
    runs: tuple[Run, ...] = ()
    allowances: tuple[Allowance, ...] = ()
    reseals: tuple[Reseal, ...] = ()
    taken_back: tuple[TakenBack, ...] | None = None
    closure: Closure | None = None
    listings: tuple[Listing, ...] = ()
    operations: tuple[Operation, ...] = ()

    def body_digest(self) -> str:
        """Name everything but the operations: what the hash chain binds."""
        body = self.as_json()
        del body["operations"]
        return digest_json(body)


def blank(plan_id: str, worktree: str) -> Document:
    """Give the document before anything was saved: revision 0, never written."""
    return Document(schema_version=SCHEMA, plan_id=plan_id, goal="", worktree=worktree, revision=0)
