"""The options that verbs share, and the text that a person writes."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from flow_mcp.cli.answer import Misused
from flow_mcp.domain.base import Line, Text
from flow_mcp.domain.errors import BrokenWorld

_TEXT = TypeAdapter[str](Text)
_LINE = TypeAdapter[str](Line)


def fault(value: str, kind: TypeAdapter[str] = _TEXT) -> str | None:
    """Say why a text cannot stand in a document; None where it can."""
    if not value.strip():
        return "it is empty"
    try:
        kind.validate_python(value)
    except ValidationError:
        return "it holds a control character, or half of one"
    return None


def _text(value: str | None) -> str | None:
    return _checked(value, _TEXT)


def _line(value: str | None) -> str | None:
    return _checked(value, _LINE)


def _checked(value: str | None, kind: TypeAdapter[str]) -> str | None:
    why = None if value is None else fault(value, kind)
    if why is not None:
        raise typer.BadParameter(why)
    return value


Workspace = Annotated[
    Path | None,
    typer.Option("--workspace", metavar="PATH", help="The workspace. Default: the repository around this folder."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value on standard output.")]
Plan = Annotated[str | None, typer.Argument(metavar="PLAN", help="The plan, where several are meant.")]
PlanOption = Annotated[str | None, typer.Option("--plan", metavar="ID", help="The plan, as an option.")]
Because = Annotated[str, typer.Option("--because", metavar="TEXT", callback=_text, help="The reason; it is recorded.")]
Summary = Annotated[str | None, typer.Option("--summary", metavar="TEXT", callback=_text, help="What was judged.")]
Name = Annotated[str, typer.Argument(metavar="NAME", callback=_line, help="The case, the path, or the feature.")]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes", help="Ask nobody: the answer is recorded as the caller's, which seldom counts as a person's."
    ),
]


def start(workspace: Path | None) -> Path:
    """Give the folder in which the workspace is looked for.

    Raises:
        BrokenWorld: where the current folder is gone.
    """
    if workspace is not None:
        return workspace
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        seen = "The current folder is gone."
        raise BrokenWorld(seen, "Change to the folder of the project, or name it with --workspace.") from error


def meant(argument: str | None, option: str | None) -> str | None:
    """Give the plan that was named as an argument or as an option.

    Raises:
        Misused: where two different ones were.
    """
    if argument is not None and option not in {None, argument}:
        seen = f"Two plans are named: {argument} and {option}."
        raise Misused(seen, "Name one.")
    return argument or option
