from collections.abc import Callable

import pytest

from flow_mcp.domain.decision import HiddenPath, OutwardLink
from tests.histories import ONE, all_passed, approved, reviewed, shown
from tests.simulator import BLOCKING, PERSON, World

COULD = (HiddenPath("*.log", "tool", "it overlaps this target", present=False),)
THERE = HiddenPath("out/", "out/a.py", "it is tracked", present=True)
LINKS = tuple(OutwardLink(f"{name}.py", "/" + name * 300) for name in "ab")

MOMENTS: dict[str, tuple[Callable[[], World], Callable[[World], object]]] = {
    "review": (shown, World.review),
    "verdict": (reviewed, World.verdict),
    "closing": (all_passed, World.close),
}


def at(moment: str, **uncovered: object) -> tuple[World, Callable[[], object]]:
    state, act = MOMENTS[moment]
    world = state()
    for name, value in uncovered.items():
        setattr(world, name, value)
    return world, lambda: act(world)


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_could_only_come_was_settled_at_the_approval(moment: str) -> None:
    _, act = at(moment, hidden=COULD)
    act()


@pytest.mark.parametrize("moment", MOMENTS)
def test_each_file_that_an_artifact_hides_by_now_is_named(moment: str) -> None:
    other = HiddenPath("gen/*", "gen/b.py", "it is a protected file", present=True)
    world, act = at(moment, hidden=(*COULD, THERE, other))
    refused = world.refusal(act)
    assert refused.rule == "plan.artifacts-narrow"
    assert refused.seen == "'out/' hides 'out/a.py': it is tracked. 'gen/*' hides 'gen/b.py': it is a protected file."
    assert "move out/a.py to where out/ does not reach" in refused.remedy.say
    assert "git rm --cached" in refused.remedy.say
    assert 'close with {"kind": "deferred"' in refused.remedy.say
    assert "plan without that glob" in refused.remedy.say
    world.hidden = ()
    act()


@pytest.mark.parametrize("moment", MOMENTS)
def test_each_link_that_leads_out_is_named_and_a_long_goal_is_cut(moment: str) -> None:
    world, act = at(moment, outward=LINKS)
    refused = world.refusal(act)
    assert refused.rule == "review.links-inside"
    assert refused.seen.count("leads out of the source, to '/") == len(LINKS)
    assert "b" * 199 in refused.seen
    assert "b" * 200 not in refused.seen
    assert "put the file itself in the place of a.py" in refused.remedy.say
    assert "approved with the link in its place" in refused.remedy.say
    world.outward = ()
    act()


def test_before_evidence_becomes_final_nobody_asks() -> None:
    world = approved()
    world.outward, world.hidden = LINKS, (THERE,)
    world.start()
    world.edit()
    world.show()


def test_a_failed_verdict_and_an_honest_end_are_always_heard() -> None:
    world = reviewed()
    world.outward, world.hidden = LINKS, (THERE,)
    world.verdict("failed", (BLOCKING,))
    world.close("deferred")


def test_an_accepting_person_is_told_that_they_stand_open() -> None:
    world = all_passed()
    world.outward, world.hidden = LINKS, (THERE,)
    world.close("accepted", PERSON)
    assert world.document.closure is not None
    assert world.document.closure.open_rules == ("plan.artifacts-narrow", "review.links-inside")


@pytest.mark.parametrize(
    ("moment", "tool"), [("review", "validate"), ("verdict", "run_reset"), ("closing", "run_reset")]
)
def test_the_remedy_is_the_call_that_a_moved_source_needs(moment: str, tool: str) -> None:
    world, act = at(moment, outward=LINKS)
    remedy = world.refusal(act).remedy
    assert (remedy.tool, remedy.say.startswith("Mend it: ")) == (tool, True)
    assert remedy.arguments.get("feature_id", "a") == "a"


def test_a_draft_hears_of_everything_that_its_globs_would_hide() -> None:
    world = World(hidden=(*COULD, THERE))
    refused = world.refusal(lambda: world.save(ONE))
    assert "'*.log' would hide 'tool'" in refused.seen
    assert "'out/' would hide 'out/a.py'" in refused.seen
