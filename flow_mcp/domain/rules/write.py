"""What holds for every write. The engine and the store keep these; no guard could."""

from flow_mcp.domain.rule import held

EXPECTED_REVISION = held(
    "write.expected-revision",
    means="mechanism",
    claim="A mutation that names a revision holds only at it.",
    limits="The refusal answers with the current one.",
)
ONE_REVISION = held(
    "write.one-revision",
    means="invariant",
    claim="One accepted mutation, one revision.",
    limits="None for a refusal, a replay or a read.",
)
OPERATION_REPLAYS = held(
    "write.operation-replays",
    means="mechanism",
    claim="An operation id replays exactly or conflicts.",
    limits="The stored facts of the answer are the same, next is recomputed; at any later revision, after a restart. "
    "A refused call leaves the id free.",
)
WHOLE_SCHEMA = held(
    "write.whole-schema",
    means="mechanism",
    claim="Every mutation passes the whole schema and every load invariant before it is written.",
    limits="",
)
ATOMIC_LOCKED = held(
    "write.atomic-locked",
    means="mechanism",
    claim="A write is atomic under one cross-process lock.",
    limits="A kill at any system call leaves the old or the new document and a free lock.",
)
SETBACK_TOLD = held(
    "write.setback-told",
    means="mechanism",
    claim="A document that was put back says so.",
    limits="Recorded, not refused, since branches, stashes and merges do it honestly: the next mutation writes down "
    "from which revision to which; status, what a reviewer or a person who is asked is shown, and the closure tell it. "
    "Put back is an open document that lacks what this worktree wrote of it last; a newer one from elsewhere that goes "
    "on from there is not. What is remembered of that lies in .flow and goes with it.",
)
CHAIN_INTACT = held(
    "write.chain-intact",
    means="mechanism",
    claim="A document edited outside Flow is refused.",
    limits="reseal is the person's recorded way out and turns everything earlier into caller-declared. A hostile "
    "process of the same user can recompute the chain.",
)
