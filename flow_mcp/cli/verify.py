"""``flow-mcp verify``: whether the documents hold, without a server and without writing anything."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Facts, Rows, Words
from flow_mcp.cli.codes import DONE, PROBLEM
from flow_mcp.cli.options import AsJson, Workspace
from flow_mcp.cli.reading import Records, records
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store.documents import PlansFolder, Stored

if TYPE_CHECKING:
    from flow_mcp.cli.audited import Audited

_RESTORE = "Restore it, from git where git has it; it is named like the plan."
_HEAD = ("plan", "revision", "result")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one document holds, and if not, what was seen and what to do; and what the audit says, where asked."""

    plan_id: str
    revision: int | None
    seen: str | None
    remedy: str | None
    audited: "Audited | None" = None

    @property
    def is_bad(self) -> bool:
        """Whether it is a problem."""
        return self.seen is not None or (self.audited is not None and bool(self.audited.gaps))


def verify(
    plans: Annotated[
        list[str] | None, typer.Argument(metavar="PLAN", help="The plans; all where none is named.")
    ] = None,
    *,
    audit: Annotated[
        bool,
        typer.Option("--audit", help="Judge each completed goal anew too, apart from the rules that let it close."),
    ] = False,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Check each document: its schema, what must be true of it, and its hash chain; exit code 1 where one fails."""
    return _verify(plans or (), workspace, audit=audit).told(as_json=as_json)


def _verify(names: Sequence[str], workspace: Path | None, *, audit: bool) -> Answer:
    held = records(workspace)
    folder = held.plans
    found = [verdict(folder, name) for name in names or folder.names()]
    if audit:
        found = [_audited(held, one) for one in found]
    bad = [one for one in found if one.is_bad]
    summary = _summary(folder.folder, len(found), len(bad))
    plans: list[JsonValue] = [_told(one) for one in found]
    body: dict[str, JsonValue] = {"summary": summary, "ok": not bad, "plans": plans}
    page: list[Block] = [Words(summary, "bad" if bad else "good")]
    if found:
        page.append(Rows(_HEAD, tuple(_row(one) for one in found)))
    page += [Facts(((one.plan_id, _lines(one)),)) for one in found if _lines(one)]
    return Answer(body, page, PROBLEM if bad else DONE)


def _audited(held: Records, one: Verdict) -> Verdict:
    from flow_mcp.cli.audited import audited  # noqa: PLC0415 - looks at the source, which is seldom asked for

    return replace(one, audited=audited(held, one.plan_id))


def verdict(folder: PlansFolder, plan_id: str) -> Verdict:
    """Load one document as strictly as the server does, and its lists beside it."""
    try:
        held = folder.load(plan_id)
    except BrokenWorld as error:
        from flow_mcp.engine.restoring import fitting  # noqa: PLC0415 - for what is damaged only

        told = fitting(folder.folder, {plan_id: error})[plan_id]
        return Verdict(plan_id, None, told.seen, told.remedy)
    if held is None:
        return Verdict(plan_id, None, f"There is no document {plan_id!r}.", "Name one that is in the plans folder.")
    return _listed(held)


def _listed(held: Stored) -> Verdict:
    """Refuse a document one of whose lists is gone: its rules would ask for what nobody can read."""
    document, lost = held.document, held.lost()
    if not lost:
        return Verdict(document.plan_id, document.revision, None, None)
    seen = f"The file beside {document.plan_id} that holds the list {lost[0]} is missing or was edited."
    return Verdict(document.plan_id, document.revision, seen, _RESTORE)


def _summary(folder: Path, total: int, bad: int) -> str:
    if total == 0:
        return f"There are no documents in {folder}."
    return (
        f"{bad} of {total} documents in {folder.name}/ do not hold." if bad else f"{total} of {total} documents hold."
    )


def _row(one: Verdict) -> tuple[str, ...]:
    return one.plan_id, "" if one.revision is None else str(one.revision), "problem" if one.is_bad else "ok"


def _lines(one: Verdict) -> tuple[str, ...]:
    """Say what is wrong with a document, and what the audit saw."""
    broken = () if one.seen is None else (one.seen, one.remedy or "")
    if one.audited is None:
        return broken
    gaps = tuple(f"{gap.id}: {gap.seen}" for gap in one.audited.gaps)
    return (*broken, *gaps, f"{one.audited.kind}, {len(gaps)} gap(s); source: {one.audited.source}")


def _told(one: Verdict) -> JsonValue:
    told: dict[str, JsonValue] = {
        "plan_id": one.plan_id,
        "ok": not one.is_bad,
        "revision": one.revision,
        "seen": one.seen,
        "remedy": one.remedy,
        "audit": None if one.audited is None else one.audited.as_json(),
    }
    return {name: value for name, value in told.items() if value is not None}
