"""What a closing must rest on."""

from flow_mcp.domain.commands import Close, ResealDocument
from flow_mcp.domain.decision import Objection, Step, call, person
from flow_mcp.domain.graph import ready
from flow_mcp.domain.history import active_run, failed_features, final_review, passed_features
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.persons import decides
from flow_mcp.domain.rules.steps import reset
from flow_mcp.domain.spoken import moved_since


def _judging(question: Question) -> bool:
    return isinstance(question.ask, Close) and question.ask.kind in {"completed", "accepted"}


def _go_on(question: Question) -> Step:
    document = question.document
    failed, run = failed_features(document), active_run(document)
    if failed:
        return reset(failed[0], "Reset the failed feature and try again.")
    able = () if document.plan is None else ready(document.plan, passed_features(document))
    if run is not None or not able:
        return call("status", {}, (), "Finish the active run; status names the next call.")
    return call("run_start", {"feature_id": able[0].id}, (), f"Start {able[0].id}, or close as deferred.")


@rule(
    "close.every-feature-passed",
    claim="Completed needs a passing current run for every feature.",
    limits="",
)
def every_feature_passed(question: Question) -> Objection | None:
    """Object to completing with a feature that has not passed (row close.every-feature-passed)."""
    plan = question.document.plan
    if plan is None or not _judging(question):
        return None
    passed = passed_features(question.document)
    missing = [feature.id for feature in plan.features if feature.id not in passed]
    if not missing:
        return None
    return Objection(f"Not passed: {', '.join(missing)}.", _go_on(question), retryable=False)


@rule(
    "close.source-unmoved",
    claim="Completed needs the source of the latest non-superseded final review.",
    limits="Remedy: run_reset of that run's feature.",
)
def source_unmoved(question: Question) -> Objection | None:
    """Object to completing over a source that no final review saw (row close.source-unmoved)."""
    plan, review = question.document.plan, final_review(question.document)
    if plan is None or not _judging(question):
        return None
    if review is None:
        return Objection("No final review has passed.", _go_on(question), retryable=False)
    if review.source == question.facts.digest:
        return None
    run = next(run for run in question.document.runs if run.review is review)
    seen = moved_since(f"after the final review {review.id}", question.facts)
    say = f"Undo what changed since that review, or reset {run.feature_id} and have the source as it is now reviewed."
    return Objection(seen, reset(run.feature_id, say), retryable=True)


@rule(
    "close.accepted-by-person",
    claim="Accepting with open rules takes a person.",
    limits="Records every rule that stood open; never counted as completed.",
)
def accepted_by_person(question: Question) -> Objection | None:
    """Object to accepting, or resealing, by anyone but a person (row close.accepted-by-person)."""
    ask = question.ask
    accepts = isinstance(ask, Close) and ask.kind == "accepted"
    if not (accepts or isinstance(ask, ResealDocument)) or decides(question.document, question.facts):
        return None
    command = "flow-mcp accept" if accepts else "flow-mcp reseal"
    return Objection("Only a person decides this.", person(f"`{command} --because …`."), retryable=False)
