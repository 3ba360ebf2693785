"""Long listings in files of their own beside a document, each named by its digest."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document, Listing
from flow_mcp.store import files

SUFFIX = ".lines"
BYTES_MAX = 64 * 1024 * 1024

Lines = Mapping[str, tuple[str, ...]]
"""The lines of listings, by digest."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{32})[0-9a-f]{32}")


def load(folder: Path, document: Document) -> dict[str, tuple[str, ...]]:
    """Give the lines of a document's listings; a list that is missing or holds other lines is left out."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in document.listings:
        lines = _read(folder, document, entry) if entry.lines is None else entry.lines
        if lines is not None and digest_json(list(lines)) == entry.digest:
            found[entry.digest] = lines
    return found


def save(folder: Path, document: Document, long_lines: Lines) -> None:
    """Write the long listings of a document, where their lines are known and the files do not hold them yet.

    Raises:
        BrokenWorld: where one cannot be written.
    """
    for entry in document.listings:
        name, lines = _name(document, entry), long_lines.get(entry.digest)
        if entry.lines is None and name is not None and lines is not None and _read(folder, document, entry) != lines:
            files.write_atomic(folder, name, data_of(lines))


def names(document: Document) -> tuple[str, ...]:
    """Name the files that belong to a document."""
    found = (_name(document, entry) for entry in document.listings if entry.lines is None)
    return tuple(name for name in found if name is not None)


def data_of(lines: Iterable[str]) -> bytes:
    """Write the lines of a long listing."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def _name(document: Document, entry: Listing) -> str | None:
    """Name the file of a long listing; None for a digest that is none, which only a hostile document holds."""
    found = _DIGEST.fullmatch(entry.digest)
    return None if found is None else f"{document.plan_id}.{found[1]}{SUFFIX}"


def _read(folder: Path, document: Document, entry: Listing) -> tuple[str, ...] | None:
    name = _name(document, entry)
    if name is None:
        return None
    try:
        data = files.read_bytes(folder, name, BYTES_MAX)
    except BrokenWorld:  # whatever stands there is not the list
        return None
    if data is None:
        return None
    # A checkout may have changed the line endings; no line of a listing ends in one.
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return tuple(text.removesuffix("\n").split("\n"))
