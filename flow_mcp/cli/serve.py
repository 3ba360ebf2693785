"""``flow-mcp serve``: answer one MCP client on standard input and output."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, cast, get_args

from flow_mcp.server.start import Program, serve

POLICY_FLAGS = ("approve", "reviewer", "sandbox", "unverified", "caller-scope", "plans")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="flow-mcp serve", description="Serve one MCP client on standard input and output."
    )
    parser.add_argument("--role", choices=("manager", "reviewer"), help="list only what this role calls")
    parser.add_argument("--workspace", type=Path, help="the workspace; default: the folder of the process")
    for flag in POLICY_FLAGS:
        parser.add_argument(f"--{flag}", help="see the page on operating")
    return parser


def run(arguments: Sequence[str]) -> NoReturn:
    """Parse the flags and serve until the client leaves."""
    given = _parser().parse_args(arguments)
    flags = {name.replace("-", "_"): getattr(given, name.replace("-", "_")) for name in POLICY_FLAGS}
    serve(lambda: _load(given, {name: value for name, value in flags.items() if value is not None}))


def _load(given: argparse.Namespace, flags: dict[str, str]) -> Program:
    from flow_mcp.cli.opening import opened  # noqa: PLC0415 - after the wire is guarded
    from flow_mcp.guarantees import rendered_page  # noqa: PLC0415 - the same
    from flow_mcp.server.app import build  # noqa: PLC0415 - the same
    from flow_mcp.server.flow_desk import FlowDesk  # noqa: PLC0415 - the same
    from flow_mcp.server.late_desk import LateDesk  # noqa: PLC0415 - the same
    from flow_mcp.server.table import INSTRUCTIONS, Role, rows  # noqa: PLC0415 - the same
    from flow_mcp.server.texts import PROMPTS, RESOURCES  # noqa: PLC0415 - the same
    from flow_mcp.settings import unknown_variables  # noqa: PLC0415 - the same

    role = cast("Role | None", given.role) if given.role in {*get_args(Role), None} else None
    folder = given.workspace or Path.cwd()
    for sentence in unknown_variables(os.environ):
        sys.stderr.write(f"{sentence}\n")
    # What stands in the way is told by the first tool call: hosts show that, and not how a process ended.
    desk = LateDesk(lambda: FlowDesk(opened(folder, dict(os.environ), flags), role, rendered_page))
    return Program(build(rows(role), desk, INSTRUCTIONS, prompts=PROMPTS, resources=RESOURCES), desk.stop)
