"""Order, cycles and the ready set of a plan's features."""

from collections.abc import Mapping

from flow_mcp.domain.plan import Feature, Plan


def order(plan: Plan) -> tuple[str, ...]:
    """Give a valid order of features: each after what it depends on, else as the plan lists them.

    Features on a cycle are left out.
    """
    done: list[str] = []
    waiting = list(plan.features)
    while True:
        step = next((feature for feature in waiting if set(feature.depends_on) <= set(done)), None)
        if step is None:
            return tuple(done)
        done.append(step.id)
        waiting.remove(step)


Needs = Mapping[str, tuple[str, ...]]
"""What features need, by the id of each."""


def circles(plan: Plan) -> tuple[Needs, ...]:
    """Give each set of features that all need one another, with what they need of it; in the plan's order."""
    needs = {feature.id: feature.depends_on for feature in plan.features}
    after = {name: _needed(needs, name) for name in needs}
    groups: list[list[str]] = []
    for name in (name for name in needs if name in after[name]):
        if not any(name in group for group in groups):
            groups.append([other for other in needs if other in after[name] and name in after[other]])
    return tuple(
        {name: tuple(need for need in dict.fromkeys(needs[name]) if need in group) for name in group}
        for group in groups
    )


def _needed(needs: Needs, name: str) -> frozenset[str]:
    """Give everything that a feature needs, directly or not; itself only where it stands on a circle."""
    found: set[str] = set()
    waiting = list(needs[name])
    while waiting:
        need = waiting.pop()
        if need in needs and need not in found:
            found.add(need)
            waiting.extend(needs[need])
    return frozenset(found)


def ready(plan: Plan, passed: frozenset[str]) -> tuple[Feature, ...]:
    """Give the features that can start: not passed, and everything they depend on has."""
    return tuple(feature for feature in plan.features if feature.id not in passed and set(feature.depends_on) <= passed)
