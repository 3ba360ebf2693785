"""What was put back is told wherever somebody decides: status, the reviewer's packet, the question to a person."""

from mcp import Client

from tests.server.stories import GOAL, PLAN, Body, Rig, begun, call, run, shown, yes

FINDING: Body = {"severity": "blocking", "summary": "no", "evidence": "greeting.txt"}


def commit(rig: Rig) -> None:
    rig.place.git("add", ".")
    rig.place.git("commit", "--quiet", "--message=more")


def test_status_and_packet_tell_that_the_document_was_put_back(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, reviewer: Client) -> None:
        await begun(rig, manager)
        await shown(manager)
        commit(rig)
        clean = await call(manager, "status")
        assert "taken_back" not in clean
        review = await call(manager, "review_start", summary="done")
        words = {"assignment_id": review["assignment_id"], "verdict": "failed", "summary": "no"}
        failed = await call(reviewer, "review_submit", **words, findings=[FINDING])
        rig.place.git("checkout", "--quiet", "plans")
        before = await call(manager, "status")
        sentence = f"put back from revision {failed['revision']} to {clean['revision']} after its review_submit"
        assert sentence in before["taken_back"][0]
        assert sentence in before["summary"]
        again = await call(manager, "review_start", summary="done")
        for client in (manager, reviewer):
            packet = await call(client, "status", view="review")
            assert packet["taken_back"] == before["taken_back"]
            assert "put back" not in packet["summary"]  # it is written down
        passed = {"assignment_id": again["assignment_id"], "verdict": "passed", "summary": "fine"}
        await call(reviewer, "review_submit", **passed)
        closed = await call(manager, "close", kind="completed", summary="done")
        assert before["taken_back"][0] in closed["closure"]["notes"]

    run(rig, story)


def test_a_person_who_is_asked_again_is_told_that_the_document_was_put_back(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await call(manager, "plan_save", goal=GOAL, plan=PLAN)
        commit(rig)
        rig.answers += [yes(approve=False, because="too small"), yes(approve=True)]
        await call(manager, "plan_approve")
        rig.place.git("checkout", "--quiet", "plans")
        await call(manager, "plan_approve")

    run(rig, story)
    first, second = rig.asked
    assert "put back" not in first
    assert "LOOK FIRST: The document was put back from revision 2 to 1 after its plan_deny" in second


def test_a_person_who_would_accept_is_told_of_it(rig: Rig) -> None:
    async def story(rig: Rig, manager: Client, _reviewer: Client) -> None:
        await begun(rig, manager)
        commit(rig)
        await shown(manager)
        rig.place.git("checkout", "--quiet", "plans")
        rig.answers.append(yes(accept=True))
        closed = await call(manager, "close", kind="accepted", summary="good enough")
        assert "put back" in closed["closure"]["notes"][0]

    run(rig, story)
    assert "\nLOOK FIRST: The document was put back from revision" in rig.asked[-1]
