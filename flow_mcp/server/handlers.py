"""From a parsed request to the engine and back to an answer; one function a tool."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flow_mcp.domain import commands
from flow_mcp.domain.commands import Ask
from flow_mcp.domain.decide import FINAL_RULES, SPEAKING, objections
from flow_mcp.domain.decision import Refused, Step, call, person
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.rule import Question as Asking
from flow_mcp.domain.rules.steps import ask_person
from flow_mcp.engine.checks import Checks, Waited
from flow_mcp.engine.core import Asked, Done, Engine, State
from flow_mcp.server import requests as r
from flow_mcp.server import views
from flow_mcp.server.advice import advise
from flow_mcp.server.approving import acceptance_question, approval_question
from flow_mcp.server.desk import Reply, Session

WAIT_S = 45
PROGRESS_S = 1.0

_DIALOG = Actor(role="person", channel="dialog")


@dataclass(frozen=True, slots=True)
class Counter:
    """What a handler works with: the engine, its checks, and who is at the other end."""

    engine: Engine
    checks: Checks
    actor: Actor

    def asked(self, request: r.Request, actor: Actor | None = None) -> Asked:
        """Say who asks, under which names."""
        mutation = request if isinstance(request, r.Mutation) else None
        given = request.model_dump(mode="json", exclude={"operation_id", "expected_revision"}, exclude_none=True)
        return Asked(
            actor=actor or self.actor,
            plan_id=request.plan_id,
            operation_id=None if mutation is None else mutation.operation_id,
            expected_revision=None if mutation is None else mutation.expected_revision,
            input=given,
        )

    async def ask(self, ask: Ask, asked: Asked) -> Done | Refused:
        """Ask the engine, off the event loop."""
        return await asyncio.to_thread(self.engine.ask, ask, asked)

    async def read(self, plan_id: str | None, *, look: bool = True) -> State | Refused:
        """Read a goal, off the event loop."""
        return await asyncio.to_thread(lambda: self.engine.read(self.actor, plan_id, look=look))


Handler = Callable[[Counter, Any, Session], Awaitable[Reply]]


def refusal(refused: Refused, document: Document | None = None) -> Reply:
    """Answer with a refusal."""
    body = views.refusal_body(refused)
    return Reply(body if document is None else body | views.head(document), is_error=True)


def accepted(done: Done, summary: str, extra: Mapping[str, Any]) -> Reply:
    """Answer with what changed and what is next."""
    body = {"summary": summary, **views.head(done.document), **extra, "next": views.step_body(done.step)}
    return Reply(body | ({"replayed": True} if done.replayed else {}), is_error=False)


async def _plain(counter: Counter, request: r.Request, ask: Ask, say: Callable[[Done], str]) -> Reply:
    done = await counter.ask(ask, counter.asked(request))
    return refusal(done) if isinstance(done, Refused) else accepted(done, say(done), done.answer)


async def status(counter: Counter, request: r.Status, _session: Session) -> Reply:
    """Answer where the goal is."""
    state = await counter.read(request.plan_id, look=request.check_source)
    if isinstance(state, Refused):
        return refusal(state)
    return Reply(views.status_body(state, request.view), is_error=False)


async def plan_save(counter: Counter, request: r.PlanSave, _session: Session) -> Reply:
    """Save the draft, with advice on what a first plan tends to miss."""
    ask = commands.PlanSave(goal=request.goal, plan=request.plan.as_plan())
    done = await counter.ask(ask, counter.asked(request))
    if isinstance(done, Refused):
        return refusal(done)
    advice = advise(counter.engine.space.root, done.document, done.seen)
    extra = {**done.answer, **({"advice": advice} if advice else {})}
    return accepted(done, "The draft is saved; nothing is approved yet.", extra)


async def plan_approve(counter: Counter, request: r.PlanApprove, session: Session) -> Reply:
    """Ask the person through the host where it can ask; else say what the person does."""
    state = await counter.read(request.plan_id)
    if isinstance(state, Refused):
        return refusal(state)
    document, plan = state.document, state.document.plan
    digest = "" if plan is None else plan.digest()
    ask = commands.PlanApprove(plan_digest=digest, shown_revision=document.revision, shown_source=state.facts.digest)
    asked = counter.asked(request)
    known = await asyncio.to_thread(counter.engine.replayed, ask, asked)
    if known is not None:
        return refusal(known) if isinstance(known, Refused) else accepted(known, "Approved before.", known.answer)
    if state.facts.policy.approve == "caller" and not session.can_ask:
        return await _plain(counter, request, ask, lambda _done: "Approved by the caller, as the policy allows.")
    hopeless = objections(
        Asking(document, ask, replace(state.facts, actor=_DIALOG)), SPEAKING[commands.PlanApprove], counter.engine.book
    )
    if hopeless:
        return refusal(hopeless[0], document)
    if not session.can_ask:
        return _pending(document, ask_person())
    return await _asked_person(counter, request, session, state, ask)


def _pending(document: Document, step: Step) -> Reply:
    body = {"summary": "A person must answer; nothing is approved yet.", **views.head(document)}
    return Reply({**body, "pending": step.say, "next": views.step_body(step)}, is_error=False)


async def _asked_person(
    counter: Counter, request: r.PlanApprove, session: Session, state: State, ask: commands.PlanApprove
) -> Reply:
    answer = await session.ask(approval_question(state.document, state.seen))
    asked = counter.asked(request, _DIALOG)
    if answer is None or answer.action == "cancel":
        return _pending(state.document, ask_person())
    if answer.action == "accept" and answer.content.get("approve") is True:
        done = await counter.ask(ask, asked)
        return refusal(done) if isinstance(done, Refused) else accepted(done, "The person approved.", done.answer)
    because = str(answer.content.get("because") or "no reason was given")
    no = await counter.ask(commands.PlanDeny(plan_digest=ask.plan_digest, because=because), asked)
    return refusal(no) if isinstance(no, Refused) else accepted(no, f"The person said no: {because}", no.answer)


async def run_start(counter: Counter, request: r.RunStart, _session: Session) -> Reply:
    """Start a feature."""
    ask = commands.RunStart(feature_id=request.feature_id)
    return await _plain(counter, request, ask, lambda done: f"Run {done.answer['run_id']} has started.")


async def review_start(counter: Counter, request: r.ReviewStart, _session: Session) -> Reply:
    """Create the assignment."""
    ask = commands.ReviewStart(summary=request.summary, risks=tuple(request.risks or ()))
    say = "The assignment waits for the reviewer flow-reviewer, who did none of the work."
    return await _plain(counter, request, ask, lambda _done: say)


async def review_submit(counter: Counter, request: r.ReviewSubmit, _session: Session) -> Reply:
    """Record the verdict."""
    findings = tuple(commands.NewFinding(**finding.model_dump()) for finding in request.findings or ())
    ask = commands.ReviewSubmit(
        assignment_id=request.assignment_id, verdict=request.verdict, summary=request.summary, findings=findings
    )
    return await _plain(counter, request, ask, lambda done: f"Run {done.answer['run_id']} {done.answer['state']}.")


async def run_reset(counter: Counter, request: r.RunReset, _session: Session) -> Reply:
    """Supersede a run."""
    ask = commands.RunReset(
        feature_id=request.feature_id, reason=request.reason, next_feature_id=request.next_feature_id
    )
    return await _plain(counter, request, ask, lambda _done: "The run is superseded; its work in the tree stays.")


async def close(counter: Counter, request: r.Close, session: Session) -> Reply:
    """End the goal; accepting asks the person."""
    if request.kind == "accepted" and session.can_ask:
        return await _accept(counter, request, session)
    ask = commands.Close(kind=request.kind, summary=request.summary)
    return await _plain(counter, request, ask, lambda done: f"Closed as {done.document.closure and _kind(done)}.")


def _kind(done: Done) -> str:
    return "" if done.document.closure is None else done.document.closure.kind


async def _accept(counter: Counter, request: r.Close, session: Session) -> Reply:
    state = await counter.read(request.plan_id)
    if isinstance(state, Refused):
        return refusal(state)
    digest = state.facts.digest
    ask = commands.Close(kind="accepted", summary=request.summary, shown_source=digest or None)
    found = objections(Asking(state.document, ask, state.facts), FINAL_RULES, counter.engine.book)
    answer = await session.ask(
        acceptance_question(state.document, tuple(f"{one.rule}: {one.seen}" for one in found), digest)
    )
    if answer is None or answer.action != "accept" or answer.content.get("accept") is not True:
        return _pending(state.document, person("The person did not accept. `flow-mcp accept` is open to them."))
    done = await counter.ask(ask, counter.asked(request, _DIALOG))
    return refusal(done) if isinstance(done, Refused) else accepted(done, "The person accepted.", done.answer)


async def validate(counter: Counter, request: r.Validate, session: Session) -> Reply:
    """Start a check and wait for it, or wait for one that runs, or cancel it."""
    if request.via == "host":
        say = "No host attests commands in this version: leave via out, and Flow's own runner observes it."
        remedy = call("validate", {"scope": request.scope or "broad", "via": "runner"}, (), say)
        return refusal(Refused("attest.bytes", "No host attests this connection.", remedy, retryable=False))
    state = await counter.read(request.plan_id, look=False)
    if isinstance(state, Refused):
        return refusal(state)
    plan_id, check_id = state.document.plan_id, request.check_id
    if check_id is None:
        if request.scope is None:
            return _scope_missing(state)
        started = await asyncio.to_thread(counter.checks.start, _check(state.document, request), counter.asked(request))
        if isinstance(started, Refused):
            return refusal(started)
        plan_id, check_id = started.document.plan_id, str(started.answer["check_id"])
    elif request.cancel:
        await asyncio.to_thread(counter.checks.cancel, plan_id, check_id)
    waited = await _waited(counter, session, plan_id, check_id, WAIT_S if request.wait_s is None else request.wait_s)
    return refusal(waited) if isinstance(waited, Refused) else await _checked(counter, waited, check_id)


def _scope_missing(state: State) -> Reply:
    remedy = call("validate", {"scope": "broad"}, (), "Name the scope: focused, broad, external, baseline or proof.")
    if state.step.tool == "validate":
        remedy = state.step
    return refusal(Refused("observe.listed-only", "validate needs a scope or a check_id.", remedy, retryable=False))


def _check(document: Document, request: r.Validate) -> commands.CheckStart:
    """Fill in the command that a scope implies."""
    plan, command, requirement = document.plan, request.command, request.requirement
    feature = None if plan is None or request.feature_id is None else plan.feature(request.feature_id)
    if command is None and request.scope == "proof" and feature is not None and feature.proof is not None:
        command = feature.proof.run
    entries = () if plan is None else plan.external_evidence or ()
    if request.scope == "external":
        meant = [entry for entry in entries if requirement in {None, entry.requirement}]
        meant = [entry for entry in meant if command in {None, entry.command.run}]
        if meant:
            command, requirement = meant[0].command.run, meant[0].requirement
    if command is None:
        command = "" if plan is None or plan.gate is None else plan.gate.run
    scope = request.scope or "broad"
    return commands.CheckStart(scope=scope, command=command, feature_id=request.feature_id, requirement=requirement)


async def _waited(counter: Counter, session: Session, plan_id: str, check_id: str, wait_s: float) -> Waited | Refused:
    deadline_s = time.monotonic() + wait_s
    while True:
        left_s = max(0.0, deadline_s - time.monotonic())
        waited = await asyncio.to_thread(counter.checks.wait, plan_id, check_id, min(PROGRESS_S, left_s))
        if isinstance(waited, Refused) or waited.observation is not None or left_s <= PROGRESS_S:
            return waited
        await session.progress(wait_s - left_s, None, f"{check_id} runs, {waited.elapsed_s or 0:.0f} s")


async def _checked(counter: Counter, waited: Waited, check_id: str) -> Reply:
    document = waited.document
    if waited.observation is None:
        body: dict[str, Any] = {"summary": f"{check_id} is still running.", **views.head(document)}
        body["check"] = {"id": check_id, "state": "running", "elapsed_s": waited.elapsed_s}
        body["check"] |= {"output_tail": waited.tail[-views.TAIL_CHARACTERS :]} if waited.tail else {}
        step = call("validate", {"check_id": check_id}, (), "Wait for it; cancel: true ends it.")
        return Reply(body | {"next": views.step_body(step)}, is_error=False)
    state = await counter.read(document.plan_id)
    if isinstance(state, Refused):
        return refusal(state)
    shown = views.observation_body(state.document, waited.observation, waited.tail)
    body = {"summary": views.observed_sentence(state.document, waited.observation), **views.head(state.document)}
    return Reply({**body, "observation": shown, "next": views.step_body(state.step)}, is_error=False)


HANDLERS: Mapping[str, Handler] = {
    "status": status,
    "plan_save": plan_save,
    "plan_approve": plan_approve,
    "run_start": run_start,
    "validate": validate,
    "review_start": review_start,
    "review_submit": review_submit,
    "run_reset": run_reset,
    "close": close,
}
