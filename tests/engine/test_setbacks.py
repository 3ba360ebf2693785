"""A plan's document is put back, by git or by hand, and the record says so (row write.setback-told)."""

import json
from pathlib import Path

from flow_mcp.domain import commands as c
from flow_mcp.domain.model import Document, TakenBack
from flow_mcp.domain.setbacks import sentences
from flow_mcp.engine.core import Asked, Done, whole_digest
from flow_mcp.store.documents import Stored
from tests.engine.place import PERSON, Place, plan

NO = c.NewFinding(severity="blocking", summary="It does not say bye.", evidence="greeting.txt")
CLOSE = c.Close(kind="completed", summary="done")


def ready(place: Place) -> int:
    """Do everything up to the review, and commit that; give the revision."""
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.evidence()
    commit(place)
    return place.document.revision


def commit(place: Place) -> None:
    place.git("add", ".")
    place.git("commit", "--quiet", "--message=more")


def path_of(place: Place) -> Path:
    (path,) = (place.root / "plans").glob("*.json")
    return path


def spans(document: Document) -> list[tuple[int, int]]:
    return [(one.from_revision, one.to_revision) for one in document.taken_back or ()]


def test_a_checkout_after_a_failed_review_is_seen_before_and_recorded_with_the_next_mutation(place: Place) -> None:
    before = ready(place)
    failed = place.reviewed("failed", NO)
    place.git("checkout", "--quiet", "plans")
    stored = path_of(place).read_bytes()
    seen = place.document
    assert seen.taken_back == (
        TakenBack(from_revision=failed.revision, to_revision=before, after="review_submit", revision=before + 1),
    )
    place.refused("close.every-feature-passed", CLOSE)
    assert path_of(place).read_bytes() == stored
    place.reviewed()
    closure = place.done(CLOSE).document.closure
    document = json.loads(path_of(place).read_text())
    assert document["taken_back"] == [entry.as_json() for entry in seen.taken_back]
    assert closure is not None
    assert sentences(seen)[0] in closure.notes


def test_it_is_recorded_once(place: Place) -> None:
    ready(place)
    place.reviewed("failed", NO)
    place.git("checkout", "--quiet", "plans")
    once = place.done(c.ReviewStart(summary="done")).document
    assert place.document == once
    assert len(spans(place.done(c.RunReset(feature_id="bye", reason="again")).document)) == 1


def test_a_stash_that_is_taken_back_out_leaves_no_word(place: Place) -> None:
    ready(place)
    further = place.reviewed("failed", NO)
    place.git("stash", "--quiet")
    assert len(spans(place.document)) == 1
    place.git("stash", "pop", "--quiet")
    assert place.document == further
    after = place.done(c.RunReset(feature_id="bye", reason="again")).document
    assert after.taken_back is None


def test_a_second_checkout_hides_no_first_one(place: Place) -> None:
    before = ready(place)
    failed = place.reviewed("failed", NO).revision
    place.git("checkout", "--quiet", "plans")
    place.done(c.ReviewStart(summary="done"))
    place.git("checkout", "--quiet", "plans")
    assert spans(place.document) == [(failed, before), (before + 1, before)]
    assert spans(place.done(c.ReviewStart(summary="done")).document) == [(failed, before), (before + 1, before)]


def test_a_persons_no_that_was_taken_back_is_told(place: Place) -> None:
    wanted = plan()
    place.done(c.PlanSave(goal="Say good-bye", plan=wanted))
    commit(place)
    place.done(c.PlanDeny(plan_digest=wanted.digest(), because="too small"), PERSON)
    place.git("checkout", "--quiet", "plans")
    assert spans(place.document) == [(2, 1)]
    assert spans(place.approve()) == [(2, 1)]


def test_a_closed_goal_that_was_opened_again_is_told_of(place: Place) -> None:
    ready(place)
    last = place.done(c.Close(kind="abandoned", summary="no")).document.revision
    place.git("checkout", "--quiet", "plans")
    assert [here for here, _ in spans(place.document)] == [last]


def elsewhere(place: Place, target: Path) -> Place:
    place.git("clone", "--quiet", str(place.root), str(target))
    return Place(target)


def test_a_newer_document_that_was_pulled_and_goes_on_from_here_is_no_setback(place: Place, tmp_path: Path) -> None:
    ready(place)
    other = elsewhere(place, tmp_path / "other")
    other.done(c.RunReset(feature_id="bye", reason="from here", next_feature_id="bye"))
    commit(other)
    place.git("pull", "--quiet", str(other.root), "main")
    assert place.document == other.document
    after = place.done(c.RunReset(feature_id="bye", reason="back here", next_feature_id="bye")).document
    assert after.taken_back is None


def test_a_merge_that_takes_the_others_line_of_history_is_told_of(place: Place, tmp_path: Path) -> None:
    ready(place)
    other = elsewhere(place, tmp_path / "other")
    for reason in ("once", "twice", "a third time"):
        other.done(c.RunReset(feature_id="bye", reason=reason, next_feature_id="bye"))
    commit(other)
    here = place.reviewed("failed", NO).revision
    commit(place)
    place.git("fetch", "--quiet", str(other.root), "main")
    place.git("checkout", "--quiet", "FETCH_HEAD", "--", "plans")
    there = other.document.revision
    assert there >= here
    assert spans(place.document) == [(here, there)]
    after = place.done(c.RunReset(feature_id="bye", reason="theirs it is", next_feature_id="bye")).document
    assert "gave way to another one" in sentences(after)[0]


def test_an_earlier_document_that_was_edited_and_resealed_is_told_of(place: Place) -> None:
    before = ready(place)
    further = place.reviewed("failed", NO)
    place.git("checkout", "--quiet", "plans")
    path = path_of(place)
    path.write_text(path.read_text().replace('"goal": "Say good-bye"', '"goal": "Say nothing"'))
    held = place.engine.edited(further.plan_id)
    assert isinstance(held, Stored), held
    shown = whole_digest(held.document)
    done = place.engine.reseal(Asked(PERSON), further.plan_id, "I meant it.", shown)
    assert isinstance(done, Done), done
    assert spans(done.document) == [(further.revision, before)]
    assert place.document == done.document


def test_what_the_private_folder_holds_of_it_never_stands_in_the_way(place: Place) -> None:
    ready(place)
    points = place.root / ".flow" / "furthest"
    for path in points.iterdir():
        path.write_bytes(b"\xff" * 100_000)
    place.git("checkout", "--quiet", "plans")
    assert place.document.taken_back is None
    place.reviewed("failed", NO)
    place.git("checkout", "--quiet", "plans")
    assert len(spans(place.document)) == 1
    place.done(c.ReviewStart(summary="done"))
