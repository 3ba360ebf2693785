"""Findings as a person writes them at a terminal or in flags."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from flow_mcp.cli.answer import Misused
from flow_mcp.cli.options import fault
from flow_mcp.cli.person import insisted
from flow_mcp.domain.commands import NewFinding
from flow_mcp.domain.plan import Finding

_FORM: Final = re.compile(r"(blocking|advisory):\s*(.*?)(?:\s+::(?=\s|$)\s*(.*))?", re.DOTALL)
BACK: Final = "back"
_REMEDY: Final = "Write --finding 'blocking: what is wrong :: what was seen where', or 'advisory: …'."


def written(texts: Iterable[str]) -> tuple[NewFinding, ...]:
    """Read findings of the form ``blocking: text :: evidence``.

    Raises:
        Misused: for another form.
    """
    return tuple(_written(text) for text in texts)


def _written(text: str) -> NewFinding:
    found = _FORM.fullmatch(text.strip())
    if found is None:
        seen = f"A finding begins with 'blocking:' or 'advisory:', and this one does not: {text[:60]!r}."
        raise Misused(seen, _REMEDY)
    severity, summary, evidence = found.groups()
    why = fault(summary) or (None if evidence is None else fault(evidence))
    if why is not None:
        seen = f"The finding {text[:60]!r} cannot be recorded: {why}."
        raise Misused(seen, _REMEDY)
    return NewFinding(severity="blocking" if severity == "blocking" else "advisory", summary=summary, evidence=evidence)


def carried(ids: Iterable[str], live: Sequence[Finding]) -> tuple[NewFinding, ...]:
    """Repeat prior findings by their ids.

    Raises:
        Misused: for an id that is no live finding's.
    """
    known = {finding.id: finding for finding in live}
    return tuple(_carried(name, known) for name in ids)


def _carried(name: str, known: dict[str, Finding]) -> NewFinding:
    if name not in known:
        seen = f"There is no live finding {name!r}."
        raise Misused(seen, f"Carry one of these: {', '.join(known) or 'none is live'}.")
    finding = known[name]
    return NewFinding(
        severity=finding.severity,
        summary=finding.summary,
        evidence=finding.evidence,
        finding_id=finding.id,
        scope_blocker=finding.scope_blocker,
    )


def prompted_findings(*, needed: bool) -> tuple[NewFinding, ...]:
    """Ask for blocking findings until an empty line; ``needed`` says that there must be one.

    The word ``back`` takes back the finding that is being written, or else the last one.

    Raises:
        Misused: where nothing comes that can be recorded.
    """
    found: list[NewFinding] = []
    while True:
        summary = _summary(needed=needed and not found, has_last=bool(found))
        if not summary:
            return tuple(found)
        if summary == BACK:
            del found[-1:]
            continue
        evidence = insisted(f"What was seen where ({BACK} takes this finding back):", fault)
        if evidence != BACK:
            found.append(NewFinding(severity="blocking", summary=summary, evidence=evidence))


def _summary(*, needed: bool, has_last: bool) -> str:
    if needed:
        return insisted("A blocking finding:", fault)
    back = f", {BACK} takes the last one back" if has_last else ""
    return insisted(f"A blocking finding (an empty line ends{back}):", _fault_unless_empty)


def _fault_unless_empty(text: str) -> str | None:
    return fault(text) if text else None
