"""Several plans are open after a merge: status lists them, and every call that an answer suggests names its plan."""

import pytest
from mcp import Client

from flow_mcp.domain import commands as c
from flow_mcp.server.desk import Reply
from flow_mcp.server.naming import with_plan
from flow_mcp.server.texts import resource
from tests.engine.place import CHECK, plan
from tests.server.stories import GOAL, PLAN, Body, Rig, call, run, yes


def merged(rig: Rig, *names: str) -> None:
    """Have open plans that other worktrees drive."""
    mine = rig.place.engine.worktree
    rig.place.engine._clock = lambda: "2026-01-01T00:00:00Z"
    for name in names:
        rig.place.engine.worktree = f"of {name}"
        rig.place.done(c.PlanSave(goal=f"Goal of {name}", plan=plan()), plan_id=name)
    rig.place.engine.worktree = mine


def suggested(body: Body) -> list[Body]:
    """Give every step of an answer."""
    return [body["next"], *([body["refused"]["remedy"]] if "refused" in body else [])]


def test_status_answers_with_every_open_plan_and_picks_one(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, reviewer: Client) -> None:
        merged(rig, "ours", "theirs")
        for body in (await call(manager, "status"), await call(reviewer, "status")):
            assert "refused" not in body
            assert body["open_plans"] == [
                {"plan_id": name, "goal": f"Goal of {name}", "status": "planning", "driven_from": "another worktree"}
                for name in ("ours", "theirs")
            ]
            assert (body["next"]["tool"], body["next"]["arguments"]) == ("status", {"plan_id": "ours"})
        full = await call(manager, "status", view="plan")
        assert full["next"]["arguments"] == {"plan_id": "ours", "view": "plan"}
        unknown = await call(manager, "status", plan_id="nobody's")
        assert unknown["refused"]["rule"] == "plan.approved-first"
        one = await call(manager, **{"tool": "status", **full["next"]["arguments"]})
        assert one["goal"] == "Goal of ours"
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_approve", plan_id="theirs")
        started = await call(manager, "run_start", plan_id="theirs")
        again = await call(manager, "status")
        assert again["plan_id"] == "theirs"
        assert again["open_plans"][1] == {
            "plan_id": "theirs",
            "goal": "Goal of theirs",
            "status": "running",
            "driven_from": "here",
            "run_id": started["run_id"],
        }
        assert (await call(manager, "status", plan_id="ours"))["next"]["arguments"] == {"plan_id": "ours"}

    run(rig, story)


def test_a_record_that_cannot_be_read_is_told_beside_the_open_plans(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        merged(rig, "ours", "theirs")
        rig.place.write("plans/broken.json", "{")
        body = await call(manager, "status")
        assert list(body["unreadable"]) == ["broken"]
        assert "2 plans are open" in body["summary"]

    run(rig, story)


CALLS: tuple[tuple[str, Body], ...] = (
    ("plan_save", {"goal": "Another", "plan": PLAN}),
    ("plan_save", {"goal": "Another"}),
    ("run_start", {"feature_id": "none"}),
    ("validate", {}),
    ("validate", {"scope": "everything"}),
    ("validate", {"scope": "focused", "via": "host"}),
    ("validate", {"scope": "focused", "command": "rm -rf /"}),
    ("validate", {"check_id": "check-99"}),
    ("validate", {"scope": "focused", "command": CHECK.run}),
    ("review_start", {"summary": "done"}),
    ("review_submit", {"assignment_id": "a", "verdict": "passed", "summary": "s"}),
    ("run_reset", {"feature_id": "none", "reason": "r"}),
    ("close", {"kind": "completed", "summary": "done"}),
    ("close", {"kind": "later", "summary": "done"}),
    ("status", {}),
)


@pytest.mark.parametrize("is_named", [True, False])
def test_every_answer_names_the_plan_in_what_it_suggests(rig: Rig, *, is_named: bool) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        merged(rig, "theirs")
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_save", goal=GOAL, plan=PLAN, plan_id="mine")
        approved = await call(manager, "plan_approve")
        begun = await call(manager, "run_start")
        named = {"plan_id": "mine"} if is_named else {}
        answers = [approved, begun, *[await call(manager, tool, **arguments, **named) for tool, arguments in CALLS]]
        for body in answers:
            for step in suggested(body):
                assert step["arguments"]["plan_id"] == "mine", body

    run(rig, story)


def test_while_one_plan_is_open_no_call_is_made_longer(rig: Rig) -> None:
    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        saved = await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        refused = await call(manager, "run_start")
        assert saved["next"]["arguments"] == refused["next"]["arguments"] == {}
        assert "open_plans" not in await call(manager, "status")

    run(rig, story)


def test_what_only_a_person_can_do_is_told_with_the_plan(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        merged(rig, "theirs")
        await call(manager, "plan_save", goal=GOAL, plan=PLAN, plan_id="mine")
        body = await call(manager, "plan_approve")
        assert body["next"]["who"] == "person"
        assert "this is about mine (`--plan`)" in body["next"]["say"]

    run(rig, story, person=False)


def test_a_refusal_that_knows_no_plan_names_the_likeliest(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        merged(rig, "ours", "theirs")
        body = await call(manager, "run_start")
        assert body["refused"]["rule"] == "plan.one-open"
        assert body["next"]["arguments"] == {"plan_id": "ours"}
        mended = await call(manager, "validate", scope="everything")
        assert "plan_id" not in mended["next"]["arguments"], "nobody knows yet which one is meant"
        strange = await call(manager, "validate", scope="everything", plan_id=7)
        assert strange["refused"]["rule"] == "arguments"

    run(rig, story)


def test_plans_of_two_branches_of_one_worktree_are_both_driven_from_here(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        plans, kept = rig.place.root / "plans", rig.place.root / "kept"
        await call(manager, "plan_save", goal="One", plan=PLAN, plan_id="one")
        (plans / "one.json").rename(kept)
        await call(manager, "plan_save", goal="Two", plan=PLAN, plan_id="two")
        kept.rename(plans / "one.json")
        body = await call(manager, "status")
        assert body["summary"].startswith("2 plans are open, and 2 of them are driven from here")
        assert [one["driven_from"] for one in body["open_plans"]] == ["here", "here"]

    run(rig, story)


def test_the_page_of_the_open_plan_says_which_ones_there_are(rig: Rig) -> None:
    merged(rig, "ours", "theirs")
    assert "Several plans are open: ours, theirs." in (resource(rig.place.engine, "flow://plan", "") or "")


def test_an_answer_about_what_cannot_be_read_or_that_suggests_nothing_stays_as_it_is(rig: Rig) -> None:
    merged(rig, "ours", "theirs")
    rig.place.write("plans/broken.json", "{")
    step = {"tool": "status", "arguments": {}, "say": "Look."}
    for plan_id, body in (("broken", {"next": step}), ("ours", {"summary": "Done."})):
        assert with_plan(rig.place.engine, plan_id, Reply(body, is_error=False)).body == body
