"""``flow-mcp call``: one tool call from a shell, through the same desk as the server's."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Misused, Raw
from flow_mcp.cli.codes import DONE, REFUSED, USAGE
from flow_mcp.cli.interrupts import Interrupts
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Workspace, start
from flow_mcp.cli.paper import as_json as json_text
from flow_mcp.cli.paper import plain
from flow_mcp.guarantees import rendered_page
from flow_mcp.server import strict_json
from flow_mcp.server.arguments import nearest
from flow_mcp.server.desk import Answer as PersonsAnswer
from flow_mcp.server.desk import Question, Reply
from flow_mcp.server.flow_desk import FlowDesk
from flow_mcp.server.table import TOOLS

INPUT_BYTES_MAX: Final = 4 * 1024 * 1024
WAIT_S: Final = 1
"""How long an interrupt may go unheard."""

_NAMES: Final = tuple(tool.name for tool in TOOLS)


class _Shell:
    """The session of one call: nobody is asked, and nothing is told before the end."""

    client_name = "flow-mcp call"
    protocol = ""
    meta: Mapping[str, JsonValue] = MappingProxyType({})
    can_ask = False

    async def ask(self, _question: Question) -> PersonsAnswer | None:
        """Ask nobody."""
        return None

    async def progress(self, _done: float, _total: float | None, _message: str) -> None:
        """Tell nothing."""


def call(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool, such as status.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments as one JSON object; - reads standard input.")
    ] = "{}",
    *,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Call one tool as the manager, and print its answer as JSON.

    A check that starts is waited for to its end, unless wait_s says for how long; it then goes on by itself.
    """
    if tool not in _NAMES:
        likely = nearest(tool, _NAMES)
        seen = f"There is no tool {tool!r}."
        raise Misused(seen, f"Did you mean {likely}?" if likely else f"The tools are {', '.join(_NAMES)}.")
    given = _parsed(_input() if arguments == "-" else os.fsencode(arguments))
    return _call(tool, given, workspace).told(as_json=as_json)


def _input() -> bytes:
    data = sys.stdin.buffer.read(INPUT_BYTES_MAX + 1) if sys.stdin is not None else b""
    if len(data) > INPUT_BYTES_MAX:
        seen = f"Standard input holds more than {INPUT_BYTES_MAX} bytes."
        raise Misused(seen, "Send one JSON object.")
    return data


def _parsed(data: bytes) -> dict[str, JsonValue]:
    try:
        value = strict_json.parse(data.strip())
    except strict_json.NotJsonError as error:
        raise Misused(str(error), "Give the arguments as one JSON object, in single quotes.") from error
    if not isinstance(value, dict):
        seen = "The arguments are no JSON object."
        raise Misused(seen, "Write them as '{\"name\": value}', or leave them out.")
    return value


def _call(tool: str, given: dict[str, JsonValue], workspace: Path | None) -> Answer:
    desk = FlowDesk(opened(start(workspace), os.environ, {}), None, rendered_page)
    reply = _to_the_end(desk, given) if tool == "validate" and _starts(given) else _asked(desk, tool, given)
    body: Mapping[str, JsonValue] = reply.body
    return Answer(body, (Raw(json_text(body)),), _code(reply))


def _starts(given: Mapping[str, JsonValue]) -> bool:
    """Say whether a call of validate starts a check that it is to wait for."""
    return given.get("check_id") is None and given.get("wait_s") is None


def _asked(desk: FlowDesk, tool: str, given: dict[str, JsonValue]) -> Reply:
    return asyncio.run(desk.call(tool, given, _Shell()))


def _to_the_end(desk: FlowDesk, given: dict[str, JsonValue]) -> Reply:
    """Start a check and wait until it ends; an interrupt cancels it, and its end is recorded."""
    check_id = "the check"
    with Interrupts() as interrupts:
        reply = _asked(desk, "validate", {**given, "wait_s": 0})
        while "check" in reply.body:
            check: Mapping[str, JsonValue] = reply.body["check"]
            check_id = str(check["id"])
            again: dict[str, JsonValue] = {"plan_id": reply.body["plan_id"], "check_id": check_id}
            if interrupts.came:
                reply = _asked(desk, "validate", {**again, "cancel": True})
                break
            reply = _asked(desk, "validate", {**again, "wait_s": WAIT_S})
    if interrupts.came:
        sys.stderr.write(f"{plain(_interrupted(reply, check_id))}\n")
        raise KeyboardInterrupt
    return reply


def _interrupted(reply: Reply, check_id: str) -> str:
    """Say what became of a check whose waiting was interrupted."""
    seen: Mapping[str, JsonValue] = reply.body.get("observation", {})
    if "check" in reply.body:
        return f"{check_id} was asked to end and has not yet; `flow-mcp status` tells when it has."
    if seen.get("ended") == "cancelled":
        return f"{check_id} is cancelled: it is recorded, and counts as no pass."
    return f"Interrupted; {check_id} came to its end: {reply.body['summary']}"


def _code(reply: Reply) -> int:
    if not reply.is_error:
        return DONE
    refused: Mapping[str, JsonValue] = reply.body.get("refused", {})
    return USAGE if refused.get("rule") == "arguments" else REFUSED
