"""When a run starts, goes on, and is superseded."""

from flow_mcp.domain.commands import CheckStart, ReviewStart, RunReset, RunStart
from flow_mcp.domain.decision import Objection, call
from flow_mcp.domain.graph import ready
from flow_mcp.domain.history import active_run, current_run, dependents, failed_features, passed_features
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Plan
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.steps import approve, defer, reset


def after_reset(document: Document, feature_id: str) -> tuple[frozenset[str], frozenset[str]]:
    """Give the features that have passed, and those that failed, once a reset has cascaded."""
    plan = document.plan
    gone = {feature_id} | (set() if plan is None else dependents(plan, feature_id))
    return passed_features(document) - gone, frozenset(failed_features(document)) - gone


def _startable(plan: Plan, passed: frozenset[str], wanted: str | None) -> str | None:
    able = [feature.id for feature in ready(plan, passed)]
    if wanted is None:
        return None if able else "Every feature has passed."
    feature = plan.feature(wanted)
    if feature is None:
        return f"There is no feature {wanted!r}; the plan has {', '.join(entry.id for entry in plan.features)}."
    if wanted in passed:
        return f"Feature {wanted!r} has passed already."
    waits = sorted(set(feature.depends_on) - passed)
    return f"Feature {wanted!r} waits for {', '.join(waits)}." if waits else None


@rule(
    "run.feature-startable",
    claim="A run starts a known feature that has not passed and whose dependencies' current runs have passed.",
    limits="Without a name, the first ready feature in the plan's order starts.",
)
def feature_startable(question: Question) -> Objection | None:
    """Object to starting what cannot start (row run.feature-startable)."""
    document, ask = question.document, question.ask
    plan, fault = document.plan, None
    passed = passed_features(document)
    if plan is not None and isinstance(ask, RunStart):
        fault = _startable(plan, passed, ask.feature_id)
    elif plan is not None and isinstance(ask, RunReset) and ask.next_feature_id is not None:
        passed, _ = after_reset(document, ask.feature_id)
        fault = _startable(plan, passed, ask.next_feature_id)
    if plan is None or fault is None:
        return None
    able = [feature.id for feature in ready(plan, passed)]
    if not able:
        return Objection(fault, call("close", {"kind": "completed"}, ("summary",), "Close the goal."), retryable=False)
    if isinstance(ask, RunReset):
        say = f"Reset, and start {able[0]} next."
        arguments = {"feature_id": ask.feature_id, "next_feature_id": able[0]}
        return Objection(fault, call("run_reset", arguments, ("reason",), say), retryable=False)
    return Objection(fault, call("run_start", {"feature_id": able[0]}, (), f"Start {able[0]}."), retryable=False)


@rule("run.one-active", claim="One active run at a time.", limits="A reset of the active run makes room.")
def one_active(question: Question) -> Objection | None:
    """Object to a second run beside an active one (row run.one-active)."""
    document, ask = question.document, question.ask
    run = active_run(document)
    if run is None or not isinstance(ask, RunStart | RunReset):
        return None
    if isinstance(ask, RunReset):
        plan = document.plan
        gone = {ask.feature_id} | (set() if plan is None else dependents(plan, ask.feature_id))
        if ask.next_feature_id is None or run.feature_id in gone:
            return None
    seen = f"Run {run.id} of feature {run.feature_id!r} is active."
    return Objection(seen, call("status", {}, (), "Go on with it; status names the next call."), retryable=False)


@rule("run.not-blocked", claim="A failed feature is reset before anything else starts.", limits="")
def not_blocked(question: Question) -> Objection | None:
    """Object to starting anything while a feature stands failed (row run.not-blocked)."""
    document, ask = question.document, question.ask
    failed: tuple[str, ...] = ()
    if isinstance(ask, RunStart):
        failed = failed_features(document)
    elif isinstance(ask, RunReset) and ask.next_feature_id is not None:
        failed = tuple(sorted(after_reset(document, ask.feature_id)[1]))
    if not failed:
        return None
    seen = f"Feature {failed[0]!r} failed its review."
    return Objection(seen, reset(failed[0], "Reset it, answer the findings, and try again."), retryable=False)


def _private_scopes(question: Question) -> bool:
    ask = question.ask
    if isinstance(ask, ReviewStart):
        return True
    return isinstance(ask, CheckStart) and ask.scope in {"focused", "broad", "proof"}


@rule(
    "run.facts-present",
    claim="A run goes on only where its private facts are.",
    limits="The start manifest and the approved copy live in .flow; they are rebuilt where the source allows it.",
)
def facts_present(question: Question) -> Objection | None:
    """Object to going on without the run's start manifest or the approved copy (row run.facts-present)."""
    document, facts, ask = question.document, question.facts, question.ask
    run = active_run(document)
    if run is not None and _private_scopes(question) and not facts.start_present:
        seen = f"The start manifest of run {run.id} is not in .flow (a fresh clone, or a cleaned folder)."
        return Objection(
            seen, reset(run.feature_id, "Reset the run here; its work in the tree stays."), retryable=False
        )
    needs_copy = _private_scopes(question) or (isinstance(ask, CheckStart) and ask.scope == "baseline")
    if document.approvals and needs_copy and not facts.copy_present:
        seen = "The private copy of the approved source is gone and cannot be rebuilt from the tree or its commit."
        say = "Ask the person to approve again from the source as it is, or defer this plan."
        return Objection(seen, approve(say), retryable=False)
    return None


@rule(
    "reset.current-run",
    claim="Any current run can be reset, passed ones too.",
    limits="Cascades to dependents, keeps findings.",
)
def reset_current(question: Question) -> Objection | None:
    """Object to resetting what has no current run (row reset.current-run)."""
    document, ask = question.document, question.ask
    if not isinstance(ask, RunReset) or current_run(document, ask.feature_id) is not None:
        return None
    seen = f"Feature {ask.feature_id!r} has no current run."
    able = () if document.plan is None else ready(document.plan, passed_features(document))
    if not able:
        return Objection(seen, defer("Name a feature that has one, or end the goal."), retryable=False)
    say = "Name a feature that has one, or start a run."
    return Objection(seen, call("run_start", {"feature_id": able[0].id}, (), say), retryable=False)
