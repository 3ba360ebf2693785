import pytest

from flow_mcp.domain.decision import HiddenPath
from flow_mcp.domain.plan import (
    Command,
    DroppedCase,
    ExternalEvidence,
    Feature,
    Finding,
    Gate,
    Plan,
    Proof,
    Requirement,
)
from flow_mcp.domain.rules.plan import open_questions
from flow_mcp.domain.rules.steps import together
from tests.histories import GATE, ONE, approved, check_of, drafted, external, feature, owes, plan_of
from tests.simulator import PERSON, World


def refused(plan: Plan) -> tuple[str, str]:
    """Give the rule that objects to a plan, and what it saw."""
    world = World()
    objection = world.refusal(lambda: world.save(plan))
    assert objection.remedy.tool == "plan_save"
    return objection.rule, objection.seen


@pytest.mark.parametrize(
    ("features", "seen"),
    [
        ((feature("-a"),), "'-a' is no id"),
        ((feature("x" * 65),), "is no id"),
        ((feature("a"), feature("a")), "Two features are called 'a'."),
        ((feature("a", "b"),), "Feature 'a' depends on 'b', which is no feature of this plan."),
        ((feature("a", "c"), feature("b", "a"), feature("c", "b")), "in a circle: a -> c -> b -> a."),
    ],
)
def test_a_graph_with_a_fault_is_refused_by_the_name_of_the_fault(features: tuple[Feature, ...], seen: str) -> None:
    rule, words = refused(plan_of(*features))
    assert rule == "plan.acyclic"
    assert seen in words


def test_requirements_have_ids_of_their_own() -> None:
    twice = (Requirement(id="r", text="One."), Requirement(id="r", text="Two."))
    assert refused(ONE.model_copy(update={"requirements": twice})) == (
        "plan.acyclic",
        "Two requirements are called 'r'.",
    )


ASKED_AT_ONCE: list[tuple[Plan, str, tuple[str, ...]]] = [
    (
        plan_of(feature("-a", "x"), feature("b", "c", "y"), feature("c", "b"), feature("d", "d"), feature("b")),
        "plan.acyclic",
        ("'-a' is no id", "called 'b'", "on 'x'", "on 'y'", "circle: d -> d"),
    ),
    (
        plan_of(feature("a", "b", "c"), feature("b", "a"), feature("c", "a"), feature("d", "e"), feature("e", "d")),
        "plan.acyclic",
        ("in circles: a -> b, a -> c, b -> a, c -> a.", "in a circle: d -> e -> d."),
    ),
    (
        plan_of(
            *(feature(name).model_copy(update={"proof": None}) for name in "ab"),
            gate=Gate(run="REPLACE"),
            external_evidence=None,
            decisions=("REPLACE",),
        ),
        "plan.questions-answered",
        ("gate.run: it begins", "decisions[0]: it", "gate.report", "features[a].proof", "features[b]", "external_ev"),
    ),
    (
        plan_of(feature("a").model_copy(update={"proof": Proof(kind="case")})),
        "plan.questions-answered",
        ("features[a].proof.run", "features[a].proof.case"),
    ),
    (
        plan_of(
            feature("a", proof="none").model_copy(
                update={"checks": (Command(run="x; y", report="r"), Command(run="p || q"))}
            )
        ),
        "plan.commands-whole",
        ("'x; y'", "The report 'r'", "'p || q'"),
    ),
    (
        plan_of(feature("a"), gate=Gate(run="pytest -q -k quick --lf", report=".flow/reports/gate.xml")),
        "plan.gate-whole",
        ("-k", "--lf"),
    ),
    (
        plan_of(
            feature("a").model_copy(update={"targets": ("/x", "./y"), "title": "t" * 40_000}),
            gate=Gate(run="g", timeout_s=0),
        ),
        "plan.bounded",
        ("'/x'", "write it as 'y'", "A text that begins 'ttt", "timeout_s of 'g'"),
    ),
]


@pytest.mark.parametrize(("plan", "rule", "told"), ASKED_AT_ONCE)
def test_a_refused_plan_hears_everything_of_one_kind_at_once(plan: Plan, rule: str, told: tuple[str, ...]) -> None:
    spoken, seen = refused(plan)
    assert spoken == rule
    assert [part for part in told if part not in seen] == []


def proving(**proof: object) -> Plan:
    words = {"kind": "command", **proof}
    return plan_of(feature("a").model_copy(update={"proof": Proof.model_validate(words)}))


REPORTLESS = feature("a").model_copy(update={"checks": (Command(run="pytest tests/test_a.py"),)})
RUN = check_of("a").run

QUESTIONS: list[tuple[Plan, str]] = [
    (ONE.model_copy(update={"gate": None}), "gate: which one command"),
    (ONE.model_copy(update={"gate": Gate(run="pytest -q")}), "gate.report: where"),
    (ONE.model_copy(update={"gate": Gate(run="pytest -q", no_report_because=" ")}), "gate.report: where"),
    (ONE.model_copy(update={"gate": GATE.model_copy(update={"no_report_because": "None."})}), "keep one of the two"),
    (ONE.model_copy(update={"gate": GATE.model_copy(update={"narrowed_because": " "})}), "gate.narrowed_because"),
    (plan_of(feature("a").model_copy(update={"proof": None})), "features[a].proof: which check"),
    (proving(kind="none"), "features[a].proof.because"),
    (proving(kind="none", because="\n"), "features[a].proof.because"),
    (proving(kind="none", because="No.", run=RUN), "kind none runs nothing"),
    (proving(kind="none", because="No.", case="works"), "kind none runs nothing"),
    (proving(), "features[a].proof.run: it must be one of this feature's checks or the gate"),
    (proving(run="pytest tests/test_b.py"), "features[a].proof.run"),
    (proving(run=RUN, case="works"), "kind command shows the whole command"),
    (proving(kind="case", run=RUN), "features[a].proof.case"),
    (plan_of(REPORTLESS.model_copy(update={"proof": Proof(kind="case", run=RUN, case="works")})), "a[a].proof.case"),
    (ONE.model_copy(update={"external_evidence": None}), "external_evidence: which commands"),
    (ONE.model_copy(update={"external_evidence": (external("any"),)}), "'r' is no requirement"),
    (ONE.model_copy(update={"dropped_cases": (DroppedCase(case="keeps", because=" "),)}), "why is the case 'keeps'"),
]


@pytest.mark.parametrize(("plan", "question"), QUESTIONS)
def test_an_open_question_is_asked(plan: Plan, question: str) -> None:
    rule, seen = refused(plan)
    assert rule == "plan.questions-answered"
    assert question.removeprefix("a[a]") in seen


def test_named_cases_of_external_evidence_need_a_report() -> None:
    entry = ExternalEvidence(requirement="r", command=Command(run="pytest e2e"), platform="any", cases=("works",))
    plan = ONE.model_copy(
        update={"requirements": (Requirement(id="r", text="It works."),), "external_evidence": (entry,)}
    )
    assert "need a command that declares a report" in refused(plan)[1]


def test_another_features_check_or_an_external_command_is_no_proof() -> None:
    pair = plan_of(
        feature("a").model_copy(update={"proof": Proof(kind="command", run=check_of("b").run)}), feature("b")
    )
    assert refused(pair)[0] == "plan.questions-answered"


@pytest.mark.parametrize(
    "plan",
    [
        proving(run=GATE.run),
        proving(kind="case", run=GATE.run, case="works"),
        proving(kind="none", because="Only words change."),
        ONE.model_copy(update={"gate": Gate(run="pytest -q", no_report_because="It prints to a screen.")}),
        ONE.model_copy(update={"gate": GATE.model_copy(update={"narrowed_because": "The rest needs a Mac."})}),
        ONE.model_copy(update={"dropped_cases": (DroppedCase(case="keeps", because="It tests nothing."),)}),
    ],
)
def test_an_answer_is_taken(plan: Plan) -> None:
    assert list(open_questions(plan)) == []
    World().save(plan)


def test_a_command_stands_once_or_is_the_same() -> None:
    other = check_of("a").model_copy(update={"timeout_s": 5})
    plan = plan_of(feature("a"), feature("b", proof="none").model_copy(update={"checks": (other,)}))
    rule, seen = refused(plan)
    assert rule == "plan.commands-whole"
    assert "stands in the plan twice" in seen


@pytest.mark.parametrize(
    "report",
    ["report.xml", ".flow/reports/", ".flow/reports/../x.xml", ".flow/reports//x.xml", ".flow/reports/./x", ".flow\\x"],
)
def test_a_report_is_a_file_below_its_folder(report: str) -> None:
    plan = ONE.model_copy(update={"gate": Gate(run="pytest -q", report=report)})
    assert refused(plan) == ("plan.commands-whole", f"The report {report!r} must be a file below .flow/reports/.")


def test_an_external_command_is_whole_too() -> None:
    entry = external("any", run="pytest e2e; true")
    plan = ONE.model_copy(
        update={"requirements": (Requirement(id="r", text="It works."),), "external_evidence": (entry,)}
    )
    assert refused(plan)[0] == "plan.commands-whole"


def test_a_gate_that_says_why_it_selects_is_taken() -> None:
    narrow = GATE.model_copy(update={"run": "pytest -q -k quick"})
    assert refused(ONE.model_copy(update={"gate": narrow}))[0] == "plan.gate-whole"
    World().save(ONE.model_copy(update={"gate": narrow.model_copy(update={"narrowed_because": "The rest is slow."})}))


HIDDEN = (HiddenPath("dist/**", "dist/a.py", "it is tracked", present=True),)


def test_what_hides_source_is_named_and_on_a_frozen_plan_the_way_out_is_no_save() -> None:
    world = approved()
    world.hidden, world.copy_present = HIDDEN, False
    refused_again = world.refusal(world.approve)
    assert refused_again.seen == "'dist/**' would hide 'dist/a.py': it is tracked."
    assert refused_again.remedy.tool == "close"
    world.hidden = ()
    world.approve()


def test_only_a_person_answers_for_a_gate_without_report() -> None:
    world = drafted(plan=ONE.model_copy(update={"gate": Gate(run="pytest -q", no_report_because="It cannot.")}))
    world.approve(PERSON)
    world.reseal()
    world.policy = world.policy.model_copy(update={"approve": "caller"})
    refused_caller = world.refusal(
        lambda: world.approve(actor=world.facts(PERSON).actor.model_copy(update={"role": "manager"}))
    )
    assert (refused_caller.rule, refused_caller.remedy.who) == ("policy.unmoved", "person")


def test_an_unsaved_plan_has_no_questions_to_answer() -> None:
    assert World().refusal(World().approve).rule == "plan.approved-first"


def test_the_remedy_names_the_question() -> None:
    refused_again = World().refusal(lambda: World().save(proving()))
    assert refused_again.remedy.say == "Answer features[a].proof.run in the plan, then save it again."


def test_a_report_in_the_wrong_place_is_told_where_it_goes() -> None:
    plan = ONE.model_copy(update={"gate": Gate(run="pytest -q", report="out/report.xml")})
    remedy = World().refusal(lambda: World().save(plan)).remedy
    assert remedy.say == "Let the command write it as '.flow/reports/report.xml', and name that in the plan."
    bare = ONE.model_copy(update={"gate": Gate(run="pytest -q", report=".flow/reports/")})
    assert ".flow/reports/report.xml" in World().refusal(lambda: World().save(bare)).remedy.say


def test_two_commands_with_the_same_bytes_are_told_to_agree() -> None:
    other = check_of("a").model_copy(update={"timeout_s": 5})
    plan = plan_of(feature("a"), feature("b", proof="none").model_copy(update={"checks": (other,)}))
    remedy = World().refusal(lambda: World().save(plan)).remedy
    assert remedy.say == "Give equal commands the same report, timeout_s and network."


PLACEHOLDERS: list[tuple[Plan, str]] = [
    (ONE.model_copy(update={"summary": "REPLACE: how the goal is reached"}), "summary"),
    (ONE.model_copy(update={"decisions": ("Keep it.", "REPLACE")}), "decisions[1]"),
    (
        ONE.model_copy(update={"requirements": (Requirement(id="r", text="REPLACE: what it must do"),)}),
        "requirements[r].text",
    ),
    (plan_of(feature("a").model_copy(update={"title": "REPLACE: what the first step adds"})), "features[a].title"),
    (plan_of(feature("a").model_copy(update={"targets": ("REPLACE-with-a-path",)})), "features[a].targets[0]"),
    (ONE.model_copy(update={"gate": GATE.model_copy(update={"run": "REPLACE-WITH-THE-TEST-COMMAND"})}), "gate.run"),
]


@pytest.mark.parametrize(("plan", "where"), PLACEHOLDERS)
def test_a_placeholder_is_no_answer(plan: Plan, where: str) -> None:
    rule, seen = refused(plan)
    assert rule == "plan.questions-answered"
    assert seen.startswith(f"{where}: ")
    assert "REPLACE" in seen


def test_a_goal_is_no_placeholder_either() -> None:
    refused_again = World().refusal(lambda: World().save(ONE, "REPLACE: what is wanted, in the person's own words"))
    assert (refused_again.rule, refused_again.seen[:6]) == ("plan.questions-answered", "goal: ")
    assert refused_again.remedy.say.startswith("Write goal")
    World().save(ONE, "Let REPLACE work")


def test_what_an_inherited_plan_says_is_not_the_new_ones_to_answer() -> None:
    world = World()
    owes(world, findings=(Finding(id="x.R1-01", severity="advisory", summary="REPLACE: it said."),))
    world.save(ONE)
    world.approve()


def test_what_does_not_fit_into_an_answer_is_counted() -> None:
    lines = [f"{number:04} {'x' * 100}." for number in range(60)]
    told = together([*lines, lines[0], "last."])
    assert told.startswith(" ".join(lines[:40]))
    assert told.endswith(" And 14 more.")
    assert together(["x" * 9_000, "y"]) == f"{'x' * 9_000} And 1 more."
