"""How large a document may grow, and what is kept free in it (row plan.bounded)."""

from flow_mcp.domain.commands import Ask, CheckEnd, CheckStart, Close, ReviewSubmit, RunReset
from flow_mcp.domain.decision import Refused, Step, call
from flow_mcp.domain.listing import LINES_MAX
from flow_mcp.domain.model import Document
from flow_mcp.store import sidecars
from flow_mcp.store.codec import DOCUMENT_BYTES_MAX, TooLarge
from flow_mcp.store.documents import rendered
from flow_mcp.store.sidecars import Lines

RESERVED_BYTES = 256 * 1024
"""Kept free in every document for a reset and the closing."""
CHECK_BYTES = 384 * 1024
"""What one check may add: an observation and the list of its passing cases."""


def room(ask: Ask) -> int:
    """Say how many bytes the document may have after a request."""
    limit = DOCUMENT_BYTES_MAX
    if not isinstance(ask, RunReset | Close | CheckEnd):
        limit -= RESERVED_BYTES
    return limit - CHECK_BYTES if isinstance(ask, CheckStart) else limit


def fitted(ask: Ask, document: Document, new_lines: Lines) -> bytes | Refused:
    """Give the document's text, or refuse what would be too large."""
    limit = room(ask)
    try:
        data = rendered(document)
    except TooLarge:
        return _over(ask, f"The document would be larger than {limit} bytes, which are allowed here.")
    if len(data) > limit:
        return _over(ask, f"The document would be {len(data)} bytes; {limit} are allowed here.")
    for lines in new_lines.values():
        if len(lines) > LINES_MAX and len(sidecars.data_of(lines)) > sidecars.BYTES_MAX:
            return _over(ask, f"A list of {len(lines)} lines would take more than {sidecars.BYTES_MAX} bytes.")
    return data


def _over(ask: Ask, seen: str) -> Refused:
    return Refused("plan.bounded", seen, _remedy(ask), retryable=False)


def _remedy(ask: Ask) -> Step:
    if isinstance(ask, ReviewSubmit):
        say = "Hand it in with fewer or shorter findings; where there is no room for any, the manager defers the plan."
        arguments = {"assignment_id": ask.assignment_id}
        fill = ("verdict", "summary", "findings")
        return Step(who="reviewer", tool="review_submit", arguments=dict(arguments), fill=fill, say=say)
    return call("close", {"kind": "deferred"}, ("summary",), "Defer this plan; a new one takes over what it owes.")
