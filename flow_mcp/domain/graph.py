"""Order, cycles and the ready set of a plan's features."""

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


def cycle(plan: Plan) -> tuple[str, ...]:
    """Give the ids along a cycle, the first repeated at the end; empty where there is none."""
    left = {feature.id: feature for feature in plan.features if feature.id not in order(plan)}
    path: list[str] = []
    name = next(iter(left), None)
    while name is not None and name not in path:
        path.append(name)
        name = next((need for need in left[name].depends_on if need in left), None)
    return () if name is None else (*path[path.index(name) :], name)


def ready(plan: Plan, passed: frozenset[str]) -> tuple[Feature, ...]:
    """Give the features that can start: not passed, and everything they depend on has."""
    return tuple(feature for feature in plan.features if feature.id not in passed and set(feature.depends_on) <= passed)
