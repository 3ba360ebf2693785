import pytest

from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Gate
from tests.fabricated import CANCELLED, CRASHED, GREEN, RED, Result
from tests.histories import BARE, GATE, ONE, QUIET, all_passed, approved, check_of, running, shown
from tests.simulator import World

MISSING = Result(code=127, reason="missing")
NOT_RUN = Result(code=None, ended="not-run", ineligible="not-run", report=False)
TIMED_OUT = Result(code=None, ended="timed-out", ineligible="timed-out", reason="missing")


def due(world: World) -> str:
    """Give why a baseline is due, or nothing."""
    refused = world.refusal(world.review)
    if refused.rule != "review.baseline-taken":
        return ""
    assert refused.remedy.arguments == {"scope": "baseline", "command": GATE.run}
    return refused.seen


def test_a_review_comes_after_the_baseline() -> None:
    assert due(running()) == "The gate was not observed on the approved source."


@pytest.mark.parametrize("result", [GREEN, RED, CRASHED, TIMED_OUT, MISSING, Result(code=None, ended="signalled")])
def test_what_ended_by_itself_or_timed_out_counts_red_or_not(result: Result) -> None:
    world = running()
    world.check("baseline", result=result)
    assert due(world) == ""


@pytest.mark.parametrize("result", [CANCELLED, NOT_RUN])
def test_what_was_cancelled_or_never_ran_does_not_count(result: Result) -> None:
    world = running()
    world.check("baseline", result=result)
    assert due(world) != ""


def test_what_was_lost_does_not_count() -> None:
    world = running()
    world.begin("baseline")
    world.check_lost = True
    assert due(world) != ""


def test_a_machine_without_a_copy_that_stands_apart_counts_and_says_why() -> None:
    world = running()
    reason = Result(code=None, ended="not-run", ineligible="path-dependent", report=False)
    world.check("baseline", result=reason)
    assert due(world) == ""


def test_a_tool_that_was_missing_and_is_there_later_makes_it_due_again() -> None:
    world = running()
    world.check("baseline", result=MISSING)
    world.check("broad", result=Result(code=1, reason="missing"))
    assert due(world) == "The gate was not observed on the approved source."
    world.check("baseline")
    assert due(world) == ""


def test_a_gate_that_the_work_itself_brings_is_missing_in_the_approved_source_for_good() -> None:
    world = running()
    world.check("baseline", result=MISSING)
    world.show()
    assert due(world) != ""
    world.check("baseline", result=MISSING)
    world.check("broad")
    world.review()
    world.verdict()
    world.close()
    assert _notes(world.document) == ("The baseline has no cases: its report is missing.", "Reviewer: unattested.")


def _notes(document: Document) -> tuple[str, ...]:
    assert document.closure is not None
    return document.closure.notes


def test_where_the_gate_reports_cases_later_and_the_baseline_had_none_it_is_taken_again() -> None:
    world = running()
    world.check("baseline", result=CRASHED)
    world.check("broad", result=Result(code=1, failed=1))
    assert due(world) == "The gate reports cases now and its baseline had none."
    world.check("baseline", result=CRASHED)
    assert due(world) == ""


def test_a_baseline_in_place_has_no_cases() -> None:
    world = running()
    world.check("baseline", result=Result(ineligible="path-dependent"))
    world.check("broad")
    assert due(world) == "The gate reports cases now and its baseline had none."
    world.check("baseline", result=Result(ineligible="path-dependent"))
    assert due(world) == ""


def test_a_baseline_on_another_platform_keeps_nothing_here_and_does_not_count() -> None:
    world = running()
    world.platform = "darwin"
    world.check("baseline")
    world.platform = "linux"
    assert due(world) != ""


def test_a_baseline_before_a_reseal_does_not_count() -> None:
    world = shown()
    world.reseal()
    world.approve()
    world.start()
    assert due(world) != ""


def test_a_baseline_needs_no_run_and_no_private_start() -> None:
    world = approved()
    world.start_present = False
    world.check("baseline")
    assert world.document.baselines[0].source == "s0"


def test_it_is_taken_of_the_approved_source_whatever_the_source_is_now() -> None:
    world = running()
    world.begin("baseline")
    assert world.pending.source == "s0"
    assert world.source == "s1"


@pytest.mark.parametrize(
    ("plan", "results", "note"),
    [
        (BARE, (Result(ineligible="path-dependent"),) * 2, "The baseline has no cases: path-dependent."),
        (QUIET, (Result(passing=()),) * 2, "The baseline has no cases: no case was executed."),
        (QUIET, (CRASHED, GREEN), None),
        (
            ONE.model_copy(update={"gate": Gate(run="pytest -q", no_report_because="It cannot.")}),
            (RED,),
            "The baseline has no cases: the gate writes no report.",
        ),
    ],
)
def test_the_closure_says_why_no_cases_are_kept(plan: object, results: tuple[Result, ...], note: str | None) -> None:
    world = running(plan=plan)  # type: ignore[arg-type]
    world.check("baseline", result=results[0])
    world.show()
    for result in results[1:]:
        world.check("baseline", result=result)
        world.check("broad")
    world.review()
    world.verdict()
    world.close()
    assert [said for said in _notes(world.document) if said.startswith("The baseline")] == ([note] if note else [])


def test_a_goal_is_closed_where_its_baseline_was_taken() -> None:
    world = all_passed()
    world.platform = "darwin"
    assert world.refusal(world.close).rule == "review.baseline-taken"


def test_a_check_of_a_feature_says_nothing_of_the_gate() -> None:
    world = running()
    world.check("baseline", result=CRASHED)
    world.check("focused", check_of("a").run)
    assert due(world) == ""
