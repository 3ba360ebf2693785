"""``flow-mcp doctor``: what this machine and this workspace have, what is missing, and what to do about it."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Rows, Words
from flow_mcp.cli.checkup import machine, workspace_findings
from flow_mcp.cli.codes import DONE, PROBLEM
from flow_mcp.cli.finding import Finding
from flow_mcp.cli.options import AsJson, Workspace

_HEAD = ("", "what", "seen, and what to do")


def doctor(*, workspace: Workspace = None, as_json: AsJson = False) -> Answer:
    """Look at the machine, the workspace, the settings and the documents; exit code 1 where something is wrong."""
    return _doctor(workspace).told(as_json=as_json)


def _doctor(workspace: Path | None) -> Answer:
    found = tuple(_all(workspace))
    problems = sum(one.level == "problem" for one in found)
    summary = "No problem was found." if problems == 0 else f"Problems found: {problems}."
    told: list[JsonValue] = [_told(one) for one in found]
    # The remedy stands under what was seen: a fourth column would leave none of them room.
    rows = tuple((one.level, one.what, "\n".join(filter(None, (one.seen, one.remedy)))) for one in found)
    page = (Rows(_HEAD, rows), Words(summary, "bad" if problems else "good"))
    return Answer({"summary": summary, "ok": problems == 0, "findings": told}, page, PROBLEM if problems else DONE)


def _all(workspace: Path | None) -> Iterator[Finding]:
    yield from machine()
    yield from workspace_findings(workspace)


def _told(one: Finding) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"level": one.level, "what": one.what, "seen": one.seen}
    return told | ({"remedy": one.remedy} if one.remedy else {})
