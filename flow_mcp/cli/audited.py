"""What the audit says of a document, and whether the source still is the closed one."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from flow_mcp.audit import COMPLETED, Gap, WorkspaceFacts, audit
from flow_mcp.cli.project import own_records
from flow_mcp.cli.reading import Records
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.workspace.facts import Globs, gather

Source = Literal["as closed", "moved since", "unknown"]


@dataclass(frozen=True, slots=True)
class Audited:
    """A document that was closed as completed.

    Attributes:
        kind: how it was closed.
        gaps: what it does not show.
        source: whether the source now is the closed one. That it moved is no gap: work goes on after a goal.
    """

    kind: str
    gaps: tuple[Gap, ...]
    source: Source

    def as_json(self) -> dict[str, JsonValue]:
        """Give it for programs."""
        gaps: list[JsonValue] = [{"id": gap.id, "seen": gap.seen} for gap in self.gaps]
        return {"closure": self.kind, "gaps": gaps, "source": self.source}


def audited(held: Records, plan_id: str) -> Audited | None:
    """Audit a document as it stands, also one that verifying refuses; None for one that claims no completion.

    The hash chain and the invariants are left out: they are verified beside it, and the audit is to judge by itself.
    """
    try:
        stored = held.plans.load_edited(plan_id)
    except BrokenWorld:
        return None
    closure = None if stored is None else stored.document.closure
    if stored is None or closure is None or closure.kind not in COMPLETED:
        return None
    now = _workspace(held, stored.document)
    source: Source = "unknown" if now is None else "as closed" if now.source == closure.source else "moved since"
    return Audited(closure.kind, audit(stored.document, stored.lines, now), source)


def _workspace(held: Records, document: Document) -> WorkspaceFacts | None:
    artifacts = () if document.plan is None else document.plan.artifacts
    try:
        seen = gather(held.root, own_records(held), Globs(protected=(), targets=(), inputs=(), artifacts=artifacts))
    except (BrokenWorld, ValueError):  # an unreadable tree, or globs of a document that was edited
        return None
    files = {path: entry.digest for path, entry in seen.manifest.present().items() if entry.kind in {"file", "link"}}
    hidden = {one.path: one.glob for one in seen.hidden if one.present}
    return WorkspaceFacts(seen.manifest.digest, files, frozenset(seen.test_configuration), hidden)
