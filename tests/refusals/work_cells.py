"""Histories in which runs, checks and resets are refused."""

from collections.abc import Callable

from flow_mcp.domain.commands import CheckEnd, CheckStart, Close, ReviewStart, ReviewSubmit, RunReset, RunStart
from flow_mcp.domain.model import Document, Run, Superseded
from tests.histories import CHAIN, PAIR, approved, check_of, failed, passed, reviewed, running
from tests.refusals.cells import LONG, plainly, speaks
from tests.simulator import BLOCKING, World

Refused = tuple[World, Callable[[], object]]


def _checking() -> World:
    world = running()
    world.begin("broad")
    return world


@speaks(RunStart, "run.one-active")
def _second_run() -> Refused:
    world = running(plan=PAIR)
    return world, lambda: world.start("b")


@speaks(RunStart, "run.not-blocked")
def _beside_a_failed_one() -> Refused:
    world = failed(plan=PAIR)
    return world, lambda: world.start("b")


@speaks(RunStart, "run.feature-startable")
def _too_early() -> Refused:
    world = approved(plan=CHAIN)
    return world, lambda: world.start("b")


def many_runs(document: Document, count: int) -> Document:
    """Give a document with so many runs that came to nothing."""
    gone = Superseded(reason="again", revision=document.revision)
    runs = tuple(
        Run(
            id=f"a.{attempt}",
            feature_id="a",
            attempt=attempt,
            state="superseded",
            started_source="s0",
            started_revision=document.revision,
            superseded=gone,
        )
        for attempt in range(1, count + 1)
    )
    return document.model_copy(update={"runs": runs})


@speaks(RunStart, "plan.bounded")
def _too_many_runs() -> Refused:
    world = approved()
    world.store(many_runs(world.document, 512))
    return world, world.start


for _kind in (CheckStart, RunReset, ReviewStart):
    plainly(_kind, "observe.settled-first", _checking)


@speaks(ReviewSubmit, "observe.settled-first")
def _judged_meanwhile() -> Refused:
    world = reviewed()
    world.begin("baseline")
    return world, world.verdict


@speaks(Close, "observe.settled-first")
def _closed_meanwhile() -> Refused:
    world = _checking()
    return world, world.close


plainly(CheckStart, "observe.active-run", approved)
plainly(CheckStart, "observe.before-review", reviewed)


@speaks(CheckStart, "observe.broad-is-gate")
def _not_the_gate() -> Refused:
    world = running()
    return world, lambda: world.begin("broad", check_of("a").run)


@speaks(CheckStart, "observe.listed-only")
def _not_listed() -> Refused:
    world = running()
    return world, lambda: world.begin("focused", "true")


@speaks(CheckStart, "run.facts-present")
def _fresh_clone() -> Refused:
    world = running()
    world.start_present = False
    return world, lambda: world.begin("broad")


@speaks(CheckStart, "plan.bounded")
def _too_many_observations() -> Refused:
    world = running()
    world.check("broad")
    run = world.document.runs[0]
    seen = tuple(run.observations[0].model_copy(update={"id": f"n{number}"}) for number in range(128))
    world.store(world.document.model_copy(update={"runs": (run.model_copy(update={"observations": seen}),)}))
    return world, lambda: world.begin("broad")


@speaks(CheckEnd, "observe.pending-only")
def _late_news() -> Refused:
    world = _checking()
    return world, lambda: world.end(check_id="check-1")


@speaks(RunReset, "reset.current-run")
def _nothing_to_reset() -> Refused:
    world = approved()
    return world, lambda: world.reset("a")


@speaks(RunReset, "run.one-active")
def _reset_beside() -> Refused:
    world = passed(plan=PAIR)
    world.start("b")
    return world, lambda: world.reset("a", "a")


@speaks(RunReset, "run.not-blocked")
def _reset_another() -> Refused:
    world = passed(plan=PAIR)
    world.start("b")
    world.edit()
    world.show()
    world.review()
    world.verdict("failed", (BLOCKING,))
    return world, lambda: world.reset("a", "a")


@speaks(RunReset, "run.feature-startable")
def _reset_to_nowhere() -> Refused:
    world = running(plan=CHAIN)
    return world, lambda: world.reset("a", "b")


@speaks(RunReset, "plan.bounded")
def _long_reason() -> Refused:
    world = running()
    return world, lambda: world.reset("a", "a", LONG)
