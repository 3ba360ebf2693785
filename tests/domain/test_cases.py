import pytest

from flow_mcp.domain.case_names import names_case
from flow_mcp.domain.cases import (
    case_passes,
    cases_named,
    has_cases,
    kept_cases,
    lines_of,
    lost_cases,
    unseen,
)
from flow_mcp.domain.plan import DroppedCase, Requirement
from flow_mcp.domain.policy import Policy
from tests.fabricated import CRASHED, GREEN, RED, Result
from tests.histories import (
    BARE,
    CHAIN,
    GATE,
    ONE,
    PAIR,
    QUIET,
    approved,
    check_of,
    drafted,
    external,
    feature,
    owes,
    passed,
    plan_of,
    running,
    shown,
)
from tests.simulator import BLOCKING, PERSON, World

CASE = "pytest :: tests.unit.test_a.TestA :: test_one"


@pytest.mark.parametrize(
    "name",
    [
        CASE,
        "test_one",
        "tests.unit.test_a.TestA.test_one",
        "tests.unit.test_a.TestA::test_one",
        "pytest > test_one",
        "tests/unit/test_a.py::TestA::test_one",
    ],
)
def test_a_case_answers_to_its_shorter_names(name: str) -> None:
    assert names_case(CASE, name)


@pytest.mark.parametrize("name", ["", "one", "TestA.test_one", "tests/unit/test_b.py::TestA::test_one", "test_one "])
def test_a_case_answers_to_no_other_name(name: str) -> None:
    assert not names_case(CASE, name)


def test_a_case_without_a_class_is_named_by_its_file() -> None:
    assert names_case("tests.test_a :: test_one", "tests/test_a.py::test_one")


def kept_of(world: World) -> set[str]:
    kept = kept_cases(world.document, world.lines)
    assert kept is not None
    return {case for cases in kept.values() for case in cases}


def test_before_there_is_a_plan_nothing_is_kept() -> None:
    assert kept_cases(World().document, {}) == {}


def test_what_passed_in_the_baseline_is_kept_red_or_not() -> None:
    world = approved()
    world.check("baseline", result=RED)
    assert kept_cases(world.document, {}) == {(GATE.run, "linux"): frozenset(world.suite)}


@pytest.mark.parametrize("why", ["path-dependent", "source-drift"])
def test_a_baseline_that_did_not_stand_apart_keeps_no_cases(why: str) -> None:
    world = approved()
    world.check("baseline", result=Result(ineligible="path-dependent" if why == "path-dependent" else "source-drift"))
    assert kept_of(world) == set()


def test_what_a_passing_review_rested_on_is_kept_by_command_and_platform() -> None:
    world = running(plan=CHAIN)
    world.show()
    world.check("focused", check_of("a").run, Result(passing=("unit :: a",)))
    world.review()
    assert kept_of(world) == {"unit :: keeps", "unit :: works"}
    world.verdict()
    kept = kept_cases(world.document, world.lines) or {}
    assert kept[check_of("a").run, "linux"] == {"unit :: a"}


def test_what_a_failed_review_rested_on_is_not_kept() -> None:
    world = running()
    world.suite = ("unit :: new",)
    world.check("baseline", result=CRASHED)
    world.check("focused", GATE.run)
    world.check("baseline", result=CRASHED)
    world.show()
    world.review()
    world.verdict("failed", (BLOCKING,))
    assert kept_of(world) == set()


def test_a_case_that_passed_only_before_a_reseal_is_not_kept() -> None:
    world = passed()
    world.reseal()
    assert kept_of(world) == set()


def test_an_external_command_that_is_no_check_keeps_no_cases() -> None:
    requirement = Requirement(id="r", text="It works there.")
    world = shown(
        plan=CHAIN.model_copy(update={"requirements": (requirement,), "external_evidence": (external("any"),)})
    )
    world.external(Result(passing=("e2e :: once",)))
    world.review()
    world.verdict()
    assert "e2e :: once" not in kept_of(world)


def test_an_older_observation_whose_list_is_gone_holds_no_review() -> None:
    requirement = Requirement(id="r", text="It works anywhere.")
    entry = external("any", run=GATE.run).model_copy(update={"command": GATE.as_command()})
    world = shown(plan=ONE.model_copy(update={"requirements": (requirement,), "external_evidence": (entry,)}))
    world.external(Result(passing=("unit :: keeps", "unit :: works", "unit :: only once")))
    world.check("broad")
    world.review()
    world.verdict()
    assert kept_of(world) == {"unit :: keeps", "unit :: works"}
    world.close()


def test_a_dropped_case_is_dropped_by_any_of_its_names() -> None:
    dropping = ONE.model_copy(update={"dropped_cases": (DroppedCase(case="keeps", because="It tests nothing."),)})
    world = approved(plan=dropping)
    world.check("baseline")
    assert kept_of(world) == {"unit :: works"}


def test_a_waiver_lets_go_exactly_the_case_that_it_names() -> None:
    world = running()
    world.suite = ("works", "unit :: works", "other :: keeps")
    world.check("baseline")
    world.waive("case", "works")
    assert kept_of(world) == {"unit :: works", "other :: keeps"}
    world.waive("case", "unit :: works")
    assert kept_of(world) == {"other :: keeps"}


def test_a_waiver_by_a_short_name_is_stored_with_the_whole_id() -> None:
    world = running()
    world.check("baseline")
    assert world.waive("case", "keeps").answer == {"waived": {"kind": "case", "value": "unit :: keeps"}}
    assert world.document.allowances[0].value == "unit :: keeps"


def test_a_name_that_several_kept_cases_bear_is_waived_by_none() -> None:
    world = running()
    world.suite = ("unit :: works", "other :: works")
    world.check("baseline")
    refused = world.refusal(lambda: world.waive("case", "works"))
    assert refused.seen == "'works' names 2 kept cases: other :: works; unit :: works."
    assert world.refusal(lambda: world.waive("case", "gone")).seen == "'gone' names 0 kept cases."


def test_an_exact_id_means_its_case_and_a_short_name_all_that_bear_it() -> None:
    kept = {("run", "linux"): frozenset({"works", "unit :: works", "other :: keeps"})}
    assert cases_named(kept, "works") == ("works",)  # type: ignore[arg-type]
    assert cases_named(kept, "keeps") == ("other :: keeps",)  # type: ignore[arg-type]


def test_an_inherited_case_is_sought_in_its_own_command_where_the_plan_lists_it() -> None:
    world = World()
    owes(world, "unit :: old", run=check_of("a").run)
    world.save(ONE)
    assert kept_cases(world.document, world.lines) == {(check_of("a").run, "linux"): frozenset({"unit :: old"})}


@pytest.mark.parametrize("run", ["pytest -q -p no:cacheprovider", "pytest e2e"])
def test_an_inherited_case_of_another_command_is_sought_in_the_gate(run: str) -> None:
    requirement = Requirement(id="r", text="It works there.")
    world = World()
    owes(world, "unit :: old", run=run)
    world.save(ONE.model_copy(update={"requirements": (requirement,), "external_evidence": (external("darwin"),)}))
    assert kept_cases(world.document, world.lines) == {(GATE.run, "linux"): frozenset({"unit :: old"})}


def test_an_inherited_case_of_a_check_without_a_report_is_sought_in_the_gate() -> None:
    silent = feature("a", proof="none")
    silent = silent.model_copy(update={"checks": (check_of("a").model_copy(update={"report": None}),)})
    world = World()
    owes(world, "unit :: old", run=check_of("a").run)
    world.save(plan_of(silent))
    assert kept_cases(world.document, world.lines) == {(GATE.run, "linux"): frozenset({"unit :: old"})}


def test_a_goal_that_inherits_another_gates_cases_is_completed_by_work() -> None:
    world = World()
    owes(world, "unit :: old", run="pytest -q -x")
    world.save(QUIET)
    world.approve()
    world.start()
    world.show()
    assert world.refusal(world.review).rule == "review.cases-kept"
    world.suite = (*world.suite, "unit :: old")
    world.show()
    world.review()
    world.verdict()
    world.close()


def test_a_case_is_lost_only_where_a_current_report_does_not_show_it() -> None:
    world = running()
    world.check("baseline")
    kept = kept_cases(world.document, world.lines) or {}
    assert lost_cases(world.document, kept, world.lines, world.source) == {}
    world.check("broad", result=CRASHED)
    assert lost_cases(world.document, kept, world.lines, world.source) == {}
    assert unseen(world.document, kept, "linux", world.source) == (GATE.run,)
    assert unseen(world.document, kept, "darwin", world.source) == ()
    world.check("broad", result=Result(passing=("unit :: works",)))
    assert lost_cases(world.document, kept, world.lines, world.source) == {(GATE.run, "linux"): ("unit :: keeps",)}
    assert unseen(world.document, kept, "linux", world.source) == ()


def test_a_case_lost_on_another_platform_asks_for_that_machine() -> None:
    world = running(plan=BARE)
    world.platform = "darwin"
    world.check("baseline")
    world.check("broad", result=Result(passing=("unit :: works",)))
    world.platform = "linux"
    world.show()
    world.check("baseline")
    world.check("broad")
    refused = world.refusal(world.review)
    assert refused.rule == "review.cases-kept"
    assert "on darwin now: unit :: keeps" in refused.seen
    assert (refused.remedy.who, "on a darwin machine" in refused.remedy.say) == ("person", True)


def test_lines_come_from_the_sidecar_then_from_the_document() -> None:
    world = approved()
    world.check("baseline")
    digest = world.document.listings[0].digest
    assert lines_of(world.document, {digest: ("beside",)}, digest) == ("beside",)
    assert lines_of(world.document, {}, None) == ()
    assert lines_of(world.document, {}, "sha256:none") is None


def test_a_named_case_passes_only_in_the_latest_eligible_report_on_current_source() -> None:
    world = running(plan=plan_of(feature("a", proof="works"), feature("b", "a", proof="none")))
    run = check_of("a").run

    def passes() -> bool:
        return case_passes(world.document, run, "works", "linux", world.source)

    assert not passes()
    for result, expected in (
        (Result(code=1, failed=1), True),
        (Result(passing=("unit :: other",)), False),
        (GREEN, True),
        (Result(ineligible="source-drift"), False),
        (CRASHED, False),
        (GREEN, True),
    ):
        world.check("focused", run, result)
        assert passes() is expected
    world.edit()
    assert not passes()
    assert not case_passes(World().document, run, "works", "linux", "s0")


def test_a_case_of_a_report_that_could_not_be_trusted_does_not_pass() -> None:
    world = running(plan=plan_of(feature("a", proof="works"), feature("b", "a", proof="none")))
    world.check("focused", check_of("a").run)
    run = world.document.runs[0]
    seen = run.observations[0]
    assert seen.report is not None
    stale = seen.model_copy(update={"report": seen.report.model_copy(update={"reason": "stale"})})
    document = world.document.model_copy(update={"runs": (run.model_copy(update={"observations": (stale,)}),)})
    assert case_passes(world.document, seen.command, "works", "linux", world.source)
    assert not case_passes(document, seen.command, "works", "linux", world.source)


def test_a_report_has_cases_when_one_was_executed() -> None:
    world = running()
    for result, expected in ((GREEN, True), (RED, True), (Result(passing=()), False), (CRASHED, False)):
        world.check("broad", result=result)
        assert has_cases(world.document.runs[0].observations[-1]) is expected


def test_cases_waived_by_a_person_are_let_go_in_every_command() -> None:
    world = running(plan=PAIR)
    world.check("baseline")
    world.waive("case", "unit :: keeps", PERSON)
    world.suite = ("unit :: works",)
    world.show()
    world.review()


def test_a_draft_keeps_what_it_inherits_though_nobody_approved_it() -> None:
    world = World(policy=Policy())
    owes(world, "unit :: old")
    world.save(ONE)
    assert kept_of(world) == {"unit :: old"}
    assert kept_of(drafted()) == set()
