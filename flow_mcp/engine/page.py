"""The Markdown page beside a document, for people; nothing reads it back."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.markdown import page
from flow_mcp.domain.model import Document
from flow_mcp.store.files import write_atomic


def write_page(folder: Path, document: Document, lines: Mapping[str, tuple[str, ...]]) -> None:
    """Render the page; a page that cannot be written costs no mutation, since the document is saved already."""
    with suppress(BrokenWorld):
        write_atomic(folder, f"{document.plan_id}.md", page(document, lines).encode("utf-8"))
