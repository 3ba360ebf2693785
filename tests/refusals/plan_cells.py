"""Histories in which plans, approvals and the rules that every request shares are refused."""

from collections.abc import Callable

from flow_mcp.domain.commands import (
    Ask,
    CheckEnd,
    CheckStart,
    Close,
    PlanApprove,
    PlanDeny,
    PlanSave,
    ResealDocument,
    ReviewStart,
    ReviewSubmit,
    RunReset,
    RunStart,
    Waive,
)
from flow_mcp.domain.decision import HiddenPath
from flow_mcp.domain.plan import Command, Gate
from flow_mcp.domain.policy import Policy
from tests.histories import (
    CHAIN,
    GATE,
    ONE,
    all_passed,
    approved,
    closed,
    drafted,
    feature,
    owes,
    plan_of,
    resealed,
    reviewed,
    running,
    shown,
)
from tests.refusals.cells import LONG, plainly, speaks
from tests.simulator import MANAGER, World

Refused = tuple[World, Callable[[], object]]


def _closed() -> World:
    return closed("deferred")


_NO_PLAN: tuple[type[Ask], ...] = (PlanApprove, PlanDeny, ResealDocument)
_NO_APPROVAL: tuple[type[Ask], ...] = (RunStart, CheckStart, ReviewStart, ReviewSubmit, RunReset, Close, Waive)

for _kind in _NO_PLAN:
    plainly(_kind, "plan.approved-first", World)
for _kind in _NO_APPROVAL:
    plainly(_kind, "plan.approved-first", resealed)
for _kind in (PlanSave, PlanApprove, PlanDeny, CheckEnd, *_NO_APPROVAL):
    plainly(_kind, "plan.closed-final", _closed)


def _beside(state: Callable[[], World]) -> Callable[[], World]:
    def built() -> World:
        world = state()
        world.other_open = "another"
        return world

    return built


plainly(PlanSave, "plan.one-open", _beside(World))
plainly(PlanApprove, "plan.one-open", _beside(drafted))
plainly(RunStart, "plan.one-open", _beside(approved))
plainly(CheckStart, "plan.one-open", _beside(running))
plainly(ReviewStart, "plan.one-open", _beside(shown))
plainly(RunReset, "plan.one-open", _beside(running))


def _loosened(state: Callable[[], World]) -> Callable[[], World]:
    def built() -> World:
        world = state()
        world.policy = Policy(sandbox="off")
        return world

    return built


plainly(RunStart, "policy.unmoved", _loosened(approved))
plainly(CheckStart, "policy.unmoved", _loosened(running))
plainly(ReviewStart, "policy.unmoved", _loosened(shown))
plainly(ReviewSubmit, "policy.unmoved", _loosened(reviewed))
plainly(RunReset, "policy.unmoved", _loosened(running))
plainly(Close, "policy.unmoved", _loosened(all_passed))


@speaks(PlanApprove, "policy.unmoved")
def _caller_loosens() -> Refused:
    world = approved()
    world.policy = Policy(approve="caller")
    return world, lambda: world.approve(MANAGER)


@speaks(PlanSave, "plan.goal-kept")
def _another_goal() -> Refused:
    world = drafted()
    return world, lambda: world.save(ONE, "Something else.")


plainly(PlanSave, "plan.frozen", approved)


@speaks(PlanSave, "plan.bounded")
def _many_features() -> Refused:
    world = World()
    return world, lambda: world.save(plan_of(*(feature(f"f{number}") for number in range(65))))


@speaks(PlanSave, "plan.acyclic")
def _circle() -> Refused:
    world = World()
    return world, lambda: world.save(plan_of(feature("a", "b"), feature("b", "a")))


@speaks(PlanSave, "plan.questions-answered")
def _no_gate() -> Refused:
    world = World()
    return world, lambda: world.save(ONE.model_copy(update={"gate": None}))


@speaks(PlanSave, "plan.commands-whole")
def _swallowing() -> Refused:
    world = World()
    check = feature("a", proof="none").model_copy(update={"checks": (Command(run="pytest || true"),)})
    return world, lambda: world.save(plan_of(check))


@speaks(PlanSave, "plan.gate-whole")
def _selecting() -> Refused:
    world = World()
    gate = GATE.model_copy(update={"run": "pytest -q -k quick"})
    return world, lambda: world.save(ONE.model_copy(update={"gate": gate}))


HIDDEN = (HiddenPath("*.py", "a.py", "it is tracked", present=True),)


@speaks(PlanSave, "plan.artifacts-narrow")
def _hiding() -> Refused:
    world = World(hidden=HIDDEN)
    return world, lambda: world.save(ONE)


@speaks(PlanApprove, "plan.artifacts-narrow")
def _hiding_since() -> Refused:
    world = drafted()
    world.hidden = HIDDEN
    return world, world.approve


@speaks(PlanSave, "plan.losses-carried")
def _continues_nothing() -> Refused:
    world = World()
    return world, lambda: world.save(ONE.model_copy(update={"continues": "nobody"}))


@speaks(PlanApprove, "plan.losses-carried")
def _owed_since() -> Refused:
    world = drafted()
    owes(world, "unit :: keeps")
    return world, world.approve


@speaks(PlanApprove, "approve.exact")
def _changed_since() -> Refused:
    world = drafted()
    shown_digest = world.plan.digest()
    world.save(CHAIN)
    return world, lambda: world.approve(digest=shown_digest)


@speaks(PlanDeny, "approve.exact")
def _denied_since() -> Refused:
    world = drafted()
    shown_digest = world.plan.digest()
    world.save(CHAIN)
    return world, lambda: world.deny(digest=shown_digest)


@speaks(PlanApprove, "plan.questions-answered")
def _caller_answers() -> Refused:
    gate = Gate(run="pytest -q", no_report_because="It prints to a screen.")
    world = World(policy=Policy(approve="caller"))
    world.save(ONE.model_copy(update={"gate": gate}))
    return world, lambda: world.approve(MANAGER)


@speaks(PlanApprove, "approve.caller-bounded")
def _caller_approves() -> Refused:
    world = drafted()
    return world, lambda: world.approve(MANAGER)


@speaks(PlanDeny, "plan.bounded")
def _long_no() -> Refused:
    world = drafted()
    return world, lambda: world.deny(LONG)
