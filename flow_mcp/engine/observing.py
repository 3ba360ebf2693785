"""Run one pending check the way its scope asks, and say what was seen."""

import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.history import approval
from flow_mcp.domain.model import (
    DeclaredCase,
    Document,
    Ineligible,
    Observation,
    PendingCheck,
    ProofFacts,
    Report,
    Sandbox,
)
from flow_mcp.domain.plan import Command, Plan
from flow_mcp.engine.gather import Workspace
from flow_mcp.evidence.failure import classify
from flow_mcp.evidence.report_file import prepare_report
from flow_mcp.evidence.reports import ReportReading, find_case, read_report
from flow_mcp.runner.execute import Outcome, execute
from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, Order, environment
from flow_mcp.workspace.copies import (
    Damaged,
    changed_paths,
    checkout_copy,
    discard_copy,
    disposable,
    load_manifest,
    overlay_paths,
    store_copy,
)
from flow_mcp.workspace.inputs import link_inputs
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED, TEST_FILES, matches
from flow_mcp.workspace.platform import this_platform
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Manifest, take_manifest

OUTPUT_BYTES_MAX = 10 * 1024 * 1024
TAIL_BYTES_MAX = 64 * 1024
DRIFTED_MAX = 20
REASON_CHARACTERS_MAX = 500

_SANDBOX = Sandbox(tier="none", reason="this version runs commands without containment")
_WHY_INELIGIBLE: dict[str, Ineligible] = {
    "timed-out": "timed-out",
    "cancelled": "cancelled",
    "signalled": "signalled",
}


@dataclass(frozen=True, slots=True)
class Job:
    """One check to run.

    Attributes:
        space: the workspace.
        records: the files of the plans folder that are no part of the source.
        document: the plan's document when the check began.
        pending: the check.
        asked: the source as it was when the check was asked for, which it is bound to; None where it is not known.
        allowed: names of variables that commands may get beside the usual ones.
        output: the file that keeps the output.
        cancel: set to end the whole tree.
    """

    space: Workspace
    records: Records
    document: Document
    pending: PendingCheck
    asked: Manifest | None
    allowed: tuple[str, ...]
    output: Path
    cancel: threading.Event

    @property
    def plan(self) -> Plan:
        """The approved plan."""
        assert self.document.plan is not None, "a check belongs to a plan"  # noqa: S101 - a broken program
        return self.document.plan

    @property
    def command(self) -> Command:
        """The listed command."""
        found = self.plan.command(self.pending.command)
        assert found is not None, "observe.listed-only asked for a listed command"  # noqa: S101 - a broken program
        return found


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one check: the observation, the passing cases, and the output's end for the caller."""

    observation: Observation
    passing: tuple[str, ...]
    tail: str


@dataclass(frozen=True, slots=True)
class _Ran:
    outcome: Outcome
    reading: ReportReading | None
    path_dependent: bool = False


def observe(job: Job) -> Seen:
    """Run the check where its scope asks; what stands in the way becomes an observation that does not pass."""
    try:
        if job.pending.scope == "baseline":
            return _baseline(job)
        if job.pending.scope == "proof":
            return _proof(job)
        return _in_place(job)
    except Damaged as error:
        # Set aside, so that the next look rebuilds it or asks for another approval (row run.facts-present).
        discard_copy(job.space.private, error.digest)
        return _not_run(job, f"{error.seen} {error.remedy}")
    except BrokenWorld as error:
        return _not_run(job, f"{error.seen} {error.remedy}")


def _run(job: Job, folder: Path) -> _Ran:
    command = job.command
    if command.report is not None:
        prepare_report(folder, command.report)
    order = Order(
        run=command.run,
        folder=folder,
        timeout_s=float(command.timeout_s),
        environment=environment(os.environ, (*ALLOWED_BY_DEFAULT, *job.allowed)),
        output_path=job.output,
        output_bytes_max=OUTPUT_BYTES_MAX,
        tail_bytes_max=TAIL_BYTES_MAX,
    )
    outcome = execute(order, job.cancel, lambda _pid: None)
    reading = None if command.report is None else read_report(folder, command.report, outcome.started_ns)
    return _Ran(outcome, reading)


def _in_place(job: Job) -> Seen:
    before = _manifest(job)
    ran = _run(job, job.space.root)
    return _unmoved(job, _seen(job, ran), before)


def _unmoved(job: Job, seen: Seen, before: Manifest) -> Seen:
    """Mark what was seen of a source that is not, before and after, the one that the check is bound to."""
    after, bound = _manifest(job), job.pending.source
    if before.digest == bound == after.digest:
        return seen
    origin = job.asked or before
    drifted = sorted({*changed_paths(origin, before), *changed_paths(origin, after)})[:DRIFTED_MAX]
    ineligible = seen.observation.ineligible or "source-drift"
    told = seen.observation.model_copy(update={"ineligible": ineligible, "drifted": tuple(drifted)})
    return replace(seen, observation=told)


def _manifest(job: Job) -> Manifest:
    return take_manifest(job.space.root, job.records, job.plan.artifacts)


def _baseline(job: Job) -> Seen:
    return _seen(job, _in_copy(job, job.pending.source, ()))


def _in_copy(job: Job, source: str, tests: tuple[str, ...]) -> _Ran:
    """Run the command in a disposable copy of a kept source, with today's files of some names over it."""
    with disposable(job.space.private) as folder:
        checkout_copy(job.space.private, source, folder)
        overlay_paths(job.space.root, tests, folder)
        dependent = link_inputs(job.space.root, job.plan.inputs, folder)
        return replace(_run(job, folder), path_dependent=dependent)


def _proof(job: Job) -> Seen:
    given = approval(job.document)
    assert given is not None, "a check belongs to an approved plan"  # noqa: S101 - a broken program
    approved, now = load_manifest(job.space.private, given.source), _manifest(job)
    tests = _test_files(job.plan, approved, now)
    ran = _in_copy(job, given.source, tests)
    outcome = _proof_outcome(job, ran)
    facts = ProofFacts(
        approved=given.source,
        outcome=outcome,
        tests_changed=bool(set(tests) & set(changed_paths(approved, now))),
        control=_control(job, given.source, now) if outcome == "uncollected" else None,
    )
    seen = _seen(job, ran)
    cancelled = "cancelled" if job.cancel.is_set() else None
    told = {"proof": facts, "ineligible": seen.observation.ineligible or cancelled}
    return _unmoved(job, replace(seen, observation=seen.observation.model_copy(update=told)), now)


def _test_files(plan: Plan, approved: Manifest, now: Manifest) -> tuple[str, ...]:
    """Name today's test files, and those that were there at approval."""
    globs = (*TEST_FILES, *(DEFAULT_PROTECTED if plan.protected is None else plan.protected))
    paths = {entry.path for entry in (*approved.entries, *now.entries)}
    return tuple(sorted(matches(globs, paths)))


def _classified(job: Job, ran: _Ran) -> str:
    return classify(job.command.run, ran.outcome.exit_code, ran.outcome.ended, ran.reading)


ProofOutcome = Literal["passed", "failed", "uncollected", "usage", "missing-tool", "timed-out", "no-result"]
Control = Literal["ended", "passed-with-change", "usage", "missing-tool", "timed-out", "no-result"]

_KINDS: dict[str, ProofOutcome] = {
    "passed": "passed",
    "case-failed": "failed",
    "collection": "uncollected",
    "usage": "usage",
    "missing-tool": "missing-tool",
    "ended-without-result": "no-result",
}


def _proof_outcome(job: Job, ran: _Ran) -> ProofOutcome:
    if ran.outcome.ended == "timed-out":
        return "timed-out"
    kind = _KINDS[_classified(job, ran)]
    feature = job.plan.feature(job.pending.feature_id or "")
    case = None if feature is None or feature.proof is None else feature.proof.case
    if case is None or ran.reading is None or kind in {"usage", "missing-tool"}:
        return kind
    found = find_case(ran.reading, case)
    if found == "absent":
        return "uncollected" if kind == "uncollected" else "no-result"
    return "passed" if found == "passed" else "failed"


def _control(job: Job, approved: str, now: Manifest) -> Control:
    """Say whether the command works at all: on the approved source with the approved tests it ends by itself.

    A command that names a test file which was not there then cannot; it must pass in a copy of today's source.
    """
    before = _ended_as(job, approved, "before")
    if before != "usage":
        return before
    store_copy(job.space.root, now, job.space.private)
    own = replace(job, output=job.output.with_suffix(".after.log"))
    ran = _in_copy(own, now.digest, ())
    return "passed-with-change" if _classified(own, ran) == "passed" else "usage"


def _ended_as(job: Job, source: str, name: str) -> Control:
    own = replace(job, output=job.output.with_suffix(f".{name}.log"))
    ran = _in_copy(own, source, ())
    if ran.outcome.ended != "exited":
        return "timed-out" if ran.outcome.ended == "timed-out" else "no-result"
    kind = _KINDS[_classified(own, ran)]
    return kind if kind == "usage" or kind == "missing-tool" else "ended"  # noqa: PLR1714 - narrows the type


def _seen(job: Job, ran: _Ran) -> Seen:
    outcome, reading = ran.outcome, ran.reading
    passing = (
        ()
        if reading is None or ran.path_dependent
        else tuple(sorted(c for c, said in reading.cases.items() if said == "passed"))
    )
    observation = Observation(
        id="",
        scope=job.pending.scope,
        command=job.pending.command,
        attested_by="runner",
        ended=outcome.ended,
        exit_code=outcome.exit_code,
        output_digest=outcome.output_digest,
        output_bytes=outcome.output_bytes,
        complete=outcome.complete,
        platform=this_platform(),
        source=job.pending.source,
        report=_report(job, reading),
        sandbox=_SANDBOX,
        ineligible=_why_ineligible(ran),
        started_revision=0,
        revision=0,
    )
    return Seen(observation, passing, outcome.tail)


def _why_ineligible(ran: _Ran) -> Ineligible | None:
    outcome = ran.outcome
    if ran.path_dependent:
        return "path-dependent"
    if outcome.ended in _WHY_INELIGIBLE:
        return _WHY_INELIGIBLE[outcome.ended]
    return None if outcome.complete else "output-incomplete"


def _report(job: Job, reading: ReportReading | None) -> Report | None:
    if reading is None or job.command.report is None:
        return None
    return Report(
        path=job.command.report,
        reason=reading.reason or None,
        passed=reading.passed,
        failed=reading.failed,
        skipped=reading.skipped,
        cases=tuple(DeclaredCase(case=name, outcome=find_case(reading, name)) for name in _declared(job)),
    )


def _declared(job: Job) -> tuple[str, ...]:
    """Name the cases that the plan names for this command."""
    run, plan = job.pending.command, job.plan
    proofs = [feature.proof for feature in plan.features if feature.proof is not None]
    names = [proof.case for proof in proofs if proof.run == run and proof.case is not None]
    for entry in plan.external_evidence or ():
        names += entry.cases if entry.command.run == run else ()
    return tuple(dict.fromkeys(names))


def _not_run(job: Job, why: str) -> Seen:
    observation = Observation(
        id="",
        scope=job.pending.scope,
        command=job.pending.command,
        attested_by="runner",
        ended="not-run",
        platform=this_platform(),
        source=job.pending.source,
        sandbox=Sandbox(tier="none", reason=_plain(job, why)),
        ineligible="not-run",
        started_revision=0,
        revision=0,
    )
    return Seen(observation, (), why)


def _plain(job: Job, why: str) -> str:
    """Put a reason on one line, without the workspace's own path: a document holds no absolute one."""
    for root in (str(job.space.root), os.path.realpath(job.space.root)):
        why = why.replace(f"{root}{os.sep}", "").replace(root, ".")
    return " ".join(why.split())[:REASON_CHARACTERS_MAX]


def without_report(seen: Seen) -> Seen:
    """Give the same observation with a report that is too large to count."""
    report = seen.observation.report
    assert report is not None, "passing cases come from a report"  # noqa: S101 - a broken program
    empty = Report(path=report.path, reason="over-limits", passed=0, failed=0, skipped=0)
    return Seen(seen.observation.model_copy(update={"report": empty}), (), seen.tail)
