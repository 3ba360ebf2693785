"""What was looked at of the world, before the lock was taken, for one request."""

from dataclasses import dataclass

from flow_mcp.engine.gather import AtHand, Gathered


@dataclass(frozen=True, slots=True)
class Looked:
    """The world as it was looked at before the lock was taken, for one document.

    Attributes:
        seen: the source, or None where a request needs no look at it.
        hands: which private facts are there.
        alone: whether the caller holds the slot for checks, so that no check runs.
        kept: whether the private copy is there that the document is about to rest on.
    """

    seen: Gathered | None
    hands: AtHand
    alone: bool
    kept: bool = True


BLINDLY = Looked(None, AtHand(copy=True, start=True), alone=False)
