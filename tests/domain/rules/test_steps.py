"""The words of the next step fit the state that they are said in."""

import pytest

from flow_mcp.domain.decision import Step
from flow_mcp.domain.plan import Gate, Plan, Proof
from flow_mcp.domain.view import next_step
from tests.fabricated import CANCELLED, CRASHED, GREEN, RED, Result
from tests.histories import (
    BARE,
    CHAIN,
    ELSEWHERE,
    GATE,
    ONE,
    QUIET,
    all_passed,
    approved,
    check_of,
    failed,
    feature,
    passed,
    plan_of,
    running,
    shown,
)
from tests.simulator import MANAGER, World

A = check_of("a").run
MISSING = Result(code=127, reason="missing")
MISUSED = Result(code=2, reason="missing")
DEFERRING = 'call close with {"kind": "deferred", "summary": "…"} and save a new plan'
GATED = plan_of(
    feature("a", checks=False).model_copy(update={"proof": Proof(kind="command", run=GATE.run)}),
    gate=Gate(run=GATE.run, report=GATE.report),
)


def next_of(world: World) -> Step:
    return next_step(world.document, world.facts(MANAGER), world.book)


def begun(plan: Plan = ONE) -> World:
    """Give a world in which a run has started and nothing has changed yet, its baseline taken."""
    world = approved(plan=plan)
    world.start()
    world.check("baseline")
    return world


def test_before_any_work_the_proof_asks_for_the_work_and_never_for_a_waiver() -> None:
    step = next_of(begun(GATED))
    assert (step.who, step.tool, step.arguments["scope"]) == ("manager", "validate", "proof")
    assert step.say.startswith("Do the work on a, then observe the proof.")
    assert "waive" not in step.say


def test_a_proof_tried_where_nothing_changed_asks_for_the_work_first_and_names_the_waiver_last() -> None:
    world = begun(GATED)
    world.prove("a", Result(code=0, outcome="passed"))
    step = next_of(world)
    assert step.who == "person", "another proof run on this source shows the same: it is not asked for again"
    ways = ("Do the work on a, then observe the proof", "`flow-mcp waive proof a`", '"deferred"', '"kind": "none"')
    at = [step.say.index(way) for way in ways]
    assert at == sorted(at)
    assert at[0] == 0
    world.edit()
    world.check("broad")
    assert next_of(world).arguments["scope"] == "proof"


def test_a_proof_run_that_showed_nothing_where_nothing_changed_is_tried_again() -> None:
    world = begun(GATED)
    world.prove("a", CANCELLED)
    step = next_of(world)
    assert (step.tool, step.arguments["scope"]) == ("validate", "proof")
    assert step.say.endswith("Where nothing has to change, a person waives it: `flow-mcp waive proof a`.")


def test_a_second_feature_is_worked_on_before_its_proof_is_tried() -> None:
    world = passed(plan=CHAIN)
    world.start("b")
    world.check("focused", check_of("b").run)
    assert next_of(world).say.startswith("Do the work on b, then observe the proof.")


def test_a_proof_that_was_not_tried_on_the_changed_source_is_only_observed() -> None:
    world = running(plan=GATED)
    world.check("baseline")
    world.check("broad")
    step = next_of(world)
    assert (step.tool, "waive" in step.say) == ("validate", False)
    assert step.say.startswith("Observe the proof")


def proving(result: Result) -> Step:
    world = running(plan=GATED)
    world.check("baseline")
    world.check("broad")
    world.prove("a", result)
    return next_of(world)


def test_a_waiver_is_offered_once_the_proof_showed_nothing_on_the_changed_source() -> None:
    step = proving(Result(code=0, outcome="passed"))
    assert step.who == "person"
    assert step.say.startswith("Running it again on this source shows the same.")
    assert "or a person waives it: `flow-mcp waive proof a`. Or call close with" in step.say


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (CANCELLED, "It was cancelled: observe it again."),
        (Result(code=None, ended="signalled"), "Observe it again."),
        (Result(code=None, outcome="timed-out"), "Observe it again."),
        (Result(code=1, ineligible="path-dependent"), "Observe it again."),
    ],
)
def test_a_proof_that_may_come_out_otherwise_is_observed_again(result: Result, words: str) -> None:
    step = proving(result)
    assert step.tool == "validate"
    assert step.say.startswith(words)


@pytest.mark.parametrize("result", [Result(code=2, outcome="usage"), Result(code=127, outcome="missing-tool")])
def test_a_proof_that_never_came_to_judge_names_the_plan_that_is_wrong(result: Result) -> None:
    step = proving(result)
    assert step.who == "person"
    assert DEFERRING in step.say
    assert "`flow-mcp waive proof a`" in step.say


def test_a_check_asks_for_the_work_while_nothing_of_it_was_seen() -> None:
    world = begun()
    assert next_of(world).say == "Do the work on a, then observe this check."
    world.edit()
    assert next_of(world).say == "Do the work on a, then observe this check."
    world.check("focused", A, RED)
    assert next_of(world).say == "Mend it, then observe it again."
    world.edit()
    assert next_of(world).say == "The source changed since: observe it again."


def test_a_check_that_is_red_before_the_work_asks_for_the_work() -> None:
    world = begun()
    world.check("focused", A, RED)
    assert next_of(world).say == "Do the work on a, then observe this check."


def test_a_green_check_whose_source_moved_is_observed_again() -> None:
    world = shown()
    world.edit()
    assert next_of(world).say == "The source changed since: observe it again."
    early = begun()
    early.check("focused", A)
    early.edit()
    assert next_of(early).say == "The source changed since: observe it again."


def test_a_check_without_an_end_says_so() -> None:
    world = running()
    world.check("baseline")
    world.check("focused", A, CANCELLED)
    assert next_of(world).say == "It was cancelled: observe it again."
    world.begin("focused", A)
    world.check_lost = True
    assert next_of(world).say == "Its runner was lost: observe it again."


def test_a_check_that_was_never_seen_is_only_observed_once_work_was() -> None:
    world = running()
    world.check("baseline")
    world.check("broad")
    assert next_of(world).say == "Observe this check."


def test_a_gate_that_was_cancelled_is_observed_again() -> None:
    world = running()
    world.check("baseline", result=CANCELLED)
    assert next_of(world).say == "It was cancelled: observe the gate on the approved source again; red is fine."
    world.check("baseline")
    world.check("focused", A)
    world.check("broad", result=CANCELLED)
    assert next_of(world).say == "It was cancelled: observe it again."


def test_work_of_an_earlier_attempt_is_work() -> None:
    world = shown()
    world.reset("a", "a")
    world.edit()
    assert next_of(world).say == "The source changed since: observe it again."


@pytest.mark.parametrize(("result", "why"), [(MISSING, "could not start (exit code 127)"), (MISUSED, "exit code 2")])
def test_a_command_that_never_came_to_judge_names_the_plan_that_is_wrong(result: Result, why: str) -> None:
    for scope, what in (("baseline", "on the approved source"), ("broad", "pytest -q")):
        world = running(plan=BARE)
        world.check("baseline", result=result if scope == "baseline" else GREEN)
        if scope == "broad":
            world.check("broad", result=result)
        step = next_of(world)
        assert step.tool == "validate"
        for words in (why, what, DEFERRING):
            assert words in step.say


def test_a_baseline_without_its_tool_is_told_beside_the_check_of_a_feature_and_before_a_run() -> None:
    world = approved()
    world.check("baseline", result=MISSING)
    assert next_of(world).tool == "run_start"
    assert DEFERRING in next_of(world).say
    world.start()
    assert next_of(world).say.startswith("Do the work on a, then observe this check.")
    assert DEFERRING in next_of(world).say
    assert "review.checks-passed" in world.refusal(world.review).rule


def test_a_gate_that_could_not_start_is_told_at_every_rule_that_asks_for_it() -> None:
    world = running(plan=QUIET)
    world.check("baseline")
    world.check("focused", A)
    world.check("broad", result=MISSING)
    assert world.refusal(world.review).rule == "review.veto-clear"
    assert DEFERRING in next_of(world).say
    there = all_passed(plan=ELSEWHERE)
    there.external(MISSING)
    assert DEFERRING in there.refusal(there.close).remedy.say


@pytest.mark.parametrize("result", [RED, GREEN, CANCELLED, Result(code=2, failed=1)])
def test_a_command_that_judged_says_nothing_of_the_plan(result: Result) -> None:
    world = running()
    world.check("baseline")
    world.check("focused", A, result)
    assert "deferred" not in next_of(world).say


def test_a_check_that_could_not_start_is_seen_so() -> None:
    world = running()
    world.check("baseline")
    world.check("focused", A, MISSING)
    assert world.refusal(world.review).seen == f"{A!r} did not pass: it could not start (exit code 127)."


def test_a_crash_without_a_report_is_seen_as_what_it_looks_like() -> None:
    world = running()
    world.check("baseline")
    world.check("focused", A, CRASHED)
    assert "exit code 2" in world.refusal(world.review).seen


def test_after_a_failed_review_the_findings_are_the_next_step() -> None:
    world = failed()
    world.reset("a", "a")
    step = next_of(world)
    assert step.tool == "validate"
    assert step.say.startswith("Do the work on a: answer a.R12-01 (It is wrong.), then observe this check.")
    assert "begin the review" not in step.say.partition("Where a finding")[0]
    world.edit()
    world.check("focused", A)
    world.check("broad")
    world.prove("a")
    step = next_of(world)
    assert step.tool == "review_start"
    assert "a.R12-01 (It is wrong.)" in step.say


def test_a_frozen_file_that_differs_is_told_long_before_the_final_review() -> None:
    world = begun(CHAIN)
    world.protected["tests/test_kept.py"] = "sha256:weaker"
    say = next_of(world).say
    assert say.startswith("Do the work on a")
    assert "tests/test_kept.py" in say
    for words in ("Restore", "flow-mcp waive path", '"deferred"', "targets"):
        assert words in say
    world.protected["tests/test_kept.py"] = "sha256:kept"
    assert "tests/test_kept.py" not in next_of(world).say


def test_a_changed_frozen_file_names_the_three_ways_out_once() -> None:
    world = shown()
    world.protected["tests/test_kept.py"] = "sha256:weaker"
    step = next_of(world)
    assert step.who == "person"
    assert step.say.count("tests/test_kept.py") == 3
    for words in ("Restore", "`flow-mcp waive path tests/test_kept.py`", '"deferred"', "targets"):
        assert words in step.say


def test_a_goal_whose_source_moved_after_its_last_review_names_undoing_too() -> None:
    world = all_passed()
    world.edit()
    step = next_of(world)
    assert step.tool == "run_reset"
    assert step.say.startswith("Undo what changed since that review, or reset")
