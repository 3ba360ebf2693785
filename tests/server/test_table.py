import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from flow_mcp.server.app import build
from flow_mcp.server.arguments import parse_arguments
from flow_mcp.server.desk import Reply, Session
from flow_mcp.server.requests import PlanSave
from flow_mcp.server.table import EXAMPLE_PLAN, INSTRUCTIONS, LISTED, TOOLS, Role, rows
from flow_mcp.server.texts import PROMPTS, prompt

SNAPS = Path(__file__).with_name("toolsnaps")
TOKENS_MAX = 2_500
BYTES_A_TOKEN = 4
REPORTED = {"exit_code", "truncated", "complete", "platform", "digest", "source", "agent", "attested_by", "passed"}


class Nobody:
    async def call(self, name: str, arguments: dict[str, Any], session: Session) -> Reply:
        raise AssertionError(name, arguments, session)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        raise AssertionError(name, arguments)

    async def read(self, uri: str) -> str | None:
        raise AssertionError(uri)


async def listed(role: Role | None) -> list[dict[str, object]]:
    async with Client(build(rows(role), Nobody(), INSTRUCTIONS)) as client:
        found = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found.tools]


@pytest.fixture(scope="module")
def tools() -> list[dict[str, object]]:
    return asyncio.run(listed(None))


def test_every_tool_is_what_its_snapshot_says(tools: list[dict[str, object]]) -> None:
    for tool in tools:
        snap = SNAPS / f"{tool['name']}.json"
        text = json.dumps(tool, indent=1, ensure_ascii=False) + "\n"
        assert snap.is_file(), f"{snap.name} is missing"
        assert snap.read_text() == text, f"a change of {tool['name']} changes every host: {snap.name}"
    assert {path.stem for path in SNAPS.glob("*.json")} == {tool["name"] for tool in tools}


def test_the_list_of_tools_costs_a_model_little(tools: list[dict[str, object]]) -> None:
    text = json.dumps({"tools": tools}, separators=(",", ":"), ensure_ascii=False)
    assert len(text.encode()) / BYTES_A_TOKEN <= TOKENS_MAX
    assert len(INSTRUCTIONS.encode()) < 2_048


def test_no_request_has_a_field_for_a_fact(tools: list[dict[str, object]]) -> None:
    def names(schema: object) -> set[str]:
        if isinstance(schema, list):
            return set().union(*(names(one) for one in schema))
        if not isinstance(schema, dict):
            return set()
        own = set(schema.get("properties", {}))
        return own.union(*(names(value) for value in schema.values()))

    for tool in tools:
        declared = {"platform"} if tool["name"] == "plan_save" else set()  # where a command must run, not where it did
        assert not names(tool["inputSchema"]) & REPORTED - declared


def test_schemas_are_closed_and_need_no_references(tools: list[dict[str, object]]) -> None:
    for tool in tools:
        text = json.dumps(tool["inputSchema"])
        assert "$ref" not in text
        assert "$defs" not in text
        assert text.count('"type": "object"') == text.count('"additionalProperties": false')
        assert "outputSchema" not in tool


@pytest.mark.parametrize("role", ["manager", "reviewer", None])
def test_a_role_is_shown_its_own_tools(role: Role | None) -> None:
    assert {tool["name"] for tool in asyncio.run(listed(role))} == LISTED[role]


def test_the_example_plan_of_the_description_is_valid() -> None:
    request = parse_arguments(PlanSave, {"goal": "Add slugify", "plan": json.loads(EXAMPLE_PLAN)})
    assert isinstance(request, PlanSave)
    assert request.plan.as_plan().features[0].checks[0].run == "python -m pytest -q tests/test_slug.py"


def test_each_prompt_has_a_text_with_its_arguments_in_it() -> None:
    for row in PROMPTS:
        arguments = {argument.name: "UNIQUE" for argument in row.arguments}
        text = prompt(row.name, arguments)
        assert text
        assert not arguments or "UNIQUE" in text
        assert "{" not in text
    assert "feature" in prompt("flow-run", {})
    assert {tool.name for tool in TOOLS} >= {"status", "close"}
