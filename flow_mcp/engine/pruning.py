"""What of the private folder nobody needs any more: sources, and the output of checks long past."""

from contextlib import suppress
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.engine.core import Engine
from flow_mcp.engine.folder import read_folder
from flow_mcp.workspace.collecting import YOUNG_S, Collected, collect
from flow_mcp.workspace.folders import private_folder, remove_tree
from flow_mcp.workspace.paths import told
from flow_mcp.workspace.pins import pinned, unpin

SOURCES_MAX = 24
OUTPUTS_MAX = 200
OUTPUT_BYTES_MAX = 512 * 1024 * 1024

_OUTPUTS = frozenset((".log", ".tail"))


def prune(engine: Engine, *, young_s: float = YOUNG_S) -> Collected | None:
    """Remove what no open plan rests on; None while somebody adds to the store.

    Args:
        engine: on the workspace.
        young_s: a kept source must be older than that.

    Raises:
        BrokenWorld: where something cannot be removed.
    """
    folder = read_folder(engine.plans)
    if folder.damaged:
        return None  # what a document that cannot be read rests on is not known
    documents = [held.document for held in folder.stored.values()]
    needed = {digest for document in documents for digest in _needed(document)}
    private = engine.space.private
    unpin(private, {digest for document in documents for digest in _rested_on(document)} - needed)
    needed |= pinned(private)
    _prune_outputs(private_folder(engine.space.private, "checks"))
    return collect(engine.space.private, needed, young_s=young_s)


def prune_if_grown(engine: Engine) -> None:
    """Prune once there are many more kept sources than any plan rests on; what stands in the way waits for the next."""
    with suppress(BrokenWorld):
        if sum(1 for _ in private_folder(engine.space.private, "sources").iterdir()) > SOURCES_MAX:
            prune(engine)


def _needed(document: Document) -> set[str]:
    """Name the sources that an open plan rests on."""
    return set() if document.closure is not None else _rested_on(document)


def _rested_on(document: Document) -> set[str]:
    """Name the sources of a plan: approved, started from, judged, and being checked."""
    found = {given.source for given in document.approvals}
    for run in document.runs:
        found |= {run.started_source} | (set() if run.review is None else {run.review.source})
    return found | (set() if document.pending is None else {document.pending.source})


def _prune_outputs(folder: Path) -> None:
    """Keep the newest output of checks, up to a number and a size."""
    with told(folder):
        paths = [path for path in folder.iterdir() if path.suffix in _OUTPUTS]
        found = sorted(((path.lstat(), path) for path in paths), key=lambda one: -one[0].st_mtime_ns)
    size = 0
    for number, (info, path) in enumerate(found):
        size += info.st_size
        if number >= OUTPUTS_MAX or size > OUTPUT_BYTES_MAX:
            remove_tree(path)
