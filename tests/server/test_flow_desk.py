"""The nine tools through a real client, in memory and in both protocol eras."""

import asyncio
import shutil
import sys
import threading
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import ElicitResult

from flow_mcp.cli.call import _Shell as Shell
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.engine.core import Engine, State
from flow_mcp.guarantees import rendered_page
from flow_mcp.server.flow_desk import FlowDesk
from tests.engine.place import CHECK, GATE, Place, make, until
from tests.server.stories import GOAL, PLAN, Body, Era, Rig, begun, call, run, shown, yes


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_whole_goal_with_a_person_at_the_host(rig: Rig, era: Era) -> None:
    rig.era = era

    async def story(rig: Rig, manager: Client, reviewer: Client) -> None:
        await begun(rig, manager)
        await shown(manager)
        review = await call(manager, "review_start", summary="done", risks=["none"])
        own = {"assignment_id": review["assignment_id"], "verdict": "passed", "summary": "fine"}
        assert (await call(manager, "review_submit", **own))["refused"]["rule"] == "review.reserved-identity"
        packet = await call(reviewer, "status", view="review")
        assert packet["assignment"]["changed_paths"] == ["greeting.txt", "tests/new.sh"]
        assert packet["requirements"]
        assert packet["checks"] == [CHECK.run]
        test, greeting = packet["differences"]["files"]
        assert (test["path"], test["marks"]) == ("tests/new.sh", ["test"])
        assert greeting["diff"] == "@@ -1 +1,2 @@\n hello\n+bye\n"
        assert "approved source" in packet["differences_since_approval"]["say"]
        page = await call(reviewer, "status", view="review", path="greeting.txt", offset=14)
        assert page["text"] == f"changed since bye.1 started, +1 -0\n{greeting['diff']}"
        finding = {"severity": "advisory", "summary": "a word", "evidence": "greeting.txt"}
        judged = await call(reviewer, "review_submit", **own, findings=[finding])
        assert judged["reviewer"] == "unattested"
        body = await call(manager, "close", kind="completed", summary="good-bye is said")
        assert body["closure"]["kind"] == "completed"

    run(rig, story)
    assert "Frozen files (1): tests/old.sh" in rig.asked[0]
    assert "./run.sh .flow/reports/all.xml" in rig.asked[0]


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_person_who_says_no_is_heard(rig: Rig, era: Era) -> None:
    rig.era = era

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        rig.answers.append(yes(approve=False, because="too small"))
        body = await call(manager, "plan_approve")
        assert body["denied"] == "too small"
        assert "too small" in body["next"]["say"]
        rig.answers.append(ElicitResult(action="decline"))
        await call(manager, "plan_save", goal=GOAL, plan=PLAN | {"summary": "Larger."})
        assert (await call(manager, "plan_approve"))["denied"]
        rig.answers.append(ElicitResult(action="cancel"))
        await call(manager, "plan_save", goal=GOAL, plan=PLAN | {"summary": "Larger still."})
        assert "flow-mcp approve" in (await call(manager, "plan_approve"))["pending"]

    run(rig, story)


def test_without_a_dialog_the_answer_says_what_the_person_does(rig: Rig) -> None:
    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        empty = await call(manager, "plan_approve")
        assert empty["refused"]["rule"] == "plan.approved-first"
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        body = await call(manager, "plan_approve")
        assert "flow-mcp approve" in body["pending"]
        assert body["next"]["who"] == "person"
        closing = await call(manager, "close", kind="accepted", summary="as it is")
        assert closing["refused"]["rule"] == "close.accepted-by-person"

    run(rig, story, person=False)


def test_a_caller_approves_where_the_policy_says_so_and_the_record_says_it(headless: Rig) -> None:
    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        body = await call(manager, "plan_approve", operation_id="yes")
        assert body["approval"]["by"] == "caller"
        again = await call(manager, "plan_approve", operation_id="yes")
        assert again["replayed"]
        other = await call(manager, "run_start", operation_id="yes")
        assert other["refused"]["rule"] == "write.operation-replays"

    run(headless, story, person=False)


def test_accepting_asks_the_person_and_lists_what_stands_open(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await begun(rig, manager)
        rig.answers.append(yes(accept=False))
        body = await call(manager, "close", kind="accepted", summary="as it is")
        assert "did not accept" in body["pending"]
        rig.answers.append(yes(accept=True))
        body = await call(manager, "close", kind="accepted", summary="as it is")
        assert "close.every-feature-passed" in body["open_rules"]

    run(rig, story)
    assert "close.every-feature-passed" in rig.asked[-1]


def test_a_failed_review_sends_the_feature_round_again(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, reviewer: Client) -> None:
        await begun(rig, manager)
        await shown(manager)
        review = await call(manager, "review_start", summary="done")
        finding = {"severity": "blocking", "summary": "wrong word", "evidence": "greeting.txt:2"}
        own = {"assignment_id": review["assignment_id"], "verdict": "failed", "summary": "no", "findings": [finding]}
        failed = await call(reviewer, "review_submit", **own)
        assert failed["state"] == "failed"
        body = await call(manager, "run_reset", feature_id="bye", reason="answer", next_feature_id="bye")
        assert body["superseded"] == ["bye.1"]
        assert body["findings"][0]["id"] == failed["findings"][0]
        seen = await call(manager, "status", view="run")
        assert seen["findings"]
        assert seen["observations"] == []

    run(rig, story)


def test_a_reviewers_connection_has_only_its_own_tools(rig: Rig) -> None:
    async def story(_rig: Rig, _manager: Client, reviewer: Client) -> None:
        body = await call(reviewer, "close", kind="abandoned", summary="no")
        assert body["refused"]["rule"] == "review.reserved-identity"
        assert body["refused"]["remedy"]["tool"] == "status"

    run(rig, story)


def test_every_view_of_a_goal_can_be_asked_for_at_any_time(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        views = ("next", "plan", "run", "review", "evidence", "full")
        for view in views:
            assert (await call(manager, "status", view=view))["status"] == "none"
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        for view in views:
            assert (await call(manager, "status", view=view, check_source=False))["source"] == "unchecked"
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_approve")
        await call(manager, "run_start")
        rig.place.work()
        await call(manager, "validate", scope="focused", command=CHECK.run)
        assert (await call(manager, "status"))["source"] == "current"
        rig.place.write("greeting.txt", "hello\nbye bye\n")
        for view in views:
            assert (await call(manager, "status", view=view))["source"] == "moved"
        evidence = await call(manager, "status", view="evidence")
        assert evidence["observations"][0]["totals"] == {"passed": 1, "failed": 0, "skipped": 0}
        (rig.place.root / "plans" / "torn.json").write_text("{")
        body = await call(manager, "status")
        assert "torn" in body["unreadable"]
        assert (await call(manager, "status", plan_id="torn"))["refused"]["rule"] == "write.whole-schema"
        assert (await call(manager, "status", plan_id="none"))["refused"]["rule"] == "plan.approved-first"

    run(rig, story)


def test_a_long_check_answers_with_its_id_and_can_be_waited_for_and_cancelled(rig: Rig) -> None:
    rig.place.write("run.sh", "#!/bin/sh\necho started\nsleep 30\n")
    rig.place.git("commit", "--quiet", "--all", "--message=slow")

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await begun(rig, manager)
        body = await call(manager, "validate", scope="focused", command=CHECK.run, wait_s=0)
        assert body["check"]["state"] == "running"
        name = body["check"]["id"]
        assert body["next"]["arguments"] == {"check_id": name}
        busy = await call(manager, "validate", scope="broad")
        assert busy["refused"]["rule"] == "observe.settled-first"
        assert busy["refused"]["remedy"]["arguments"]["check_id"] == name
        seen: list[str] = []

        async def told(progress: float, total: float | None, message: str | None) -> None:
            seen.append(f"{message} {progress} {total}")

        waiting = await manager.call_tool("validate", {"check_id": name, "wait_s": 3}, progress_callback=told)
        assert "started" in waiting.structured_content["check"]["output_tail"]
        assert any(name in message for message in seen)
        done = await call(manager, "validate", check_id=name, cancel=True)
        assert done["observation"]["reason"] == "cancelled"
        unknown = await call(manager, "validate", check_id="check-999")
        assert unknown["refused"]["rule"] == "observe.pending-only"

    run(rig, story)


def test_what_a_scope_implies_is_filled_in_and_what_it_lacks_is_said(rig: Rig) -> None:
    entry = {"requirement": "r1", "command": CHECK.run, "platform": "any", "cases": ["new"]}

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_save", goal=GOAL, plan=PLAN | {"external_evidence": [entry]})
        await call(manager, "plan_approve")
        await call(manager, "run_start")
        rig.place.work()
        missing = await call(manager, "validate")
        assert missing["refused"]["remedy"]["tool"] == "validate"
        host = await call(manager, "validate", scope="broad", via="host")
        assert host["refused"]["rule"] == "attest.bytes"
        body = await call(manager, "validate", scope="external", requirement="r1")
        assert body["observation"]["cases"] == {"new": "passed"}
        stranger = await call(manager, "validate", scope="external", requirement="r2")
        assert stranger["refused"]["rule"] == "observe.listed-only"
        other = await call(manager, "validate", scope="focused", command="true")
        assert other["refused"]["rule"] == "observe.listed-only"
        closer = await call(manager, "validate", scope="proof")
        assert closer["observation"]["proof"]["outcome"] == "failed", closer
        only = await call(manager, "validate", scope="focused")
        assert only["observation"]["command"] == CHECK.run
        nobody = await call(manager, "validate", scope="proof", feature_id="nobody")
        assert nobody["refused"]["rule"] == "observe.listed-only"
        closed = await call(manager, "close", kind="deferred", summary="later")
        assert closed["closure"]["kind"] == "deferred"
        assert (await call(manager, "validate"))["refused"]["remedy"]["arguments"] == {"scope": "broad"}

    run(rig, story)


def test_a_first_plan_gets_advice(rig: Rig) -> None:
    rig.place.write("greeting.txt", "hello you\n")
    rig.place.write("tests/old.sh", "grep -q you greeting.txt\n")
    (rig.place.root / "node_modules").mkdir()

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        body = await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        told = " ".join(body["advice"])
        assert "node_modules" in told
        assert "differs from HEAD" in told
        assert "tests/old.sh" in told
        assert rig.place.document.revision == 1

    run(rig, story)


def test_a_project_without_a_commit_is_told_to_make_one(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    root.mkdir()
    rig = Rig(root)
    shutil.rmtree(root / ".git")

    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        body = await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        assert any("no commit yet" in sentence for sentence in body["advice"])

    run(rig, story)


def test_resources_show_the_plan_the_guide_the_page_and_outputs(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        async def read(uri: str) -> str:
            found = await manager.read_resource(uri)
            return str(found.contents[0].text)  # type: ignore[union-attr]

        assert "no plan" in await read("flow://plan")
        await begun(rig, manager)
        body = await call(manager, "validate", scope="focused", command=CHECK.run)
        assert GOAL in await read("flow://plan")
        assert "plan_save" in await read("flow://guide")
        assert await read("flow://guarantees") == rendered_page()
        check = f"check-{body['revision'] - 1}"
        assert isinstance(await read(f"flow://output/{check}"), str)
        for uri in ("flow://output/check-999", "flow://output/..%2Flock", "flow://other"):
            with pytest.raises(Exception, match=r"(?i)not found|no resource|unknown"):
                await read(uri)

    run(rig, story)


HOSTILE: tuple[tuple[str, Body], ...] = (
    ("plan_save", {"goal": "g"}),
    ("plan_save", {"goal": "g", "plan": "all of it"}),
    ("plan_save", {"goal": 7, "plan": PLAN}),
    ("plan_save", {"goal": "g", "plan": PLAN | {"feature": []}}),
    ("plan_save", {"goal": "g", "plan": PLAN | {"features": [{"id": "a", "title": "t"}]}}),
    ("plan_save", {"goal": "a\x00b", "plan": PLAN}),
    ("plan_save", {"goal": "g", "plan": PLAN | {"gate": {"run": "make\ntest"}}}),
    ("plan_save", {"goal": "g", "plan": PLAN | {"gate": {"run": "make", "timeout_s": "900"}}}),
    ("validate", {"scope": "everything"}),
    ("validate", {"scope": "broad", "exit_code": 0}),
    ("validate", {"scope": "broad", "wait_s": 46}),
    ("validate", {"scope": "broad", "wait_s": True}),
    ("run_start", {"operation_id": "../../etc"}),
    ("run_start", {"expected_revision": 1.5}),
    ("close", {"kind": "done", "summary": "s"}),
    ("close", {"kind": "completed"}),
    ("review_submit", {"assignment_id": "r", "verdict": "passed", "summary": "s", "agent": "flow-reviewer"}),
    ("review_submit", {"assignment_id": "r", "verdict": "failed", "summary": "s", "findings": [{"severity": "bad"}]}),
    ("status", {"view": "everything"}),
)


def test_hostile_arguments_are_told_apart_in_plain_words_and_change_nothing(rig: Rig) -> None:
    told: list[str] = []

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        before = rig.place.bytes()
        for tool, arguments in HOSTILE:
            body = await call(manager, tool, **arguments)
            assert body["refused"]["rule"] == "arguments"
            told.append(body["refused"]["seen"])
        assert rig.place.bytes() == before

    run(rig, story)
    assert len(set(told)) == len(HOSTILE)
    for sentence in told:
        assert "pydantic" not in sentence
        assert "http" not in sentence
        assert "Input should" not in sentence


def test_a_broken_world_is_a_refusal_with_what_a_person_does(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await begun(rig, manager)
        path = next((rig.place.root / "plans").glob("*.json"))
        path.write_text(path.read_text().replace("Say good-bye too.", "Say nothing."))
        body = await call(manager, "validate", scope="broad")
        assert body["refused"]["rule"] == "write.chain-intact"
        assert body["refused"]["remedy"]["who"] == "person"
        assert "reseal" in body["refused"]["remedy"]["say"]

    run(rig, story)


def test_the_manager_role_is_not_shown_the_verdict_and_is_refused_it(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await begun(rig, manager)
        body = await call(manager, "review_submit", assignment_id="r", verdict="passed", summary="fine")
        assert body["refused"]["rule"] == "review.reserved-identity"

    run(rig, story, role="manager")


def test_actors_name_no_agent_that_nobody_attested(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await begun(rig, manager)

    run(rig, story)
    actors = [operation.actor for operation in rig.place.document.operations]
    assert actors == [Actor(role="manager"), Actor(role="person", channel="dialog"), Actor(role="manager")]


def test_nothing_in_a_plan_can_pose_as_a_line_of_the_packet(rig: Rig) -> None:
    forged = "Say good-bye\nFrozen files (20): everything\nGate: `make everything`"
    long = "word " * 2_000

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_save", goal=forged, plan=PLAN | {"summary": long, "inputs": ["cache"]})
        await call(manager, "plan_approve")

    (rig.place.root / "cache").mkdir()
    run(rig, story)
    lines = rig.asked[0].splitlines()
    assert [line for line in lines if line.startswith("Gate: ")] == [f"Gate: `{GATE.run}`, report {GATE.report}"]
    assert [line for line in lines if line.startswith("Frozen files")] == ["Frozen files (1): tests/old.sh"]
    assert any("more characters: flow-mcp show" in line for line in lines)
    assert "Requirement r1: it says bye" in lines
    assert "Decided: one line" in lines
    assert "Commands may read, outside the digest: cache" in lines


def test_every_call_is_a_line_of_the_log_with_its_tool_and_what_refused_it(rig: Rig) -> None:
    async def story(_rig: Rig, manager: Client, reviewer: Client) -> None:
        await call(manager, "status")
        await call(manager, "run_start")
        await call(reviewer, "close", kind="abandoned", summary="no")
        await call(manager, "status", view="everything")

    run(rig, story)
    calls = [(one["event"], one["tool"], one["refused"]) for one in rig.log]
    assert calls == [
        ("call", "status", None),
        ("call", "run_start", "plan.approved-first"),
        ("call", "close", "review.reserved-identity"),
        ("call", "status", "arguments"),
    ]
    assert all(one["ms"] >= 0 for one in rig.log)


def test_no_argument_no_output_and_no_secret_stands_in_the_log(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    rig.place.script("run.sh", "echo hunter2 $TOKEN", "echo hunter2 >&2", "exit 1")

    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        rig.answers.append(yes(approve=True))
        await call(manager, "plan_save", goal=GOAL, plan=PLAN | {"summary": "hunter2"}, operation_id="hunter2")
        await call(manager, "plan_save", goal="hunter2", plan={"hunter2": "hunter2"})
        await call(manager, "plan_approve", plan_id="hunter2")
        await call(manager, "plan_approve")
        await call(manager, "run_start", feature_id="hunter2")
        await call(manager, "run_start")
        body = await call(manager, "validate", scope="focused", command=CHECK.run)
        assert "hunter2" in body["observation"]["output_tail"]

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("hunter2")  # noqa: EM101 - the secret that must not be kept

    run(rig, story)
    monkeypatch.setattr(Engine, "read", broken)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(FlowDesk(rig.engine(), None, rendered_page).call("status", {}, Shell()))
    until(lambda: "check ended" in {one["event"] for one in rig.log})
    assert "hunter2" not in "".join(path.read_text() for path in (rig.place.root / ".flow" / "log").iterdir())
    (line,) = (one for one in rig.log if one["event"] == "broken")
    assert line["tool"] == "status"
    assert line["error"].startswith("ZeroDivisionError at test_flow_desk.py:")


def test_a_log_that_cannot_be_written_costs_no_call(rig: Rig) -> None:
    (rig.place.root / ".flow").mkdir(exist_ok=True)
    (rig.place.root / ".flow" / "log").write_text("in the way")

    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        assert (await call(manager, "status"))["status"] == "none"

    run(rig, story)
    assert (rig.place.root / ".flow" / "log").read_text() == "in the way"


def telling(rig: Rig, folder: Path) -> Path:
    """Name a command in the user's configuration that writes down what it is told."""
    notes, program = folder / "notes", folder / "tell.py"
    program.write_text(f"import sys; open({str(notes)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n")
    rig.notify = (sys.executable, str(program), "Flow:")
    return notes


def test_the_users_command_tells_them_once_that_they_are_waited_for(rig: Rig, tmp_path: Path) -> None:
    notes = telling(rig, tmp_path)

    async def story(_rig: Rig, manager: Client, reviewer: Client) -> None:
        await call(manager, "plan_approve")
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        await call(manager, "status")
        assert not notes.exists()
        for _ in range(3):
            assert (await call(manager, "plan_approve"))["next"]["who"] == "person"
        await call(reviewer, "status")
        until(lambda: notes.exists() and notes.read_text().endswith("\n"))
        await call(manager, "plan_save", goal=GOAL, plan=PLAN | {"summary": "Larger."})
        await call(manager, "plan_approve")
        until(lambda: notes.read_text().count("\n") >= 2)

    run(rig, story, person=False)
    told = "Flow: Show the plan with `flow-mcp show`, then answer with `flow-mcp approve` or `flow-mcp deny`."
    assert notes.read_text().splitlines() == [told, told]


def test_the_reviewers_connection_tells_nobody(rig: Rig, tmp_path: Path) -> None:
    notes = telling(rig, tmp_path)
    desk = FlowDesk(rig.engine(), "reviewer", rendered_page)
    assert not desk._notifier.tell("p", 1, "Answer.")
    assert FlowDesk(rig.engine(), "manager", rendered_page)._notifier.tell("p", 1, "Answer.")
    until(notes.exists)


def test_a_command_that_is_missing_costs_no_call(rig: Rig) -> None:
    rig.notify = ("/not/there",)

    async def story(_rig: Rig, manager: Client, _reviewer: Client) -> None:
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        assert (await call(manager, "plan_approve"))["next"]["who"] == "person"

    run(rig, story, person=False)


class _Listening(Shell):
    """A session that hears how far a call is, and lets the reading go on once it has heard of it."""

    def __init__(self, heard: threading.Event) -> None:
        self.heard = heard
        self.told: list[tuple[float, str]] = []

    async def progress(self, done: float, _total: float | None, message: str) -> None:
        self.told.append((done, message))
        self.heard.set()


def test_the_reading_of_a_large_source_is_told_as_a_part_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, heard = Place(make(tmp_path)), threading.Event()
    place.approved()
    desk, session = FlowDesk(place.engine, None, lambda: ""), _Listening(heard)
    real = place.engine.read

    def slow(actor: Actor, plan_id: str | None, *, look: bool) -> State | Refused:
        place.engine.space.memory.reading(3, 4)
        assert heard.wait(60)
        return real(actor, plan_id, look=look)

    monkeypatch.setattr(place.engine, "read", slow)
    monkeypatch.setattr("flow_mcp.server.flow_desk.PROGRESS_S", 0.01)
    reply = asyncio.run(desk.call("status", {"check_source": True}, session))
    assert not reply.is_error
    assert session.told[0] == (0.75, "3 of 4 files of the source are read")
    assert not [told for told in session.told if told[0] > 1]
