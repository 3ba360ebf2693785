"""Lists that several entries share: test cases and frozen files, each kept once and named by its digest."""

from collections.abc import Iterable, Mapping

from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.history import counted
from flow_mcp.domain.model import Document, Listing

LINES_MAX = 2_000
"""A longer list stands in a sidecar file beside the document, named by its digest."""

INLINE_BYTES_MAX = 128 * 1024
"""So does one of longer lines than these: a document has little room for them."""


def listing_of(lines: Iterable[str]) -> Listing:
    """Make the listing of some lines, sorted, each once."""
    ordered = tuple(sorted(set(lines)))
    digest = digest_json(list(ordered))
    inline = len(ordered) <= LINES_MAX and sum(len(line.encode()) for line in ordered) <= INLINE_BYTES_MAX
    return Listing(digest=digest, count=len(ordered), lines=ordered if inline else None)


def manifest_lines(files: Mapping[str, str]) -> tuple[str, ...]:
    """Write a manifest, path to digest, as lines of digest and path."""
    return tuple(f"{digest} {path}" for path, digest in sorted(files.items()))


def with_listings(document: Document, new: Iterable[Listing]) -> Document:
    """Add listings, and drop those that nothing refers to any more."""
    pool = {entry.digest: entry for entry in (*document.listings, *new)}
    wanted = _referred(document)
    kept = tuple(pool[digest] for digest in sorted(pool) if digest in wanted)
    return document.model_copy(update={"listings": kept})


def _referred(document: Document) -> frozenset[str]:
    """Name the listings that a rule may still ask for.

    Reports that a later one of the same command replaced, and that no review rests on, are only counted.
    """
    found = {approval.protected for approval in document.approvals}
    if document.plan is not None:
        found |= {kept.listing for owed in document.plan.inherits for kept in owed.kept}
    rested = {name for run in document.runs if run.review is not None for name in run.review.observations}
    newest = {(seen.command, seen.platform): seen.id for seen in counted(document)}
    speaking = rested | set(newest.values()) | {seen.id for seen in document.baselines}
    for seen in counted(document):
        if seen.id in speaking and seen.report is not None and seen.report.passing is not None:
            found.add(seen.report.passing)
    return frozenset(found)
