"""Run one pending check the way its scope asks, and say what was seen."""

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.history import approval
from flow_mcp.domain.model import (
    DeclaredCase,
    Ineligible,
    Observation,
    ProofFacts,
    Report,
    Sandbox,
    Scope,
)
from flow_mcp.domain.plan import Plan
from flow_mcp.engine.job import Job, Seen
from flow_mcp.engine.placing import Site, copied, current, translated
from flow_mcp.evidence.failure import classify
from flow_mcp.evidence.report_file import prepare_report
from flow_mcp.evidence.reports import ReportReading, find_case, read_report
from flow_mcp.runner.execute import Outcome, execute
from flow_mcp.runner.order import Order
from flow_mcp.workspace.copies import merged
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED, TEST_FILES, matches
from flow_mcp.workspace.platform import this_platform
from flow_mcp.workspace.source import Manifest, take_manifest
from flow_mcp.workspace.sources import Damaged, changed_paths, discard_broken, load_manifest
from flow_mcp.workspace.workplaces import workplaces

OUTPUT_BYTES_MAX = 10 * 1024 * 1024
TAIL_BYTES_MAX = 64 * 1024
DRIFTED_MAX = 20
REASON_CHARACTERS_MAX = 500

_SANDBOX = Sandbox(tier="none", reason="this version runs commands without containment")
_APART = frozenset({"baseline", "proof"})
_WHY_INELIGIBLE: dict[str, Ineligible] = {
    "timed-out": "timed-out",
    "cancelled": "cancelled",
    "signalled": "signalled",
}


@dataclass(frozen=True, slots=True)
class _Ran:
    outcome: Outcome
    reading: ReportReading | None
    site: Site
    left: tuple[str, ...] = ()

    @property
    def path_dependent(self) -> bool:
        """Whether what ran may have been the workspace's source, through an input that leads back."""
        return self.site.lent.leads_back


def observe(job: Job) -> Seen:
    """Run the check where its scope asks; what stands in the way becomes an observation that does not pass."""
    try:
        if job.pending.scope == "baseline":
            return _baseline(job)
        if job.pending.scope == "proof":
            return _proof(job)
        return _current(job)
    except Damaged as error:
        # What is not whole is set aside: the next look rebuilds it or asks for another approval (run.facts-present).
        given = approval(job.document)
        approved = () if given is None else (given.source,)
        discard_broken(job.space.private, {error.digest, job.pending.source, *approved})
        return _not_run(job, f"{error.seen} {error.remedy}")
    except BrokenWorld as error:
        return _not_run(job, f"{error.seen} {error.remedy}")


def _run(job: Job, site: Site) -> _Ran:
    command, root = job.command, job.space.root
    made_ns: int | None = None
    if command.report is not None:
        prepare_report(site.folder, command.report)
        if site.copy is not None:
            # By the clock of the copy's own file system, in a folder that was made for this execution.
            made_ns = (site.folder / command.report).parent.stat().st_mtime_ns
    order = Order(
        run=command.run,
        folder=site.folder,
        timeout_s=float(command.timeout_s),
        environment=translated(job.environment, root, site.folder),
        output_path=job.output,
        output_bytes_max=OUTPUT_BYTES_MAX,
        tail_bytes_max=TAIL_BYTES_MAX,
        network=command.network,
        token=job.token,
        outside=(root,),
        ends_with_runner=job.alone,
        redactor=job.redactor,
    )
    outcome = execute(order, job.cancel, lambda _pid: None)
    started_ns = outcome.started_ns if made_ns is None else made_ns
    reading = None if command.report is None else read_report(site.folder, command.report, started_ns)
    return _Ran(outcome, reading, site, site.left())


def _current(job: Job) -> Seen:
    """Run the command on the check's own source.

    Where what ran may have been the workspace's, in place or through an input that leads back, the workspace must hold
    that source before and after.
    """
    with current(job) as site:
        watched = site.copy is None or site.lent.leads_back
        before = _manifest(job) if watched else None
        ran = _run(job, site)
    seen = _seen(job, ran)
    return seen if before is None else _unmoved(job, seen, before)


def _unmoved(job: Job, seen: Seen, before: Manifest) -> Seen:
    """Mark what was seen of a source that is not, before and after, the one that the check is bound to."""
    after, bound = _manifest(job), job.pending.source
    if before.digest == bound == after.digest:
        return seen
    origin = _asked(job) or before
    drifted = sorted({*changed_paths(origin, before), *changed_paths(origin, after)})[:DRIFTED_MAX]
    ineligible = seen.observation.ineligible or "source-drift"
    told = seen.observation.model_copy(update={"ineligible": ineligible, "drifted": tuple(drifted)})
    return replace(seen, observation=told)


def _asked(job: Job) -> Manifest | None:
    with suppress(Damaged):
        return load_manifest(job.space.private, job.pending.source)
    return None


def _manifest(job: Job) -> Manifest:
    return take_manifest(job.space.root, job.records, job.plan.artifacts)


def _baseline(job: Job) -> Seen:
    source = job.pending.source
    return _seen(job, _in_copy(job, source, load_manifest(job.space.private, source)))


def _in_copy(job: Job, digest: str, manifest: Manifest, *, is_current: bool = False) -> _Ran:
    """Run the command in a disposable copy of a kept source."""
    with copied(job, digest, manifest, is_current=is_current) as site:
        return _run(job, site)


def _proof(job: Job) -> Seen:
    given, private = approval(job.document), job.space.private
    assert given is not None, "a check belongs to an approved plan"  # noqa: S101 - a broken program
    approved, now = load_manifest(private, given.source), load_manifest(private, job.pending.source)
    tests = _test_files(job.plan, approved, now)
    ran = _in_copy(job, given.source, merged(approved, now, tests))
    outcome = _proof_outcome(job, ran)
    facts = ProofFacts(
        approved=given.source,
        outcome=outcome,
        tests_changed=bool(set(tests) & set(changed_paths(approved, now))),
        control=_control(job, approved, now) if outcome == "uncollected" else None,
    )
    seen = _seen(job, ran)
    cancelled = "cancelled" if job.cancel.is_set() else None
    told = {"proof": facts, "ineligible": seen.observation.ineligible or cancelled}
    return replace(seen, observation=seen.observation.model_copy(update=told))


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


def _control(job: Job, approved: Manifest, now: Manifest) -> Control:
    """Say whether the command works at all: on the approved source with the approved tests it ends by itself.

    A command that names a test file which was not there then cannot; it must pass in a copy of today's source.
    """
    before = _ended_as(job, approved)
    if before != "usage":
        return before
    own = replace(job, output=job.output.with_suffix(".after.log"))
    ran = _in_copy(own, now.digest, now, is_current=True)
    return "passed-with-change" if _classified(own, ran) == "passed" else "usage"


def _ended_as(job: Job, source: Manifest) -> Control:
    own = replace(job, output=job.output.with_suffix(".before.log"))
    ran = _in_copy(own, source.digest, source)
    if ran.outcome.ended != "exited":
        return "timed-out" if ran.outcome.ended == "timed-out" else "no-result"
    kind = _KINDS[_classified(own, ran)]
    return kind if kind == "usage" or kind == "missing-tool" else "ended"  # noqa: PLR1714 - narrows the type


def _seen(job: Job, ran: _Ran) -> Seen:
    outcome, reading = ran.outcome, ran.reading
    is_elsewhere = ran.path_dependent and job.pending.scope in _APART
    passing = () if reading is None or is_elsewhere else _passing(job, reading)
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
        ineligible=_why_ineligible(job.pending.scope, ran),
        in_place=None if ran.site.why_in_place is None else _plain(job, ran.site.why_in_place),
        inputs=ran.site.lent.names or None,
        shared_inputs=ran.site.lent.shared or None,
        left=tuple(_plain(job, one) for one in ran.left) or None,
        duration_ms=round(outcome.duration_s * 1000),
        cpu_ms=round(outcome.cpu_s * 1000),
        peak_memory_bytes=outcome.peak_memory_bytes,
        started_revision=0,
        revision=0,
    )
    return Seen(observation, passing, outcome.tail)


def _passing(job: Job, reading: ReportReading) -> tuple[str, ...]:
    """Name the cases that passed, without secrets: the document holds these names. What shares a name must all pass."""
    names = job.redactor.names([*reading.cases])
    others = {name for name, said in zip(names, reading.cases.values(), strict=True) if said != "passed"}
    return tuple(sorted({*names} - others))


def _why_ineligible(scope: Scope, ran: _Ran) -> Ineligible | None:
    outcome = ran.outcome
    if ran.path_dependent and scope in _APART:
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
        detail=reading.detail or None,
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
    return Seen(observation, (), job.redactor.text(why))


def _plain(job: Job, why: str) -> str:
    """Put a reason on one line, without secrets and the workspace's own path: a document holds no absolute one."""
    for root in (str(job.space.root), os.path.realpath(job.space.root)):
        for spelt in (root, repr(root)[1:-1]):
            why = why.replace(f"{spelt}{os.sep}", "").replace(spelt, ".")
    places = tuple(workplaces(job.space.root))
    around = (place.parent.parent for place in places)  # what lies beside the copies may be named too
    for place in (*places, Path(tempfile.gettempdir()), _home(), *around):
        for spelt in (str(place), repr(str(place))[1:-1]):
            why = why.replace(spelt, "~") if len(spelt) > 1 else why
    shown = "".join(char if char.isprintable() else " " for char in job.redactor.text(why))
    return " ".join(shown.split())[:REASON_CHARACTERS_MAX]


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.sep)


def without_report(seen: Seen) -> Seen:
    """Give the same observation with a report that is too large to count."""
    report = seen.observation.report
    assert report is not None, "passing cases come from a report"  # noqa: S101 - a broken program
    empty = Report(path=report.path, reason="over-limits", passed=0, failed=0, skipped=0)
    return Seen(seen.observation.model_copy(update={"report": empty}), (), seen.tail)
