"""A desk for a workspace that cannot be opened yet: every call says why and what to do, and tries again."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.server import texts
from flow_mcp.server.desk import Reply, Session
from flow_mcp.server.flow_desk import FlowDesk, troubled
from flow_mcp.server.handlers import refusal


class LateDesk:
    """Answers the calls of one connection, from the first moment at which its workspace can be opened."""

    def __init__(self, open_desk: Callable[[], FlowDesk]) -> None:
        """Try to open it at once; what stands in the way is told by the calls, not by the end of the process."""
        self._open_desk = open_desk
        self._desk: FlowDesk | None = None
        self._opened()

    def _opened(self) -> FlowDesk | BrokenWorld:
        if self._desk is None:
            try:
                self._desk = self._open_desk()
            except BrokenWorld as error:
                return error
        return self._desk

    async def call(self, name: str, arguments: dict[str, Any], session: Session) -> Reply:
        """Answer one tool call."""
        desk = await asyncio.to_thread(self._opened)
        if isinstance(desk, BrokenWorld):
            return refusal(troubled(desk))
        return await desk.call(name, arguments, session)

    def stop(self) -> None:
        """Leave the checks that still run to themselves."""
        if self._desk is not None:
            self._desk.stop()

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Give the text of a prompt."""
        return texts.prompt(name, arguments)

    async def read(self, uri: str) -> str | None:
        """Give the text of a resource, or why it cannot be read."""
        desk = await asyncio.to_thread(self._opened)
        return f"{desk.seen} {desk.remedy}" if isinstance(desk, BrokenWorld) else await desk.read(uri)
