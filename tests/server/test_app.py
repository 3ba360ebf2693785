"""What a client sees of the tables: tools, prompts and resources, in both eras and in plain words."""

from typing import Any

import pytest

import flow_mcp
from flow_mcp.server.app import build
from flow_mcp.server.desk import Reply, ToolRow
from tests.server.rig import Rig


def _refusal(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["error"]["code"], answer["error"]["message"]


def test_tools_are_listed_in_table_order_with_every_hint_and_nothing_open(either: Rig) -> None:
    tools = either.ask("tools/list")["result"]["tools"]
    names = ["echo", "slow", "block", "freeze", "deafen", "fail", "stray", "answer", "memory", "ask"]
    assert [tool["name"] for tool in tools] == names
    assert tools[0] == {
        "name": "echo",
        "title": "Echo",
        "description": "Do echo.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "_meta": {"anthropic/alwaysLoad": True},
    }


def test_a_tool_that_is_not_listed_can_be_called(either: Rig) -> None:
    assert either.call("hidden")["structuredContent"] == {"summary": "for the host alone"}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ecko", 'There is no tool "ecko"; did you mean `echo`?'),
        ("hiden", 'There is no tool "hiden"; there is `echo`, `slow`, `block`, `freeze`, `deafen`, `fail`, `stray`, '),
        ("x" * 100_000, f'There is no tool "{"x" * 58}…; there is `echo`, '),
    ],
)
def test_an_unknown_tool_is_a_tool_error_that_names_the_nearest(either: Rig, name: str, sentence: str) -> None:
    result = either.call(name)
    assert result["isError"] is True
    assert result["structuredContent"]["summary"].startswith(sentence)


def test_the_desk_is_told_who_calls_and_what_the_client_attached(either: Rig) -> None:
    own = {"claudecode/toolUseId": "toolu_1"}
    params = {"name": "echo", "arguments": {"a": [1]}}
    request_id = either.post("tools/call", params)
    told = either.read()["result"]["structuredContent"]
    assert told["given"] == {"a": [1]}
    assert told["meta"] == {}
    assert (told["client"], told["can_ask"]) == ("rig", True)
    meta = {**either._meta, **own, "progressToken": 1}
    either.send({"jsonrpc": "2.0", "id": "own", "method": "tools/call", "params": {**params, "_meta": meta}})
    assert either.read()["result"]["structuredContent"]["meta"] == own
    assert isinstance(request_id, int)


def test_progress_goes_to_the_call_that_asked_for_it(either: Rig) -> None:
    request_id = either.post("tools/call", {"name": "slow", "arguments": {"seconds": 0}})
    note = either.note()
    assert note["params"] == {"progressToken": request_id, "progress": 1, "total": 2, "message": "started ?"}
    assert either.read()["id"] == request_id


def test_prompts_are_listed_and_filled(either: Rig) -> None:
    prompts = either.ask("prompts/list")["result"]["prompts"]
    goal = {"name": "goal", "description": "What is wanted.", "required": True}
    assert prompts[0] == {"name": "flow-plan", "title": "Plan", "description": "Plan a goal.", "arguments": [goal]}
    got = either.ask("prompts/get", {"name": "flow-plan", "arguments": {"goal": "g"}})["result"]
    (message,) = got["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": "flow-plan: g ?"}}


@pytest.mark.parametrize(
    ("params", "refusal"),
    [
        ({"name": "flow-pla"}, (-32602, 'There is no prompt "flow-pla"; did you mean `flow-plan`?')),
        ({"name": "flow-plan"}, (-32602, "The prompt flow-plan needs `goal`: What is wanted.")),
        (
            {"name": "flow-plan", "arguments": {"goal": "g", "gaol": "g"}},
            (-32602, 'There is no argument "gaol"; did you mean `goal`?'),
        ),
        (
            {"name": "flow-auto", "arguments": {"a": ""}},
            (-32602, 'There is no argument "a"; there is none.'),
        ),
        (
            {"name": "flow-plan", "arguments": {"goal": "broken"}},
            (-32603, "Flow failed inside (SystemExit). It goes on; its standard error has the details."),
        ),
    ],
)
def test_a_prompt_that_cannot_be_filled_says_why(either: Rig, params: dict[str, Any], refusal: object) -> None:
    assert _refusal(either.ask("prompts/get", params)) == refusal


def test_resources_and_templates_are_listed_apart_and_read(either: Rig) -> None:
    (resource,) = either.ask("resources/list")["result"]["resources"]
    assert resource == {"uri": "flow://guide", "name": "guide", "title": "The guide", "mimeType": "text/markdown"}
    (template,) = either.ask("resources/templates/list")["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "flow://size/{n}"
    (guide,) = either.ask("resources/read", {"uri": "flow://guide"})["result"]["contents"]
    assert guide == {"uri": "flow://guide", "mimeType": "text/markdown", "text": "# Guide ?"}
    (sized,) = either.ask("resources/read", {"uri": "flow://size/3"})["result"]["contents"]
    assert sized == {"uri": "flow://size/3", "mimeType": "text/plain", "text": "xxx"}


def test_what_cannot_be_read_is_refused(either: Rig) -> None:
    missing = either.ask("resources/read", {"uri": "flow://none"})["error"]
    assert missing == {
        "code": -32602,
        "message": 'There is no resource "flow://none".',
        "data": {"uri": "flow://none"},
    }
    assert _refusal(either.ask("resources/read", {"uri": "flow://broken"}))[0] == -32603


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_a_cursor_is_refused_because_every_list_is_one_page(either: Rig, method: str) -> None:
    refusal = _refusal(either.ask(method, {"cursor": "x"}))
    assert refusal == (-32602, "The list has one page: ask for it without a cursor.")


def test_the_server_names_itself_and_promises_no_change(fresh: Rig) -> None:
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    result = fresh.ask("initialize", asked)["result"]
    assert result["serverInfo"] == {"name": "flow", "version": flow_mcp.__version__}
    assert result["instructions"] == "A toy."
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
    }


def test_the_server_promises_no_change_in_the_later_era_either(shared_modern: Rig) -> None:
    capabilities = shared_modern.ask("server/discover")["result"]["capabilities"]
    assert capabilities["tools"] == {"listChanged": False}
    assert capabilities["resources"] == {"listChanged": False, "subscribe": False}


class _NoDesk:
    async def call(self, name: str, arguments: dict[str, Any], session: object) -> Reply:
        raise AssertionError(name, arguments, session)

    async def prompt(self, name: str, arguments: object) -> str:
        raise AssertionError(name, arguments)

    async def read(self, uri: str) -> str | None:
        raise AssertionError(uri)


def _row(name: str, description: str) -> ToolRow:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return ToolRow(name, "", description, schema, read_only=True, destructive=False, idempotent=True)


def test_empty_tables_are_not_offered() -> None:
    capabilities = build([_row("a", "")], _NoDesk(), "").get_capabilities()
    assert capabilities.tools is not None
    assert capabilities.prompts is None
    assert capabilities.resources is None


@pytest.mark.parametrize(
    ("row", "instructions", "sentence"),
    [
        (_row("a", ""), "x" * 2049, "The instructions are longer than 2048 bytes."),
        (_row("a", "ä" * 1025), "", "The description of a is longer than 2048 bytes."),
        (_row("a.b", ""), "", "'a.b' is no name for a tool: 1 to 30 of a-z and _."),
        (_row("a" * 31, ""), "", f"'{'a' * 31}' is no name for a tool: 1 to 30 of a-z and _."),
    ],
)
def test_a_row_that_a_host_would_cut_or_refuse_is_no_row(row: ToolRow, instructions: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="^" + sentence.replace(".", r"\.") + "$"):
        build([row], _NoDesk(), instructions)
