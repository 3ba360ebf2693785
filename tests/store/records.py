"""Whole documents for the store to keep, made by the kernel and bound by the real chain."""

from flow_mcp.domain.commands import KINDS, ResealDocument
from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.model import Document, Listing
from flow_mcp.store import chain
from tests.histories import ONE, closed, drafted, reviewed
from tests.simulator import World

LONG = tuple(f"sha256:{number:064d} tests/t{number:05d}.py" for number in range(2_001))
"""More lines than a document holds itself."""


def chained(document: Document, plan_id: str = "p") -> Document:
    """Bind the operations of a document that the simulator made."""
    bound = document.model_copy(update={"operations": (), "plan_id": plan_id})
    for operation in document.operations:
        bound = chain.appended(bound, operation)
    return bound


def draft(plan_id: str = "p", summary: str = "All of it.") -> Document:
    """Give a document of one revision."""
    world = World()
    world.save(ONE.model_copy(update={"summary": summary}))
    return chained(world.document, plan_id)


def finished(plan_id: str = "p") -> Document:
    """Give a completed document."""
    return chained(closed().document, plan_id)


def resealed() -> Document:
    """Give a document that a person took over, with an operation after that."""
    world = reviewed()
    world.reseal()
    world.approve()
    return chained(world.document)


def with_sidecar(plan_id: str = "p") -> Document:
    """Give a document whose list of frozen files is too long for it."""
    world = drafted()
    world.protected = {line.partition(" ")[2]: line.partition(" ")[0] for line in LONG}
    world.approve()
    return chained(world.document, plan_id)


def relisted(document: Document, *listings: Listing) -> Document:
    """Give a document with other listings, bound again as a hostile writer would."""
    return chained(document.model_copy(update={"listings": listings}))


LONG_DIGEST = digest_json(list(LONG))
RESEAL = KINDS[ResealDocument]
