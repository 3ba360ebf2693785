"""What happens when the world moves between the look at it and the lock."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Plan
from flow_mcp.engine import core
from flow_mcp.engine.core import Asked, Done, Engine
from flow_mcp.engine.gather import Gathered, Workspace, gather
from flow_mcp.engine.request import is_last_word
from flow_mcp.workspace.entries import Unstable
from flow_mcp.workspace.records import Records
from tests.engine.place import GATE, MANAGER, REVIEWER, Place, external, feature, plan

PAIR = plan(feature("bye"), feature("other"))


def meddling(monkeypatch: pytest.MonkeyPatch, engine: Engine, meddle: Callable[[], object]) -> list[int]:
    """Have something happen once, between the look and the lock; count how often the lock was taken."""
    taken: list[int] = []
    real = engine._held

    def held() -> object:
        taken.append(len(taken))
        if len(taken) == 1:
            meddle()
        return real()

    monkeypatch.setattr(engine, "_held", held)
    return taken


def test_a_run_that_was_replaced_meanwhile_is_looked_at_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.approved()
    place.done(c.RunStart())
    place.write("greeting.txt", "hello there\n")
    other = place.another()
    reset = c.RunReset(feature_id="bye", reason="again", next_feature_id="bye")
    taken = meddling(monkeypatch, place.engine, lambda: other.ask(reset, Asked(MANAGER)))
    looks: list[str] = []

    def look(space: Workspace, records: Records, document: Document, wanted: Plan, *, anew: bool) -> Gathered:
        looks.append(document.runs[-1].id)
        return gather(space, records, document, wanted, anew=anew)

    monkeypatch.setattr(core, "gather", look)
    refused = place.ask(c.ReviewStart(summary="done"))
    assert isinstance(refused, Refused)
    assert len(taken) == 2
    assert (looks[0], looks[-1]) == ("bye.1", "bye.2")


def test_a_request_that_was_refused_keeps_no_copy(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    before = place.kept_sources()
    for number in range(3):
        place.write("greeting.txt", f"hello {number}\n")
        place.refused("run.one-active", c.RunStart())
        reset = c.RunReset(feature_id="bye", reason="again", next_feature_id="bye")
        place.refused("write.expected-revision", reset, expected_revision=99)
    assert place.kept_sources() == before


def test_a_reset_that_starts_nothing_keeps_no_copy_and_one_that_does_keeps_it(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    before = place.kept_sources()
    place.write("greeting.txt", "hello there\n")
    place.done(c.RunReset(feature_id="bye", reason="stop"))
    assert place.kept_sources() == before
    document = place.done(c.RunStart()).document
    assert place.kept_sources() == before | {document.runs[-1].started_source.removeprefix("sha256:")}


def test_what_becomes_possible_meanwhile_is_looked_at_again_and_rests_on_a_copy(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.approved(PAIR)
    place.done(c.RunStart(feature_id="bye"))
    place.write("greeting.txt", "hello there\n")
    other = place.another()
    stop = c.RunReset(feature_id="bye", reason="stop")
    # The document is told apart by its active run; made equal here, so that the copy alone is what lacks.
    monkeypatch.setattr(core, "looked_at", lambda *_: ())
    taken = meddling(monkeypatch, place.engine, lambda: other.ask(stop, Asked(MANAGER)))
    document = place.done(c.RunStart(feature_id="other")).document
    assert len(taken) == 2
    assert document.runs[-1].started_source.removeprefix("sha256:") in place.kept_sources()


def test_the_same_operation_asked_twice_at_once_is_done_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    save, asked = c.PlanSave(goal="Say good-bye", plan=plan()), Asked(MANAGER, operation_id="once", plan_id="p")
    other = place.another()
    taken = meddling(monkeypatch, place.engine, lambda: other.ask(save, asked))
    done = place.engine.ask(save, asked)
    assert isinstance(done, Done)
    assert (done.replayed, done.document.revision, len(taken)) == (True, 1, 1)


def test_a_plan_that_several_worktrees_came_to_share_must_be_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.engine.worktree = "first"
    place.approved()
    other = place.another()
    other.worktree = "second"

    def meddle() -> None:
        other.ask(c.PlanSave(goal="Another", plan=plan()), Asked(MANAGER, plan_id="another"))
        place.engine.worktree = "third"

    meddling(monkeypatch, place.engine, meddle)
    refused = place.ask(c.RunStart())
    assert isinstance(refused, Refused)
    assert "Several plans are open" in refused.seen
    read = place.engine.read(MANAGER, None, look=False)
    assert isinstance(read, Refused)


def test_a_replay_tells_the_next_step_of_its_own_document(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.approved(plan(**external()))
    start = place.done(c.RunStart(), operation_id="start")
    place.work()
    place.observe("baseline", GATE.run)
    again = place.done(c.RunStart(), operation_id="start")
    assert (again.replayed, again.answer) == (True, start.answer)
    assert again.step.tool == "validate"
    place.done(c.Close(kind="deferred", summary="later"))
    monkeypatch.setattr(core, "gather", None)  # the source of a closed goal is not looked at
    assert place.done(c.RunStart(), operation_id="start").step.tool == "plan_save"


def test_two_threads_of_one_engine_lose_nothing(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    barrier = threading.Barrier(2)

    def save(name: str) -> None:
        barrier.wait(60)
        wanted: Plan = plan(summary=f"by {name}")
        place.done(c.PlanSave(goal="Say good-bye", plan=wanted))

    threads = [threading.Thread(target=save, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert place.document.revision == 3


def test_more_frozen_files_than_a_document_holds_stand_beside_it(place: Place, tmp_path: Path) -> None:
    for number in range(2_001):
        place.write(f"tests/t{number}.sh", "")
    document = place.approved()
    (entry,) = document.listings
    assert (entry.lines, entry.count) == (None, 2_002)
    held = place.another().plans.load(document.plan_id)
    assert held is not None
    assert [line.partition(" ")[2] for line in held.lines[entry.digest]].count("tests/t7.sh") == 1
    (sidecar,) = (place.root / "plans").glob("*.lines")
    sidecar.rename(tmp_path / "lost")
    place.done(c.RunStart())
    place.done(c.Close(kind="deferred", summary="its list is lost, and leaving stays open"))


# What is remembered of the source.


def test_only_the_last_words_on_a_source_read_every_file_anew(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []

    def look(space: Workspace, records: Records, document: Document, wanted: Plan, *, anew: bool) -> Gathered:
        looks.append(anew)
        return gather(space, records, document, wanted, anew=anew)

    monkeypatch.setattr(core, "gather", look)

    def looked() -> list[bool]:
        seen = list(looks)
        looks.clear()
        return seen

    place.approved(PAIR)
    assert looked() == [False, False, True]  # saved, shown, approved
    place.done(c.RunStart(feature_id="bye"))
    place.work()
    place.evidence()
    looked()
    review = str(place.done(c.ReviewStart(summary="done")).answer["assignment_id"])
    place.done(c.ReviewSubmit(assignment_id=review, verdict="passed", summary="read"), REVIEWER)
    assert looked() == [False, False]
    place.done(c.RunStart(feature_id="other"))
    place.evidence("bye", "other")
    looked()
    review = str(place.done(c.ReviewStart(summary="done")).answer["assignment_id"])
    place.done(c.ReviewSubmit(assignment_id=review, verdict="passed", summary="read"), REVIEWER)
    place.done(c.Close(kind="completed", summary="done"))
    assert looked() == [True, True, True]


def test_before_any_run_there_is_no_last_review(place: Place) -> None:
    document = place.approved()
    assert not is_last_word(c.ReviewStart(summary="done"), document)
    assert not is_last_word(c.ReviewSubmit(assignment_id="x", verdict="passed", summary="read"), document)
    assert not is_last_word(
        c.ReviewSubmit(assignment_id="x", verdict="passed", summary="read"), place.done(c.RunStart()).document
    )


def test_what_was_remembered_of_a_file_that_is_not_so_is_forgotten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.approved()
    path = "greeting.txt"

    def fail(*_: object, **__: object) -> None:
        raise Unstable(path)

    with monkeypatch.context() as moving:
        moving.setattr(core, "keep_copy", fail)
        with pytest.raises(Unstable):
            place.ask(c.RunStart())
    assert place.engine.space.memory.latest() is None
    place.done(c.RunStart())


def test_a_request_that_rests_on_a_copy_stops_where_none_can_be_kept_and_a_check_goes_on(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    objects = place.root / ".flow" / "objects"
    objects.rename(objects.with_name("aside"))
    objects.touch()
    before = place.bytes()
    with pytest.raises(BrokenWorld):
        place.begin("proof", GATE.run, feature_id="bye")
    assert place.bytes() == before
    assert place.observe("broad", GATE.run).in_place is not None
