"""``flow-mcp diff``: what a run changed, computed from Flow's own store."""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from flow_mcp.cli.answer import Answer, Block, Body, Misused, Raw, Style, Words
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, PlanOption, Workspace, start
from flow_mcp.cli.words import refusal
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.history import active_run
from flow_mcp.domain.model import Actor, Document, Run
from flow_mcp.engine.changes import Comparison, Unknown, compare, show
from flow_mcp.server.packet import differences_body, frozen_paths, marks, whole
from flow_mcp.workspace.differences import Change, Difference, Differences

_MANAGER = Actor(role="manager")
_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "faint", "\\": "faint"}

Paths = Annotated[
    list[str] | None, typer.Argument(metavar="PATH", help="A file, or a folder with all in it. Default: everything.")
]
RunId = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="The run. Default: the active one, else the newest.")
]
Approved = Annotated[bool, typer.Option("--approved", help="Compare with the approved source, not the run's start.")]


def diff(  # noqa: PLR0913 - an option each
    path: Paths = None,
    *,
    run: RunId = None,
    approved: Approved = False,
    plan_id: PlanOption = None,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Print what a feature's runs changed, tests and frozen files first; control characters are written out."""
    return _diff(tuple(path or ()), run, plan_id, workspace, approved=approved).told(as_json=as_json)


def _diff(
    paths: Sequence[str], run_id: str | None, plan_id: str | None, workspace: Path | None, *, approved: bool
) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(_MANAGER, plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    run = _run(state.document, run_id)
    found = compare(engine.space, state, run, "approval" if approved else "start")
    if isinstance(found, Unknown):
        raise BrokenWorld(found.seen, found.remedy)
    changed = tuple(change for change in found.changed if not paths or any(_names(path, change) for path in paths))
    shown, kept = show(engine.space, changed, whole()), frozen_paths(state)
    page = tuple(_page(found, shown, kept, on_terminal=_is_terminal()))
    return Answer(_body(state.document, found, shown, kept), page)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _run(document: Document, run_id: str | None) -> Run:
    if not document.runs:
        seen = "No run has started, so nothing changed since."
        raise Misused(seen, "`flow-mcp status` says what is next.")
    if run_id is None:
        return active_run(document) or document.runs[-1]
    found = next((run for run in document.runs if run.id == run_id), None)
    if found is None:
        seen = f"There is no run {run_id[:80]!r}."
        raise Misused(seen, f"The runs are {', '.join(run.id for run in document.runs[-20:])}.")
    return found


def _names(path: str, change: Change) -> bool:
    plain = path.removeprefix("./").rstrip("/")
    return plain in {"", ".", change.path} or change.path.startswith(f"{plain}/")


def _body(document: Document, found: Comparison, shown: Differences, frozen: frozenset[str]) -> Body:
    about: Body = {"plan_id": document.plan_id, "run_id": found.run_id, "since": found.since}
    return {**about, "before": found.before, "after": found.after, **differences_body(shown, frozen)}


def _page(found: Comparison, shown: Differences, frozen: frozenset[str], *, on_terminal: bool) -> Iterator[Block]:
    since = "the approval" if found.since == "approval" else f"{found.began} started"
    count, every = len(shown.shown) + shown.left_out.paths, len(found.changed)
    which = f"{count}" if count == every else f"{count} of {every}"
    yield Words(f"{which} changed {'path' if every == 1 else 'paths'} since {since}.", "strong")
    for one in shown.shown:
        yield Words(f"\n{_heading(one, frozen)}", "strong")
        yield from (Words(note) for note in one.notes)
        if one.text and on_terminal:
            yield from coloured(one.text)
        elif one.text:
            yield Raw(one.text)
    if shown.left_out.paths:
        names = ", ".join(shown.left_out.names)
        yield Words(f"\n{shown.left_out.paths} paths are not shown, name them to see them: {names}", "bad")


def _heading(one: Difference, frozen: frozenset[str]) -> str:
    counts = [] if one.added is None else [f"+{one.added} -{one.removed}"]
    return ", ".join([f"{one.change.path}: {one.change.what}", *counts, *marks(one.change, frozen)])


def coloured(text: str) -> Iterator[Block]:
    """Give the lines of a difference, each in the style of what it says."""
    lines = text.removesuffix("\n").split("\n")
    for style, alike in groupby(lines, _style):
        yield Words("\n".join(alike), style)


def _style(line: str) -> Style:
    return _STYLES.get(line[:1], "plain")
