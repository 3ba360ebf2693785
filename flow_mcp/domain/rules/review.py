"""What must be shown before a review begins. Asked again, as for a final review, when a goal is closed."""

import shlex

from flow_mcp.domain.cases import kept_cases, lost_cases, unseen
from flow_mcp.domain.commands import Close, ReviewStart
from flow_mcp.domain.decision import Objection, Step, call, person
from flow_mcp.domain.graph import ready
from flow_mcp.domain.history import (
    active_run,
    begun,
    checks_of,
    counted,
    derived_kind,
    latest,
    listed_checks,
    passed_features,
    passes,
    passes_now,
    run_observations,
)
from flow_mcp.domain.model import Observation
from flow_mcp.domain.plan import Feature, Plan, Platform
from flow_mcp.domain.report_words import disagreement
from flow_mcp.domain.rule import Question, held, rule
from flow_mcp.domain.rules.steps import reset, validate
from flow_mcp.domain.spoken import DEFER, doubts, not_started, unseen_end

KIND_DERIVED = held(
    "review.kind-derived",
    means="invariant",
    claim="Feature or final is derived: final when every other feature has passed.",
    limits="At the assignment's revision; a wrong stored kind is refused on load.",
)


LOOKS_MAX = 2
"""After so many observations of one source another one is not asked for: a case that they all miss is not there."""

_MEND = "Mend it, then observe it again."


def is_final(question: Question) -> bool:
    """Say whether what is asked needs what a final review needs."""
    if isinstance(question.ask, Close):
        return question.ask.kind in {"completed", "accepted"}
    run = active_run(question.document)
    return run is not None and derived_kind(question.document, run.feature_id) == "final"


def judged(question: Question) -> tuple[Plan, tuple[Feature, ...]] | None:
    """Give the plan and the features that a review or a closing speaks for; None where neither is asked."""
    plan, ask = question.document.plan, question.ask
    if plan is None:
        return None
    if isinstance(ask, Close) and ask.kind in {"completed", "accepted"}:
        return plan, plan.features
    run = active_run(question.document)
    if not isinstance(ask, ReviewStart) or run is None:
        return None
    if is_final(question):
        return plan, plan.features
    return plan, tuple(feature for feature in plan.features if feature.id == run.feature_id)


def observe(question: Question, command: str, say: str) -> Step:
    """Ask for an observation of a command: of the active run, or of a new one where every run has passed."""
    plan, document = question.document.plan, question.document
    run = active_run(document)
    gates = () if plan is None or plan.gate is None else (plan.gate.run,)
    say += doubts(document, question.facts.platform, command, *gates)
    if run is None:
        features = () if plan is None else plan.features
        failing = next((f for f in features if any(check.run == command for check in f.checks)), features[-1])
        return reset(failing.id, f"{say} That takes a new run.")
    return validate("broad" if command in gates else "focused", command, say)


def again(question: Question, command: str) -> str | None:
    """Say why a command has only to be observed again: its end was not seen, or the source changed since."""
    seen = latest(question.document, command, question.facts.platform)
    if seen is None:
        return None
    moved = "The source changed since: observe it again."
    if seen.scope == "baseline":
        moved = "Observe it on current source."
    return unseen_end(seen) or (moved if seen.source != question.facts.digest else None)


def _check_words(question: Question, plan: Plan, feature: Feature, command: str) -> str:
    """Say what a check of a feature waits for; work is asked for only while none was seen."""
    seen = latest(question.document, command, question.facts.platform)
    if seen is not None and (unseen_end(seen) is not None or passes(plan, seen)):
        return again(question, command) or "Observe it again."
    if not begun(question.document, feature.id):
        return f"Do the work on {feature.id}, then observe this check."
    if seen is None:
        return "Observe this check."
    return again(question, command) or _MEND


def standing(question: Question, command: str) -> str:
    """Say in a sentence how a command stands on current source."""
    facts, plan = question.facts, question.document.plan
    seen = latest(question.document, command, facts.platform)
    if seen is None or plan is None:
        return f"{command!r} was not observed."
    if seen.scope == "baseline" and seen.source != facts.digest:
        return f"{command!r} was last observed on the approved source, as the baseline."
    if not passes(plan, seen):
        return f"{command!r} did not pass: {why_not(seen)}."
    return f"{command!r} passed on another source than the current one."


def why_not(seen: Observation) -> str:
    """Say why an observation does not pass."""
    if seen.ineligible is not None:
        return seen.ineligible
    if not_started(seen):
        return f"it could not start (exit code {seen.exit_code})"
    told = "no case was executed" if seen.exit_code == 0 else f"exit code {seen.exit_code}"
    return disagreement(seen) or told


@rule("review.one-per-run", claim="A run has exactly one review assignment.", limits="")
def one_per_run(question: Question) -> Objection | None:
    """Object to a review without an active run, or to a second one of it (row review.one-per-run)."""
    document = question.document
    if not isinstance(question.ask, ReviewStart):
        return None
    run = active_run(document)
    if run is None:
        able = () if document.plan is None else ready(document.plan, passed_features(document))
        remedy = call("status", {}, (), "See what is next.")
        if able:
            remedy = call("run_start", {"feature_id": able[0].id}, (), "Start a run first.")
        return Objection("No run is active.", remedy, retryable=False)
    if run.review is None:
        return None
    seen = f"Run {run.id} has its assignment {run.review.id} already."
    say = "The reserved reviewer answers it; a reset gives the feature a new run."
    return Objection(
        seen,
        Step(
            who="reviewer",
            tool="review_submit",
            arguments={"assignment_id": run.review.id},
            fill=("verdict", "summary"),
            say=say,
        ),
        retryable=False,
    )


@rule(
    "review.checks-passed",
    claim="Every listed check of the feature passes on current source.",
    limits="With no listed check: the gate.",
)
def checks_passed(question: Question) -> Objection | None:
    """Object to a review before the feature's checks pass (row review.checks-passed)."""
    asked = judged(question)
    if asked is None or not isinstance(question.ask, ReviewStart):
        return None
    plan, features = asked
    run = active_run(question.document)
    own = [feature for feature in features if run is not None and feature.id == run.feature_id]
    for check in (check for feature in own for check in checks_of(plan, feature)):
        if not passes_now(question.document, check.run, question.facts.platform, question.facts.digest):
            say = _check_words(question, plan, own[0], check.run)
            return Objection(standing(question, check.run), observe(question, check.run, say), retryable=True)
    return None


def _vetoed(question: Question, plan: Plan, features: tuple[Feature, ...]) -> tuple[str, ...]:
    if is_final(question):
        return listed_checks(plan)
    runs = [check.run for feature in features for check in feature.checks]
    return tuple(dict.fromkeys([*runs, *([plan.gate.run] if plan.gate is not None else [])]))


def _stands_failed(question: Question, plan: Plan, command: str) -> bool:
    seen = [one for one in run_observations(question.document) if one.command == command and one.scope != "proof"]
    failed = max((one.revision for one in seen if not passes(plan, one)), default=None)
    if failed is None:
        return False
    good = [one for one in counted(question.document) if one.command == command and one.revision > failed]
    facts = question.facts
    return not any(one.source == facts.digest and one.platform == facts.platform and passes(plan, one) for one in good)


def _forgiven(question: Question, plan: Plan, command: str) -> bool:
    """Say whether a red gate at a feature review is red only in cases that never passed (row review.veto-clear)."""
    facts = question.facts
    if is_final(question) or plan.gate is None or command != plan.gate.run:
        return False
    seen = latest(question.document, command, facts.platform)
    if seen is None or seen.source != facts.digest or seen.report is None or seen.report.reason is not None:
        return False
    if seen.ineligible == "source-drift":
        return False
    kept = kept_cases(question.document, facts.lines)
    key = command, facts.platform
    return kept is not None and key not in lost_cases(question.document, kept, facts.lines, facts.digest)


@rule(
    "review.veto-clear",
    claim="No vetoed command stands failed.",
    limits="Vetoed: the feature's listed checks and the gate, at final every listed check. Only a later pass of the "
    "same bytes on current source clears it; at a feature review a gate is forgiven while all kept cases pass in it.",
)
def veto_clear(question: Question) -> Objection | None:
    """Object while a failure stands that no later pass of the same bytes cleared (row review.veto-clear)."""
    asked = judged(question)
    if asked is None:
        return None
    plan, features = asked
    for command in _vetoed(question, plan, features):
        if _stands_failed(question, plan, command) and not _forgiven(question, plan, command):
            seen = f"A failure of {command!r} stands: no later observation of it passes on current source."
            return Objection(seen, observe(question, command, again(question, command) or _MEND), retryable=True)
    return None


@rule(
    "review.final-checks",
    claim="Final review needs every listed check of every feature, and the gate broad, passing on current source.",
    limits="",
)
def final_checks(question: Question) -> Objection | None:
    """Object to a final review before everything passes on current source (row review.final-checks)."""
    asked = judged(question)
    if asked is None or not is_final(question):
        return None
    plan, facts = asked[0], question.facts
    for command in listed_checks(plan):
        if not passes_now(question.document, command, facts.platform, facts.digest):
            say = again(question, command) or "The final review needs it on current source."
            return Objection(standing(question, command), observe(question, command, say), retryable=True)
    gate = "" if plan.gate is None else plan.gate.run
    broad = [seen for seen in counted(question.document) if seen.scope == "broad" and seen.command == gate]
    if any((seen.source, seen.platform) == (facts.digest, facts.platform) and passes(plan, seen) for seen in broad):
        return None
    seen = "The gate was not observed with scope broad on current source."
    return Objection(seen, observe(question, gate, "Observe the gate, scope broad."), retryable=False)


def _bring_back(question: Question, command: str, platform: Platform, case: str) -> Step:
    """Ask for lost cases back; where a second look at the same source had not got them either, ask a person."""
    waived = f"if one must go, a person waives it: `flow-mcp waive case {shlex.quote(case)}`."
    if platform == question.facts.platform:
        here = command, platform, question.facts.digest
        seen = [one for one in counted(question.document) if (one.command, one.platform, one.source) == here]
        if sum(one.scope != "baseline" and one.report is not None for one in seen) < LOOKS_MAX:
            return observe(question, command, f"Bring them back and observe again; {waived}")
        return person(
            f"Observing again on this source shows the same. Bring them back, or, {waived} Or {DEFER} that gives them "
            "up in dropped_cases."
        )
    return person(f"Bring them back and observe {command!r} again on a {platform} machine; {waived}")


@rule(
    "review.cases-kept",
    claim="No review accepts lost tests.",
    limits="Kept: cases that passed in the baseline, an inherited one, or a report that a passing review rested on, "
    "less dropped and waived ones; at feature reviews as far as a report on current source exists, at final always.",
)
def cases_kept(question: Question) -> Objection | None:
    """Object while a case that passed before is not seen passing (row review.cases-kept)."""
    if judged(question) is None:
        return None
    document, facts = question.document, question.facts
    kept = kept_cases(document, facts.lines)
    if kept is None:
        seen = "A list of test cases that belongs to this plan is missing beside its document."
        say = "Restore the plan's sidecar files from git, or defer this plan."
        return Objection(seen, call("close", {"kind": "deferred"}, ("summary",), say), retryable=True)
    for (command, platform), cases in lost_cases(document, kept, facts.lines, facts.digest).items():
        where = f"{command!r} on {platform}"
        seen = f"{len(cases)} case(s) passed before and do not pass in {where} now: {'; '.join(cases[:5])}."
        return Objection(seen, _bring_back(question, command, platform, cases[0]), retryable=True)
    dark = unseen(document, kept, facts.platform, facts.digest)
    if is_final(question) and dark:
        seen = f"{dark[0]!r} passed cases before and has no report on current source."
        return Objection(seen, observe(question, dark[0], "Observe it on current source."), retryable=True)
    return None
