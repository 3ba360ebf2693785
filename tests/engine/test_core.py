import json
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Actor
from flow_mcp.domain.plan import Plan
from flow_mcp.domain.view import status
from flow_mcp.engine.core import Asked, Done, slug
from flow_mcp.store import chain
from flow_mcp.store.documents import Damaged
from tests.engine.place import CHECK, GATE, MANAGER, PERSON, REVIEWER, Place, plan


def test_a_goal_goes_from_plan_to_a_completed_closure(place: Place) -> None:
    place.finished()
    done = place.done(c.Close(kind="completed", summary="good-bye is said"))
    assert done.document.closure is not None
    assert done.document.closure.kind == "completed"
    assert done.step.tool == "plan_save"
    stored = place.another().plans.load(done.document.plan_id)
    assert stored is not None
    assert stored.document == done.document
    assert chain.fault(stored.document) is None


def test_every_mutation_writes_one_revision_and_a_page(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    place.approve()
    document = place.document
    assert [operation.revision for operation in document.operations] == [1, 2]
    page = (place.root / "plans" / f"{document.plan_id}.md").read_text()
    assert "Say good-bye" in page
    assert "**ready**" in page


def test_a_page_that_cannot_be_written_costs_no_mutation(place: Place) -> None:
    document = place.done(c.PlanSave(goal="Say good-bye", plan=plan())).document
    page = place.root / "plans" / f"{document.plan_id}.md"
    page.unlink()
    page.mkdir()
    assert place.approve().revision == 2


def test_a_mutation_that_names_another_revision_is_refused_and_told_the_current_one(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    refused = place.refused("write.expected-revision", c.RunStart(), expected_revision=7)
    assert "at 1" in refused.seen
    assert refused.retryable


def test_an_operation_id_replays_at_any_later_revision_and_after_a_restart(place: Place) -> None:
    save = c.PlanSave(goal="Say good-bye", plan=plan())
    first = place.done(save, operation_id="save-1")
    place.approve()
    again = place.another().ask(save, Asked(MANAGER, operation_id="save-1", expected_revision=0))
    assert isinstance(again, Done)
    assert again.replayed
    assert dict(again.answer) == dict(first.answer)
    assert place.document.revision == 2
    assert again.step.tool == "run_start"


def test_an_operation_id_of_another_request_conflicts(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()), operation_id="x")
    place.refused("write.operation-replays", c.RunStart(), operation_id="x")


def test_a_refused_call_leaves_its_operation_id_free(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    place.refused("plan.approved-first", c.RunStart(), operation_id="start")
    place.approve()
    assert not place.done(c.RunStart(), operation_id="start").replayed


def test_a_replay_reaches_a_closed_plan_without_naming_it(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    close = c.Close(kind="abandoned", summary="not wanted")
    place.done(close, operation_id="bye")
    assert place.done(close, operation_id="bye").replayed


def test_a_document_edited_by_hand_is_refused_and_left_as_it_is(place: Place) -> None:
    document = place.approved()
    path = place.root / "plans" / f"{document.plan_id}.json"
    edited = path.read_text().replace("Say good-bye too.", "Say nothing.")
    path.write_text(edited)
    with pytest.raises(Damaged) as caught:
        place.ask(c.RunStart())
    assert caught.value.fault == "chain"
    assert "reseal" in caught.value.remedy
    assert path.read_text() == edited


def test_a_damaged_document_hides_no_other_and_stops_only_new_plans(place: Place) -> None:
    document = place.approved()
    (place.root / "plans" / "broken.json").write_text("{")
    state = place.state()
    assert state.document.plan_id == document.plan_id
    assert list(state.folder.damaged) == ["broken"]
    assert isinstance(place.ask(c.RunStart()), Done)
    place.done(c.Close(kind="abandoned", summary="not wanted"))
    with pytest.raises(Damaged, match="broken"):
        place.ask(c.PlanSave(goal="Another", plan=plan()))
    with pytest.raises(Damaged, match="broken"):
        place.ask(c.RunStart(), plan_id="broken")


def test_only_a_broken_document_is_said_and_not_taken_for_nothing(place: Place) -> None:
    (place.root / "plans").mkdir()
    (place.root / "plans" / "broken.json").write_text("{")
    with pytest.raises(BrokenWorld, match="broken"):
        place.state()


def test_without_a_plan_the_next_call_is_to_save_one(place: Place) -> None:
    assert place.state().document.revision == 0
    assert place.state().step.tool == "plan_save"
    place.refused("plan.approved-first", c.RunStart())
    refused = place.refused("plan.approved-first", c.RunStart(), plan_id="none-such")
    assert "none-such" in refused.seen


def test_several_open_plans_are_told_apart_by_name(place: Place, tmp_path: Path) -> None:
    first = place.approved()
    other = Place(clone(place, tmp_path / "other"))
    assert other.state().document.plan_id == first.plan_id
    other.done(c.PlanSave(goal="Another goal", plan=plan()), plan_id="second")
    for name in ("second.json", "second.md"):
        (place.root / "plans" / name).write_bytes((other.root / "plans" / name).read_bytes())
    assert place.state().document.plan_id == first.plan_id
    third = Place(clone(place, tmp_path / "third"))
    refused = third.refused("plan.one-open", c.RunStart())
    assert "Several plans are open" in refused.seen
    assert third.done(c.RunStart(), plan_id=first.plan_id).document.plan_id == first.plan_id
    third.refused("plan.one-open", c.PlanSave(goal="Another goal", plan=plan()), plan_id="second")


def clone(place: Place, target: Path) -> Path:
    place.git("add", "--force", "plans")
    place.git("commit", "--quiet", "--message=plans")
    place.git("clone", "--quiet", str(place.root), str(target))
    return target


def test_a_clone_in_mid_run_says_what_is_missing_and_the_remedy_leads_to_a_passing_review(
    place: Place, tmp_path: Path
) -> None:
    place.approved()
    place.write("greeting.txt", "hello again\n")
    place.done(c.RunStart())
    place.work()
    place.git("add", "greeting.txt", "tests/new.sh")
    other = Place(clone(place, tmp_path / "clone"))
    assert not (other.root / ".flow" / "sources").exists()
    other.refused("run.facts-present", c.CheckStart(scope="focused", command=CHECK.run))
    refused = other.refused("run.facts-present", c.ReviewStart(summary="done"))
    assert refused.remedy.tool == "run_reset"
    given = {"feature_id": "bye", "next_feature_id": "bye"} | dict(refused.remedy.arguments)
    other.done(c.RunReset.model_validate(given | {"reason": "a clone"}))
    other.evidence()
    assert status(other.reviewed()) == "completed"


def test_a_clone_without_the_approved_source_takes_another_approval_to_a_passing_review(
    place: Place, tmp_path: Path
) -> None:
    place.write("greeting.txt", "hello you\n")
    assert place.approved().approvals[0].commit is None
    place.done(c.RunStart())
    place.git("checkout", "--quiet", "--", "greeting.txt")
    other = Place(clone(place, tmp_path / "clone"))
    refused = other.refused("run.facts-present", c.CheckStart(scope="baseline", command=GATE.run))
    assert refused.remedy.tool == "plan_approve"
    other.approve()
    refused = other.refused("run.facts-present", c.CheckStart(scope="focused", command=CHECK.run))
    assert refused.remedy.tool == "run_reset"
    other.done(c.RunReset(feature_id="bye", reason="a clone", next_feature_id="bye"))
    other.work()
    other.evidence()
    assert status(other.reviewed()) == "completed"


def test_the_approved_copy_is_rebuilt_from_its_commit(place: Place, tmp_path: Path) -> None:
    place.approved()
    other = Place(clone(place, tmp_path / "clone"))
    other.done(c.RunStart())
    other.work()
    seen = other.observe("baseline", GATE.run)
    assert seen.exit_code == 0
    assert seen.source == other.document.approvals[0].source


def test_a_lost_copy_without_commit_takes_a_person_and_keeps_the_frozen_files(place: Place) -> None:
    place.write("greeting.txt", "hello you\n")
    before = place.approved().approvals[0]
    assert before.commit is None
    place.done(c.RunStart())
    place.work()
    place.forget_sources(before.source)
    refused = place.refused("run.facts-present", c.CheckStart(scope="baseline", command=GATE.run))
    assert refused.remedy.tool == "plan_approve"
    after = place.approve().approvals[-1]
    assert after.source != before.source
    assert after.protected == before.protected


def test_a_plan_that_is_given_up_leaves_what_it_owes_to_the_next(place: Place) -> None:
    first = place.finished()
    place.done(c.Close(kind="deferred", summary="later"))
    second = place.approved(goal="Say good-bye at last")
    assert second.plan is not None
    owed = second.plan.inherits[0]
    assert owed.plan_id == first.plan_id
    assert {kept.run for kept in owed.kept} == {GATE.run, CHECK.run}
    assert any("tests/old.sh" in line for line in owed.protected)
    listed = {entry.digest for entry in second.listings}
    assert {kept.listing for kept in owed.kept} <= listed


def test_what_was_inherited_by_a_completed_plan_is_owed_no_more(place: Place) -> None:
    place.approved()
    place.done(c.Close(kind="deferred", summary="later"))
    place.approved(goal="Again")
    place.done(c.RunStart())
    place.work()
    place.evidence()
    place.reviewed()
    place.done(c.Close(kind="completed", summary="done"))
    third = place.done(c.PlanSave(goal="More", plan=plan())).document
    assert third.plan is not None
    assert third.plan.inherits == ()


def test_closing_needs_no_look_at_the_source(place: Place) -> None:
    place.approved()
    (place.root / "greeting.txt").unlink()
    os.mkfifo(place.root / "greeting.txt")
    assert isinstance(place.ask(c.Close(kind="deferred", summary="stuck")), Done)


def test_a_document_keeps_room_for_its_closing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.approved()
    size = len(next(data for name, data in place.bytes().items() if name.endswith(".json")))
    monkeypatch.setattr("flow_mcp.engine.sizes.DOCUMENT_BYTES_MAX", size + 8_000)
    monkeypatch.setattr("flow_mcp.engine.sizes.RESERVED_BYTES", 7_900)
    refused = place.refused("plan.bounded", c.RunStart())
    assert refused.remedy.arguments == {"kind": "deferred"}
    place.done(c.Close(kind="deferred", summary="full"))


def test_a_check_reserves_its_room_when_it_starts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.approved()
    place.done(c.RunStart())
    size = len(next(data for name, data in place.bytes().items() if name.endswith(".json")))
    monkeypatch.setattr("flow_mcp.engine.sizes.RESERVED_BYTES", 0)
    monkeypatch.setattr("flow_mcp.engine.sizes.DOCUMENT_BYTES_MAX", size + 20_000)
    place.refused("plan.bounded", c.CheckStart(scope="focused", command=CHECK.run))


def test_a_kernel_that_breaks_its_own_invariants_never_writes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.approved()
    before = place.bytes()
    monkeypatch.setattr("flow_mcp.engine.core.breaches", lambda *_: ("something: is not true",))
    with pytest.raises(AssertionError, match="invariant"):
        place.ask(c.RunStart())
    assert place.bytes() == before


def test_with_that_rule_out_nothing_is_asked_of_what_is_written(
    weak: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = weak("write.whole-schema")
    place.approved()
    monkeypatch.setattr("flow_mcp.engine.core.breaches", lambda *_: ("something: is not true",))
    assert isinstance(place.ask(c.RunStart()), Done)


def test_a_plan_that_changes_under_every_look_ends_in_a_refusal(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    other, turns = place.another(), iter(range(100))

    def meddle(*looked: object) -> bool:
        other.ask(c.PlanSave(goal="Say good-bye", plan=plan(summary=f"turn {next(turns)}")), Asked(MANAGER))
        return bool(looked)

    monkeypatch.setattr(place.engine, "_keep", meddle)
    answer = place.ask(c.RunStart())
    assert not isinstance(answer, Done)
    assert answer.rule == "write.expected-revision"


def test_sidecars_hold_what_is_too_long_for_the_document(place: Place) -> None:
    cases = "".join(f"<testcase classname='many' name='n{number}'/>" for number in range(2_100))
    report = f"<testsuite name='s'>{cases}</testsuite>"
    place.write("run.sh", f"#!/bin/sh\nmkdir -p .flow/reports\ncat >$1 <<'END'\n{report}\nEND\n")
    place.git("commit", "--quiet", "--all", "--message=many")
    place.approved()
    place.done(c.RunStart())
    place.observe("baseline", GATE.run)
    document = place.document
    entry = next(entry for entry in document.listings if entry.count == 2_100)
    assert entry.lines is None
    sidecar = next((place.root / "plans").glob("*.lines"))
    assert len(sidecar.read_text().splitlines()) == 2_100
    place.work()
    place.observe("broad", GATE.run)
    place.observe("focused", CHECK.run)
    sidecar.write_text("other lines\n")
    refused = place.refused("review.cases-kept", c.ReviewStart(summary="done"))
    assert "sidecar" in refused.remedy.say


@pytest.mark.parametrize(
    ("goal", "expected"),
    [("Add slugify(text)!", "add-slugify-text"), ("日本語", "goal"), ("a " * 40, "a-a-a-a-a-a"), ("x" * 90, "x" * 48)],
)
def test_the_readable_part_of_a_plan_id_comes_from_the_goal(goal: str, expected: str) -> None:
    assert slug(goal) == expected


def test_nobody_but_the_reviewer_or_a_person_judges(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.evidence()
    review = str(place.done(c.ReviewStart(summary="done")).answer["assignment_id"])
    submit = c.ReviewSubmit(assignment_id=review, verdict="passed", summary="fine")
    place.refused("review.reserved-identity", submit)
    place.refused("review.reserved-identity", submit, Actor(role="manager", agent="Flow-Reviewer", host="h"))
    assert status(place.done(submit, PERSON).document) == "completed"
    assert place.done(submit, REVIEWER, operation_id=place.document.operations[-1].id).replayed


def _save(root: str, number: int, times: int, waits: "multiprocessing.Queue[float]") -> None:
    from tests.engine.place import Place as Fresh  # noqa: PLC0415 - in the child

    own = Fresh(Path(root))
    for turn in range(times):
        began = time.monotonic()
        wanted: Plan = plan(summary=f"process {number} turn {turn}")
        answer = own.engine.ask(c.PlanSave(goal="Say good-bye", plan=wanted), Asked(MANAGER))
        waits.put(time.monotonic() - began)
        assert isinstance(answer, Done), answer


def contend(place: Place, processes: int, times: int) -> list[float]:
    """Let many processes save the same draft; give how long each mutation took, in seconds."""
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    context = multiprocessing.get_context("spawn")
    waits: multiprocessing.Queue[float] = context.Queue()
    workers = [context.Process(target=_save, args=(str(place.root), n, times, waits)) for n in range(processes)]
    for worker in workers:
        worker.start()
    took = [waits.get(timeout=60) for _ in range(processes * times)]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    document = place.document
    assert document.revision == 1 + processes * times
    assert [operation.revision for operation in document.operations] == list(range(1, document.revision + 1))
    assert chain.fault(document) is None
    return took


def test_processes_that_write_at_once_lose_nothing(place: Place) -> None:
    contend(place, 4, 4)


@pytest.mark.long
def test_sixteen_processes_with_twenty_mutations_each_lose_nothing(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    took = sorted(contend(place, 16, 20))
    with capsys.disabled():
        print(  # noqa: T201 - a figure for the person who ran it
            f"\n320 mutations by 16 processes in {time.monotonic() - began:.1f} s: median {took[160]:.2f} s, "
            f"p99 {took[316]:.2f} s, worst {took[-1]:.2f} s, none lost"
        )


@pytest.mark.parametrize("field", ["goal", "revision", "plan_id", "worktree"])
def test_any_edited_field_breaks_the_chain_or_the_document(place: Place, field: str) -> None:
    document = place.approved()
    path = place.root / "plans" / f"{document.plan_id}.json"
    value = json.loads(path.read_text())
    value[field] = 2 if field == "revision" else "other"
    if field == "revision":
        value[field] = document.revision + 1
    path.write_text(json.dumps(value))
    with pytest.raises(Damaged):
        place.ask(c.RunStart(), plan_id=document.plan_id)
