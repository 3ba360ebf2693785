"""The remedies that several rules share, and how several faults are told."""

from collections.abc import Iterable

from flow_mcp.domain.decision import Step, call, person
from flow_mcp.domain.history import active_run
from flow_mcp.domain.model import Document

TOLD_CHARACTERS_MAX = 5_000
"""So much is told of the faults of one kind; an answer holds the refusal twice, and has room for it."""


def save_again(say: str) -> Step:
    """Ask the manager to save the plan with the fault mended."""
    return call("plan_save", {}, ("goal", "plan"), say)


def together(faults: Iterable[str]) -> str:
    """Tell every fault at once, each one once, so that whoever mends what is told is not refused for the same again.

    What does not fit into an answer is counted.
    """
    every = list(dict.fromkeys(faults))
    told: list[str] = []
    for fault in every:
        if told and sum(map(len, told)) + len(fault) > TOLD_CHARACTERS_MAX:
            return f"{' '.join(told)} And {len(every) - len(told)} more."
        told.append(fault)
    return " ".join(told)


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
