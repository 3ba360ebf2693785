"""What may be observed, when, and that it always ends in a record."""

from flow_mcp.domain.commands import CheckEnd, CheckStart, Close, ReviewStart, ReviewSubmit, RunReset
from flow_mcp.domain.decision import Objection, Step, call
from flow_mcp.domain.graph import ready
from flow_mcp.domain.history import active_run, passed_features
from flow_mcp.domain.plan import Plan
from flow_mcp.domain.rule import Question, held, rule
from flow_mcp.domain.rules.steps import reset, validate

ALWAYS_RECORDED = held(
    "observe.always-recorded",
    means="mechanism",
    claim="A started check always ends in one observation of the run it was started for.",
    limits="Starting is a mutation. Cancelled, timed-out and lost checks are recorded and do not pass; a lost one is "
    "settled by the next mutation, and closing as deferred or abandoned records it in the same write.",
)


@rule(
    "observe.settled-first",
    claim="One check at a time, and nothing is decided while it runs.",
    limits="Closing as deferred, abandoned or accepted cancels it instead.",
)
def settled_first(question: Question) -> Objection | None:
    """Object to deciding while a check runs (row observe.settled-first)."""
    pending, ask = question.document.pending, question.ask
    decides = isinstance(ask, CheckStart | ReviewStart | ReviewSubmit | RunReset) or (
        isinstance(ask, Close) and ask.kind == "completed"
    )
    if pending is None or not decides:
        return None
    say = "Wait for it, or cancel it with cancel: true."
    remedy = call("validate", {"check_id": pending.id}, (), say)
    return Objection(f"The check {pending.id} ({pending.command!r}) is still running.", remedy, retryable=True)


def _start_run(question: Question, say: str) -> Step:
    plan = question.document.plan
    able = () if plan is None else ready(plan, passed_features(question.document))
    if not able:
        return call("close", {"kind": "completed"}, ("summary",), "Every feature has passed: close the goal.")
    return call("run_start", {"feature_id": able[0].id}, (), say)


@rule("observe.active-run", claim="A focused, broad or proof observation belongs to the active run.", limits="")
def needs_active_run(question: Question) -> Objection | None:
    """Object to observing for a run that is not there (row observe.active-run)."""
    ask = question.ask
    if not isinstance(ask, CheckStart) or ask.scope in {"baseline", "external"}:
        return None
    if active_run(question.document) is not None:
        return None
    seen = f"No run is active, and a {ask.scope} observation belongs to one."
    return Objection(seen, _start_run(question, "Start a run first."), retryable=False)


@rule("observe.before-review", claim="A run takes no observation after its review began.", limits="")
def before_review(question: Question) -> Objection | None:
    """Object to observing after the assignment was made (row observe.before-review)."""
    ask, run = question.ask, active_run(question.document)
    if not isinstance(ask, CheckStart) or ask.scope in {"baseline", "external"}:
        return None
    if run is None or run.review is None:
        return None
    seen = f"The review of run {run.id} has begun (assignment {run.review.id})."
    return Objection(seen, reset(run.feature_id, "Let the reviewer answer, or reset the run."), retryable=False)


@rule(
    "observe.broad-is-gate",
    claim="A broad observation runs the declared gate byte for byte.",
    limits="A baseline too.",
)
def broad_is_gate(question: Question) -> Objection | None:
    """Object to calling anything but the gate broad (row observe.broad-is-gate)."""
    plan, ask = question.document.plan, question.ask
    if plan is None or plan.gate is None or not isinstance(ask, CheckStart):
        return None
    if ask.scope not in {"broad", "baseline"} or ask.command == plan.gate.run:
        return None
    seen = f"{ask.command!r} is not the gate."
    return Objection(seen, validate(ask.scope, plan.gate.run, "Observe the gate."), retryable=False)


def _listed(plan: Plan, ask: CheckStart) -> bool:
    if plan.command(ask.command) is None:
        return False
    if ask.scope == "external":
        entries = plan.external_evidence or ()
        return any(entry.command.run == ask.command and entry.requirement == ask.requirement for entry in entries)
    if ask.scope == "proof":
        feature = plan.feature(ask.feature_id or "")
        return feature is not None and feature.proof is not None and feature.proof.run == ask.command
    return True


@rule(
    "observe.listed-only",
    claim="Flow runs and arms only commands the approved plan lists.",
    limits="Compared byte for byte; a proof runs its feature's proof, external evidence its entry.",
)
def listed_only(question: Question) -> Objection | None:
    """Object to a command that nobody approved (row observe.listed-only)."""
    plan, ask = question.document.plan, question.ask
    if plan is None or not isinstance(ask, CheckStart) or _listed(plan, ask):
        return None
    runs = list(dict.fromkeys(command.run for command in plan.commands()))
    seen = f"{ask.command!r} is not what the approved plan lists for scope {ask.scope}."
    say = f"Listed are: {'; '.join(runs)[:1500]}"
    return Objection(seen, call("validate", {"scope": "focused", "command": runs[0]}, (), say), retryable=False)


@rule(
    "observe.pending-only",
    claim="Only the pending check is recorded, once.",
    limits="A result that comes after its check was settled, or from nowhere, is dropped.",
)
def pending_only(question: Question) -> Objection | None:
    """Object to an end without its start (row observe.pending-only)."""
    pending, ask = question.document.pending, question.ask
    if not isinstance(ask, CheckEnd) or (pending is not None and pending.id == ask.check_id):
        return None
    seen = f"The check {ask.check_id} is not pending."
    return Objection(seen, call("status", {}, (), "See what was recorded."), retryable=False)
