"""``flow-mcp demo`` as a verb: its one argument."""

from pathlib import Path
from typing import Annotated

import typer


def demonstration(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where the demo works. Default: a new temporary folder.")
    ] = None,
) -> int:
    """Play a whole goal in a small real repository: the lies that are refused, and the work that is done."""
    from flow_mcp.cli.demo import demo  # noqa: PLC0415 - it imports the MCP client

    return demo(folder)
