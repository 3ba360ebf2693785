"""How a goal ends, and what a reseal leaves of it."""

import re

import pytest

from flow_mcp.domain.model import Closure
from flow_mcp.domain.plan import Gate
from flow_mcp.domain.policy import Policy
from tests.fabricated import CANCELLED, RED, Result
from tests.histories import (
    CHAIN,
    ELSEWHERE,
    GATE,
    ONE,
    PAIR,
    all_passed,
    approved,
    check_of,
    closed,
    drafted,
    passed,
    resealed,
    reviewed,
    running,
    shown,
)
from tests.simulator import ATTESTED, MANAGER, PERSON, TERMINAL, World


def closure_of(world: World) -> Closure:
    assert world.document.closure is not None
    return world.document.closure


def test_a_goal_with_everything_shown_is_completed_and_says_so() -> None:
    world = all_passed()
    answer = world.close().answer
    closure = closure_of(world)
    assert (closure.kind, closure.by, closure.source, closure.platform) == ("completed", "caller", "s1", "linux")
    assert (closure.open_rules, closure.waivers, closure.notes) == ((), (), ("Reviewer: unattested.",))
    assert answer == {"closure": closure.as_json()}


def test_a_goal_is_completed_by_whoever_asks_and_accepted_by_a_person_alone() -> None:
    world = all_passed()
    assert world.refusal(lambda: world.close("accepted", MANAGER)).rule == "close.accepted-by-person"
    world.close("completed", PERSON)
    assert closure_of(world).by == "person"


def test_a_waiver_makes_the_closing_a_completion_with_waivers() -> None:
    world = running()
    world.check("baseline")
    world.suite = ("unit :: works",)
    world.show()
    world.waive("case", "unit :: keeps", because="It tested\nnothing.")
    world.review()
    world.verdict()
    world.close()
    assert closure_of(world).kind == "completed-with-waivers"
    assert closure_of(world).waivers == ("case unit :: keeps: It tested nothing.",)


def test_a_waiver_from_before_a_reseal_counts_for_nothing() -> None:
    world = running()
    world.waive("proof", "a")
    world.reseal()
    world.approve()
    world.finish()
    world.close()
    assert (closure_of(world).kind, closure_of(world).waivers) == ("completed", ())


def accepted(world: World) -> tuple[str, ...]:
    world.close("accepted", PERSON)
    assert closure_of(world).kind == "accepted"
    return closure_of(world).open_rules


def test_accepting_records_every_rule_that_stood_open() -> None:
    assert accepted(drafted()) == (
        "plan.approved-first",
        "close.every-feature-passed",
        "close.source-unmoved",
        "review.baseline-taken",
        "review.final-checks",
        "review.proof-shown",
    )
    assert accepted(all_passed()) == ()
    world = all_passed(plan=ELSEWHERE)
    world.external(RED)
    assert accepted(world) == ("review.final-external",)


def test_accepting_records_what_policy_and_a_running_check_would_have_said() -> None:
    world = all_passed()
    world.policy = Policy(sandbox="off")
    assert accepted(world) == ("policy.unmoved",)
    busy = all_passed()
    busy.begin("baseline")
    rules = accepted(busy)
    assert rules == ("observe.settled-first",)
    assert busy.document.baselines[-1].ineligible == "cancelled"


def test_accepting_with_a_moved_source_says_so() -> None:
    world = all_passed()
    world.edit()
    assert accepted(world)[0] == "close.source-unmoved"
    world = all_passed()
    world.edit()
    refused = world.refusal(lambda: world.close("completed"))
    assert re.fullmatch(r"The source moved after the final review review-\d+: a\.py\.", refused.seen)


@pytest.mark.parametrize("kind", ["deferred", "abandoned"])
def test_leaving_needs_no_source(kind: str) -> None:
    world = running()
    world.blind = True
    world.close(kind)
    assert (closure_of(world).kind, closure_of(world).source, closure_of(world).by) == (kind, None, "caller")
    assert closure_of(world).open_rules == ()
    assert world.document.runs[0].superseded is not None


def test_leaving_keeps_what_has_passed() -> None:
    world = passed(plan=PAIR)
    world.start("b")
    world.close("deferred")
    assert [run.state for run in world.document.runs] == ["passed", "superseded"]


def notes(world: World) -> tuple[str, ...]:
    world.close("deferred", PERSON)
    return closure_of(world).notes


def test_the_closure_tells_weaker_evidence() -> None:
    assert notes(drafted()) == ("No approval was in force.",)
    world = drafted()
    world.policy = Policy(approve="caller")
    world.approve(MANAGER)
    assert notes(world) == ("No person approved this plan: caller-declared.",)
    world = drafted()
    world.approve(TERMINAL)
    assert notes(world) == ("Approved through terminal-unverified.",)
    assert notes(reviewed()) == ()
    world = reviewed()
    world.verdict(actor=ATTESTED)
    assert notes(world) == ()
    world = reviewed()
    world.verdict(actor=TERMINAL)
    assert notes(world) == ("Judged by a person through terminal-unverified.",)


def test_the_closure_tells_of_a_gate_without_report_and_of_a_narrow_one() -> None:
    bare = Gate(run="pytest -q", no_report_because="It prints.", narrowed_because="The rest is slow.")
    assert notes(approved(plan=ONE.model_copy(update={"gate": bare}))) == (
        "The gate writes no report: It prints.",
        "The gate is narrowed: The rest is slow.",
    )


def test_the_closure_tells_of_commands_without_containment() -> None:
    world = running()
    world.begin("broad")
    world.check_lost = True
    world.begin("broad")
    assert notes(world.clone()) == ()
    world.check_lost = False
    world.end(Result(contained=False))
    assert notes(world) == ("Commands ran without containment.",)


def test_an_external_that_was_met_and_fails_later_stops_the_closing() -> None:
    world = all_passed(plan=ELSEWHERE)
    world.external(RED)
    refused = world.refusal(world.close)
    assert "was revoked by a later failure" in refused.seen
    world.external()
    world.close()


def test_the_source_of_the_final_review_can_come_back() -> None:
    world = all_passed()
    reviewed_source = world.source
    world.edit()
    assert world.refusal(world.close).remedy.arguments == {"feature_id": "a", "next_feature_id": "a"}
    world.source = reviewed_source
    world.close()


def test_without_a_final_review_nothing_is_completed() -> None:
    world = passed(plan=CHAIN)
    refused = world.refusal(world.close)
    assert (refused.seen, refused.remedy.arguments) == ("Not passed: b.", {"feature_id": "b"})
    busy = reviewed()
    assert busy.refusal(busy.close).remedy.tool == "status"


def test_after_a_reseal_nothing_from_before_counts() -> None:
    world = all_passed()
    world.reseal()
    document = world.document
    assert [run.state for run in document.runs] == ["superseded"]
    for act in (world.close, world.start, lambda: world.waive("proof", "a")):
        assert world.refusal(act).rule == "plan.approved-first"
    world.approve()
    world.start()
    assert world.refusal(world.review).rule == "review.baseline-taken"
    world.check("baseline")
    assert world.refusal(world.review).rule == "review.checks-passed"
    world.check("focused", check_of("a").run)
    world.prove("a")
    assert "no report on current source" in world.refusal(world.review).seen
    world.check("broad")
    world.review()
    world.verdict()
    world.close()


def test_external_evidence_from_before_a_reseal_does_not_count() -> None:
    world = all_passed(plan=ELSEWHERE)
    world.reseal()
    world.approve()
    world.start()
    world.check("baseline")
    world.check("focused", check_of("a").run)
    world.check("broad")
    world.prove("a")
    assert "was never observed" in world.refusal(world.review).seen


def test_a_failure_from_before_a_reseal_still_stands() -> None:
    world = running(plan=PAIR)
    world.check("broad", result=CANCELLED)
    world.reseal()
    world.approve()
    world.start()
    world.check("baseline")
    world.check("focused", check_of("a").run)
    world.prove("a")
    assert world.refusal(world.review).rule == "review.veto-clear"


def test_a_reseal_takes_a_person_and_leaves_the_plan_frozen() -> None:
    world = running()
    assert world.refusal(lambda: world.reseal(MANAGER)).rule == "close.accepted-by-person"
    world.reseal()
    assert world.refusal(lambda: world.save(CHAIN)).rule == "plan.frozen"


def test_a_reseal_of_a_document_with_fewer_revisions_than_operations_goes_on_after_both() -> None:
    world = running()
    world.check("broad")
    world.begin("focused", check_of("a").run)
    edited = world.document.model_copy(update={"revision": 4})
    world.document = edited
    world.reseal()
    assert world.document.revision == 7
    assert [seen.id for seen in world.document.runs[0].observations] == ["o5", "o7"]
    assert world.document.runs[0].observations[-1].ineligible == "cancelled"
    world.approve()


def test_a_closed_plan_can_be_resealed_and_stays_closed() -> None:
    world = closed()
    world.reseal()
    assert closure_of(world).kind == "completed"
    assert [run.state for run in world.document.runs] == ["passed"]


def test_a_reseal_during_a_review_supersedes_the_run() -> None:
    world = resealed()
    assert world.refusal(world.verdict).rule == "plan.approved-first"
    world.approve()
    answer = world.start().answer
    assert answer["unanswered_reviews"] == ["review-12"]


def test_a_baseline_that_lost_cases_in_between_still_holds_the_closing() -> None:
    world = shown()
    world.check("baseline", result=Result(passing=("unit :: keeps", "unit :: works", "unit :: flaky")))
    world.check("broad")
    assert "unit :: flaky" in world.refusal(world.review).seen
    assert GATE.run in world.refusal(world.review).seen
