import pytest

from flow_mcp.domain.commands import NewFinding, ReviewSubmit
from flow_mcp.domain.digest import canonical
from flow_mcp.domain.plan import Finding, Plan, Requirement
from flow_mcp.domain.rules.bounds import PLAN_BYTES_MAX
from tests.histories import GATE, ONE, approved, external, feature, owes, plan_of, reviewed, running
from tests.refusals.work_cells import many_runs
from tests.simulator import ADVISORY, BLOCKING, PERSON, No, World

LIMIT = 32 * 1024


def saved(plan: Plan) -> str:
    """Give what a plan is refused with, or nothing."""
    world = World()
    try:
        world.save(plan)
    except No as no:
        refused = no.refused
    else:
        return ""
    assert (refused.rule, refused.remedy.tool) == ("plan.bounded", "plan_save")
    return refused.seen


def test_64_features_are_a_plan_and_none_or_65_are_not() -> None:
    assert saved(plan_of(*(feature(f"f{number}") for number in range(64)))) == ""
    assert saved(plan_of(*(feature(f"f{number}") for number in range(65)))).endswith("this one has 65.")
    assert saved(plan_of()).endswith("this one has 0.")


def test_a_text_has_32_kib_and_not_a_byte_more_in_whatever_script() -> None:
    assert saved(ONE.model_copy(update={"summary": "x" * LIMIT})) == ""
    assert saved(ONE.model_copy(update={"summary": "x" * (LIMIT + 1)})).endswith("32769 bytes, and 32768 are allowed.")
    assert saved(ONE.model_copy(update={"summary": "é" * (LIMIT // 2)})) == ""
    assert saved(ONE.model_copy(update={"summary": "é\n" * (LIMIT // 2)})) != ""


def test_many_short_texts_are_not_one_long_text() -> None:
    assert saved(ONE.model_copy(update={"decisions": ("x" * 1000,) * 64})) == ""


def sized(extra: int) -> Plan:
    """Give a plan so many bytes larger than the limit."""
    texts = ["x" * LIMIT] * 7
    plan = ONE.model_copy(update={"decisions": tuple(texts)})
    missing = PLAN_BYTES_MAX - len(canonical(plan.as_json())) - len(',""') + extra
    return ONE.model_copy(update={"decisions": (*texts, "x" * missing)})


def test_a_plan_has_256_kib_and_not_a_byte_more() -> None:
    assert saved(sized(0)) == ""
    assert saved(sized(1)) == "The plan is too large: 262145 bytes, and 262144 are allowed."


@pytest.mark.parametrize(("timeout_s", "fits"), [(0, False), (1, True), (14_400, True), (14_401, False)])
def test_a_command_has_a_second_to_four_hours(timeout_s: int, *, fits: bool) -> None:
    seen = saved(ONE.model_copy(update={"gate": GATE.model_copy(update={"timeout_s": timeout_s})}))
    assert (seen == "") is fits


@pytest.mark.parametrize(("count", "fits"), [(32, True), (33, False)])
def test_external_evidence_names_at_most_32_cases(count: int, *, fits: bool) -> None:
    entry = external("any", *(f"case {number}" for number in range(count)))
    plan = ONE.model_copy(
        update={"requirements": (Requirement(id="r", text="It works."),), "external_evidence": (entry,)}
    )
    assert (saved(plan) == "") is fits


@pytest.mark.parametrize("path", ["", "/etc/passwd", "~/x", "a/../b", "..", "a\\b"])
def test_a_path_stays_inside_the_workspace(path: str) -> None:
    assert "is not a path or glob inside" in saved(plan_of(feature("a").model_copy(update={"targets": (path,)})))
    for name in ("protected", "inputs", "artifacts") if path != "/etc/passwd" else ():  # there "/" anchors a glob
        assert "is not a path or glob inside" in saved(ONE.model_copy(update={name: (path,)}))


@pytest.mark.parametrize(
    ("path", "meant"), [("./x.py", "x.py"), ("a/./b.py", "a/b.py"), ("a//b/", "a/b/"), ("./", "**"), (".", "**")]
)
def test_a_path_that_is_spelled_round_about_is_told_its_plain_spelling(path: str, meant: str) -> None:
    for plan in (
        plan_of(feature("a").model_copy(update={"targets": (path,)})),
        *(ONE.model_copy(update={name: (path,)}) for name in ("protected", "inputs", "artifacts")),
    ):
        refused = World().refusal(lambda plan=plan: World().save(plan))  # type: ignore[misc]
        assert (refused.rule, refused.seen) == (
            "plan.bounded",
            f"{path!r} is spelled round about: write it as {meant!r}.",
        )
        assert refused.remedy.say == f"Write it as {meant!r}."


def test_a_path_outside_the_workspace_is_told_how_to_be_written() -> None:
    plan = plan_of(feature("a").model_copy(update={"targets": ("/srv/project/calc.c",)}))
    say = World().refusal(lambda: World().save(plan)).remedy.say
    assert say == "Write the path as seen from the workspace's top, such as 'src/app.py'."


def test_a_path_as_people_write_it_is_taken() -> None:
    World().save(plan_of(feature("a").model_copy(update={"targets": ("src/", ".github/x.yml", "**", "a/*.py")})))


@pytest.mark.parametrize(("count", "fits"), [(511, True), (512, False)])
def test_a_plan_has_512_runs(count: int, *, fits: bool) -> None:
    world = approved()
    world.store(many_runs(world.document, count))
    if fits:
        world.start()
    else:
        assert world.refusal(world.start).remedy.arguments == {"kind": "deferred"}
        assert world.refusal(lambda: world.reset("a", "a")).rule == "reset.current-run"


def test_a_full_plan_can_be_reset_and_not_started_anew() -> None:
    world = running()
    gone = many_runs(world.document, 512).runs[1:]
    world.store(world.document.model_copy(update={"runs": (*world.document.runs, *gone)}))
    assert world.refusal(lambda: world.reset("a", "a")).seen == "Runs of this plan: 513 runs, and 512 are allowed."
    world.reset("a")


def many_observations(world: World, count: int) -> None:
    world.check("broad")
    run = world.document.runs[0]
    seen = tuple(run.observations[0].model_copy(update={"id": f"n{number}"}) for number in range(count))
    world.store(world.document.model_copy(update={"runs": (run.model_copy(update={"observations": seen}),)}))


def test_a_run_has_128_observations_and_a_reset_makes_room() -> None:
    world = running()
    many_observations(world, 127)
    world.check("broad")
    refused = world.refusal(lambda: world.begin("broad"))
    assert refused.seen == "Observations of this run: 129 observations, and 128 are allowed."
    assert refused.remedy.tool == "run_reset"
    world.check("baseline")
    world.reset("a", "a")
    world.check("broad")


def test_a_plan_has_256_observations_beside_its_runs_and_runs_go_on_then() -> None:
    world = running()
    world.check("baseline")
    first = world.document.baselines[0]
    many = tuple(first.model_copy(update={"id": f"n{number}"}) for number in range(255))
    world.store(world.document.model_copy(update={"baselines": many}))
    world.check("baseline")
    refused = world.refusal(lambda: world.begin("baseline"))
    assert (refused.rule, refused.remedy.arguments) == ("plan.bounded", {"kind": "deferred"})
    world.check("broad")


def test_a_review_has_100_findings() -> None:
    world = reviewed()
    refused = world.refusal(lambda: world.verdict("passed", (ADVISORY,) * 101))
    assert refused.seen == "Findings of one review: 101 findings, and 100 are allowed."
    assert refused.remedy.arguments == {"assignment_id": "review-12"}
    world.verdict("passed", (ADVISORY,) * 100)
    assert len({finding.id for finding in _findings(world)}) == 100


def _findings(world: World) -> tuple[Finding, ...]:
    review = world.document.runs[0].review
    assert review is not None
    assert review.result is not None
    return review.result.findings


def test_more_than_100_inherited_findings_do_not_stop_a_reviewer_from_failing() -> None:
    old = tuple(Finding(id=f"x.R1-{number:03}", severity="blocking", summary="Old.") for number in range(150))
    world = World()
    owes(world, findings=old)
    world.save(ONE)
    world.approve()
    world.start()
    world.edit()
    world.show()
    world.review()
    again = tuple(
        NewFinding(severity="blocking", summary="Old.", evidence="x.py", finding_id=finding.id) for finding in old
    )
    assert world.refusal(lambda: world.verdict("failed", (*again, BLOCKING))).rule == "plan.bounded"
    world.verdict("failed", again)


LONG = "x" * (LIMIT + 1)


def test_whatever_is_too_long_is_asked_for_in_fewer_words() -> None:
    world = reviewed()
    ask = ReviewSubmit(assignment_id="review-12", verdict="passed", summary=LONG)
    refused = world.refusal(lambda: world.ask(ask, PERSON))
    assert (refused.rule, refused.remedy.tool) == ("plan.bounded", "review_submit")
    assert world.refusal(lambda: world.reset("a", reason=LONG)).remedy.arguments == {"feature_id": "a"}
    assert world.refusal(lambda: world.close("deferred", summary=LONG)).remedy.arguments == {"kind": "deferred"}
    assert world.refusal(lambda: world.close("accepted", PERSON, summary=LONG)).remedy.who == "person"
