"""The client of one call, read from the request that made it."""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp_types import CallToolRequestParams
from mcp_types.version import is_version_at_least

from flow_mcp.server.asking import Asker, LiveAsker, RetryAsker
from flow_mcp.server.desk import Answer, Question

_ELICITATION_SINCE: Final = "2025-06-18"
_RETRY_SINCE: Final = "2026-07-28"
_PROTOCOL_PREFIX: Final = "io.modelcontextprotocol/"
_NAME_CHARACTERS: Final = 100


class WireSession:
    """A `desk.Session` over one request of either era."""

    def __init__(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> None:
        self._context = context
        self._asker: Asker = (
            RetryAsker(params) if is_version_at_least(context.protocol_version, _RETRY_SINCE) else LiveAsker(context)
        )

    @property
    def client_name(self) -> str | None:
        """What the client calls itself (unproven), or None where it gives no name."""
        params = self._context.session.client_params
        return None if params is None else params.client_info.name[:_NAME_CHARACTERS]

    @property
    def protocol(self) -> str:
        """The protocol version in use."""
        return self._context.protocol_version

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the client attached to this request, without the protocol's own keys."""
        attached: Mapping[str, Any] = (self._context.params or {}).get("_meta") or {}
        return {
            key: value
            for key, value in attached.items()
            if key != "progressToken" and not key.startswith(_PROTOCOL_PREFIX)
        }

    @property
    def can_ask(self) -> bool:
        """Whether the client declared forms; naming no mode at all means forms, as before there were modes."""
        capabilities = self._context.session.client_capabilities
        declared = capabilities.elicitation if capabilities else None
        if declared is None or not is_version_at_least(self.protocol, _ELICITATION_SINCE):
            return False
        return declared.form is not None or declared.url is None

    async def ask(self, question: Question) -> Answer | None:
        """Ask the client's person where the client can; see `desk.Session.ask`."""
        return await self._asker.ask(question) if self.can_ask else None

    async def progress(self, done: float, total: float | None, message: str) -> None:
        """Say how far the call is."""
        await self._context.session.report_progress(done, total, message)
