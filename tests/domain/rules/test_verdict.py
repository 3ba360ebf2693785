import pytest

from flow_mcp.domain.commands import NewFinding, ReviewStart
from flow_mcp.domain.markdown import page
from flow_mcp.domain.model import Actor, Review, ReviewResult
from flow_mcp.domain.policy import Policy
from tests.histories import CHAIN, PAIR, all_passed, failed, passed, reviewed, running
from tests.simulator import (
    ADVISORY,
    ATTESTED,
    BLOCKING,
    PERSON,
    REVIEWER,
    TERMINAL,
    World,
)


def review_of(world: World) -> Review:
    review = world.document.runs[-1].review
    assert review is not None
    return review


def result_of(world: World) -> ReviewResult:
    result = review_of(world).result
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("actor", "by", "name", "attested", "told"),
    [
        (REVIEWER, "connection", "reviewer", False, "unattested"),
        (Actor(role="reviewer", agent="mine"), "connection", "mine", False, "unattested"),
        (ATTESTED, "agent", "flow-reviewer", True, "attested"),
        (Actor(role="manager", host="h", agent="flow:flow-reviewer"), "agent", "flow:flow-reviewer", True, "attested"),
        (PERSON, "person", "person", True, "person (dialog)"),
        (TERMINAL, "person", "person", False, "person (terminal-unverified)"),
    ],
)
def test_who_judged_is_stored_and_how_that_is_known(
    actor: Actor, by: str, name: str, told: str, *, attested: bool
) -> None:
    world = reviewed()
    answer = world.verdict(actor=actor).answer
    reviewer = result_of(world).reviewer
    assert (reviewer.by, reviewer.name, reviewer.attested) == (by, name, attested)
    assert answer["reviewer"] == told
    known = told if by == "person" else f"{name} ({told})"
    assert f" by {known}. " in page(world.document, {})


LOOK_ALIKES = ["Flow-Reviewer", "flow-reviewer ", "", "flow_reviewer", "flow:flow-reviewer2", "general"]


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_look_alike_is_not_the_reviewer(name: str) -> None:
    world = reviewed()
    actor = Actor(role="reviewer", host="h", agent=name)
    refused = world.refusal(lambda: world.verdict(actor=actor))
    assert refused.rule == "review.reserved-identity"
    assert refused.seen == f"The host says that {name or 'the manager'} called."


def test_where_a_host_attests_no_agent_it_was_the_manager() -> None:
    world = reviewed()
    actor = Actor(role="reviewer", host="h")
    assert world.refusal(lambda: world.verdict(actor=actor)).seen == "The host says that the manager called."


def test_once_an_attesting_host_drove_the_plan_a_connection_does_not_judge() -> None:
    world = running()
    world.show()
    world.ask(ReviewStart(summary="Done."), Actor(role="manager", host="h"))
    refused = world.refusal(world.verdict)
    assert "only an attested reviewer or a person" in refused.seen
    world.clone().verdict(actor=PERSON)
    world.verdict(actor=ATTESTED)


def test_the_policy_may_ask_for_an_attested_reviewer() -> None:
    world = reviewed()
    world.policy = Policy(reviewer="attested")
    assert "that a host attests" in world.refusal(world.verdict).seen
    world.verdict(actor=ATTESTED)


def test_a_person_whose_channel_does_not_count_does_not_judge() -> None:
    world = reviewed()
    world.policy = Policy(unverified="refuse")
    assert world.refusal(lambda: world.verdict(actor=TERMINAL)).seen == "This connection is not the reviewer's."


def test_an_answer_is_to_the_pending_assignment() -> None:
    world = reviewed()
    refused = world.refusal(lambda: world.verdict(assignment="review-1"))
    assert refused.remedy.arguments == {"assignment_id": "review-12"}
    world.verdict()
    again = world.refusal(lambda: world.verdict(assignment="review-12"))
    assert (again.rule, again.remedy.tool) == ("review.assignment-pending", "status")


def test_a_reset_assignment_takes_no_answer() -> None:
    world = reviewed()
    world.reset("a", "a")
    assert world.refusal(lambda: world.verdict(assignment="review-12")).rule == "review.assignment-pending"


@pytest.mark.parametrize(
    "findings",
    [
        (),
        (ADVISORY,),
        (BLOCKING.model_copy(update={"evidence": None}),),
        (BLOCKING.model_copy(update={"evidence": " "}),),
        (BLOCKING, BLOCKING.model_copy(update={"evidence": None})),
    ],
)
def test_a_failed_verdict_says_what_blocks_and_where(findings: tuple[NewFinding, ...]) -> None:
    world = reviewed()
    assert world.refusal(lambda: world.verdict("failed", findings)).rule == "review.failed-blocks"


def test_a_passing_verdict_blocks_nothing_and_an_advisory_finding_is_no_scope_blocker() -> None:
    world = reviewed()
    assert world.refusal(lambda: world.verdict("passed", (BLOCKING,))).rule == "review.passed-clean"
    stray = ADVISORY.model_copy(update={"scope_blocker": True})
    for verdict, findings in (("passed", (stray,)), ("failed", (BLOCKING, stray))):
        refused = world.refusal(lambda v=verdict, f=findings: world.verdict(v, f))  # type: ignore[misc]
        assert (refused.rule, refused.seen) == ("review.passed-clean", "scope_blocker marks blocking findings only.")
    world.verdict("passed", (ADVISORY,))


def test_flow_gives_the_ids_of_findings() -> None:
    world = reviewed()
    answer = world.verdict("failed", (BLOCKING, ADVISORY)).answer
    assert answer["findings"] == ["a.R12-01", "a.R12-02"]


@pytest.mark.parametrize(
    ("named", "seen"),
    [
        ((), "Findings dropped: ['a.R12-01']; unknown: []; named twice: []."),
        (("a.R99-01", "a.R12-01"), "unknown: ['a.R99-01']"),
        (("a.R12-01", "a.R12-01"), "named twice: ['a.R12-01']"),
    ],
)
def test_a_failed_review_repeats_each_live_finding_once_and_names_no_other(named: tuple[str, ...], seen: str) -> None:
    world = failed()
    world.reset("a", "a")
    world.show()
    world.review()
    findings = (BLOCKING, *(BLOCKING.model_copy(update={"finding_id": name}) for name in named))
    refused = world.refusal(lambda: world.verdict("failed", findings))
    assert refused.rule == "review.findings-carried"
    assert seen in refused.seen


def test_a_passing_review_names_only_live_findings() -> None:
    world = reviewed()
    unknown = ADVISORY.model_copy(update={"finding_id": "a.R1-01"})
    assert world.refusal(lambda: world.verdict("passed", (unknown,))).rule == "review.findings-carried"


def test_a_no_is_recorded_for_the_source_that_it_saw_and_a_yes_is_not_given_for_another() -> None:
    world = reviewed()
    world.edit()
    refused = world.refusal(world.verdict)
    assert (refused.rule, refused.remedy.tool) == ("review.source-unmoved", "run_reset")
    assert refused.seen == "The source moved since the assignment was made: a.py."
    world.since_judged = tuple("abcdefg")
    assert world.refusal(world.verdict).seen.endswith("was made: a, b, c, d, e and 2 more.")
    world.since_judged = None
    assert world.refusal(world.verdict).seen == (
        "The source moved since the assignment was made. What it was then is not kept on this machine, so no path can "
        "be named."
    )
    world.since_judged = ()
    assert world.refusal(world.verdict).seen == "The source moved since the assignment was made."
    world.verdict("failed", (BLOCKING,))
    assert (result_of(world).source, review_of(world).source) == ("s2", "s1")


def test_a_review_is_final_by_what_has_passed_when_it_is_asked_for() -> None:
    world = passed(plan=PAIR)
    assert review_of(world).kind == "feature"
    world.start("b")
    world.show()
    world.review()
    assert review_of(world).kind == "final"
    world.reset("a")
    world.verdict()
    assert [run.review.kind for run in world.document.runs if run.review is not None] == ["feature", "final"]
    world.finish("a")
    assert review_of(world).kind == "final"
    world.close()


def test_a_reset_of_what_others_need_takes_them_along_and_the_order_is_kept() -> None:
    world = all_passed(plan=CHAIN)
    assert world.reset("a", "a").answer["superseded"] == ["a.1", "b.1"]
    world.show()
    world.review()
    assert review_of(world).kind == "feature"
