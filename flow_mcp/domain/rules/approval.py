"""Whose yes counts, for what exactly, and under which policy."""

from flow_mcp.domain.commands import (
    CheckStart,
    Close,
    PlanApprove,
    PlanDeny,
    ReviewStart,
    ReviewSubmit,
    RunReset,
    RunStart,
    Waive,
)
from flow_mcp.domain.decision import Objection, call, person
from flow_mcp.domain.history import approval
from flow_mcp.domain.naming import few
from flow_mcp.domain.policy import loosened
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.persons import counts_as_person, decides
from flow_mcp.domain.rules.steps import approve, ask_person


def must_ask_again(question: Question) -> bool:
    """Say whether an approved plan needs another answer: a loosened policy, a lost copy."""
    given = approval(question.document)
    if given is None or loosened(given.policy, question.facts.policy):
        return True
    return not question.facts.copy_present


def _wrong_plan(question: Question) -> Objection | None:
    document, ask = question.document, question.ask
    if not isinstance(ask, PlanApprove | PlanDeny) or document.plan is None:
        return None
    if ask.plan_digest != document.plan.digest():
        seen = "The plan changed since it was shown."
        return Objection(seen, approve("Show the plan as it is now and ask again."), retryable=False)
    if isinstance(ask, PlanApprove) and ask.shown_revision != document.revision:
        seen = f"The plan was shown at revision {ask.shown_revision}; it is at {document.revision} now."
        return Objection(seen, approve("Show it again and ask again."), retryable=False)
    if isinstance(ask, PlanDeny) or not must_ask_again(question):
        given = approval(document)
        if given is not None:
            seen = f"This exact plan is approved since revision {given.revision}."
            return Objection(seen, call("status", {}, (), "Go on; status names the next call."), retryable=False)
    return None


def _moved_source(question: Question) -> Objection | None:
    ask, shown = question.ask, None
    if isinstance(ask, Waive | PlanApprove) or (isinstance(ask, Close) and ask.kind == "accepted"):
        shown = ask.shown_source or ""
    if shown in {None, question.facts.digest}:
        return None
    seen = "The source moved since the person was asked."
    return Objection(seen, person("Look at the source as it is now and answer again."), retryable=True)


@rule(
    "approve.exact",
    claim="An answer approves only what was shown.",
    limits="Plan digest and revision for a plan, the source for waivers and accepting; re-checked at commit.",
)
def exact(question: Question) -> Objection | None:
    """Object to an answer to something else than what is there (row approve.exact)."""
    return _wrong_plan(question) or _moved_source(question)


def _narrowing(question: Question) -> str | None:
    plan, source = question.document.plan, question.facts.source
    if plan is None or question.facts.policy.caller_scope == "trusted":
        return None
    if plan.dropped_cases:
        return f"The plan drops the case {plan.dropped_cases[0].case!r}."
    unfrozen = () if source is None else tuple(path for path in source.verifiers if path not in source.protected)
    if unfrozen:
        return f"The plan leaves the verifier {unfrozen[0]!r} unfrozen."
    frozen = set() if source is None else {*source.protected, *source.verifiers}
    frozen |= {line.partition(" ")[2] for owed in plan.inherits for line in owed.protected}
    targets = [target for feature in plan.features for target in feature.targets]
    protected = next((target for target in targets if target in frozen), None)
    return None if protected is None else f"The plan may change the protected file {protected!r}."


def _caller_fault(question: Question) -> str | None:
    if question.facts.policy.approve != "caller":
        return "The policy asks for a person's approval, and this answer is not a person's."
    document = question.document
    if document.denials and not document.approvals:
        return "A person said no to this draft or an earlier one."
    if document.approvals and not question.facts.copy_present:
        return "The approved source is lost, and another one would take its place."
    return None


def _uncommitted(question: Question) -> Objection | None:
    source = question.facts.source
    dirty = () if source is None else source.protected_dirty
    if not dirty:
        return None
    seen, them = f"Protected files differ from HEAD: {few(dirty)}.", "them"
    if len(dirty) == 1:
        seen, them = f"The protected file {dirty[0]!r} differs from HEAD.", "it"
    say = f"Commit {them}, or revert {them}, then ask again (plan_approve). A person may approve what is there: "
    return Objection(seen, person(f"{say}`flow-mcp show`, then `flow-mcp approve`."), retryable=True)


@rule(
    "approve.caller-bounded",
    claim="A caller approves only where the user's policy says so, and then never what narrows the evidence.",
    limits="Refused while protected files differ from HEAD, after a person's no to this plan, with dropped cases or "
    "protected targets unless the policy trusts the caller, and always for a gate that has no report or is narrowed.",
)
def caller_bounded(question: Question) -> Objection | None:
    """Object to a caller's yes that takes a person's (row approve.caller-bounded)."""
    if not isinstance(question.ask, PlanApprove) or counts_as_person(question.facts):
        return None
    fault, uncommitted = _caller_fault(question), _uncommitted(question)
    if fault is None and uncommitted is not None:
        return uncommitted
    fault = fault or _narrowing(question)
    return None if fault is None else Objection(fault, ask_person(), retryable=False)


@rule(
    "policy.unmoved",
    claim="Loosening the policy after approval takes a person.",
    limits="Compared value by value with what the last approval recorded, even before a reseal; tightening is free.",
)
def unmoved(question: Question) -> Objection | None:
    """Object to going on under a looser policy than the approved one (row policy.unmoved)."""
    ask, document = question.ask, question.document
    given = document.approvals[-1] if document.approvals else None
    moves = isinstance(ask, RunStart | CheckStart | ReviewStart | ReviewSubmit | PlanApprove)
    moves = moves or (isinstance(ask, Close) and ask.kind == "completed")
    moves = moves or (isinstance(ask, RunReset) and ask.next_feature_id is not None)
    looser = () if given is None else loosened(given.policy, question.facts.policy)
    if given is None or not moves or not looser:
        return None
    if isinstance(ask, PlanApprove) and decides(document, question.facts):
        return None
    seen = f"The policy is looser than at approval ({', '.join(looser)})."
    if isinstance(ask, PlanApprove):
        return Objection(seen, ask_person(), retryable=False)
    return Objection(seen, approve("Ask the person again, or set the policy back."), retryable=True)
