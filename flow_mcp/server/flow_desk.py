"""The desk behind the nine tools: roles, arguments, and what a broken world answers."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from flow_mcp.domain.decision import Refused, call, person
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Actor
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Engine
from flow_mcp.engine.logbook import Logbook, cause
from flow_mcp.engine.notify import Notifier
from flow_mcp.engine.trouble import rule_of
from flow_mcp.server import texts
from flow_mcp.server.arguments import mended, parse_arguments
from flow_mcp.server.desk import Reply, Session
from flow_mcp.server.handlers import HANDLERS, PROGRESS_S, Counter, refusal
from flow_mcp.server.naming import with_plan
from flow_mcp.server.table import LISTED, TOOLS, Role

_REQUESTS = {tool.name: tool.request for tool in TOOLS}


class FlowDesk:
    """Answers the calls of one connection."""

    def __init__(self, engine: Engine, role: Role | None, guarantees: Callable[[], str]) -> None:
        """Serve one workspace to one role; ``guarantees`` gives the page of promises."""
        actor = Actor(role="reviewer", agent="reviewer-connection") if role == "reviewer" else Actor(role="manager")
        self._counter = Counter(engine, Checks(engine), actor)
        # The reviewer's connection sees the same state as the manager's, which tells of it.
        told = () if role == "reviewer" else engine.settings.notify
        self._notifier = Notifier(told, engine.space.root, engine.space.private)
        self._log = Logbook(engine.space.private)
        self._role: Role | None = role
        self._guarantees = guarantees

    async def call(self, name: str, arguments: dict[str, Any], session: Session) -> Reply:
        """Answer one tool call, note it, and tell the person whom it leaves waiting."""
        began_s = time.monotonic()
        try:
            reply = await self._answered(name, arguments, session)
        except Exception as error:
            self._log.write("broken", tool=name, error=cause(error))
            raise
        refused: Mapping[str, Any] = reply.body.get("refused", {})
        self._log.write("call", tool=name, refused=refused.get("rule"), ms=round((time.monotonic() - began_s) * 1000))
        step: Mapping[str, Any] = reply.body.get("next", {})
        if step.get("who") == "person" and "plan_id" in reply.body:
            self._notifier.tell(reply.body["plan_id"], reply.body["revision"], step["say"])
        return reply

    async def _answered(self, name: str, arguments: dict[str, Any], session: Session) -> Reply:
        if self._role == "reviewer" and name not in LISTED["reviewer"]:
            return refusal(_not_for_reviewers(name))
        request = parse_arguments(_REQUESTS[name], arguments)
        if isinstance(request, list):
            reply, given = _bad_arguments(name, arguments, request), arguments.get("plan_id")
            plan_id = given if isinstance(given, str) else None
            return await asyncio.to_thread(with_plan, self._counter.engine, plan_id, reply)
        teller = asyncio.create_task(self._tell_reading(session))
        try:
            reply = await HANDLERS[name](self._counter, request, session)
        except BrokenWorld as error:
            return refusal(troubled(error))
        finally:
            teller.cancel()
        return await asyncio.to_thread(with_plan, self._counter.engine, request.plan_id, reply)

    async def _tell_reading(self, session: Session) -> None:
        """Say how far the reading of a large source is, as a part of one, so that what follows counts on from there."""
        while True:
            await asyncio.sleep(PROGRESS_S)
            found = self._counter.engine.space.memory.progress()
            if found is not None:
                done, of = found
                await session.progress(done / max(of, 1), None, f"{done} of {of} files of the source are read")

    def stop(self) -> None:
        """Leave the checks that still run to themselves: another server finds them."""
        self._counter.checks.close()

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Give the text of a prompt."""
        return texts.prompt(name, arguments)

    async def read(self, uri: str) -> str | None:
        """Give the text of a resource."""
        return await asyncio.to_thread(lambda: texts.resource(self._counter.engine, uri, self._guarantees()))


def troubled(error: BrokenWorld) -> Refused:
    """Tell a broken world as a refusal: what was seen and what a person does."""
    rule, retryable = rule_of(error)
    return Refused(rule, error.seen, person(error.remedy), retryable=retryable)


def _not_for_reviewers(name: str) -> Refused:
    seen = f"{name} is not the reviewer's: this connection has status and review_submit."
    remedy = call("status", {"view": "review"}, (), "Read the packet, then answer with review_submit.")
    return Refused("review.reserved-identity", seen, remedy, retryable=False)


def _bad_arguments(name: str, arguments: dict[str, Any], sentences: list[str]) -> Reply:
    kept, fill = mended(_REQUESTS[name], arguments)
    say = f"Call {name} again with the arguments mended."
    told = {
        "rule": "arguments",
        "seen": " ".join(sentences),
        "remedy": {"tool": name, "arguments": kept, **({"fill": fill} if fill else {}), "say": say},
        "retryable": False,
    }
    body = {"summary": f"{name} was not understood: {' '.join(sentences)}", "refused": told, "next": told["remedy"]}
    return Reply(body, is_error=True)
