"""Proofs of the rows on plans, approvals and policy."""

from flow_mcp.domain.decision import HiddenPath
from flow_mcp.domain.graph import circles
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Command, Plan
from flow_mcp.domain.policy import Policy
from flow_mcp.domain.rule import Rulebook
from tests.histories import CHAIN, GATE, ONE, approved, closed, drafted, feature, owes, plan_of
from tests.proofs.record import proves, tried
from tests.simulator import MANAGER, World


def stored(document: Document) -> Plan:
    """Give the stored plan."""
    assert document.plan is not None
    return document.plan


@proves("plan.bounded")
def bounded(book: Rulebook) -> str:
    world = World(book=book)
    plan = plan_of(*(feature(f"f{number}") for number in range(65)))
    return tried(world, lambda: world.save(plan), lambda document: len(stored(document).features) > 64)


@proves("plan.acyclic")
def acyclic(book: Rulebook) -> str:
    world = World(book=book)
    plan = plan_of(feature("a", "b"), feature("b", "a"))
    return tried(world, lambda: world.save(plan), lambda document: circles(stored(document)) != ())


@proves("plan.questions-answered")
def questions_answered(book: Rulebook) -> str:
    world = World(book=book)
    plan = ONE.model_copy(update={"external_evidence": None})
    return tried(world, lambda: world.save(plan), lambda document: stored(document).external_evidence is None)


@proves("plan.commands-whole")
def commands_whole(book: Rulebook) -> str:
    world = World(book=book)
    swallowing = feature("a", proof="none").model_copy(update={"checks": (Command(run="pytest || true"),)})
    return tried(
        world,
        lambda: world.save(plan_of(swallowing)),
        lambda document: stored(document).command("pytest || true") is not None,
    )


@proves("plan.gate-whole")
def gate_whole(book: Rulebook) -> str:
    world = World(book=book)
    narrow = GATE.model_copy(update={"run": "pytest -q -k quick"})
    plan = ONE.model_copy(update={"gate": narrow})
    return tried(world, lambda: world.save(plan), lambda document: stored(document).gate == narrow)


@proves("plan.artifacts-narrow")
def artifacts_narrow(book: Rulebook) -> str:
    world = World(book=book, hidden=(HiddenPath("*.py", "a.py", "it is tracked", present=True),))
    plan = ONE.model_copy(update={"artifacts": ("*.py",)})
    return tried(world, lambda: world.save(plan), lambda document: stored(document).artifacts == ("*.py",))


@proves("plan.approved-first")
def approved_first(book: Rulebook) -> str:
    world = drafted(book)
    return tried(world, world.start, lambda document: document.runs != () and document.approvals == ())


@proves("plan.frozen")
def frozen(book: Rulebook) -> str:
    world = approved(book)
    return tried(world, lambda: world.save(CHAIN), lambda document: stored(document) != ONE)


@proves("plan.goal-kept")
def goal_kept(book: Rulebook) -> str:
    world = drafted(book)
    goal = world.document.goal
    return tried(world, lambda: world.save(ONE, "Something else."), lambda document: document.goal != goal)


@proves("plan.one-open")
def one_open(book: Rulebook) -> str:
    world = World(book=book, other_open="another")
    return tried(world, lambda: world.save(ONE), lambda document: document.plan is not None)


@proves("plan.losses-carried")
def losses_carried(book: Rulebook) -> str:
    world = drafted(book)
    owes(world, "unit :: keeps")
    return tried(world, world.approve, lambda document: document.approvals != () and stored(document).inherits == ())


@proves("plan.closed-final")
def closed_final(book: Rulebook) -> str:
    world = closed("deferred", book)
    return tried(world, world.start, lambda document: document.runs[-1].state == "active")


@proves("approve.exact")
def exact(book: Rulebook) -> str:
    world = drafted(book)
    shown = world.plan.digest()
    world.save(CHAIN)
    return tried(
        world,
        lambda: world.approve(digest=shown),
        lambda document: document.approvals[-1].plan_digest != stored(document).digest(),
    )


@proves("approve.caller-bounded")
def caller_bounded(book: Rulebook) -> str:
    world = drafted(book)
    return tried(world, lambda: world.approve(MANAGER), lambda document: document.approvals[-1].by == "caller")


@proves("policy.unmoved")
def unmoved(book: Rulebook) -> str:
    world = approved(book)
    world.policy = Policy(sandbox="off")
    return tried(world, world.start, lambda document: document.runs != ())
