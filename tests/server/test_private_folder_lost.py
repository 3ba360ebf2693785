"""The private folder is removed under a live server: the next call, whatever it is, makes it anew and goes on."""

import shutil
import stat

import pytest
from mcp import Client

from tests.engine.place import CHECK
from tests.server.stories import GOAL, PLAN, Body, Rig, begun, call, run, shown, yes

MISSING = "run.facts-present"


def lose(rig: Rig) -> str:
    """Remove the private folder as a person does who cleans up; give the id of the worktree that was in it."""
    rig.place.settled()
    private = rig.place.root / ".flow"
    known = (private / "worktree").read_text()
    shutil.rmtree(private)
    return known


CALLS: tuple[tuple[str, Body, str | None, str | None], ...] = (
    ("status", {}, None, "run_reset"),
    ("plan_save", {"goal": GOAL, "plan": PLAN}, "plan.frozen", "status"),
    ("plan_approve", {}, None, "run_reset"),
    ("run_start", {"feature_id": "bye"}, "run.one-active", "status"),
    ("validate", {"scope": "baseline"}, MISSING, "plan_approve"),
    ("validate", {"scope": "focused", "command": CHECK.run}, MISSING, "run_reset"),
    ("validate", {"scope": "broad"}, MISSING, "run_reset"),
    ("validate", {"scope": "proof", "feature_id": "bye"}, MISSING, "run_reset"),
    ("validate", {"check_id": "check-9"}, "observe.pending-only", "status"),
    ("review_start", {"summary": "done"}, MISSING, "run_reset"),
    ("run_reset", {"feature_id": "bye", "reason": "lost", "next_feature_id": "bye"}, None, "plan_approve"),
    ("close", {"kind": "completed", "summary": "done"}, "close.every-feature-passed", "status"),
    ("close", {"kind": "deferred", "summary": "later"}, None, "plan_save"),
)


@pytest.mark.parametrize(("tool", "arguments", "rule", "helps"), CALLS)
def test_every_tool_makes_the_folder_anew_and_names_a_way_on(
    rig: Rig, tool: str, arguments: Body, rule: str | None, helps: str
) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.place.write("notes.txt", "in no commit\n")
        await begun(rig, manager)
        known = lose(rig)
        rig.answers.append(yes(approve=True))
        body = await call(manager, tool, **arguments)
        assert body.get("refused", {}).get("rule") == rule, body
        assert body["next"]["tool"] == helps, body
        private = rig.place.root / ".flow"
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert (private / ".gitignore").read_text() == "*\n"
        assert (private / "worktree").read_text() == known, "a live process keeps the name of its worktree"

    run(rig, story)


def test_the_reviewer_still_answers_what_is_pending(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, reviewer: Client) -> None:
        await begun(rig, manager)
        await shown(manager)
        review = await call(manager, "review_start", summary="done")
        lose(rig)
        assert (await call(reviewer, "status", view="review"))["assignment"]["id"] == review["assignment_id"]
        own = {"assignment_id": review["assignment_id"], "verdict": "passed", "summary": "fine"}
        lose(rig)
        assert (await call(reviewer, "review_submit", **own))["state"] == "passed"

    run(rig, story)


def test_the_ways_that_are_named_lead_to_a_check_that_is_observed(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.place.write("notes.txt", "in no commit\n")
        await begun(rig, manager)
        lose(rig)
        rig.answers.append(yes(approve=True))
        body = await call(manager, "validate", scope="broad")
        said: list[str] = []
        while "observation" not in body:
            step = body["next"]
            said.append(step["tool"])
            body = await call(manager, step["tool"], **step["arguments"] | dict.fromkeys(step.get("fill", ()), "lost"))
            assert "refused" not in body, body
        assert said == ["run_reset", "plan_approve", "validate"]

    run(rig, story)
