"""Serve a workspace with some rules out: `weak_server.py ROLE RULE...`. The package itself has no switch for it."""

import sys
from pathlib import Path
from typing import cast

from flow_mcp.server.start import Program, serve


def load() -> Program:
    """Build the server of the demo, but for the rules that are out."""
    from flow_mcp.domain.rule import Rulebook  # noqa: PLC0415 - after the wire is guarded
    from flow_mcp.engine.core import Engine  # noqa: PLC0415 - the same
    from flow_mcp.engine.gather import Workspace  # noqa: PLC0415 - the same
    from flow_mcp.server.app import build  # noqa: PLC0415 - the same
    from flow_mcp.server.flow_desk import FlowDesk  # noqa: PLC0415 - the same
    from flow_mcp.server.table import INSTRUCTIONS, Role, rows  # noqa: PLC0415 - the same
    from flow_mcp.settings import load_settings  # noqa: PLC0415 - the same

    role, *out = sys.argv[1:]
    root = Path.cwd()
    settings = load_settings(root, {}, {"approve": "caller"}, None)
    engine = Engine(Workspace(root, settings.plans), settings, Rulebook(out=frozenset(out)))
    known = cast("Role", role)
    return Program(build(rows(known), FlowDesk(engine, known, lambda: ""), INSTRUCTIONS), lambda: None)


if __name__ == "__main__":
    serve(load)
