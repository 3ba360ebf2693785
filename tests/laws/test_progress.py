"""What was done as it was told is not told again: each accepted step leads on."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.commands import KINDS, Ask
from flow_mcp.domain.decision import Step
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine import core
from flow_mcp.engine.core import Done
from flow_mcp.engine.gather import gather as gathered
from tests.engine.place import FILES, GATE, PERSON, Place, approval_of
from tests.fabricated import RED, Result
from tests.histories import BARE, CHAIN, approved, failed, running, shown
from tests.laws.follower import WORK, perform, told
from tests.refusals.cells import CELLS
from tests.refusals.test_refusals import REGISTERED
from tests.simulator import No, World

assert REGISTERED


def call_of(step: Step) -> tuple[str, str | None, dict[str, object]]:
    """Give what a step asks for, without its words."""
    return step.who, step.tool, dict(step.arguments)


def leads_on(world: World, step: Step) -> bool:
    """Do a step; say whether what is told next is something else."""
    works = step.say.startswith(WORK)
    return not perform(world, step) or works or call_of(told(world)) != call_of(step)


@pytest.mark.parametrize(("kind", "rule_id"), list(CELLS), ids=[f"{KINDS[kind]}-{rule}" for kind, rule in CELLS])
def test_a_remedy_that_was_accepted_is_not_named_again(kind: type[Ask], rule_id: str) -> None:
    world, act = CELLS[kind, rule_id]()
    remedy = world.refusal(act).remedy
    with suppress(No):  # a remedy that is refused names another one (test_remedies.py)
        assert leads_on(world, remedy), remedy


def lost(state: Callable[[], World], *, start: bool) -> World:
    """Give a world whose private folder is gone; the source that a run started from may still be the source."""
    world = state()
    world.copy_present, world.start_present = False, start
    return world


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("state", [approved, running, shown, failed])
def test_after_a_lost_private_folder_no_step_is_told_twice(state: Callable[[], World], *, start: bool) -> None:
    world = lost(state, start=start)
    for _ in range(12):
        assert leads_on(world, told(world)), told(world)


@pytest.mark.parametrize("result", [RED, Result(code=127, reason="missing"), Result(code=2, reason="missing")])
@pytest.mark.parametrize("plan", [BARE, CHAIN])
def test_a_command_that_stays_bad_asks_for_work_or_for_a_person(plan: object, result: Result) -> None:
    world = running(plan=plan)  # type: ignore[arg-type]
    world.check("baseline")
    for _ in range(6):
        step = told(world)
        assert step.tool == "validate"
        scope = step.arguments["scope"]
        world.check(scope, str(step.arguments["command"]), result)  # type: ignore[arg-type]
        again = told(world)
        assert call_of(again) != call_of(step) or again.say.startswith(WORK), again


def without_git(root: Path) -> Place:
    """Give a workspace that is no repository, with an approved plan and a run under way."""
    place = Place(root)
    for name, text in FILES.items():
        place.write(name, text)
    (root / "run.sh").chmod(0o755)
    place.approved()
    place.done(c.RunStart())
    return place


def followed(place: Place, step: Step) -> Done:
    """Do what a step says, as it is said."""
    if step.tool == "run_reset":
        return place.done(c.RunReset.model_validate({**step.arguments, "reason": "as told"}))
    assert step.tool == "plan_approve", step
    return place.done(approval_of(place.state()), PERSON)


@pytest.mark.parametrize("worked", [True, False])
def test_a_deleted_private_folder_leads_straight_back_to_the_work(tmp_path: Path, *, worked: bool) -> None:
    root = tmp_path / "place"
    root.mkdir()
    before = without_git(root)
    if worked:
        before.work()
    shutil.rmtree(root / ".flow")
    place = Place(root)
    steps = [place.state().step]
    while steps[-1].tool in {"run_reset", "plan_approve"}:
        done = followed(place, steps[-1])
        assert call_of(done.step) == call_of(place.state().step), "the answer names what status names"
        assert call_of(done.step) != call_of(steps[-1])
        steps.append(done.step)
        assert len(steps) < 4
    assert call_of(steps[-1]) == ("manager", "validate", {"scope": "baseline", "command": GATE.run})


def test_a_source_that_cannot_be_read_after_the_mutation_leaves_the_mutation_standing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "place"
    root.mkdir()
    without_git(root).work()
    shutil.rmtree(root / ".flow")
    place, gone = Place(root), BrokenWorld("It went away.", "Try again.")

    looks: list[object] = []

    def gather(*given: object, **more: object) -> object:
        looks.append(given)
        if len(looks) > 1:
            raise gone
        return gathered(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(core, "gather", gather)
    done = place.done(c.RunReset(feature_id="bye", reason="lost", next_feature_id="bye"))
    assert [run.id for run in done.document.runs] == ["bye.1", "bye.2"]
    assert done.step.tool == "run_reset"
    monkeypatch.undo()
    assert place.state().step.tool == "plan_approve"
