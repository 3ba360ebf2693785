"""The official clients, Python and TypeScript, do the whole round with the server in both eras."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitRequestFormParams, ElicitResult

from tests.server.rig import TOY
from tests.server.typescript import Drive

_ANSWERS: list[dict[str, Any]] = [
    {"action": "accept", "content": {"approve": True}},
    {"action": "decline"},
    {"action": "cancel"},
]
_UNDERSTOOD = [
    {"action": "accept", "content": {"approve": True}},
    {"action": "decline", "content": {}},
    {"action": "cancel", "content": {}},
]
_TOOLS = ["echo", "slow", "block", "freeze", "deafen", "fail", "stray", "answer", "memory", "ask"]
_ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}


class _Person:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, _context: object, params: object) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        return ElicitResult.model_validate(_ANSWERS[len(self.asked) - 1])


def _client(marks: Path, mode: str, log: Any, **options: Any) -> Client:  # noqa: ANN401 - a file, and callbacks
    command = StdioServerParameters(command=sys.executable, args=[str(TOY), str(marks)], env=dict(os.environ))
    return Client(stdio_client(command, errlog=log), mode=mode, **options)


async def _round(marks: Path, mode: str) -> None:
    person = _Person()
    with (marks / "log").open("w") as log:
        async with _client(marks, mode, log, elicitation_callback=person) as client:
            assert client.protocol_version == _ERAS[mode]
            assert [tool.name for tool in (await client.list_tools()).tools] == _TOOLS
            echoed = await client.call_tool("echo", {"a": 1})
            assert echoed.structured_content["given"] == {"a": 1}
            for understood in _UNDERSTOOD:
                answer = await client.call_tool("ask", {"plan": "p"})
                assert answer.structured_content["first"] == understood
            assert person.asked == ["Approve plan p?"] * 3
            assert (await client.call_tool("none such", {})).is_error
            prompt = await client.get_prompt("flow-plan", {"goal": "g"})
            assert prompt.messages[0].content.model_dump()["text"] == "flow-plan: g ?"
            guide = await client.read_resource("flow://guide")
            assert guide.contents[0].model_dump()["text"] == "# Guide ?"
            with pytest.raises(MCPError, match="There is no resource"):
                await client.read_resource("flow://none")
            with pytest.raises(MCPError, match="timed out"):
                await client.call_tool("slow", {"seconds": 600}, read_timeout_seconds=0.3)
            assert not (await client.call_tool("echo", {})).is_error
    assert (marks / "cancelled").exists()
    assert (marks / "cleanup").exists()


@pytest.mark.parametrize("mode", _ERAS)
def test_the_python_client_does_the_whole_round(tmp_path: Path, mode: str) -> None:
    anyio.run(_round, tmp_path, mode)


_STEPS: list[list[Any]] = [
    ["listTools"],
    ["callTool", {"name": "echo", "arguments": {"a": 1}}],
    ["callTool", {"name": "ask", "arguments": {"plan": "p"}}],
    ["callTool", {"name": "ask", "arguments": {"plan": "p"}}],
    ["callTool", {"name": "ask", "arguments": {"plan": "p"}}],
    ["callTool", {"name": "none such", "arguments": {}}],
    ["getPrompt", {"name": "flow-plan", "arguments": {"goal": "g"}}],
    ["listResources"],
    ["readResource", {"uri": "flow://guide"}],
    ["readResource", {"uri": "flow://none"}],
    ["callTool", {"name": "slow", "arguments": {"seconds": 600}}, {"timeout": 500}],
    ["callTool", {"name": "answer", "arguments": {"kind": "half"}}],
    ["callTool", {"name": "fail", "arguments": {"kind": "exit"}}],
]


@pytest.mark.parametrize(("client", "protocol"), [("v1", None), ("v2", "2025-11-25"), ("v2-auto", "2026-07-28")])
def test_the_typescript_clients_do_the_whole_round(
    typescript: Drive, tmp_path: Path, client: str, protocol: str | None
) -> None:
    job = {"client": client, "command": [sys.executable, str(TOY), str(tmp_path)], "elicit": _ANSWERS, "steps": _STEPS}
    seen = typescript(job)
    assert seen.get("protocol") == protocol
    assert seen["server"]["name"] == "flow"
    assert seen["instructions"] == "A toy."
    assert seen["capabilities"]["tools"] == {"listChanged": False}
    assert [question["message"] for question in seen["asked"]] == ["Approve plan p?"] * 3
    tools, echoed, *asked, unknown, prompt, resources, guide, missing, late, half, failed = seen["answers"]
    assert [tool["name"] for tool in tools["tools"]] == _TOOLS
    assert echoed["structuredContent"]["given"] == {"a": 1}
    assert [answer["structuredContent"]["first"] for answer in asked] == _UNDERSTOOD
    assert unknown["isError"]
    assert prompt["messages"][0]["content"]["text"] == "flow-plan: g ?"
    assert [resource["uri"] for resource in resources["resources"]] == ["flow://guide"]
    assert guide["contents"][0]["text"] == "# Guide ?"
    assert "There is no resource" in missing["error"]["message"]
    assert "timed out" in late["error"]["message"]
    assert half["structuredContent"]["summary"] == "half ? of a pair"
    assert failed["isError"]
    assert (tmp_path / "cancelled").exists()
    assert (tmp_path / "cleanup").exists()


def test_a_typescript_client_that_shows_no_forms_is_not_asked(typescript: Drive, tmp_path: Path) -> None:
    step = ["callTool", {"name": "ask", "arguments": {"plan": "p"}}]
    command = [sys.executable, str(TOY), str(tmp_path)]
    for client in ("v1", "v2-auto"):
        seen = typescript({"client": client, "command": command, "elicit": None, "steps": [step]})
        assert seen["answers"][0]["structuredContent"]["first"] is None
