"""Command line: one module a verb."""

from flow_mcp.cli.main import main

__all__ = ["main"]
