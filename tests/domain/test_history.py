from flow_mcp.domain.commands import NewFinding
from flow_mcp.domain.history import (
    carried_findings,
    checks_of,
    current_run,
    dependents,
    derived_kind,
    final_review,
    inherited_findings,
    listed_checks,
    live_findings,
    passes,
    passes_now,
    unanswered,
    unstable,
)
from flow_mcp.domain.plan import Finding
from tests.fabricated import CRASHED, GREEN, RED, Result
from tests.histories import (
    BARE,
    CHAIN,
    GATE,
    ONE,
    PAIR,
    all_passed,
    approved,
    check_of,
    failed,
    feature,
    owes,
    passed,
    plan_of,
    reviewed,
    running,
)
from tests.simulator import ADVISORY, BLOCKING, World


def test_a_command_passes_as_the_contract_defines_it() -> None:
    world = running()
    for result, expected in (
        (GREEN, True),
        (Result(code=None, host_success=True), True),
        (Result(code=None, host_success=False), False),
        (Result(code=None), False),
        (Result(code=1, host_success=True), False),
        (Result(complete=False), False),
        (Result(complete=None), False),
        (Result(ineligible="exit-code-unavailable"), False),
        (Result(failed=1), False),
        (Result(passing=()), False),
        (Result(reason="malformed"), False),
        (Result(report=False), False),
        (RED, False),
    ):
        world.check("broad", result=result)
        assert passes(world.plan, world.document.runs[0].observations[-1]) is expected, result


def test_a_command_that_declares_no_report_passes_by_its_exit_code() -> None:
    silent = feature("a", proof="none")
    silent = silent.model_copy(update={"checks": (check_of("a").model_copy(update={"report": None}),)})
    world = running(plan=plan_of(silent))
    world.check("focused", check_of("a").run)
    assert passes_now(world.document, check_of("a").run, "linux", world.source)
    assert not passes(CHAIN, world.document.runs[0].observations[0].model_copy(update={"command": "true"}))


def test_only_the_latest_of_any_run_and_scope_but_proof_speaks() -> None:
    world = running()
    world.check("focused", GATE.run)
    assert passes_now(world.document, GATE.run, "linux", world.source)
    assert not passes_now(world.document, GATE.run, "darwin", world.source)
    world.check("baseline")
    assert not passes_now(world.document, GATE.run, "linux", world.source)
    world.reset("a", "a")
    world.check("broad")
    world.check("focused", check_of("a").run)
    world.prove("a")
    assert passes_now(world.document, GATE.run, "linux", world.source)
    assert passes_now(world.document, check_of("a").run, "linux", world.source)


def test_a_feature_without_checks_is_spoken_for_by_the_gate() -> None:
    assert [command.run for command in checks_of(BARE, BARE.features[0])] == [GATE.run]
    assert [command.run for command in checks_of(ONE, ONE.features[0])] == [check_of("a").run]
    assert checks_of(BARE.model_copy(update={"gate": None}), BARE.features[0]) == ()


def test_dependents_are_found_through_others() -> None:
    plan = plan_of(feature("a"), feature("b", "a"), feature("c", "b"), feature("d"))
    assert dependents(plan, "a") == {"b", "c"}


def test_a_review_is_final_when_every_other_feature_has_passed() -> None:
    world = passed(plan=PAIR)
    assert derived_kind(world.document, "a") == "feature"
    assert derived_kind(world.document, "b") == "final"
    assert derived_kind(World().document, "a") == "final"


def test_the_final_review_is_the_latest_of_a_run_that_counts() -> None:
    world = all_passed(plan=PAIR)
    first = final_review(world.document)
    assert first is not None
    world.reset("a", "a")
    assert final_review(world.document) == first
    world.show()
    world.review()
    world.verdict()
    second = final_review(world.document)
    assert second is not None
    assert second.revision > first.revision
    world.reset("a")
    world.reset("b")
    assert final_review(world.document) is None


def test_findings_live_until_a_passing_review_does_not_repeat_them() -> None:
    world = failed()
    (first,) = live_findings(world.document, "a")
    assert (first.id, first.severity) == ("a.R12-01", "blocking")
    world.reset("a", "a")
    world.show()
    world.review()
    again = NewFinding(severity="blocking", summary="Still wrong.", evidence="a.py:1", finding_id=first.id)
    world.verdict("failed", (BLOCKING, again, ADVISORY))
    assert [one.summary for one in live_findings(world.document, "a")] == [
        "Still wrong.",
        "It is wrong.",
        "It could be shorter.",
    ]
    assert len({one.id for one in live_findings(world.document, "a")}) == 3
    world.reset("a", "a")
    world.show()
    world.review()
    world.verdict("passed", (ADVISORY,))
    assert [one.severity for one in live_findings(world.document, "a")] == ["advisory"]
    assert live_findings(world.document, "b") == ()


OLD = Finding(id="x.R3-01", severity="blocking", summary="Never mended.", evidence="x.py")


def test_inherited_findings_are_answered_at_the_final_review_and_live_until_it_passes() -> None:
    world = World()
    owes(world, findings=(OLD,))
    world.save(CHAIN)
    world.approve()
    answer = world.start().answer
    assert "findings" not in answer
    assert inherited_findings(world.document) == (OLD,)
    assert carried_findings(world.document, "a", "feature") == ()
    world.edit()
    world.show()
    world.review()
    world.verdict()
    assert [one["id"] for one in _listed(world.start().answer["findings"])] == [OLD.id]
    world.show()
    world.review()
    refused = world.refusal(lambda: world.verdict("failed", (BLOCKING,)))
    assert OLD.id in refused.seen
    world.verdict()
    assert inherited_findings(world.document) == ()


def test_a_new_finding_never_gets_the_id_of_an_inherited_one() -> None:
    world = World()
    owes(world, findings=(OLD.model_copy(update={"id": "a.R12-01"}),))
    world.save(ONE)
    world.approve()
    world.start()
    world.edit()
    world.show()
    world.review()
    again = BLOCKING.model_copy(update={"finding_id": "a.R12-01"})
    assert world.verdict("failed", (again, BLOCKING)).answer["findings"] == ["a.R12-01", "a.R12-02"]


def _listed(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value


def test_an_assignment_that_was_reset_is_shown_as_unanswered() -> None:
    world = reviewed()
    answer = world.reset("a", "a").answer
    assert answer["unanswered_reviews"] == ["review-12"]
    assert unanswered(world.document, "a") == ("review-12",)
    assert current_run(world.document, "a") == world.document.runs[-1]
    assert current_run(world.document, "b") is None


def test_a_command_with_both_outcomes_on_one_source_is_unstable() -> None:
    world = running()
    world.check("broad")
    assert unstable(world.document) == ()
    world.check("focused", check_of("a").run, CRASHED)
    world.edit()
    world.check("broad", result=RED)
    assert unstable(world.document) == ()
    world.check("broad")
    assert unstable(world.document) == (GATE.run,)
    assert unstable(approved().document) == ()


def test_without_a_plan_or_a_gate_nothing_speaks_for_a_goal() -> None:
    assert listed_checks(ONE.model_copy(update={"gate": None})) == (check_of("a").run,)
    world = running()
    world.check("broad")
    assert unstable(world.document.model_copy(update={"plan": None})) == ()
