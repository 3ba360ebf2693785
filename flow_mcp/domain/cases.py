"""Which test cases must not get lost, and what became of those that a plan names."""

from collections.abc import Mapping

from flow_mcp.domain.case_names import names_case
from flow_mcp.domain.history import allowances, counted, latest, listed_checks
from flow_mcp.domain.model import Document, Observation
from flow_mcp.domain.plan import Plan, Platform

Kept = dict[tuple[str, Platform], frozenset[str]]
Lost = dict[tuple[str, Platform], tuple[str, ...]]
Lines = Mapping[str, tuple[str, ...]]

NOT_APART = frozenset({"source-drift", "path-dependent"})
"""Reasons why an observation may have seen another source than the one that it is bound to."""


def lines_of(document: Document, lines: Lines, digest: str | None) -> tuple[str, ...] | None:
    """Give a listing's lines, from the document or its sidecar; None when neither has them."""
    if digest is None:
        return ()
    if digest in lines:
        return lines[digest]
    return next((entry.lines for entry in document.listings if entry.digest == digest), None)


def kept_cases(document: Document, lines: Lines) -> Kept | None:
    """Give the cases that must still pass, by command and platform; None when a listing is lost.

    They passed in the baseline, in an inherited one, or in a report of the gate or a listed check that a passing
    review of this plan rested on, less dropped and waived ones.
    """
    kept: dict[tuple[str, Platform], set[str]] = {}
    for run, platform, listing in _sources(document):
        found = lines_of(document, lines, listing)
        if found is None:
            return None
        kept.setdefault((run, platform), set()).update(found)
    return {key: _wanted(document, cases) for key, cases in kept.items()}


def cases_named(kept: Kept, wanted: str) -> tuple[str, ...]:
    """Give the kept cases that a name may mean: exactly this one where it is kept, else every one it can name."""
    every = {case for cases in kept.values() for case in cases}
    return (wanted,) if wanted in every else tuple(sorted(case for case in every if names_case(case, wanted)))


def _sources(document: Document) -> list[tuple[str, Platform, str]]:
    if document.plan is None:
        return []
    plan = document.plan
    owed = [kept for entry in plan.inherits for kept in entry.kept]
    found = [(_carrier(plan, kept.run), kept.platform, kept.listing) for kept in owed]
    seen = [*_counted_baselines(document), *_reviewed(document, frozenset(listed_checks(plan)))]
    return found + [
        (one.command, one.platform, one.report.passing)
        for one in seen
        if one.report is not None and one.report.passing is not None
    ]


def _carrier(plan: Plan, run: str) -> str:
    """Give the command whose report shows an inherited case here: its own, or the gate where this plan has it not."""
    command = plan.command(run)
    here = command is not None and command.report is not None and run in listed_checks(plan)
    return run if here or plan.gate is None else plan.gate.run


def _counted_baselines(document: Document) -> tuple[Observation, ...]:
    return tuple(seen for seen in counted(document) if seen.scope == "baseline" and seen.ineligible not in NOT_APART)


def _reviewed(document: Document, runs: frozenset[str]) -> list[Observation]:
    by_id = {seen.id: seen for seen in counted(document) if seen.command in runs}
    return [
        by_id[name]
        for run in document.runs
        if run.review is not None and run.review.result is not None and run.review.result.verdict == "passed"
        for name in run.review.observations
        if name in by_id
    ]


def _wanted(document: Document, cases: set[str]) -> frozenset[str]:
    """Leave out what the plan dropped, by any of its names, and what a person waived, by its whole id."""
    waived = {entry.value for entry in allowances(document, "case")}
    dropped = set() if document.plan is None else {entry.case for entry in document.plan.dropped_cases}
    left = cases - waived - dropped
    return frozenset(case for case in left if not any(names_case(case, name) for name in dropped))


def has_cases(seen: Observation) -> bool:
    """Say whether a readable report shows at least one executed case."""
    report = seen.report
    return report is not None and report.reason is None and report.passed + report.failed > 0


def lost_cases(document: Document, kept: Kept, lines: Lines, digest: str) -> Lost:
    """Name, by command and platform, the kept cases that the latest current report does not show passing.

    A command without a report on current source is left out: nothing is known of it.
    """
    lost: Lost = {}
    for (run, platform), cases in kept.items():
        seen = latest(document, run, platform)
        if seen is None or seen.source != digest or seen.report is None or seen.report.reason is not None:
            continue
        now = lines_of(document, lines, seen.report.passing) or ()
        missing = tuple(sorted(cases - set(now)))
        if missing:
            lost[run, platform] = missing
    return lost


def unseen(document: Document, kept: Kept, platform: Platform, digest: str) -> tuple[str, ...]:
    """Name commands with kept cases on this platform that have no readable report on current source."""
    return tuple(
        run
        for (run, where), cases in kept.items()
        if where == platform and cases and not _reported(latest(document, run, where), digest)
    )


def _reported(seen: Observation | None, digest: str) -> bool:
    return seen is not None and seen.source == digest and seen.report is not None and seen.report.reason is None


def case_outcome(seen: Observation, wanted: str) -> str:
    """Say what an observation's report said of a case that the plan names."""
    declared = () if seen.report is None else seen.report.cases
    return next((entry.outcome for entry in declared if entry.case == wanted), "absent")


def case_passes(document: Document, run: str, case: str, platform: Platform, digest: str) -> bool:
    """Say whether a named case passes in the latest observation of its command, on current source."""
    seen = latest(document, run, platform)
    plan = document.plan
    if plan is None or seen is None or seen.source != digest:
        return False
    readable = seen.report is not None and seen.report.reason is None
    return readable and seen.ineligible is None and case_outcome(seen, case) == "passed"
