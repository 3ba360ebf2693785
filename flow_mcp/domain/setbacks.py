"""Whether a plan's document was put back (row write.setback-told).

Put back is one that lacks what a worktree wrote of it last, however that came: a checkout, a stash, a merge, a copy.
"""

from pydantic import Field

from flow_mcp.domain.base import Closed, Line
from flow_mcp.domain.model import Document, TakenBack

TOLD_MAX = 32
"""So many setbacks are told each by itself; of more, the oldest are told as one."""

REVISION_MAX = 1_000_000_000


class Furthest(Closed):
    """The last that a worktree wrote of a plan's document.

    Attributes:
        revision: where it was then.
        head: digest of its last operation, which names the document too.
        kind: of that operation.
        taken_back: what the document then told of earlier setbacks.
    """

    revision: int = Field(ge=1, le=REVISION_MAX)
    head: Line = Field(pattern="^sha256:[0-9a-f]{64}$")
    kind: Line = Field(pattern="^[a-z_]{1,40}$")
    taken_back: tuple[TakenBack, ...] = Field(max_length=TOLD_MAX)


def furthest(document: Document) -> Furthest:
    """Give what is to be remembered of a document that was written."""
    last = document.operations[-1]
    told = document.taken_back or ()
    return Furthest(revision=document.revision, head=last.digest(), kind=last.kind, taken_back=told)


def holds(document: Document, point: Furthest) -> bool:
    """Say whether a document goes on from a point: it may be further, and may have been written elsewhere since."""
    entries = (entry for entry in reversed(document.operations) if entry.revision == point.revision)
    return any(entry.digest() == point.head for entry in entries)


def told(document: Document, point: Furthest) -> Document:
    """Give the document as it is, and where it does not hold a point, with a word of that.

    The word stands as of the next revision, which is the one that writes it down. What the lost revisions told of
    earlier setbacks is told again: a second setback hides no first one.
    """
    if holds(document, point):
        return document
    revision = 1 + max(document.revision, *(entry.revision for entry in document.operations), 0)
    known = document.taken_back or ()
    lost = [entry for entry in point.taken_back if _what(entry) not in {_what(one) for one in known}]
    again = [entry.model_copy(update={"revision": revision}) for entry in lost]
    new = TakenBack(from_revision=point.revision, to_revision=document.revision, after=point.kind, revision=revision)
    return document.model_copy(update={"taken_back": _bounded((*known, *again, new))})


def _what(entry: TakenBack) -> tuple[int, int, str]:
    return entry.from_revision, entry.to_revision, entry.after


def _bounded(entries: tuple[TakenBack, ...]) -> tuple[TakenBack, ...]:
    """Tell the oldest as one where there are too many: from the furthest of them to the earliest."""
    surplus = len(entries) - TOLD_MAX
    if surplus <= 0:
        return entries
    oldest = entries[: surplus + 1]
    furthest_one = max(oldest, key=lambda entry: entry.from_revision)
    to_revision = min(entry.to_revision for entry in oldest)
    revision = max(entry.revision for entry in oldest)
    folded = furthest_one.model_copy(update={"to_revision": to_revision, "revision": revision})
    return folded, *entries[surplus + 1 :]


def sentences(document: Document) -> tuple[str, ...]:
    """Say each setback that a document tells of, for people."""
    return tuple(_sentence(entry) for entry in document.taken_back or ())


def _sentence(entry: TakenBack) -> str:
    if entry.to_revision < entry.from_revision:
        how = (
            f"was put back from revision {entry.from_revision} to {entry.to_revision} after its {entry.after}; what "
            "those revisions held"
        )
    else:
        how = (
            f"gave way to another one, at revision {entry.to_revision}, after its {entry.after} at revision "
            f"{entry.from_revision}; what was written here last"
        )
    return f"The document {how} is not in it."
