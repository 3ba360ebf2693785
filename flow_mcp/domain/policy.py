"""Who may approve, who may review, and how contained a command must be."""

from typing import Literal

from flow_mcp.domain.base import Closed

# From strict to loose: a value further right is looser.
_ORDER: dict[str, tuple[str, ...]] = {
    "approve": ("person", "caller"),
    "unverified": ("refuse", "count"),
    "caller_scope": ("bounded", "trusted"),
    "reviewer": ("attested", "any"),
    "sandbox": ("require", "prefer", "off"),
}


class Policy(Closed):
    """The values in force, from the user's configuration and the server's flags; a repository only tightens.

    Attributes:
        approve: whose answer approves a plan.
        unverified: whether a terminal or page that a same-user process could fake counts as the person.
        caller_scope: whether a caller may approve dropped cases and protected targets.
        reviewer: whether a reviewer that no host attests is enough.
        sandbox: whether a command may run without containment.
    """

    approve: Literal["person", "caller"] = "person"
    unverified: Literal["count", "refuse"] = "count"
    caller_scope: Literal["bounded", "trusted"] = "bounded"
    reviewer: Literal["any", "attested"] = "any"
    sandbox: Literal["require", "prefer", "off"] = "prefer"


def loosened(then: Policy, now: Policy) -> tuple[str, ...]:
    """Name the values that are looser now than they were, each as ``name: then -> now``."""
    before, after = then.model_dump(), now.model_dump()
    return tuple(
        f"{name}: {before[name]} -> {after[name]}"
        for name, order in _ORDER.items()
        if order.index(after[name]) > order.index(before[name])
    )


def tightened(base: Policy, wanted: Policy) -> Policy:
    """Take from ``wanted`` only what is stricter than ``base``."""
    ours, theirs = base.model_dump(), wanted.model_dump()
    stricter = {name: min(ours[name], theirs[name], key=order.index) for name, order in _ORDER.items()}
    return Policy.model_validate(stricter)
