"""``flow-mcp init``: the entry that makes a host start the server, in the host's own format. Nothing is written."""

import json
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Facts, Raw, Words
from flow_mcp.cli.options import AsJson, Workspace

Host = Literal["claude-code", "opencode", "cursor", "vscode", "codex", "gemini", "zed"]
Json = dict[str, JsonValue]

_NAME: Final = "flow"
# Editors start servers in folders of their own, and put the project's folder in place of this.
_OPEN_FOLDER: Final = "${workspaceFolder}"

_THIS_MACHINE: Final = "The paths are this machine's: leave the file out of commits, or write what fits every machine."
_REVIEWER: Final = (
    "No host attests its agents to this version: let a person judge with `flow-mcp review`, or give a reviewer agent, "
    "and it alone, a second entry with the arguments serve --role reviewer."
)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a host looks for servers, and how it writes one.

    Attributes:
        file: the file, seen from the project or from the home folder.
        write: gives the file's content for a command and its arguments.
        folder: what the host puts its open folder in place of; None where it starts servers in the project itself.
    """

    file: str
    write: Callable[[str, list[str]], Json]
    folder: str | None = None


def _command(command: str, arguments: list[str]) -> Json:
    return {"command": command, "args": [*arguments]}


def _stdio(command: str, arguments: list[str]) -> Json:
    return {"type": "stdio", **_command(command, arguments)}


def _opencode(command: str, arguments: list[str]) -> Json:
    local: Json = {"type": "local", "command": [command, *arguments], "enabled": True}
    return {"$schema": "https://opencode.ai/config.json", "mcp": {_NAME: local}}


ENTRIES: Final[Mapping[Host, Entry]] = {
    "claude-code": Entry(".mcp.json", lambda command, given: {"mcpServers": {_NAME: _stdio(command, given)}}),
    "opencode": Entry("opencode.json", _opencode),
    "cursor": Entry(
        ".cursor/mcp.json", lambda command, given: {"mcpServers": {_NAME: _stdio(command, given)}}, _OPEN_FOLDER
    ),
    "vscode": Entry(
        ".vscode/mcp.json", lambda command, given: {"servers": {_NAME: _stdio(command, given)}}, _OPEN_FOLDER
    ),
    "codex": Entry("~/.codex/config.toml", lambda command, given: {"mcp_servers": {_NAME: _command(command, given)}}),
    "gemini": Entry(".gemini/settings.json", lambda command, given: {"mcpServers": {_NAME: _command(command, given)}}),
    "zed": Entry(".zed/settings.json", lambda command, given: {"context_servers": {_NAME: _command(command, given)}}),
}


def init(
    host: Annotated[Host, typer.Argument(metavar="HOST", help=f"One of {', '.join(ENTRIES)}.")],
    *,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Print the server entry for a host, with the path of this flow-mcp; nothing is written."""
    entry, (command, *before) = ENTRIES[host], program()
    folder = entry.folder if workspace is None else str(workspace.absolute())
    arguments = [*before, "serve", *([] if folder is None else ["--workspace", folder])]
    content = entry.write(command, arguments)
    text = _toml(command, arguments) if entry.file.endswith(".toml") else json.dumps(content, indent=2)
    notes = (f"Put this into {entry.file}, beside what is there; nothing was written.", _THIS_MACHINE, _REVIEWER)
    body: Json = {"host": host, "file": entry.file, "entry": content, "text": text, "notes": [*notes]}
    return Answer(body, (Raw(text),), aside=(Words(f"Flow for {host}", "strong"), Facts((("notes", notes),)))).told(
        as_json=as_json
    )


def program() -> list[str]:
    """Give the installed command with its absolute path, else this Python with the package."""
    name = "flow-mcp.exe" if os.name == "nt" else "flow-mcp"
    installed = Path(sysconfig.get_path("scripts")) / name
    return [str(installed)] if installed.is_file() else [sys.executable, "-m", "flow_mcp"]


def _toml(command: str, arguments: list[str]) -> str:
    """Write the entry as TOML, whose plain strings are JSON's."""
    given = ", ".join(_quoted(argument) for argument in arguments)
    return f"[mcp_servers.{_NAME}]\ncommand = {_quoted(command)}\nargs = [{given}]\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
