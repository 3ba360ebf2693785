"""Everything that may happen to a goal, honest or not, as moves with a number to choose by."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from flow_mcp.domain.commands import NewFinding
from flow_mcp.domain.decision import HiddenPath, OutwardLink
from flow_mcp.domain.history import active_run, carried_findings
from flow_mcp.domain.model import Actor, Scope
from flow_mcp.domain.plan import DroppedCase, Platform, Requirement
from flow_mcp.domain.policy import Policy
from tests.fabricated import CANCELLED, CRASHED, GREEN, RED, Result
from tests.histories import BARE, CHAIN, ELSEWHERE, GATE, ONE, PAIR, QUIET, check_of, external, feature, owes, plan_of
from tests.simulator import ADVISORY, ATTESTED, BLOCKING, MANAGER, PERSON, REVIEWER, TERMINAL, World

T = TypeVar("T")

REQUIREMENTS = (Requirement(id="r", text="It works there."),)
BY_CASE = plan_of(feature("a", proof="works"), feature("b", "a", proof="none"))
ANYWHERE = PAIR.model_copy(
    update={
        "requirements": REQUIREMENTS,
        "external_evidence": (
            external("any", run=GATE.run).model_copy(update={"command": GATE.as_command()}),
            external("darwin", "works"),
        ),
    }
)
DROPPING = ONE.model_copy(update={"dropped_cases": (DroppedCase(case="keeps", because="It tests nothing."),)})
PLANS = (ONE, CHAIN, PAIR, QUIET, BARE, ELSEWHERE, BY_CASE, ANYWHERE, DROPPING)
SUITES = (
    ("unit :: keeps", "unit :: works"),
    ("unit :: works",),
    ("unit :: keeps", "unit :: works", "unit :: more"),
    (),
)
RESULTS = (
    GREEN,
    GREEN,
    GREEN,
    RED,
    CRASHED,
    CANCELLED,
    Result(code=127, reason="missing"),
    Result(code=1, outcome="passed"),
    Result(code=1, outcome="uncollected", control="ended"),
    Result(code=1, outcome="uncollected", tests_changed=False),
    Result(complete=False, ineligible="output-incomplete"),
    Result(ineligible="source-drift"),
    Result(ineligible="path-dependent"),
    Result(code=None, ended="not-run", ineligible="not-run", report=False),
    Result(code=None, host_success=True),
    Result(passing=()),
)
PLATFORMS: tuple[Platform, ...] = ("linux", "linux", "darwin", "other")
POLICIES = (
    Policy(),
    Policy(),
    Policy(sandbox="off"),
    Policy(approve="caller"),
    Policy(unverified="refuse"),
    Policy(reviewer="attested"),
    Policy(approve="caller", caller_scope="trusted"),
)
ACTORS: tuple[Actor, ...] = (
    PERSON,
    PERSON,
    REVIEWER,
    TERMINAL,
    MANAGER,
    ATTESTED,
    Actor(role="manager", host="host"),
    Actor(role="reviewer", host="host", agent="flow-reviewer-2"),
)
SCOPES: tuple[Scope, ...] = ("focused", "broad", "baseline", "proof", "external")
COMMANDS = (GATE.run, check_of("a").run, check_of("b").run, "pytest e2e", "true")
CLOSINGS = ("completed", "completed", "completed", "accepted", "deferred", "abandoned")

Move = Callable[[World, int], object]


def pick(choices: Sequence[T], number: int) -> T:
    """Choose by a number of any size."""
    return choices[number % len(choices)]


def _begin(world: World, number: int) -> object:
    scope, rest = pick(SCOPES, number), number // len(SCOPES)
    run = pick(COMMANDS, rest) if scope in {"focused", "proof", "external"} else None
    name = pick(("a", "b"), rest)
    return world.begin(scope, run, feature=name, requirement="r")


def _check(world: World, number: int) -> object:
    _begin(world, number)
    return world.end(pick(RESULTS, number // 7))


def _judge(world: World, number: int) -> object:
    run, actor = active_run(world.document), pick(ACTORS, number)
    live = (
        () if run is None or run.review is None else carried_findings(world.document, run.feature_id, run.review.kind)
    )
    carried = tuple(
        NewFinding(severity="blocking", summary=one.summary, evidence="still there", finding_id=one.id) for one in live
    )
    match number // len(ACTORS) % 4:
        case 0:
            return world.verdict("failed", (*carried, BLOCKING), actor)
        case 1:
            return world.verdict("passed", (ADVISORY,), actor)
        case 2:
            return world.verdict("failed", (BLOCKING.model_copy(update={"scope_blocker": True}),), actor)
        case _:
            return world.verdict(actor=actor)


def _show_badly(world: World, number: int) -> None:
    """Observe what a review asks for, and let one of it end otherwise, or leave it out."""
    if active_run(world.document) is None:
        return
    wanted = world.wanted()
    for index, (scope, what) in enumerate(wanted):
        if index != number % len(wanted):
            world.observe(scope, what)
        elif number % 3:
            world.observe(scope, what, pick(RESULTS, number // 3))


def _finish_badly(world: World, number: int) -> None:
    world.start()
    world.edit()
    _show_badly(world, number)
    world.review()
    world.verdict()


def _waive(world: World, number: int) -> object:
    kind, value = pick((("case", "keeps"), ("proof", "a"), ("path", "tests/test_kept.py"), ("path", "x.cfg")), number)
    return world.waive(kind, value, pick(ACTORS, number // 4))


def _back(world: World, number: int) -> None:
    world.source = f"s{number % (world.edits + 1)}"


def _lose(world: World, number: int) -> None:
    world.copy_present, world.start_present = number % 3 != 0, number % 3 != 1


def _protect(world: World, number: int) -> None:
    world.protected = {"tests/test_kept.py": f"sha256:{number % 3}"} if number % 4 else {}
    world.configuration = {"x.cfg": "sha256:x"} if number % 5 == 0 else {}


def _owe(world: World, number: int) -> None:
    if not world.owed:
        owes(world, "unit :: old", run=pick(COMMANDS, number), protected=("sha256:kept tests/test_kept.py",))


def _hide(world: World, number: int) -> None:
    world.hidden = (HiddenPath("*.py", "a.py", "it is tracked", present=True),) if number % 2 else ()


def _link(world: World, number: int) -> None:
    world.outward = (OutwardLink("a.py", "/elsewhere"),) if number % 2 else ()


def _set(name: str, choices: Sequence[object]) -> Move:
    return lambda world, number: setattr(world, name, pick(choices, number))


MOVES: dict[str, Move] = {
    "save": lambda world, number: world.save(pick(PLANS, number)),
    "approve": lambda world, number: world.approve(pick(ACTORS, number)),
    "deny": lambda world, _: world.deny(),
    "start": lambda world, number: world.start(pick((None, "a", "b"), number)),
    "finish": lambda world, number: world.finish(pick((None, "a", "b"), number)),
    "show": lambda world, _: world.show() if active_run(world.document) else None,
    "show badly": _show_badly,
    "finish badly": _finish_badly,
    "edit": lambda world, _: world.edit(),
    "back": _back,
    "begin": _begin,
    "check": _check,
    "check again": _check,
    "end": lambda world, number: world.end(pick(RESULTS, number)) if world.document.plan else None,
    "lost": _set("check_lost", (True, False)),
    "review": lambda world, _: world.review(),
    "judge": _judge,
    "reset": lambda world, number: world.reset(pick(("a", "b"), number), pick((None, "a", "b"), number // 2)),
    "waive": _waive,
    "close": lambda world, number: world.close(pick(CLOSINGS, number), pick(ACTORS, number // 6)),
    "reseal": lambda world, number: world.reseal(pick(ACTORS, number)),
    "policy": _set("policy", POLICIES),
    "platform": _set("platform", PLATFORMS),
    "suite": _set("suite", SUITES),
    "lose": _lose,
    "protect": _protect,
    "owe": _owe,
    "hide": _hide,
    "link": _link,
    "beside": _set("other_open", (None, "another")),
    "blind": _set("blind", (False, True)),
}
