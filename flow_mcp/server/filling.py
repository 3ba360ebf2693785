"""What a call of validate leaves out, filled in from the plan and the active run, or asked for."""

from flow_mcp.domain.commands import CheckStart
from flow_mcp.domain.decision import Refused, call
from flow_mcp.domain.history import active_run, checks_of
from flow_mcp.domain.model import Document, Scope
from flow_mcp.domain.plan import Feature
from flow_mcp.server.requests import Validate

NAMED_MAX = 8
_RULE = "observe.listed-only"


def filled(document: Document, scope: Scope, request: Validate) -> CheckStart | Refused:
    """Give the check that a request means, or ask which of several is meant (row observe.listed-only)."""
    plan, feature_id, requirement = document.plan, request.feature_id, request.requirement
    gate = "" if plan is None or plan.gate is None else plan.gate.run
    command: str | Refused | None = request.command
    if scope == "external":
        command, requirement = _external(document, request.command, requirement)
    if scope == "proof":
        feature_id = feature_id or _active(document)
        command = command or _proof(document, feature_id)
    if scope == "focused":
        command = command or _check(document, feature_id or _active(document))
    if isinstance(command, Refused):
        return command
    return CheckStart(scope=scope, command=command or gate, feature_id=feature_id, requirement=requirement)


def _active(document: Document) -> str | None:
    run = active_run(document)
    return None if run is None else run.feature_id


def _feature(document: Document, feature_id: str | None) -> Feature | None:
    return None if document.plan is None or feature_id is None else document.plan.feature(feature_id)


def _proof(document: Document, feature_id: str | None) -> str | Refused | None:
    """Give the proof of a feature; nothing of one that is not there, which a rule refuses."""
    feature = _feature(document, feature_id)
    if feature is None or (feature.proof is not None and feature.proof.run is not None):
        return None if feature is None or feature.proof is None else feature.proof.run
    seen = f"The plan claims no proof for {feature.id}, so there is none to observe."
    remedy = call("status", {}, (), "Go on without it; status names the next call.")
    return Refused(_RULE, seen, remedy, retryable=False)


def _check(document: Document, feature_id: str | None) -> str | Refused | None:
    """Give the only check of a feature; where it lists several, ask which."""
    plan, feature = document.plan, _feature(document, feature_id)
    if plan is None or feature is None:
        return None
    runs = list(dict.fromkeys(check.run for check in checks_of(plan, feature)))
    if len(runs) <= 1:
        return next(iter(runs), None)
    named = "; ".join(runs[:NAMED_MAX]) + (f"; and {len(runs) - NAMED_MAX} more" if len(runs) > NAMED_MAX else "")
    remedy = call("validate", {"scope": "focused"}, ("command",), f"Name one of them as command: {named}")
    seen = f"{feature.id} has {len(runs)} checks, and none of them is named."
    return Refused(_RULE, seen, remedy, retryable=False)


def _external(document: Document, command: str | None, requirement: str | None) -> tuple[str | None, str | None]:
    """Give the command and the requirement of the first entry that fits what is said of both."""
    entries = () if document.plan is None else document.plan.external_evidence or ()
    for entry in entries:
        if requirement in {None, entry.requirement} and command in {None, entry.command.run}:
            return entry.command.run, entry.requirement
    return command, requirement
