"""What a request is to the engine: what it stands for, what it looks at, what it brings along."""

from flow_mcp.domain.commands import (
    KINDS,
    Ask,
    CheckEnd,
    CheckStart,
    Close,
    PlanApprove,
    PlanDeny,
    PlanSave,
    ResealDocument,
    ReviewStart,
    ReviewSubmit,
    RunReset,
    RunStart,
)
from flow_mcp.domain.decision import Facts
from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.history import active_run, derived_kind
from flow_mcp.domain.listing import manifest_lines
from flow_mcp.domain.model import Document
from flow_mcp.engine.asked import Asked

_BLIND = (PlanDeny, CheckEnd, ResealDocument)


def is_blind(ask: Ask) -> bool:
    """Say whether a request needs no look at the source."""
    return isinstance(ask, _BLIND) or (isinstance(ask, Close) and ask.kind in {"deferred", "abandoned"})


def is_last_word(ask: Ask, document: Document) -> bool:
    """Say whether a request settles what the goal is judged on: approving, the final review, and closing."""
    run = active_run(document)
    if isinstance(ask, ReviewStart):
        return run is not None and derived_kind(document, run.feature_id) == "final"
    if isinstance(ask, ReviewSubmit):
        return run is not None and run.review is not None and run.review.kind == "final"
    return isinstance(ask, PlanApprove | Close)


def rests_on_copy(ask: Ask) -> bool:
    """Say whether the document will rest on a private copy of the source as it is now."""
    if isinstance(ask, CheckStart):
        return ask.scope != "baseline"
    starts = isinstance(ask, RunReset) and ask.next_feature_id is not None
    return starts or isinstance(ask, PlanApprove | RunStart | ReviewStart)


def may_lack_copy(ask: Ask) -> bool:
    """Say whether a request goes on where its copy cannot be kept: such a check runs in place, and says so."""
    return isinstance(ask, CheckStart) and ask.scope != "proof"


def input_of(ask: Ask, asked: Asked) -> str:
    """Name what an operation id stands for."""
    return digest_json({"kind": KINDS[type(ask)], "input": ask.as_json() if asked.input is None else asked.input})


def looked_at(ask: Ask, document: Document) -> tuple[object, ...]:
    """Give what of a document the look at the source was for; with another one the look must be taken again."""
    run = active_run(document)
    plan = None if isinstance(ask, PlanSave) else document.plan
    return document.plan_id, plan, document.approvals, None if run is None else run.id


def new_lines(ask: Ask, facts: Facts) -> dict[str, tuple[str, ...]]:
    """Give the lines of the listing that a request makes, by digest."""
    if isinstance(ask, CheckEnd):
        lines = tuple(sorted(set(ask.passing)))
    elif isinstance(ask, PlanApprove) and facts.source is not None:
        lines = tuple(sorted(set(manifest_lines(facts.source.protected))))
    else:
        return {}
    return {digest_json(list(lines)): lines}


def slug(goal: str) -> str:
    """Make the readable part of a plan id from a goal."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in goal.lower()).split()
    return "-".join(words[:6])[:48].strip("-") or "goal"
