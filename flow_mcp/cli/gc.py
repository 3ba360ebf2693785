"""``flow-mcp gc``: remove from the private folder what no open plan rests on."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Words
from flow_mcp.cli.codes import PROBLEM
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Workspace, start
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Engine
from flow_mcp.engine.folder import read_folder
from flow_mcp.engine.pruning import prune
from flow_mcp.workspace.collecting import YOUNG_S, Collected

_MIB: Final = 1024 * 1024

Now = Annotated[bool, typer.Option("--now", help="Remove what was kept within the last hour too.")]


def gc(*, now: Now = False, workspace: Workspace = None, as_json: AsJson = False) -> Answer:
    """Remove kept sources that no open plan rests on, old output of checks, and what killed runners left."""
    return _gc(workspace, young_s=0.0 if now else YOUNG_S).told(as_json=as_json)


def _gc(workspace: Path | None, *, young_s: float) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    is_idle = Checks(engine).clean_up(spared=False)
    found = prune(engine, young_s=young_s)
    return _nothing(engine, is_idle=is_idle) if found is None else _removed(found, is_idle=is_idle)


def _removed(found: Collected, *, is_idle: bool) -> Answer:
    removed: dict[str, JsonValue] = {"sources": found.sources, "objects": found.objects, "bytes": found.size_bytes}
    size = f"{found.size_bytes / _MIB:.1f} MiB"
    words = f"Removed kept sources: {found.sources}, objects: {found.objects} ({size})."
    running = () if is_idle else (Words("A check runs: what earlier runners left was not looked for.", "faint"),)
    body: dict[str, JsonValue] = {"summary": words, "removed": removed, "check_running": not is_idle}
    return Answer(body, (Words(words, "good"), *running))


def _nothing(engine: Engine, *, is_idle: bool) -> Answer:
    """Tell why nothing was removed, and what helps."""
    damaged = read_folder(engine.plans).damaged
    if damaged:
        words = f"No kept source was removed: what {', '.join(damaged)} rests on cannot be read."
        remedy = "`flow-mcp verify` says what is wrong with it; mend it first."
    else:
        words = "No kept source was removed: somebody keeps one right now."
        remedy = "Try again in a moment."
    body: dict[str, JsonValue] = {"summary": words, "removed": None, "check_running": not is_idle}
    return Answer(body, (Words(words, "bad"), Words(remedy)), PROBLEM)
