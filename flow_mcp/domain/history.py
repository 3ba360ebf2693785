"""What the document says happened: derived answers, none of them stored.

Evidence and approvals at or before the last reseal are the caller's word and count for nothing here.
"""

from collections.abc import Iterator
from typing import Literal

from flow_mcp.domain.model import Allowance, Approval, Document, Observation, Review, Run
from flow_mcp.domain.plan import Command, Feature, Finding, Plan, Platform


def floor(document: Document) -> int:
    """Give the revision of the last reseal; what is not newer does not count."""
    return document.reseals[-1].revision if document.reseals else 0


def approval(document: Document) -> Approval | None:
    """Give the approval in force."""
    latest = document.approvals[-1] if document.approvals else None
    return latest if latest is not None and latest.revision > floor(document) else None


def current_run(document: Document, feature_id: str) -> Run | None:
    """Give the newest run of a feature that was not superseded."""
    runs = (run for run in reversed(document.runs) if run.feature_id == feature_id)
    return next((run for run in runs if run.state != "superseded"), None)


def active_run(document: Document) -> Run | None:
    """Give the run that is under way."""
    return next((run for run in document.runs if run.state == "active"), None)


def passed_features(document: Document) -> frozenset[str]:
    """Name the features whose current run passed."""
    return frozenset(run.feature_id for run in document.runs if run.state == "passed")


def failed_features(document: Document) -> tuple[str, ...]:
    """Name the features whose current run failed its review, in order of the runs."""
    return tuple(run.feature_id for run in document.runs if run.state == "failed")


def all_passed(document: Document) -> bool:
    """Say whether every feature of the plan has passed."""
    plan = document.plan
    return plan is not None and passed_features(document) >= {feature.id for feature in plan.features}


def runs_of(document: Document, feature_id: str) -> tuple[Run, ...]:
    """Give every run of a feature, superseded ones too, the first one first."""
    return tuple(run for run in document.runs if run.feature_id == feature_id)


def attempts(document: Document, run: Run) -> tuple[Run, ...]:
    """Give the runs of a feature up to one of them, the first one first: what they did is in the tree still."""
    return runs_of(document, run.feature_id)[: run.attempt]


def run_beside(document: Document, run: Run) -> frozenset[str]:
    """Name the other features of which a run began between the first run of a feature and this one."""
    first = attempts(document, run)[0].started_revision
    return frozenset(one.feature_id for one in document.runs if first < one.started_revision < run.started_revision) - {
        run.feature_id
    }


def begun(document: Document, feature_id: str) -> bool:
    """Say whether work on a feature was seen: something was observed on a source that its first run did not start from.

    A check of the unchanged source says nothing of work.
    """
    runs = runs_of(document, feature_id)
    return any(seen.source != runs[0].started_source for run in runs for seen in run.observations)


def run_observations(document: Document) -> Iterator[Observation]:
    """Give the observations of every run, superseded ones too, in order of the runs."""
    for run in document.runs:
        yield from run.observations


def observations(document: Document) -> tuple[Observation, ...]:
    """Give every observation of the goal, oldest first."""
    everything = (*document.baselines, *document.externals, *run_observations(document))
    return tuple(sorted(everything, key=lambda observation: observation.revision))


def counted(document: Document) -> tuple[Observation, ...]:
    """Give the observations that can speak for a command: of any run and scope but proof, since the last reseal."""
    since = floor(document)
    return tuple(seen for seen in observations(document) if seen.scope != "proof" and seen.revision > since)


def ended_well(seen: Observation) -> bool:
    """Say whether the command itself succeeded, was seen whole, and nothing makes it ineligible."""
    succeeded = seen.exit_code == 0 or (seen.exit_code is None and seen.host_success is True)
    return succeeded and seen.complete is True and seen.ineligible is None


def passes(plan: Plan, seen: Observation) -> bool:
    """Say whether an observation passes, as the contract defines it."""
    command = plan.command(seen.command)
    if command is None or not ended_well(seen):
        return False
    if command.report is None:
        return True
    report = seen.report
    return report is not None and report.reason is None and report.failed == 0 and report.passed > 0


def latest(document: Document, run: str, platform: Platform) -> Observation | None:
    """Give the newest observation of these bytes on this platform."""
    found = (seen for seen in reversed(counted(document)) if seen.command == run and seen.platform == platform)
    return next(found, None)


def passes_now(document: Document, run: str, platform: Platform, digest: str) -> bool:
    """Say whether the latest observation of these bytes on this platform passes and is current."""
    seen = latest(document, run, platform)
    plan = document.plan
    return plan is not None and seen is not None and seen.source == digest and passes(plan, seen)


def checks_of(plan: Plan, feature: Feature) -> tuple[Command, ...]:
    """Give the commands that speak for a feature: its listed checks, or the gate where it lists none."""
    if feature.checks or plan.gate is None:
        return feature.checks
    return (plan.gate.as_command(),)


def listed_checks(plan: Plan) -> tuple[str, ...]:
    """Give the bytes of every listed check of every feature, and of the gate, each once."""
    runs = [check.run for feature in plan.features for check in feature.checks]
    if plan.gate is not None:
        runs.append(plan.gate.run)
    return tuple(dict.fromkeys(runs))


def dependents(plan: Plan, feature_id: str) -> frozenset[str]:
    """Name the features that need this one, directly or not."""
    found: set[str] = set()
    grown = {feature_id}
    while grown:
        grown = {f.id for f in plan.features if grown & set(f.depends_on)} - found
        found |= grown
    return frozenset(found)


def final_review(document: Document) -> Review | None:
    """Give the latest final review of a run that still counts and passed."""
    reviews = [run.review for run in document.runs if run.state == "passed" and run.review is not None]
    finals = [review for review in reviews if review.kind == "final"]
    return max(finals, key=lambda review: review.revision, default=None)


def derived_kind(document: Document, feature_id: str) -> Literal["feature", "final"]:
    """Say which review a feature's run gets: final when every other feature has passed."""
    plan = document.plan
    others = set() if plan is None else {feature.id for feature in plan.features} - {feature_id}
    return "final" if passed_features(document) >= others else "feature"


def reviews(document: Document) -> tuple[tuple[Run, Review], ...]:
    """Give every review with its run, in order of their results, unanswered ones last."""
    found = [(run, run.review) for run in document.runs if run.review is not None]
    return tuple(sorted(found, key=lambda pair: _answered(pair[1])))


def _answered(review: Review) -> int:
    return review.result.revision if review.result is not None else 2**53


def live_findings(document: Document, feature_id: str) -> tuple[Finding, ...]:
    """Give the findings that a review of this feature must carry or clear.

    A passing review clears what it does not repeat; a failed one replaces nothing.
    """
    live: dict[str, Finding] = {}
    for run, review in reviews(document):
        if review.result is None or run.feature_id != feature_id:
            continue
        if review.result.verdict == "passed":
            live.clear()
        live.update({finding.id: finding for finding in review.result.findings})
    return tuple(live.values())


def judged_source(document: Document) -> str | None:
    """Give the source of the pending assignment, else of the last final review."""
    run = active_run(document)
    review = final_review(document) if run is None or run.review is None else run.review
    return None if review is None else review.source


def inherited_findings(document: Document) -> tuple[Finding, ...]:
    """Give the live findings of inherited plans, until a final review has passed since."""
    if document.plan is None or final_review(document) is not None:
        return ()
    return tuple(finding for owed in document.plan.inherits for finding in owed.findings)


def carried_findings(document: Document, feature_id: str, kind: str) -> tuple[Finding, ...]:
    """Give every finding that a review of this kind must answer."""
    own = live_findings(document, feature_id)
    return own + inherited_findings(document) if kind == "final" else own


def unanswered(document: Document, feature_id: str) -> tuple[str, ...]:
    """Name the assignments of this feature that were reset before anyone answered."""
    return tuple(
        review.id
        for run, review in reviews(document)
        if run.feature_id == feature_id and run.state == "superseded" and review.result is None
    )


def allowances(document: Document, kind: str) -> tuple[Allowance, ...]:
    """Give the waivers of one kind that count."""
    since = floor(document)
    return tuple(entry for entry in document.allowances if entry.kind == kind and entry.revision > since)


def unstable(document: Document) -> tuple[str, ...]:
    """Name commands that both passed and failed on one source and platform."""
    plan = document.plan
    verdicts: dict[tuple[str, str, str], set[bool]] = {}
    for seen in counted(document):
        if plan is not None and seen.ended == "exited":
            key = (seen.command, seen.platform, seen.source)
            verdicts.setdefault(key, set()).add(passes(plan, seen))
    return tuple(sorted({key[0] for key, both in verdicts.items() if len(both) > 1}))
