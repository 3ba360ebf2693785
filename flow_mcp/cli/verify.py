"""``flow-mcp verify``: whether the documents hold, without a server and without writing anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Facts, Rows, Words
from flow_mcp.cli.codes import DONE, PROBLEM
from flow_mcp.cli.options import AsJson, Workspace
from flow_mcp.cli.reading import records
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store.documents import PlansFolder, Stored

_HEAD = ("plan", "revision", "result")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one document holds, and if not, what was seen and what to do."""

    plan_id: str
    revision: int | None
    seen: str | None
    remedy: str | None


def verify(
    plans: Annotated[
        list[str] | None, typer.Argument(metavar="PLAN", help="The plans; all where none is named.")
    ] = None,
    *,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Check each document: its schema, what must be true of it, and its hash chain; exit code 1 where one fails."""
    return _verify(plans or (), workspace).told(as_json=as_json)


def _verify(names: Sequence[str], workspace: Path | None) -> Answer:
    folder = records(workspace).plans
    found = [verdict(folder, name) for name in names or folder.names()]
    bad = [one for one in found if one.seen is not None]
    summary = _summary(folder.folder, len(found), len(bad))
    plans: list[JsonValue] = [_told(one) for one in found]
    body: dict[str, JsonValue] = {"summary": summary, "ok": not bad, "plans": plans}
    page: list[Block] = [Words(summary, "bad" if bad else "good")]
    if found:
        page.append(Rows(_HEAD, tuple(_row(one) for one in found)))
    page += [Facts(((one.plan_id, (one.seen or "", one.remedy or "")),)) for one in bad]
    return Answer(body, page, PROBLEM if bad else DONE)


def verdict(folder: PlansFolder, plan_id: str) -> Verdict:
    """Load one document as strictly as the server does, and its lists beside it."""
    try:
        held = folder.load(plan_id)
    except BrokenWorld as error:
        return Verdict(plan_id, None, error.seen, error.remedy)
    if held is None:
        return Verdict(plan_id, None, f"There is no document {plan_id!r}.", "Name one that is in the plans folder.")
    return _listed(held)


def _listed(held: Stored) -> Verdict:
    """Refuse a document one of whose lists is gone: its rules would ask for what nobody can read."""
    document, lost = held.document, held.lost()
    if not lost:
        return Verdict(document.plan_id, document.revision, None, None)
    seen = f"The file beside {document.plan_id} that holds the list {lost[0]} is missing or was edited."
    return Verdict(document.plan_id, document.revision, seen, "Restore it from git; it is named like the plan.")


def _summary(folder: Path, total: int, bad: int) -> str:
    if total == 0:
        return f"There are no documents in {folder}."
    return (
        f"{bad} of {total} documents in {folder.name}/ do not hold." if bad else f"{total} of {total} documents hold."
    )


def _row(one: Verdict) -> tuple[str, ...]:
    return one.plan_id, "" if one.revision is None else str(one.revision), "ok" if one.seen is None else "problem"


def _told(one: Verdict) -> JsonValue:
    told: dict[str, JsonValue] = {
        "plan_id": one.plan_id,
        "ok": one.seen is None,
        "revision": one.revision,
        "seen": one.seen,
        "remedy": one.remedy,
    }
    return {name: value for name, value in told.items() if value is not None}
