"""Where proofs are kept, and the one way in which they try the forbidden act."""

from collections.abc import Callable

from flow_mcp.domain.invariants import INVARIANTS
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import Rulebook
from tests.simulator import Broken, Forbidden, No, World

Proof = Callable[[Rulebook], str]
"""Drives the simulator to the forbidden act. Gives the id of the rule that kept it out, or raises Forbidden."""

PROOFS: dict[str, Proof] = {}


def proves(rule_id: str) -> Callable[[Proof], Proof]:
    """Register the proof of a rule."""

    def registered(proof: Proof) -> Proof:
        assert rule_id not in PROOFS
        PROOFS[rule_id] = proof
        return proof

    return registered


def tried(world: World, act: Callable[[], object], is_forbidden: Callable[[Document], bool]) -> str:
    """Try an act. Say which rule kept the forbidden state out.

    Raises:
        Forbidden: where it is stored now.
        Broken: where an invariant kept it out that defends more than one rule.
    """
    try:
        act()
    except No as no:
        return no.refused.rule
    except Broken as broken:
        defended = {rule for name in broken.names for rule in INVARIANTS[name].defends}
        if len(defended) != 1:
            raise
        return defended.pop()
    if is_forbidden(world.document):
        raise Forbidden
    message = "nothing was refused, and nothing forbidden is stored"
    raise AssertionError(message)
