"""What the desk learns of its client, in every protocol version."""

from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from flow_mcp.server.app import build
from flow_mcp.server.desk import Question, Reply, Session, ToolRow
from tests.server.rig import CLIENT, envelope

_SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
_TOOL = ToolRow("tell", "", "", _SCHEMA, read_only=True, destructive=False, idempotent=True)


class _Teller:
    async def call(self, name: str, arguments: dict[str, Any], session: Session) -> Reply:
        assert (name, arguments) == ("tell", {})
        told: dict[str, Any] = {"client": session.client_name, "protocol": session.protocol, "can_ask": session.can_ask}
        if not session.can_ask:
            told["asked"] = await session.ask(Question("Well?", ()))
        return Reply(told, is_error=False)

    async def prompt(self, name: str, arguments: object) -> str:
        raise AssertionError(name, arguments)

    async def read(self, uri: str) -> str | None:
        raise AssertionError(uri)


async def _told(*requests: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what the last of several requests on one connection is answered, without a process."""
    server = build([_TOOL], _Teller(), "")
    to_server, reading = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    writing, from_server = anyio.create_memory_object_stream[SessionMessage](1)
    async with anyio.create_task_group() as tasks, to_server, from_server:
        tasks.start_soon(server.run, reading, writing, server.create_initialization_options())
        answer = None
        for method, params in requests:
            await to_server.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params)))
            answer = (await from_server.receive()).message
        tasks.cancel_scope.cancel()
    assert isinstance(answer, JSONRPCResponse), answer
    told: dict[str, Any] = answer.result["structuredContent"]
    return told


_CALL = {"name": "tell"}


@pytest.mark.parametrize(
    ("version", "capabilities", "can_ask"),
    [
        ("2025-11-25", {}, False),
        ("2025-11-25", {"elicitation": {}}, True),
        ("2025-11-25", {"elicitation": {"form": {}, "url": {}}}, True),
        ("2025-11-25", {"elicitation": {"url": {}}}, False),
        ("2025-06-18", {"elicitation": {}}, True),
        ("2025-03-26", {"elicitation": {}}, False),
        ("2024-11-05", {"elicitation": {}}, False),
    ],
)
def test_a_client_of_the_handshake_is_known_by_it(version: str, capabilities: dict[str, Any], *, can_ask: bool) -> None:
    hello = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {**CLIENT, "name": "n" * 200}}
    told = anyio.run(_told, ("initialize", hello), ("tools/call", _CALL))
    assert told.pop("asked", None) is None
    assert told == {"client": "n" * 100, "protocol": version, "can_ask": can_ask}


@pytest.mark.parametrize(("capabilities", "can_ask"), [({}, False), ({"elicitation": {"form": {}}}, True)])
def test_a_client_of_the_later_era_is_known_by_each_request(capabilities: dict[str, Any], *, can_ask: bool) -> None:
    told = anyio.run(_told, ("tools/call", {**_CALL, "_meta": envelope(capabilities)}))
    assert told.pop("asked", None) is None
    assert told == {"client": "rig", "protocol": "2026-07-28", "can_ask": can_ask}


def test_a_client_of_the_later_era_need_not_name_itself() -> None:
    meta = envelope({})
    del meta["io.modelcontextprotocol/clientInfo"]
    assert anyio.run(_told, ("tools/call", {**_CALL, "_meta": meta}))["client"] is None
