"""A closed document as the audit reads it: what counts, what passes, where it was closed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from flow_mcp.domain.model import Approval, Document, Observation, Review, ReviewResult, Run
from flow_mcp.domain.plan import Command, Plan, Platform

Lines = Mapping[str, tuple[str, ...]]
Said = Iterator[str]
Finder = Callable[["Record"], Said]
"""Looks for one kind of gap, and says each that it sees."""

ELSEWHERE = frozenset({"source-drift", "path-dependent"})
"""Why an observation may be of another source than the one that it is bound to."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that a completed document does not show: a stable name, and what was seen."""

    id: str
    seen: str


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """The workspace as it is now.

    Attributes:
        source: digest of its source.
        files: path to digest of its files and links.
        configuration: those of them that steer a test runner.
        hidden: tracked files that an artifact of the plan takes out of the digest, each with its glob.
    """

    source: str
    files: Mapping[str, str]
    configuration: frozenset[str]
    hidden: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """A closed document, and which part of it counts.

    Attributes:
        document: what is judged.
        lines: the lines of its listings, by digest.
        workspace: what is there now; None where it is not at hand.
        since: revision of the reseal at or before which nothing counts; 0 for everything.
    """

    document: Document
    lines: Lines
    workspace: WorkspaceFacts | None
    since: int

    @property
    def plan(self) -> Plan:
        """The plan; a document without one has no features, and so is told of by ``approval-missing``."""
        return self.document.plan or Plan(summary="", features=())

    @property
    def approval(self) -> Approval | None:
        """The latest approval that counts."""
        return next((one for one in reversed(self.document.approvals) if one.revision > self.since), None)

    @property
    def seen(self) -> tuple[Observation, ...]:
        """What speaks for a command: every observation that counts, but those of proofs, oldest first."""
        return tuple(one for one in self.everything if one.scope != "proof")

    @property
    def everything(self) -> tuple[Observation, ...]:
        """Every observation that counts, oldest first."""
        document = self.document
        of_runs = [one for run in document.runs for one in run.observations]
        every = (*document.baselines, *document.externals, *of_runs)
        return tuple(sorted((one for one in every if one.revision > self.since), key=lambda one: one.revision))

    @property
    def reviews(self) -> tuple[tuple[Run, Review, ReviewResult], ...]:
        """Every answered review that counts, with its run, in the order of the answers."""
        found = [
            (run, run.review, run.review.result)
            for run in self.document.runs
            if run.review is not None and run.review.result is not None and run.review.result.revision > self.since
        ]
        return tuple(sorted(found, key=lambda each: each[2].revision))

    @property
    def final(self) -> tuple[Run, Review] | None:
        """The latest final review of a run that was not superseded."""
        runs = [(run, run.review) for run in self.document.runs if run.superseded is None and run.review is not None]
        finals = [(run, one) for run, one in runs if one.kind == "final" and one.revision > self.since]
        return max(finals, key=lambda each: each[1].revision, default=None)

    @property
    def source(self) -> str:
        """The source that everything is to be shown on: that of the final review."""
        closure, final = self.document.closure, self.final
        return final[1].source if final is not None else (closure and closure.source) or ""

    @property
    def platform(self) -> Platform:
        """Where the goal was closed."""
        closure = self.document.closure
        return (closure and closure.platform) or (self.seen[-1].platform if self.seen else "other")

    def waived(self, kind: str) -> frozenset[str]:
        """Name what a person let go."""
        entries = (one for one in self.document.allowances if one.revision > self.since)
        return frozenset(one.value for one in entries if one.kind == kind)

    def last(self, run: str, platform: Platform) -> Observation | None:
        """Give the latest observation of a command on a platform."""
        found = (one for one in reversed(self.seen) if (one.command, one.platform) == (run, platform))
        return next(found, None)

    def passes(self, one: Observation) -> bool:
        """Say whether an observation passes: the command succeeded, seen whole, and its report shows so."""
        command = command_of(self.plan, one.command)
        well = one.exit_code == 0 or (one.exit_code is None and one.host_success is True)
        if command is None or not well or one.ineligible is not None or one.complete is not True:
            return False
        report = one.report
        return command.report is None or (readable(one) and report is not None and report.passed > 0 == report.failed)

    def holds(self, run: str) -> bool:
        """Say whether the latest observation of a command passes, here and on the source that was judged."""
        one = self.last(run, self.platform)
        return one is not None and one.source == self.source and self.passes(one)

    def listed(self) -> tuple[str, ...]:
        """Name every check of every feature, and the gate."""
        gate = () if self.plan.gate is None else (self.plan.gate.run,)
        return tuple(dict.fromkeys([*(check.run for one in self.plan.features for check in one.checks), *gate]))


def command_of(plan: Plan, run: str) -> Command | None:
    """Find the listed command with exactly these bytes."""
    every = [check for feature in plan.features for check in feature.checks]
    every += [entry.command for entry in plan.external_evidence or ()] + ([plan.gate] if plan.gate else [])
    return next((command for command in every if command.run == run), None)


def readable(one: Observation) -> bool:
    """Say whether there is a report that could be read."""
    return one.report is not None and one.report.reason is None


def shows_cases(one: Observation) -> bool:
    """Say whether a readable report has a case that was executed."""
    return one.report is not None and readable(one) and one.report.passed + one.report.failed > 0
