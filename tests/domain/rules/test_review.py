"""What stands before a review: checks, vetoes, kept cases, and the finals' own."""

import pytest

from flow_mcp.domain.plan import Requirement
from flow_mcp.domain.report_words import REASONS
from tests.fabricated import CANCELLED, CRASHED, RED, Result
from tests.histories import (
    BARE,
    CHAIN,
    GATE,
    ONE,
    PAIR,
    QUIET,
    all_passed,
    check_of,
    external,
    feature,
    passed,
    plan_of,
    reviewed,
    running,
    shown,
)
from tests.proofs.review_proofs import QUIET_PAIR
from tests.simulator import World

A = check_of("a").run


def stands(world: World) -> tuple[str, str]:
    refused = world.refusal(world.review)
    return refused.rule, refused.seen


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (RED, "exit code 1"),
        (Result(ineligible="output-incomplete", complete=False), "output-incomplete"),
        (
            Result(reason="stale"),
            f"its report .flow/reports/a.xml is stale: {REASONS['stale']}",
        ),
        (Result(failed=2), "its report shows 2 failed, though the exit code is 0"),
        (Result(code=3), "exit code 3, though its report shows no failure"),
        (Result(passing=()), "no case was executed"),
    ],
)
def test_a_check_that_did_not_pass_says_why(result: Result, why: str) -> None:
    world = running()
    world.check("baseline")
    world.check("focused", A, result)
    assert stands(world) == ("review.checks-passed", f"{A!r} did not pass: {why}.")


def test_a_check_on_another_source_does_not_count() -> None:
    world = shown()
    world.edit()
    assert stands(world) == ("review.checks-passed", f"{A!r} passed on another source than the current one.")


@pytest.mark.parametrize("order", ["baseline alone", "broad before", "broad after"])
def test_a_baseline_is_no_broad_observation_whenever_it_is_taken(order: str) -> None:
    world = running(plan=QUIET)
    world.source = "s0"
    if order == "broad before":
        world.check("broad", result=CANCELLED)
    world.check("baseline")
    world.check("focused", A)
    if order == "broad after":
        world.check("broad", result=CANCELLED)
        world.check("baseline")
    assert stands(world) == ("review.final-checks", "The gate was not observed with scope broad on current source.")


def test_a_baseline_after_the_gate_is_its_last_word_and_says_so() -> None:
    world = running(plan=BARE)
    world.edit()
    world.check("broad")
    world.check("baseline")
    refused = world.refusal(world.review)
    assert (refused.rule, refused.seen) == (
        "review.checks-passed",
        f"{GATE.run!r} was last observed on the approved source, as the baseline.",
    )
    assert refused.remedy.say == "Observe it on current source."
    world.check("broad")
    world.review()
    world.verdict()
    world.check("baseline")
    assert world.refusal(world.close).rule == "review.final-checks"


def test_a_feature_without_checks_is_spoken_for_by_the_gate() -> None:
    world = running(plan=BARE)
    world.check("baseline")
    refused = world.refusal(world.review)
    assert refused.rule == "review.checks-passed"
    assert refused.seen == f"{GATE.run!r} was last observed on the approved source, as the baseline."
    assert refused.remedy.arguments == {"scope": "broad", "command": GATE.run}


def test_a_cancelled_check_stands_until_the_same_bytes_pass_on_current_source() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("broad", result=CANCELLED)
    world.check("focused", A)
    assert stands(world)[0] == "review.veto-clear"
    world.check("broad")
    world.review()


def test_a_failure_in_an_earlier_run_stands_too() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("broad", result=CRASHED)
    world.reset("a", "a")
    world.check("focused", A)
    assert stands(world) == (
        "review.veto-clear",
        f"A failure of {GATE.run!r} stands: no later observation of it passes on current source.",
    )
    world.edit()
    world.check("focused", A)
    assert stands(world)[0] == "review.veto-clear"


def test_a_pass_before_the_failure_or_of_another_source_clears_nothing() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("broad")
    world.check("broad", result=CRASHED)
    world.check("focused", A)
    assert stands(world)[0] == "review.veto-clear"
    world.check("broad")
    world.edit()
    world.check("focused", A)
    assert stands(world)[0] == "review.veto-clear"


def test_a_failed_check_of_another_feature_is_a_veto_at_the_final_review_alone() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("focused", check_of("b").run, RED)
    world.check("focused", A)
    world.review()
    world.verdict()
    world.start("b")
    world.check("focused", check_of("b").run)
    world.check("broad")
    world.check("focused", A, RED)
    assert stands(world)[0] == "review.veto-clear"


NEW_FAILS = Result(code=1, failed=1, passing=("unit :: keeps", "unit :: works"))


def test_a_gate_that_is_red_only_where_nothing_ever_passed_is_forgiven_at_a_feature_review() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline", result=NEW_FAILS)
    world.check("focused", A)
    world.check("broad", result=NEW_FAILS)
    world.review()


@pytest.mark.parametrize(
    "result",
    [
        Result(code=1, failed=1, passing=("unit :: works",)),
        Result(code=1, reason="missing"),
        Result(code=1, report=False),
        Result(code=1, failed=1, ineligible="source-drift"),
    ],
)
def test_a_gate_is_not_forgiven_where_a_kept_case_is_lost_or_unseen(result: Result) -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("focused", A)
    world.check("broad", result=result)
    assert stands(world)[0] == "review.veto-clear"


def test_a_gate_is_not_forgiven_by_a_report_on_another_source_nor_at_the_final_review() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("broad", result=NEW_FAILS)
    world.edit()
    world.check("focused", A)
    assert stands(world)[0] == "review.veto-clear"
    alone = running(plan=QUIET)
    alone.check("baseline")
    alone.check("focused", A)
    alone.check("broad", result=NEW_FAILS)
    assert stands(alone)[0] == "review.veto-clear"


def test_a_check_is_never_forgiven() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("focused", A, NEW_FAILS)
    assert stands(world)[0] == "review.checks-passed"


def test_the_final_review_needs_every_check_of_every_feature_on_current_source() -> None:
    world = passed(plan=QUIET_PAIR)
    world.start("b")
    world.edit()
    world.check("focused", check_of("b").run)
    world.check("broad")
    assert stands(world) == ("review.cases-kept", f"{A!r} passed cases before and has no report on current source.")
    world.check("focused", A, Result(code=0, ineligible="exit-code-unavailable"))
    assert stands(world)[0] == "review.veto-clear"
    world.check("focused", A)
    world.review()


def test_the_gate_is_seen_broad_on_this_platform() -> None:
    world = running(plan=QUIET)
    world.check("baseline")
    world.check("focused", A)
    world.platform = "darwin"
    world.check("broad")
    world.platform = "linux"
    world.check("focused", GATE.run)
    assert stands(world)[1] == "The gate was not observed with scope broad on current source."
    world.check("broad")
    world.review()


def test_at_a_feature_review_a_lost_case_counts_as_far_as_it_is_known() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("focused", A)
    assert world.clone().review() is not None
    world.check("broad", result=Result(passing=("unit :: works",)))
    assert stands(world)[0] == "review.cases-kept"


def test_a_lost_case_is_not_looked_for_on_one_source_again_and_again() -> None:
    gone = Result(passing=("unit :: works",))
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.check("focused", A)
    world.check("broad", result=gone)
    first = world.refusal(world.review).remedy
    assert (first.tool, first.arguments["scope"]) == ("validate", "broad")
    world.check("broad", result=gone)
    second = world.refusal(world.review).remedy
    assert second.who == "person"
    for way in ("Bring them back", "`flow-mcp waive case 'unit :: keeps'`", '"deferred"', "dropped_cases"):
        assert way in second.say
    moved = world.clone()
    moved.edit()
    moved.check("focused", A)
    moved.check("broad", result=gone)
    assert moved.refusal(moved.review).remedy.tool == "validate"
    world.waive("case", "unit :: keeps")
    world.review()


def test_at_the_final_review_every_kept_case_is_seen() -> None:
    world = running(plan=QUIET)
    world.check("baseline")
    world.check("focused", A)
    world.check("baseline")
    assert stands(world) == (
        "review.cases-kept",
        f"{GATE.run!r} passed cases before and has no report on current source.",
    )


def test_a_review_that_passed_adds_to_what_is_kept() -> None:
    world = running(plan=QUIET_PAIR)
    world.check("baseline")
    world.suite = (*world.suite, "unit :: new")
    world.show()
    world.review()
    world.verdict()
    world.suite = ("unit :: keeps", "unit :: works")
    world.start("b")
    world.check("focused", check_of("b").run)
    world.check("broad")
    assert "unit :: new" in stands(world)[1]


def test_a_second_assignment_is_refused_with_the_first() -> None:
    world = reviewed()
    refused = world.refusal(world.review)
    assert refused.seen == "Run a.1 has its assignment review-12 already."
    assert (refused.remedy.who, refused.remedy.arguments) == ("reviewer", {"assignment_id": "review-12"})


def test_without_a_run_there_is_nothing_to_review() -> None:
    assert all_passed().refusal(all_passed().review).remedy.tool == "status"
    world = passed(plan=CHAIN)
    assert world.refusal(world.review).remedy.arguments == {"feature_id": "b"}


def test_at_a_closing_a_check_that_no_longer_passes_takes_a_new_run_of_its_feature() -> None:
    requirement = Requirement(id="r", text="It works anywhere.")
    entry = external("any", run=A).model_copy(update={"command": check_of("a")})
    pair = PAIR.model_copy(update={"requirements": (requirement,), "external_evidence": (entry,)})
    world = all_passed(plan=pair)
    world.external(RED)
    refused = world.refusal(world.close)
    assert refused.rule == "review.final-checks"
    assert refused.remedy.arguments == {"feature_id": "a", "next_feature_id": "a"}


def test_a_rule_of_reviews_is_silent_on_every_other_request() -> None:
    world = running(plan=plan_of(feature("a", proof="none")))
    world.check("broad", result=CRASHED)
    world.reset("a", "a")
    world.close("deferred")


def test_what_a_review_rests_on_is_named_in_its_assignment() -> None:
    world = shown(plan=ONE)
    world.review("Done.", ("It may be slow.",))
    review = world.document.runs[0].review
    assert review is not None
    assert review.observations == ("o7", "o9", "o11")
    assert (review.risks, review.changed_paths, review.outside_targets) == (("It may be slow.",), ("a.py",), ())


def test_paths_outside_of_the_targets_are_marked() -> None:
    world = shown()
    world.outside = ("other.py",)
    assert world.review().answer["outside_targets"] == ["other.py"]
