"""How far this worktree wrote each plan's document, so that one that was put back is known for it."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from flow_mcp.domain import setbacks
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import Rulebook
from flow_mcp.domain.setbacks import Furthest
from flow_mcp.store import files
from flow_mcp.store.documents import STALE_S, SUFFIX, PlansFolder, Stored
from flow_mcp.store.sidecars import Lines

FOLDER = "furthest"
POINT_BYTES_MAX = 16 * 1024


class WorktreePlans(PlansFolder):
    """The documents of a workspace as one worktree knows them (row write.setback-told).

    An open document that lacks what was last written of it here is given with a word of that, which the next save
    writes down. What is remembered is a file a plan in the private folder; one that is missing, broken or planted is
    as good as none, and never stands in the way.
    """

    def __init__(self, folder: Path, book: Rulebook, private: Path) -> None:
        """Name the plans folder and the private one; neither need exist yet."""
        super().__init__(folder, book)
        self._points = private / FOLDER
        self._tells = book.holds("write.setback-told")

    def load_all(self) -> dict[str, Stored | BrokenWorld]:
        """Load every document, as the base does, and say of an open one that it was put back."""
        found = super().load_all()
        suspects = {name: point for name, held in found.items() if (point := self._missed(name, held)) is not None}
        # Whoever reads holds no lock: such a document may have been written after it was read and before its point was.
        again: Mapping[str, Stored | BrokenWorld] = super().load_all() if suspects else {}
        for name, held in again.items():
            if name in suspects:
                found[name] = _told(held, suspects[name]) if isinstance(held, Stored) else held
        return found

    def told(self, held: Stored) -> Stored:
        """Say of a document that was loaded for its reseal that it was put back; the workspace's lock is held."""
        point = self._point(held.document.plan_id)
        return held if point is None else _told(held, point)

    def save(self, document: Document, long_lines: Lines, data: bytes) -> None:
        """Write a document, as the base does, and remember how far it is now."""
        super().save(document, long_lines, data)
        if not self._tells:
            return
        # The document is saved; where its point cannot be, nothing is told of a setback.
        with suppress(BrokenWorld, ValidationError):
            point = setbacks.furthest(document).model_dump_json()
            files.prepare_folder(self._points)
            files.sweep_stale(self._points, STALE_S)
            files.write_hint(self._points, document.plan_id + SUFFIX, point.encode())

    def _missed(self, plan_id: str, held: Stored | BrokenWorld) -> Furthest | None:
        """Give the point that an open document lacks."""
        if isinstance(held, BrokenWorld) or held.document.closure is not None:
            return None
        point = self._point(plan_id)
        return None if point is None or setbacks.holds(held.document, point) else point

    def _point(self, plan_id: str) -> Furthest | None:
        """Read what is remembered of a plan; None where there is nothing that can be used."""
        if not self._tells:
            return None
        try:
            data = files.read_bytes(self._points, plan_id + SUFFIX, POINT_BYTES_MAX)
            return None if data is None else Furthest.model_validate_json(data)
        except (BrokenWorld, ValidationError):
            return None


def _told(held: Stored, point: Furthest) -> Stored:
    return Stored(setbacks.told(held.document, point), held.lines)
