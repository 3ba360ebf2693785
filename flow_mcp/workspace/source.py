"""The manifest of the source, and the digest that evidence is bound to (ws-fp/4).

Bytes count as they lie there, but that line endings which the tree's own Git attributes normalise count as line
feeds. A tree without CRLF has the same digest whatever its attributes say.
"""

from collections.abc import Sequence
from pathlib import Path

from flow_mcp.workspace.entries import (
    LINK_PREFIX,
    VERSION,
    BlobHash,
    Displaced,
    Kind,
    Manifest,
    SourceEntry,
    Total,
    Unstable,
    kept_paths,
    seal,
)
from flow_mcp.workspace.look import look
from flow_mcp.workspace.memory import Memory
from flow_mcp.workspace.normalising import normalised_entries
from flow_mcp.workspace.records import Records

__all__ = [
    "LINK_PREFIX",
    "VERSION",
    "BlobHash",
    "Displaced",
    "Kind",
    "Manifest",
    "Memory",
    "SourceEntry",
    "Total",
    "Unstable",
    "kept_paths",
    "normalised_entries",
    "seal",
    "take_manifest",
]


def take_manifest(root: Path, records: Records, artifacts: Sequence[str], memory: Memory | None = None) -> Manifest:
    """Read the source below a root (row attest.source).

    Without a memory everything is read: that is what verified at the end means. With one, a file is not read again
    whose status speaks for its bytes.

    Raises:
        Unstable: where a file changes under the reading three times.
        Displaced: where a repository lies in place of a tracked file.
        BrokenWorld: where the source cannot be listed or read; the kinds are those of ``listing.list_source``.
        ValueError: for a plans folder or a glob that is refused.
    """
    return look(root, records, artifacts, None, memory).manifest
