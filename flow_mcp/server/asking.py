"""Questions to the client's person, in both protocol eras.

Up to 2025-11-25 the server sends a request and waits. From 2026-07-28 on it may not: the call returns what it
needs, the client asks, and sends the call again with the answers and with the state that the server gave it. The
state is sealed by the SDK (`RequestStateBoundary`: encrypted, bound to this tool, these arguments and this process),
so what comes back is what went out. Within it each question has a digest: an answer counts for the very question
that was shown, and a question that reads otherwise by then is asked anew.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from pydantic import ValidationError

from flow_mcp.server.desk import Answer, Field, Question
from flow_mcp.server.reply import clean

TEXT_CHARACTERS_MAX: Final = 4_000
"""A person's line of text may be so long."""


class Asker(Protocol):
    """One way to ask."""

    async def ask(self, question: Question) -> Answer | None:
        """Return what the person did, or None where there is no usable answer."""


class Asked(BaseException):
    """The call cannot go on before its question is answered.

    Not an `Exception`, so that a desk that catches those lets it through.
    """

    def __init__(self, needed: InputRequiredResult) -> None:
        super().__init__()
        self.needed = needed


class LiveAsker:
    """Asks by a request to the client, and waits."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._context = context

    async def ask(self, question: Question) -> Answer | None:
        """Ask once. A client that answers with an error has shown nobody anything."""
        shown = _shown(question)
        try:
            given = await self._context.session.elicit_form(
                shown.message, shown.requested_schema, self._context.request_id
            )
        except (MCPError, ValidationError):
            return None
        return _answer(question, given)


class RetryAsker:
    """Asks by ending the call; on the call's return it gives the answers that came with it."""

    def __init__(self, params: CallToolRequestParams) -> None:
        self._earlier: list[tuple[str, dict[str, Any] | None]] = json.loads(params.request_state or "[]")
        self._given = params.input_responses or {}
        self._passed: list[tuple[str, dict[str, Any] | None]] = []

    async def ask(self, question: Question) -> Answer | None:
        """Return the answer that this question got; raise `Asked` where it was not asked yet, or read otherwise."""
        place, shown = len(self._passed), _shown(question)
        name, digest = f"question-{place + 1}", _digest(shown)
        was_asked = place < len(self._earlier) and self._earlier[place][0] == digest
        is_open = place == len(self._earlier) - 1
        if not was_asked or (is_open and name not in self._given):
            state = json.dumps([*self._passed, (digest, None)])
            raise Asked(InputRequiredResult(input_requests={name: ElicitRequest(params=shown)}, request_state=state))
        answer = _answer(question, self._given[name]) if is_open else _restored(self._earlier[place][1])
        self._passed.append((digest, _kept(answer)))
        return answer


def _kept(answer: Answer | None) -> dict[str, Any] | None:
    return None if answer is None else {"action": answer.action, "content": dict(answer.content)}


def _restored(kept: dict[str, Any] | None) -> Answer | None:
    return None if kept is None else Answer(kept["action"], kept["content"])


def _shown(question: Question) -> ElicitRequestFormParams:
    properties = {field.name: _property(field) for field in question.fields}
    required = [field.name for field in question.fields if field.required]
    schema = {"type": "object", "properties": properties, "required": required}
    return ElicitRequestFormParams(message=clean(question.message), requested_schema=schema)


def _property(field: Field) -> dict[str, Any]:
    named = {"title": clean(field.title), "description": clean(field.description)}
    if field.kind == "tick":
        return {"type": "boolean", **named}
    if field.kind == "choice":
        return {"type": "string", **named, "enum": [clean(option) for option in field.options]}
    return {"type": "string", **named, "maxLength": TEXT_CHARACTERS_MAX}


def _digest(shown: ElicitRequestFormParams) -> str:
    return hashlib.sha256(shown.model_dump_json(by_alias=True).encode()).hexdigest()


def _answer(question: Question, given: object) -> Answer | None:
    """Return the answer where it fits the question; what was not asked for is left out."""
    if not isinstance(given, ElicitResult):
        return None
    if given.action != "accept":
        return Answer(given.action, {})
    content: Mapping[str, object] = given.content or {}
    filled = {field.name: content[field.name] for field in question.fields if content.get(field.name) is not None}
    if not all(_fits(field, filled.get(field.name)) for field in question.fields):
        return None
    return Answer("accept", cast("dict[str, bool | str]", filled))


def _fits(field: Field, value: object) -> bool:
    if value is None:
        return not field.required
    if field.kind == "tick":
        return isinstance(value, bool)
    if field.kind == "choice":
        return value in field.options
    return isinstance(value, str) and len(value) <= TEXT_CHARACTERS_MAX
