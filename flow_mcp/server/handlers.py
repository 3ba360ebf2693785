"""From a parsed request to the engine and back to an answer; one function a tool."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flow_mcp.domain import commands
from flow_mcp.domain.commands import Ask
from flow_mcp.domain.decide import FINAL_RULES, SPEAKING, objections
from flow_mcp.domain.decision import Refused, Step, call, person
from flow_mcp.domain.model import Actor, Document, Observation
from flow_mcp.domain.naming import few
from flow_mcp.domain.rule import Question as Asking
from flow_mcp.domain.rules.steps import ask_person
from flow_mcp.engine.changes import paths_since
from flow_mcp.engine.checks import Checks, Waited
from flow_mcp.engine.core import Asked, Done, Engine, State
from flow_mcp.engine.folder import read_folder
from flow_mcp.server import packet, views
from flow_mcp.server import requests as r
from flow_mcp.server.advice import advise, advise_refused, weightiest
from flow_mcp.server.approving import acceptance_question, approval_question, caller_refusal
from flow_mcp.server.desk import Answer, Reply, Session
from flow_mcp.server.filling import filled

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


async def status(counter: Counter, request: r.Status, session: Session) -> Reply:
    """Answer where the goal is."""
    state = await counter.read(request.plan_id, look=request.check_source)
    if isinstance(state, Refused):
        return await _several(counter, request, state)
    space = counter.engine.space
    if request.path is not None:
        page = await asyncio.to_thread(packet.file_page, space, state, request.path, request.offset or 0)
        return Reply(page, is_error=False)
    body = views.status_body(state, request.view)
    if request.view == "review":
        body = await asyncio.to_thread(packet.with_differences, space, state, body)
    hopeless = _foretold(counter, session, state) if state.step.tool == "plan_approve" else None
    if hopeless is not None:
        body |= {"approval_refused": hopeless.seen, "next": views.step_body(hopeless.remedy)}
    return Reply(body, is_error=False)


async def _several(counter: Counter, request: r.Status, refused: Refused) -> Reply:
    """List the open plans where none is named and it is not known which one is meant; else refuse."""
    if request.plan_id is not None:
        return refusal(refused)
    engine, view = counter.engine, {} if request.view == "next" else {"view": request.view}
    step = refused.remedy.model_copy(update={"arguments": {**refused.remedy.arguments, **view}})
    folder = await asyncio.to_thread(read_folder, engine.plans)
    body = views.several_body(folder, engine.worktree, engine.settings.policy, step)
    return Reply(body | {"workspace": views.workspace_body(engine.space)}, is_error=False)


def _foretold(counter: Counter, session: Session, state: State) -> Refused | None:
    """Foretell the refusal of an approval that no person could be asked for through this host."""
    return None if session.can_ask else caller_refusal(state.document, state.facts, counter.engine.book)


async def plan_save(counter: Counter, request: r.PlanSave, session: Session) -> Reply:
    """Save the draft, with advice on what a first plan tends to miss."""
    ask = commands.PlanSave(goal=request.goal, plan=request.plan.as_plan())
    done, root = await counter.ask(ask, counter.asked(request)), counter.engine.space.root
    if isinstance(done, Refused):
        advice = await asyncio.to_thread(advise_refused, root, done, ask.plan.gate)
        reply = refusal(done)
        return replace(reply, body={**reply.body, "advice": advice}) if advice else reply
    advice = await asyncio.to_thread(advise, root, done.document, done.seen)
    done, hopeless = await _foretelling(counter, session, done)
    advice = [*hopeless, *advice]
    extra = {**done.answer, **({"advice": advice} if advice else {})}
    return accepted(done, "The draft is saved; nothing is approved yet.", extra)


async def _foretelling(counter: Counter, session: Session, done: Done) -> tuple[Done, list[str]]:
    """Say with a draft that a caller's approval of it will be refused, and who has to act instead."""
    if session.can_ask or counter.engine.settings.policy.approve != "caller":
        return done, []
    state = await counter.read(done.document.plan_id)
    found = None if isinstance(state, Refused) else _foretold(counter, session, state)
    if found is None:
        return done, []
    return replace(done, step=found.remedy), [f"plan_approve will be refused: {found.seen} {found.remedy.say}"]


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
        hopeless = _foretold(counter, session, state)
        say = "Approved by the caller, as the policy allows."
        return refusal(hopeless, document) if hopeless else await _plain(counter, request, ask, lambda _done: say)
    return await _asked_or_pending(counter, request, session, state, ask)


async def _asked_or_pending(
    counter: Counter, request: r.PlanApprove, session: Session, state: State, ask: commands.PlanApprove
) -> Reply:
    asking = Asking(state.document, ask, replace(state.facts, actor=_DIALOG))
    found = objections(asking, SPEAKING[commands.PlanApprove], counter.engine.book)
    if found:
        return refusal(found[0], state.document)
    advice = await asyncio.to_thread(weightiest, counter.engine.space.root, state.document, state.seen)
    if not session.can_ask:
        reply = _pending(state.document, ask_person())
        return replace(reply, body={**reply.body, "advice": advice}) if advice else reply
    answer = await session.ask(approval_question(state.document, state.seen, advice))
    return await _answered(counter, request, state, ask, answer)


def _pending(document: Document, step: Step) -> Reply:
    body = {"summary": "A person must answer; nothing is approved yet.", **views.head(document)}
    return Reply({**body, "pending": step.say, "next": views.step_body(step)}, is_error=False)


async def _answered(
    counter: Counter, request: r.PlanApprove, state: State, ask: commands.PlanApprove, answer: Answer | None
) -> Reply:
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
        meant = filled(state.document, request.scope, request)
        if isinstance(meant, Refused):
            return refusal(meant, state.document)
        started = await asyncio.to_thread(counter.checks.start, meant, counter.asked(request))
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
    seen = waited.observation
    moved = ""
    if _has_moved(seen, state.facts.digest):
        moved = _moved(await asyncio.to_thread(paths_since, counter.engine.space, state, seen.source))
    body = {"summary": views.observed_sentence(state.document, seen) + moved, **views.head(state.document)}
    body |= {"source": "moved"} if moved else {}
    body["observation"] = views.observation_body(state.document, seen, waited.tail)
    return Reply({**body, "next": views.step_body(state.step)}, is_error=False)


def _moved(paths: Sequence[str]) -> str:
    named = f" ({few(paths)})" if paths else ""
    told = f" The workspace changed since the check began{named}, so this does not speak for what is there now"
    return f"{told}: observe it again."


def _has_moved(seen: Observation, now: str) -> bool:
    """Say whether the workspace is no longer what an observation speaks for; a baseline never speaks for it."""
    return seen.scope != "baseline" and bool(now) and seen.source != now


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
