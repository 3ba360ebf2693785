"""A real completed document, and a knife for each gap: what would be so if one thing had been left out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from flow_mcp.audit import Gap, WorkspaceFacts, audit
from flow_mcp.domain import commands as c
from flow_mcp.domain.listing import listing_of
from flow_mcp.domain.model import (
    Allowance,
    Channel,
    Closure,
    DeclaredCase,
    Document,
    Observation,
    PendingCheck,
    Report,
    Reseal,
    Review,
    Run,
    Superseded,
    TakenBack,
)
from flow_mcp.domain.plan import Command, DroppedCase, ExternalEvidence, Finding, Inherited, Plan, Proof, Requirement
from tests.engine.place import CHECK, GATE, Place, feature, make, plan

HI = Command(run="./run.sh .flow/reports/hi.xml tests/hi.sh", report=".flow/reports/hi.xml")
ABROAD = Command(run="./run.sh .flow/reports/abroad.xml tests/new.sh", report=".flow/reports/abroad.xml")
WANTED = plan(
    feature(),
    feature(
        "hi",
        title="hi",
        targets=("hi.txt", "tests/hi.sh"),
        checks=(HI,),
        depends_on=("bye",),
        proof=Proof(kind="command", run=HI.run),
    ),
    requirements=(Requirement(id="r1", text="it works abroad"),),
    external_evidence=(ExternalEvidence(requirement="r1", command=ABROAD, platform="any", cases=("new",)),),
)


@dataclass(frozen=True)
class Closed:
    """A closed document and the lines of its listings, and the workspace where that is at hand."""

    document: Document
    lines: Mapping[str, tuple[str, ...]]
    workspace: WorkspaceFacts | None = None

    def gaps(self) -> tuple[Gap, ...]:
        return audit(self.document, self.lines, self.workspace)

    def names(self) -> tuple[str, ...]:
        return tuple(gap.id for gap in self.gaps())

    def but(self, **changes: object) -> "Closed":
        return replace(self, document=self.document.model_copy(update=changes))

    def with_run(self, name: str, **changes: object) -> "Closed":
        runs = [run.model_copy(update=changes) if run.id == name else run for run in self.document.runs]
        return self.but(runs=tuple(runs))

    def with_review(self, name: str, **changes: object) -> "Closed":
        return self.with_run(name, review=self.review(name).model_copy(update=changes))

    def run(self, name: str) -> Run:
        return next(run for run in self.document.runs if run.id == name)

    def review(self, name: str) -> Review:
        review = self.run(name).review
        assert review is not None
        return review

    @property
    def closure(self) -> Closure:
        assert self.document.closure is not None
        return self.document.closure

    @property
    def plan(self) -> Plan:
        assert self.document.plan is not None
        return self.document.plan

    def newest(self, command: str) -> Observation:
        every = [one for run in self.document.runs for one in run.observations if one.scope != "proof"]
        return [one for one in (*every, *self.document.externals) if one.command == command][-1]

    def with_late(self, command: str, **changes: object) -> "Closed":
        """Add an observation of the last run that is like the newest of a command, but for some of it."""
        last = self.document.runs[-1]
        late = self.newest(command).model_copy(
            update={"id": "late", "revision": last.observations[-1].revision + 1, **changes}
        )
        return self.with_run(last.id, observations=(*last.observations, late))


def closed(place: Place) -> Closed:
    """Close a goal that is done."""
    document = place.done(c.Close(kind="completed", summary="done")).document
    held = place.engine.plans.load(document.plan_id)
    assert held is not None
    return Closed(held.document, held.lines)


def finished_well(root: Path) -> Place:
    """Do an honest goal of two features with external evidence up to where it can be closed."""
    root.mkdir()
    place = Place(make(root))
    place.approved(WANTED)
    place.done(c.RunStart())
    place.work()
    place.evidence()
    place.reviewed()
    place.done(c.RunStart())
    place.write("hi.txt", "hi\n")
    place.write("tests/hi.sh", "grep -q hi hi.txt\n")
    for scope, run in (("focused", CHECK.run), ("focused", HI.run), ("broad", GATE.run)):
        place.observe(scope, run)  # type: ignore[arg-type]
    place.observe("external", ABROAD.run, requirement="r1")
    place.observe("proof", GATE.run, feature_id="bye")
    place.observe("proof", HI.run, feature_id="hi")
    place.reviewed()
    return place


Knife = Callable[[Closed], Closed]


def _without_scope(one: Closed, scope: str, instead: str | None) -> Closed:
    def kept(run: Run) -> Iterator[Observation]:
        for seen in run.observations:
            if seen.scope != scope:
                yield seen
            elif instead is not None:
                yield seen.model_copy(update={"scope": instead})

    runs = [run.model_copy(update={"observations": tuple(kept(run))}) for run in one.document.runs]
    return one.but(runs=tuple(runs))


def _answered_by_manager(one: Closed) -> Closed:
    result = one.review("hi.1").result
    assert result is not None
    manager = one.document.operations[0].actor
    operations = [
        entry.model_copy(update={"actor": manager}) if entry.revision == result.revision else entry
        for entry in one.document.operations
    ]
    return one.but(operations=tuple(operations))


def _answered_by_its_agent(one: Closed) -> Closed:
    first, *rest = one.document.operations
    agent = first.actor.model_copy(update={"agent": "reviewer-connection"})
    return one.but(operations=(first.model_copy(update={"actor": agent}), *rest))


def _with_finding(one: Closed) -> Closed:
    result = one.review("hi.1").result
    assert result is not None
    found = Finding(id="hi.R1-01", severity="blocking", summary="wrong", evidence="hi.txt:1")
    return one.with_review("hi.1", result=result.model_copy(update={"findings": (found,)}))


def _blocked_before(one: Closed) -> Closed:
    """A review failed before, with a finding that only a person or a new plan can answer."""
    run, review = one.run("hi.1"), one.review("hi.1")
    assert review.result is not None
    found = Finding(id="hi.R0-01", severity="blocking", summary="wrong goal", evidence="plan", scope_blocker=True)
    words = {"verdict": "failed", "findings": (found,), "revision": review.revision - 1}
    failed = review.model_copy(update={"id": "review-0", "result": review.result.model_copy(update=words)})
    gone = Superseded(reason="again", revision=review.revision - 1)
    earlier = {"id": "hi.0", "state": "superseded", "observations": (), "review": failed, "superseded": gone}
    return one.but(runs=(one.document.runs[0], run.model_copy(update=earlier), run))


def _answered_by_person(one: Closed) -> Closed:
    result = one.review("hi.1").result
    assert result is not None
    who = result.reviewer.model_copy(update={"by": "person", "name": "person", "channel": "dialog"})
    return _blocked_before(one).with_review("hi.1", result=result.model_copy(update={"reviewer": who}))


def _owing_a_blocker(one: Closed) -> Closed:
    found = Finding(id="o.R1-01", severity="blocking", summary="wrong goal", evidence="plan", scope_blocker=True)
    return _inheriting(one, Inherited(plan_id="o", plan_digest="d", kept=(), protected=(), findings=(found,)))


def _lost_case(one: Closed) -> Closed:
    listing = listing_of(["sh :: sh :: new", "sh :: sh :: hi"])
    report = one.newest(GATE.run).report
    assert report is not None
    assert listing.lines is not None
    other = one.with_late(GATE.run, scope="broad", report=report.model_copy(update={"passing": listing.digest}))
    return replace(other, lines={**one.lines, listing.digest: listing.lines})


def _unreadable(one: Closed) -> Closed:
    report = one.document.baselines[0].report
    assert report is not None
    return replace(one, lines={name: lines for name, lines in one.lines.items() if name != report.passing})


def _approved_by(one: Closed, policy: str, **gate: str) -> Closed:
    assert one.plan.gate is not None
    wanted = one.plan.model_copy(update={"gate": one.plan.gate.model_copy(update=gate)})
    given = one.document.approvals[-1]
    allowed = given.policy.model_copy(update={"approve": policy})
    words = {"by": "caller", "channel": "caller", "policy": allowed, "plan_digest": wanted.digest()}
    return one.but(plan=wanted, approvals=(given.model_copy(update=words),))


def _dropping_by_caller(one: Closed) -> Closed:
    wanted = one.plan.model_copy(update={"dropped_cases": (DroppedCase(case="old", because="slow"),)})
    return _approved_by(one.but(plan=wanted), "caller")


def _dropping_by_trusted_caller(one: Closed) -> Closed:
    other = _dropping_by_caller(one)
    given = other.document.approvals[0]
    trusting = given.policy.model_copy(update={"caller_scope": "trusted"})
    return other.but(approvals=(given.model_copy(update={"policy": trusting}),))


def _kept_elsewhere(one: Closed) -> Closed:
    (baseline,) = one.document.baselines
    there = baseline.model_copy(update={"id": "there", "platform": "darwin"})
    return one.but(baselines=(there, baseline))


def _waived(one: Closed, *, channel: Channel, told: bool) -> Closed:
    entry = Allowance(kind="path", value="x", digest=None, because="known", channel=channel, source="s", revision=99)
    shown = {"kind": "completed-with-waivers", "waivers": ("path x: known",)} if told else {}
    return one.but(allowances=(entry,), closure=one.closure.model_copy(update=shown))


def _two_digests(one: Closed) -> Closed:
    (listing,) = {given.protected for given in one.document.approvals}
    _, _, path = one.lines[listing][0].partition(" ")
    protected = (f"sha256:other {path}",)
    return _inheriting(one, Inherited(plan_id="o", plan_digest="d", kept=(), protected=protected, findings=()))


def _inheriting(one: Closed, owed: Inherited) -> Closed:
    wanted = one.plan.model_copy(update={"inherits": (owed,)})
    given = one.document.approvals[-1].model_copy(update={"plan_digest": wanted.digest()})
    return one.but(plan=wanted, approvals=(given,))


def _underway(one: Closed) -> Closed:
    source, platform = one.closure.source or "", one.closure.platform or "linux"
    return one.but(
        pending=PendingCheck(
            id="check-9", scope="broad", command=GATE.run, source=source, platform=platform, started_revision=9
        )
    )


def _taken_back(one: Closed, revision: int) -> Closed:
    return one.but(taken_back=(TakenBack(from_revision=9, to_revision=4, after="review_submit", revision=revision),))


def _hidden(one: Closed) -> Closed:
    (listing,) = {given.protected for given in one.document.approvals}
    files = {path: digest for digest, _, path in (line.partition(" ") for line in one.lines[listing])}
    return replace(one, workspace=WorkspaceFacts(one.closure.source or "", files, frozenset(), {"out/made.py": "out/"}))


KNIVES: tuple[tuple[str, Knife], ...] = (
    ("feature-without-passing-run", lambda one: one.but(runs=one.document.runs[1:])),
    ("run-without-review", lambda one: one.with_review("bye.1", result=None)),
    ("run-without-evidence", lambda one: one.with_review("bye.1", observations=())),
    ("no-final-review", lambda one: one.with_review("hi.1", kind="feature")),
    ("final-review-without-result", lambda one: one.with_review("hi.1", result=None)),
    ("source-moved", lambda one: one.but(closure=one.closure.model_copy(update={"source": "sha256:other"}))),
    ("findings-open", _with_finding),
    ("scope-blocker-passed", _blocked_before),
    ("reviewer-is-manager", _answered_by_manager),
    ("setback-untold", lambda one: _taken_back(one, one.review("hi.1").revision + 1)),
    ("work-under-way", _underway),
    ("gate-never-observed", lambda one: _without_scope(one, "broad", "focused")),
    ("gate-not-passing", lambda one: one.with_late(GATE.run, scope="focused", exit_code=1)),
    ("check-not-passing", lambda one: one.with_late(CHECK.run, exit_code=1)),
    ("failure-stands", lambda one: one.with_late(CHECK.run, exit_code=1, platform="darwin")),
    ("external-unmet", lambda one: one.but(externals=())),
    ("external-revoked", lambda one: one.with_late(ABROAD.run, exit_code=1)),
    ("baseline-missing", lambda one: one.but(baselines=())),
    ("proof-missing", lambda one: _without_scope(one, "proof", None)),
    ("cases-unreadable", _unreadable),
    ("cases-lost", _lost_case),
    ("verifiers-changed", _two_digests),
    ("artifact-hides-source", _hidden),
    ("approval-missing", lambda one: _approved_by(one, "person")),
    ("narrowed-by-caller", lambda one: _approved_by(one, "caller", narrowed_because="slow")),
    ("waiver-without-person", lambda one: _waived(one, channel="caller", told=True)),
    ("waivers-untold", lambda one: _waived(one, channel="dialog", told=False)),
    ("evidence-resealed", lambda one: one.but(reseals=(_reseal(one.closure.revision - 1),))),
)
"""The one gap that each leaves."""


def _reseal(revision: int) -> Reseal:
    return Reseal(because="merged by hand", channel="dialog", revision=revision)


def _with_baseline(one: Closed, **changes: object) -> Closed:
    (baseline,) = one.document.baselines
    return one.but(baselines=(baseline.model_copy(update=changes),))


def _unproved(one: Closed, proof: Proof | None) -> Closed:
    wanted = one.plan.model_copy(
        update={"features": tuple(one.model_copy(update={"proof": proof}) for one in one.plan.features)}
    )
    return one.but(
        plan=wanted, approvals=(one.document.approvals[-1].model_copy(update={"plan_digest": wanted.digest()}),)
    )


def _proof_facts(one: Closed, **changes: object) -> Closed:
    def cut(seen: Observation) -> Observation:
        facts = None if seen.proof is None else seen.proof.model_copy(update=changes)
        return seen.model_copy(update={"proof": facts})

    runs = [run.model_copy(update={"observations": tuple(map(cut, run.observations))}) for run in one.document.runs]
    return one.but(runs=tuple(runs))


MORE: tuple[tuple[str, Knife], ...] = (
    (
        "approval-missing",
        lambda one: one.but(approvals=(one.document.approvals[0].model_copy(update={"revision": 50}),)),
    ),
    ("baseline-missing", lambda one: _with_baseline(one, ended="runner-lost", exit_code=None)),
    ("baseline-missing", lambda one: _with_baseline(one, exit_code=127, report=None)),
    ("baseline-missing", lambda one: _with_baseline(one, report=None)),
    ("proof-missing", lambda one: _unproved(one, None)),
    ("proof-missing", lambda one: _unproved(one, Proof(kind="case", run=GATE.run, case="gone"))),
    ("proof-missing", lambda one: _unproved(one, Proof(kind="case", run="true", case="new"))),
    ("proof-missing", lambda one: _proof_facts(one, outcome="passed")),
    ("proof-missing", lambda one: _proof_facts(one, outcome="uncollected", tests_changed=False)),
    ("proof-missing", lambda one: _proof_facts(one, approved="sha256:other")),
    ("narrowed-by-caller", _dropping_by_caller),
    ("narrowed-by-caller", lambda one: _unfrozen_by_caller(one, "bounded")),
    ("scope-blocker-passed", _owing_a_blocker),
    ("verifiers-changed", lambda one: _touched(one, None)),
    ("reviewer-is-manager", _answered_by_its_agent),
    ("work-under-way", lambda one: one.but(runs=(*one.document.runs, _again(one)))),
    ("final-review-without-result", lambda one: _failed(one, "hi.1")),
    ("evidence-resealed", lambda one: one.but(reseals=(_reseal(one.closure.revision + 1),))),
    ("external-unmet", lambda one: one.with_late(ABROAD.run, source="sha256:other")),
    ("external-unmet", lambda one: one.with_late(ABROAD.run, report=_skipping(one))),
)
"""Other ways to leave a gap."""


def _again(one: Closed) -> Run:
    return one.run("bye.1").model_copy(update={"id": "bye.2", "state": "active", "observations": (), "review": None})


def _skipping(one: Closed) -> Report:
    report = one.newest(ABROAD.run).report
    assert report is not None
    return report.model_copy(update={"cases": (DeclaredCase(case="new", outcome="skipped"),)})


def _failed(one: Closed, name: str) -> Closed:
    result = one.review(name).result
    assert result is not None
    return one.with_review(name, result=result.model_copy(update={"verdict": "failed"}))


def _unfrozen_by_caller(one: Closed, scope: str) -> Closed:
    wanted = one.plan.model_copy(update={"protected": ()})
    other = _approved_by(one.but(plan=wanted), "caller")
    given = other.document.approvals[0]
    policy = given.policy.model_copy(update={"caller_scope": scope})
    return other.but(approvals=(given.model_copy(update={"unfrozen": ("tests/old.sh",), "policy": policy}),))


def _touched(one: Closed, modes: tuple[str, ...] | None) -> Closed:
    """The final run starts from the approved source and changes a frozen file, or only whether it can be executed."""
    given = one.document.approvals[0]
    path = one.lines[given.protected][0].partition(" ")[2]
    started = one.with_run("hi.1", started_source=given.source)
    return started.with_review("hi.1", changed_paths=(path,), modes_changed=None if modes is None else (path,))


HARMLESS: tuple[Knife, ...] = (
    _dropping_by_trusted_caller,
    _kept_elsewhere,
    _answered_by_person,
    lambda one: _unfrozen_by_caller(one, "trusted"),
    lambda one: _touched(one, ("it",)),
    lambda one: _taken_back(one, one.review("hi.1").revision),
)
"""What may be otherwise without a gap."""
