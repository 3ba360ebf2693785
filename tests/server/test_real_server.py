"""`flow-mcp serve` itself, as a process over pipes, with the official clients in both protocol eras."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult

from tests.engine.place import Place, make
from tests.server.stories import GOAL, PLAN
from tests.server.typescript import Drive

NINE = [
    "status",
    "plan_save",
    "plan_approve",
    "run_start",
    "validate",
    "review_start",
    "review_submit",
    "run_reset",
    "close",
]
SERVE = ["-m", "flow_mcp", "serve"]
YES = {"action": "accept", "content": {"approve": True}}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    return make(root)


async def _round(root: Path, mode: str, log: Path) -> None:
    asked: list[str] = []

    async def person(context: object, params: object) -> ElicitResult:
        assert context
        asked.append(getattr(params, "message", ""))
        return ElicitResult.model_validate(YES)

    command = StdioServerParameters(command=sys.executable, args=SERVE, env=dict(os.environ), cwd=str(root))
    with log.open("w") as errors:
        async with Client(stdio_client(command, errlog=errors), mode=mode, elicitation_callback=person) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == NINE
            saved = await client.call_tool("plan_save", {"goal": GOAL, "plan": PLAN})
            assert saved.structured_content["revision"] == 1
            approved = await client.call_tool("plan_approve", {})
            assert approved.structured_content["approval"] == {"by": "person", "channel": "dialog"}
            await client.call_tool("run_start", {})
            seen = await client.call_tool("validate", {"scope": "baseline"})
            assert seen.structured_content["observation"]["passes"]
            early = await client.call_tool("close", {"kind": "completed", "summary": "done"})
            assert early.structured_content["refused"]["rule"] == "close.every-feature-passed"
    assert len(asked) == 1
    assert "Approve this plan?" in asked[0]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_python_client_drives_a_goal(repository: Path, tmp_path: Path, mode: str) -> None:
    log = tmp_path / "errors"
    anyio.run(_round, repository, mode, log)
    assert log.read_text() == ""


STEPS: list[list[Any]] = [
    ["listTools"],
    ["callTool", {"name": "plan_save", "arguments": {"goal": GOAL, "plan": PLAN}}],
    ["callTool", {"name": "plan_approve", "arguments": {}}],
    ["callTool", {"name": "run_start", "arguments": {}}],
    ["callTool", {"name": "validate", "arguments": {"scope": "baseline"}}],
    ["callTool", {"name": "close", "arguments": {"kind": "completed", "summary": "done"}}],
    ["getPrompt", {"name": "flow-auto", "arguments": {"goal": "g"}}],
    ["readResource", {"uri": "flow://plan"}],
]


@pytest.mark.parametrize("client", ["v1", "v2", "v2-auto"])
def test_the_typescript_clients_drive_a_goal(typescript: Drive, repository: Path, client: str) -> None:
    command = [sys.executable, *SERVE, "--workspace", str(repository)]
    seen = typescript({"client": client, "command": command, "elicit": [YES], "steps": STEPS})
    tools, saved, approved, started, observed, early, prompt, page = seen["answers"]
    assert [tool["name"] for tool in tools["tools"]] == NINE
    assert saved["structuredContent"]["revision"] == 1
    assert approved["structuredContent"]["approval"]["channel"] == "dialog"
    assert started["structuredContent"]["run_id"] == "bye.1"
    assert observed["structuredContent"]["observation"]["passes"]
    assert early["isError"]
    assert "Reach this goal" in prompt["messages"][0]["content"]["text"]
    assert GOAL in page["contents"][0]["text"]
    assert len(seen["asked"]) == 1


def test_a_check_outlives_its_server_and_the_next_two_find_it(repository: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    (repository / "run.sh").write_text(f"#!/bin/sh\necho begun\nwhile [ ! -e {go} ]; do sleep 0.05; done\n")
    place = Place(repository, policy={"approve": "caller"})
    place.git("commit", "--quiet", "--all", "--message=slow")
    check = {"check_id": "check-3"}

    async def during(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        body: dict[str, Any] = {}
        command = StdioServerParameters(
            command=sys.executable, args=[*SERVE, "--approve", "caller"], env=dict(os.environ), cwd=str(repository)
        )
        async with Client(command) as client:
            for name, arguments in calls:
                answer = await client.call_tool(name, arguments)
                assert not answer.is_error, answer
                body = answer.structured_content
        return body

    begun = ("validate", {"scope": "baseline", "wait_s": 0})
    anyio.run(during, ("plan_save", {"goal": GOAL, "plan": PLAN}), ("plan_approve", {}), begun)
    second = anyio.run(during, ("validate", {**check, "wait_s": 1}))
    assert (second["check"]["state"], second["check"]["output_tail"]) == ("running", "begun\n")
    assert second["check"]["elapsed_s"] > 0
    go.touch()
    third = anyio.run(during, ("validate", check))
    assert (third["observation"]["ended"], third["observation"]["exit_code"]) == ("exited", 0)
    assert place.document.pending is None
