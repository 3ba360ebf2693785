"""Rules as data: what is promised, by what means, where it speaks, and the switch that takes it out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from flow_mcp.domain.commands import Ask
from flow_mcp.domain.decision import Facts, Objection
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Plan

Means = Literal["guard", "invariant", "mechanism"]


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules in force. A proof takes one out; nothing else does."""

    out: frozenset[str]

    def holds(self, rule_id: str) -> bool:
        """Say whether a rule is in force."""
        return rule_id not in self.out


ALL_RULES = Rulebook(out=frozenset())


@dataclass(frozen=True, slots=True)
class Question:
    """One request in one state: what every guard is asked."""

    document: Document
    ask: Ask
    facts: Facts


Guard = Callable[[Question], Objection | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """An enforced row of the contract.

    Attributes:
        id: stable name; refusals speak it and the page lists it.
        claim: the promise, in one sentence.
        limits: what the promise does not cover, or how it is meant.
        means: what holds it.
        guard: the function that may object, for rules held by one.
    """

    id: str
    claim: str
    limits: str
    means: Means
    guard: Guard | None


REGISTRY: dict[str, Rule] = {}


def _register(entry: Rule) -> None:
    assert entry.id not in REGISTRY, f"two rules are called {entry.id}"  # noqa: S101 - a broken program
    REGISTRY[entry.id] = entry


def rule(rule_id: str, *, claim: str, limits: str) -> Callable[[Guard], Rule]:
    """Turn a guard into the registered rule that it holds."""

    def registered(guard: Guard) -> Rule:
        entry = Rule(id=rule_id, claim=claim, limits=limits, means="guard", guard=guard)
        _register(entry)
        return entry

    return registered


def held(rule_id: str, *, means: Means, claim: str, limits: str) -> Rule:
    """Register a rule that an invariant or a mechanism holds instead of a guard."""
    entry = Rule(id=rule_id, claim=claim, limits=limits, means=means, guard=None)
    _register(entry)
    return entry


def plan_of(question: Question) -> Plan | None:
    """Give the plan that a guard judges: the one being saved, else the stored one."""
    proposed = getattr(question.ask, "plan", None)
    return proposed if isinstance(proposed, Plan) else question.document.plan
