"""What the tools fill in, foretell and repeat, through a real client."""

import json
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from mcp import Client

from flow_mcp.domain.commands import RunStart
from tests.engine.place import CHECK, GATE, Hold, lone
from tests.server.stories import GOAL, PLAN, Body, Rig, begun, call, run, yes


def test_a_focused_check_of_several_is_asked_for_by_name_and_no_proof_is_said_to_be_none(rig: Rig) -> None:
    feature = PLAN["features"][0]
    checks = [*feature["checks"], "./run.sh .flow/reports/old.xml tests/old.sh"]
    unproved = feature | {"checks": checks, "proof": {"kind": "none", "because": "It is a word."}}

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_save", goal=GOAL, plan=PLAN | {"features": [unproved]})
        await call(manager, "plan_approve")
        idle = await call(manager, "validate", scope="focused")
        assert idle["refused"]["rule"] == "observe.active-run"
        await call(manager, "run_start")
        which = await call(manager, "validate", scope="focused")
        assert which["refused"]["remedy"]["fill"] == ["command"]
        assert all(name in which["refused"]["remedy"]["say"] for name in (CHECK.run, checks[1]))
        named = await call(manager, "validate", scope="focused", command=checks[1])
        assert named["observation"]["passes"], named
        none = await call(manager, "validate", scope="proof")
        assert "claims no proof for bye" in none["refused"]["seen"]

    run(rig, story)


def test_an_observation_says_that_the_workspace_moved_meanwhile(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await begun(rig, manager)
        still = await call(manager, "validate", scope="focused", command=CHECK.run)
        assert "source" not in still
        assert "changed since" not in still["summary"]
        running = await call(manager, "validate", scope="broad", wait_s=0)
        rig.place.settled()
        rig.place.write("greeting.txt", "hello\nbye bye\n")
        moved = await call(manager, "validate", check_id=running["check"]["id"])
        assert moved["source"] == "moved"
        assert "The workspace changed since the check began (greeting.txt)" in moved["summary"]
        baseline = await call(manager, "validate", scope="baseline")
        assert "source" not in baseline

    run(rig, story)


def test_wrong_arguments_keep_what_was_right_and_say_what_to_write_anew(rig: Rig) -> None:
    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        body = await call(manager, "validate", scope="everything", command=CHECK.run, wait_s=5, exit_code=0)
        assert body["next"]["arguments"] == {"command": CHECK.run, "wait_s": 5}
        assert body["next"]["fill"] == ["scope"]
        body = await call(manager, "plan_save", goal=GOAL)
        assert (body["next"]["arguments"], body["next"]["fill"]) == ({"goal": GOAL}, ["plan"])
        body = await call(manager, "close", kind="done", summary="word " * 500)
        assert (body["next"]["arguments"], body["next"]["fill"]) == ({}, ["kind", "summary"])

    run(rig, story)


def test_where_no_plan_is_open_every_call_speaks_of_the_one_that_cannot_be_read(rig: Rig) -> None:
    calls: tuple[tuple[str, Body], ...] = (
        ("status", {}),
        ("plan_approve", {}),
        ("run_start", {}),
        ("validate", {"scope": "broad"}),
        ("review_start", {"summary": "s"}),
        ("run_reset", {"feature_id": "bye", "reason": "r"}),
        ("close", {"kind": "abandoned", "summary": "s"}),
    )

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await call(manager, "plan_save", goal="Older", plan=PLAN, plan_id="older")
        await call(manager, "close", kind="abandoned", summary="no")
        await call(manager, "plan_save", goal=GOAL, plan=PLAN, plan_id="newer")
        path = rig.place.root / "plans" / "newer.json"
        path.write_text(path.read_text().replace(GOAL, "Say nothing"))
        before = rig.place.bytes()
        for tool, arguments in calls:
            body = await call(manager, tool, **arguments)
            assert "newer" in body["summary"], (tool, body)
            assert "`flow-mcp reseal newer" in body["next"]["say"], (tool, body)
            assert "git checkout" not in body["next"]["say"]
        assert rig.place.bytes() == before
        assert (await call(manager, "status", plan_id="older"))["closure"] == "abandoned"

    run(rig, story)


REPORTLESS: Body = PLAN | {
    "gate": {"run": GATE.run, "no_report_because": "None is written."},
    "features": [
        PLAN["features"][0] | {"proof": {"kind": "command", "run": CHECK.run}, "targets": ["greeting.txt"]},
    ],
}
LOOSE: Body = PLAN | {"features": [PLAN["features"][0] | {"targets": ["greeting.txt", "tests/old.sh"]}]}


@pytest.mark.parametrize(("plan", "trusted"), [(REPORTLESS, False), (LOOSE, True)])
def test_a_callers_approval_that_will_be_refused_is_foretold(headless: Rig, plan: Body, *, trusted: bool) -> None:
    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        saved = await call(manager, "plan_save", goal=GOAL, plan=plan)
        stated = await call(manager, "status")
        refused = await call(manager, "plan_approve")
        assert saved["advice"][0].startswith("plan_approve will be refused: ")
        assert stated["approval_refused"] in saved["advice"][0]
        for body in (saved, stated, refused):
            assert body["next"]["who"] == "person"
            assert "`flow-mcp approve`" in body["next"]["say"]
            assert ("`--caller-scope trusted`" in body["next"]["say"]) is trusted
        assert refused["refused"]["seen"] in saved["advice"][0]

    run(headless, story, person=False)


def test_targets_that_differ_when_a_caller_approves_are_told_and_stay_in_the_record(headless: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.place.write("greeting.txt", "broken\n")
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        assert (await call(manager, "plan_approve"))["targets_dirty"] == ["greeting.txt"]
        planned = await call(manager, "status", view="plan")
        assert planned["approval"]["targets_dirty"] == ["greeting.txt"]

    run(headless, story, person=False)


def test_a_test_that_is_not_committed_is_foretold_with_what_helps(headless: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.place.write("tests/old.sh", "true\n")
        saved = await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        stated = await call(manager, "status")
        refused = await call(manager, "plan_approve")
        for body in (saved, stated, refused):
            assert body["next"]["say"].startswith("Commit it, or revert it, then ask again (plan_approve).")
        assert "'tests/old.sh'" in refused["refused"]["seen"]
        rig.place.git("commit", "--quiet", "--all", "--message=note")
        assert (await call(manager, "plan_approve"))["approval"]["by"] == "caller"

    run(headless, story, person=False)


def test_nothing_is_foretold_where_the_caller_may_approve_or_a_person_can_be_asked(headless: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        async with AsyncExitStack() as stack:
            asking = await rig.client(stack, None, person=True)
            assert (await call(asking, "plan_save", goal=GOAL, plan=REPORTLESS))["next"]["tool"] == "plan_approve"
            assert (await call(asking, "status"))["next"]["tool"] == "plan_approve"
        fine = await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        assert fine["next"]["tool"] == "plan_approve"
        assert "approval_refused" not in await call(manager, "status")

    run(headless, story, person=False)


def test_what_makes_a_plan_unworkable_is_repeated_to_whoever_answers(rig: Rig) -> None:
    rig.place.write("node_modules/a/index.js", "")
    rig.place.write(".gitignore", ".flow/\nnode_modules/\n")

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        async with AsyncExitStack() as stack:
            silent = await rig.client(stack, None, person=False)
            waiting = await call(silent, "plan_approve")
            assert any(one.startswith("node_modules: ignored") for one in waiting["advice"])
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_approve")

    run(rig, story)
    assert "LOOK FIRST: node_modules: ignored, and commands run in a copy" in rig.asked[0]


def test_a_lost_check_is_said_to_be_lost(rig: Rig, tmp_path: Path) -> None:
    hold = Hold(tmp_path)
    hold.install(rig.place)
    rig.place.approved(lone(hold.run))
    rig.place.done(RunStart())
    _, check_id = rig.place.begin("focused", hold.run)
    hold.begun()

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        runs = await call(manager, "status")
        assert "lost" not in runs["summary"]
        assert "state" not in runs["check"]
        (spec,) = (rig.place.root / ".flow" / "checks").glob("*.ticket")
        os.kill(int(json.loads(spec.read_text())["pid"]), signal.SIGKILL)
        rig.place.settled()
        for view in ("next", "plan"):
            lost = await call(manager, "status", view=view)
            assert f"{check_id} is lost: the process that ran it has ended" in lost["summary"]
            assert lost["check"]["state"] == "lost"

    run(rig, story)
    hold.release()
    rig.place.checks.clean_up(spared=False)
