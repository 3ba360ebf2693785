"""The hash chain over a document's operations: each entry names the one before it and the document after it.

The last entry also names itself, so that no field of a document can be edited without breaking the chain. The entry
of a reseal names every entry before it: they are not asked for their links any more.
"""

from flow_mcp.domain.commands import KINDS, ResealDocument
from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.history import floor
from flow_mcp.domain.model import Document, Operation

GENESIS = "sha256:" + "0" * 64
"""What the first entry points at."""


def appended(document: Document, operation: Operation) -> Document:
    """Add an operation to the document that it led to, and bind both (row write.chain-intact).

    ``operation`` comes with any ``body`` and ``previous``; both are set here.
    """
    operations = (*document.operations, operation)
    linked = operation.model_copy(update={"previous": _link(operations, len(operations) - 1)})
    bound = linked.model_copy(update={"body": _bound(document, linked)})
    return document.model_copy(update={"operations": (*document.operations, bound)})


def fault(document: Document) -> str | None:
    """Say where the chain is broken, since the last reseal; None when it is whole (row write.chain-intact)."""
    operations, since = document.operations, floor(document)
    if not operations:
        return "no operation led to it"
    for number, operation in enumerate(operations):
        if operation.revision >= since and operation.previous != _link(operations, number):
            return f"operation {operation.id} does not follow the one before it"
    last = operations[-1]
    return None if last.body == _bound(document, last) else "its content is not what its last operation left"


def _link(operations: tuple[Operation, ...], number: int) -> str:
    """Name what an entry points at."""
    if number == 0:
        return GENESIS
    if operations[number].kind == KINDS[ResealDocument]:
        return digest_json([operation.as_json() for operation in operations[:number]])
    return operations[number - 1].digest()


def _bound(document: Document, operation: Operation) -> str:
    """Name the document without its operations, together with the operation that led to it."""
    entry = operation.as_json()
    del entry["body"]
    return digest_json({"document": document.body_digest(), "operation": entry})
