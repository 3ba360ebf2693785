"""What may happen to a plan while it is open, and after."""

from flow_mcp.domain.commands import (
    CheckEnd,
    CheckStart,
    Close,
    PlanApprove,
    PlanDeny,
    PlanSave,
    ResealDocument,
    ReviewStart,
    RunReset,
    RunStart,
)
from flow_mcp.domain.decision import Objection, call
from flow_mcp.domain.history import approval
from flow_mcp.domain.rule import Question, plan_of, rule
from flow_mcp.domain.rules.steps import save_again


@rule(
    "plan.approved-first",
    claim="Work starts after approval.",
    limits="Closing as accepted, deferred or abandoned is open before it too.",
)
def approved_first(question: Question) -> Objection | None:
    """Object to work without a plan, or on one that no approval in force covers (row plan.approved-first)."""
    document, ask = question.document, question.ask
    if isinstance(ask, PlanSave | CheckEnd):
        return None
    if document.plan is None:
        return Objection("There is no plan yet.", save_again("Save a plan first."), retryable=False)
    leaves = isinstance(ask, Close) and ask.kind != "completed"
    if leaves or approval(document) is not None or isinstance(ask, PlanApprove | PlanDeny | ResealDocument):
        return None
    say = "Ask the person to approve this exact plan."
    return Objection("The plan is not approved.", call("plan_approve", {}, (), say), retryable=False)


@rule(
    "plan.frozen",
    claim="A plan never changes after approval.",
    limits="Identical content under a new operation id too.",
)
def frozen(question: Question) -> Objection | None:
    """Object to any save after approval (row plan.frozen)."""
    if not isinstance(question.ask, PlanSave) or not question.document.approvals:
        return None
    say = "Go on with the approved plan (status names the next call), or defer it and save a new plan."
    remedy = call("status", {}, (), say)
    return Objection("This plan is approved and frozen.", remedy, retryable=False)


@rule("plan.goal-kept", claim="A draft keeps its goal.", limits="Compared as text, exactly.")
def goal_kept(question: Question) -> Objection | None:
    """Object to a draft under another goal (row plan.goal-kept)."""
    document, ask = question.document, question.ask
    if not isinstance(ask, PlanSave) or document.revision == 0 or ask.goal == document.goal:
        return None
    kind = "plan" if document.approvals else "draft"
    seen = f"The open {kind} {document.plan_id} is for another goal: {document.goal[:200]!r}."
    say = (
        "Save the draft under its own goal; or close this one first (abandoned before an approval, deferred after it); "
        "or, where another worktree drives it, save the new goal with a plan_id of its own."
    )
    return Objection(seen, call("plan_save", {"goal": document.goal}, ("plan",), say), retryable=False)


@rule(
    "plan.one-open",
    claim="One open plan is driven from one worktree at a time.",
    limits="A worktree is known by a random id in .flow. Other plans in the folder are listed and readable.",
)
def one_open(question: Question) -> Objection | None:
    """Object to driving a second plan from this worktree (row plan.one-open)."""
    other, ask = question.facts.other_open, question.ask
    drives = isinstance(ask, PlanSave | PlanApprove | RunStart | ReviewStart | RunReset) or (
        isinstance(ask, CheckStart) and ask.scope not in {"baseline", "external"}
    )
    if other is None or not drives:
        return None
    say = f"Go on with {other}, or close it first."
    remedy = call("close", {"kind": "deferred", "plan_id": other}, ("summary",), say)
    return Objection(f"This worktree already drives the open plan {other!r}.", remedy, retryable=False)


@rule(
    "plan.losses-carried",
    claim="A new plan inherits what earlier ones owe.",
    limits="Every deferred or abandoned plan in the folder that no completed or accepted plan has inherited; "
    "removing its document from the repository sheds it, and git shows that.",
)
def losses_carried(question: Question) -> Objection | None:
    """Object to approving a plan that leaves an owed plan behind (row plan.losses-carried)."""
    plan, owed = plan_of(question), {entry.plan_id: entry.plan_digest for entry in question.facts.owed}
    if plan is None or not isinstance(question.ask, PlanSave | PlanApprove):
        return None
    if isinstance(question.ask, PlanSave):
        if plan.continues is None or plan.continues in owed:
            return None
        seen = f"continues names {plan.continues!r}, which is no deferred or abandoned plan in the folder."
        return Objection(seen, save_again(f"Name one of {sorted(owed)}, or leave it out."), retryable=False)
    if question.document.approvals:  # frozen: what came to be owed since is for the next new plan
        return None
    taken = {entry.plan_id: entry.plan_digest for entry in plan.inherits}
    missing = sorted(name for name, digest in owed.items() if taken.get(name) != digest)
    if not missing:
        return None
    seen = f"Since this draft was saved, {', '.join(missing)} came to owe what a new plan must take over."
    return Objection(seen, save_again("Save the same plan again; Flow adds what is owed."), retryable=False)


@rule(
    "plan.closed-final",
    claim="A closed plan does not move.",
    limits="A person may reseal the hash chain of one.",
)
def closed_final(question: Question) -> Objection | None:
    """Object to anything on a closed plan (row plan.closed-final)."""
    closure = question.document.closure
    if closure is None or isinstance(question.ask, ResealDocument):
        return None
    say = "A new goal starts with a new plan."
    return Objection(f"This plan is closed as {closure.kind}.", save_again(say), retryable=False)
