"""Serve a workspace with some rules out: ``weak_server.py RULE,RULE --role ROLE [FLAGS]``.

The product has no switch for it. This is how the evals ask which liar each rule holds back.
"""

import argparse
import os
import sys
from pathlib import Path

from flow_mcp.cli.serve import POLICY_FLAGS
from flow_mcp.server.start import Program, serve


def load() -> Program:
    """Build the server as ``flow-mcp serve`` does, but for the rules that are out."""
    from flow_mcp.domain.rule import Rulebook  # noqa: PLC0415 - after the wire is guarded
    from flow_mcp.engine.core import Engine  # noqa: PLC0415 - the same
    from flow_mcp.engine.gather import Workspace  # noqa: PLC0415 - the same
    from flow_mcp.server.app import build  # noqa: PLC0415 - the same
    from flow_mcp.server.flow_desk import FlowDesk  # noqa: PLC0415 - the same
    from flow_mcp.server.table import INSTRUCTIONS, rows  # noqa: PLC0415 - the same
    from flow_mcp.settings import load_settings  # noqa: PLC0415 - the same

    out, *rest = sys.argv[1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("--role", choices=("manager", "reviewer"))
    for flag in POLICY_FLAGS:
        parser.add_argument(f"--{flag}", dest=flag.replace("-", "_"))
    given = vars(parser.parse_args(rest))
    role, root = given.pop("role"), Path.cwd()
    flags = {name: text for name, text in given.items() if text is not None}
    settings = load_settings(root, dict(os.environ), flags, None)
    engine = Engine(Workspace(root, settings.plans), settings, Rulebook(out=frozenset(out.split(","))))
    return Program(build(rows(role), FlowDesk(engine, role, lambda: ""), INSTRUCTIONS), lambda: None)


if __name__ == "__main__":
    serve(load)
