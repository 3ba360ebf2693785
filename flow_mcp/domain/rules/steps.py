"""The remedies that several rules share."""

from flow_mcp.domain.decision import Step, call, person
from flow_mcp.domain.history import active_run
from flow_mcp.domain.model import Document


def save_again(say: str) -> Step:
    """Ask the manager to save the plan with the fault mended."""
    return call("plan_save", {}, ("goal", "plan"), say)


def validate(scope: str, command: str, say: str) -> Step:
    """Ask the manager to observe a listed command."""
    return call("validate", {"scope": scope, "command": command}, (), say)


def reset(feature_id: str, say: str) -> Step:
    """Ask the manager to supersede a feature's run and start its next attempt."""
    return call("run_reset", {"feature_id": feature_id, "next_feature_id": feature_id}, ("reason",), say)


def approve(say: str) -> Step:
    """Ask the manager to ask the person."""
    return call("plan_approve", {}, (), say)


def defer(say: str) -> Step:
    """Ask the manager to end the goal honestly."""
    return call("close", {"kind": "deferred"}, ("summary",), say)


def ask_person() -> Step:
    """Ask a person to approve where the host cannot ask."""
    return person("Show the plan with `flow-mcp show`, then answer with `flow-mcp approve` or `flow-mcp deny`.")


def submit(document: Document, fill: tuple[str, ...], say: str) -> Step:
    """Ask the reviewer to hand in the verdict on the pending assignment; where none is pending, say so."""
    run = active_run(document)
    if run is None or run.review is None:
        return call("status", {"view": "review"}, (), "No review is asked for now; status names the next call.")
    return Step(who="reviewer", tool="review_submit", arguments={"assignment_id": run.review.id}, fill=fill, say=say)
