"""Open the workspace that a command or a server works in."""

from collections.abc import Mapping
from pathlib import Path

from flow_mcp.engine.core import Engine
from flow_mcp.engine.gather import Workspace
from flow_mcp.settings import load_settings
from flow_mcp.workspace.root import find_root, folder_in


def opened(start: Path, environ: Mapping[str, str], flags: Mapping[str, str]) -> Engine:
    """Find the workspace, read the settings, and give the engine on both.

    Raises:
        BrokenWorld: where the workspace or its settings cannot be used.
    """
    root = find_root(start)
    settings = load_settings(root, environ, flags, None)
    return Engine(Workspace(root, settings.plans, folder_in(root, start)), settings)
