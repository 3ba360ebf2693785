"""The desk behind the nine tools: roles, arguments, and what a broken world answers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from flow_mcp.domain.decision import Refused, call, person
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Actor
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Engine
from flow_mcp.engine.trouble import rule_of
from flow_mcp.server import texts
from flow_mcp.server.arguments import parse_arguments
from flow_mcp.server.desk import Reply, Session
from flow_mcp.server.handlers import HANDLERS, Counter, refusal
from flow_mcp.server.table import LISTED, TOOLS, Role

STOP_S = 0.8
"""The transport leaves a cleanup behind after a second."""

_REQUESTS = {tool.name: tool.request for tool in TOOLS}


class FlowDesk:
    """Answers the calls of one connection."""

    def __init__(self, engine: Engine, role: Role | None, guarantees: Callable[[], str]) -> None:
        """Serve one workspace to one role; ``guarantees`` gives the page of promises."""
        actor = Actor(role="reviewer", agent="reviewer-connection") if role == "reviewer" else Actor(role="manager")
        self._counter = Counter(engine, Checks(engine), actor)
        self._role: Role | None = role
        self._guarantees = guarantees

    async def call(self, name: str, arguments: dict[str, Any], session: Session) -> Reply:
        """Answer one tool call."""
        if self._role == "reviewer" and name not in LISTED["reviewer"]:
            return refusal(_not_for_reviewers(name))
        request = parse_arguments(_REQUESTS[name], arguments)
        if isinstance(request, list):
            return _bad_arguments(name, request)
        try:
            return await HANDLERS[name](self._counter, request, session)
        except BrokenWorld as error:
            return refusal(troubled(error))

    def stop(self) -> None:
        """End what this connection still runs: a check of a server that leaves is recorded as cancelled."""
        self._counter.checks.close(STOP_S)

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


def _bad_arguments(name: str, sentences: list[str]) -> Reply:
    say = f"Call {name} again with the arguments mended."
    told = {
        "rule": "arguments",
        "seen": " ".join(sentences),
        "remedy": {"tool": name, "arguments": {}, "say": say},
        "retryable": False,
    }
    body = {"summary": f"{name} was not understood: {' '.join(sentences)}", "refused": told, "next": told["remedy"]}
    return Reply(body, is_error=True)
