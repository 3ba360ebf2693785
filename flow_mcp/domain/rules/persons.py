"""Whether an answer counts as a person's."""

from flow_mcp.domain.decision import Facts
from flow_mcp.domain.model import Document
from flow_mcp.domain.policy import Policy

_CERTAIN = {"dialog", "signed"}
_UNVERIFIED = {"terminal-unverified", "page-unverified"}


def counts_as_person(facts: Facts) -> bool:
    """Say whether this actor counts as a person under the policy in force."""
    return counts_under(facts, facts.policy)


def decides(document: Document, facts: Facts) -> bool:
    """Say whether this actor may decide what takes a person.

    It must count under the policy in force and under the one last approved, also before a reseal: else a loosened
    policy would make the person who may approve the loosening (row policy.unmoved).
    """
    approved = document.approvals[-1].policy if document.approvals else facts.policy
    return counts_as_person(facts) and counts_under(facts, approved)


def counts_under(facts: Facts, policy: Policy) -> bool:
    """Say whether this actor counts as a person under a policy: unverified channels do unless it refuses them."""
    actor = facts.actor
    if actor.role != "person":
        return False
    return actor.channel in _CERTAIN or (actor.channel in _UNVERIFIED and policy.unverified == "count")
