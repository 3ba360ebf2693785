"""What stands between the SDK and the desk, so that nothing a call does takes the server down or goes unanswered."""

import asyncio
import logging
import math
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.methods import CLIENT_REQUESTS
from pydantic import BaseModel, ValidationError

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.server.arguments import plain_errors

ANSWER_S: Final = 24 * 3600.0
"""A person may take so long to answer a question."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Failed:
    """How a call ended that returned nothing."""

    error: BaseException


async def settled(work: Awaitable[_T]) -> _T | Failed:
    """Return what a call returns, or the exception it ended with; only a real cancellation goes through.

    Exits and interrupts are answers like any other: a tool must not end the server. A `CancelledError` that
    nobody sent (the desk waited for a task of its own that was cancelled) would make the SDK give up the whole
    connection, so it is told apart.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        if anyio.current_effective_deadline() == -math.inf:
            raise
        _log.exception("a call was cancelled from inside")
        return Failed(error)
    except BrokenWorld as error:
        return Failed(error)
    except (Exception, BaseExceptionGroup, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - becomes the answer
        _log.exception("a call failed")
        return Failed(error)


async def plain_refusals(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Refuse misshapen parameters in plain words, where the SDK would say `Invalid request parameters`."""
    try:
        return await call_next(ctx)
    except ValidationError as error:
        model = CLIENT_REQUESTS.get((ctx.method, ctx.protocol_version), BaseModel)
        raise MCPError(INVALID_PARAMS, " ".join(plain_errors(error, model))) from None


class Remembering:
    """Carries the state of a question through the client and back, sealed.

    State that this process did not seal, such as that of a server which has since been restarted, is as good as
    none: the call starts anew and the person is asked again.
    """

    def __init__(self, audience: str) -> None:
        security = RequestStateSecurity.ephemeral(ttl=ANSWER_S)
        self._boundary = RequestStateBoundary(security, default_audience=audience)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Run one request with its state opened, and seal the state of its result."""
        try:
            return await self._boundary(ctx, call_next)
        except MCPError as error:
            if not isinstance(error.data, dict) or error.data.get("reason") != "invalid_request_state":
                raise
        params = {key: value for key, value in (ctx.params or {}).items() if key not in _RETRY_KEYS}
        return await self._boundary(replace(ctx, params=params), call_next)


_RETRY_KEYS: Final = frozenset({"requestState", "inputResponses"})
