"""What a run changed, out of Flow's own store: the run's start, the approval, and what a review is about."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document, Review, Run
from flow_mcp.domain.plan import Plan
from flow_mcp.engine import changes as module
from flow_mcp.engine.asked import State
from flow_mcp.engine.changes import READ_ALL_BYTES_MAX, Comparison, Since, Unknown, compare, show
from flow_mcp.engine.gather import Workspace, keep_copy
from flow_mcp.engine.shelf import Shelf
from flow_mcp.workspace.differences import Bounds
from flow_mcp.workspace.folders import remove_tree
from flow_mcp.workspace.source import Manifest
from tests.engine.place import MANAGER, Place, at_work, feature, make, plan

PLENTY = Bounds(1 << 30, 1 << 30, READ_ALL_BYTES_MAX, with_moves=True, measure=len)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A run with its work done, and nothing observed."""
    return at_work(tmp_path / "repo")


def with_run(state: State, /, **changed: object) -> tuple[State, Run]:
    """Give the same state with another run in its document."""
    run = state.document.runs[0].model_copy(update=changed)
    return replace(state, document=state.document.model_copy(update={"runs": (run,)})), run


def with_plan(state: State, wanted: Plan) -> State:
    return replace(state, document=state.document.model_copy(update={"plan": wanted}))


def review(source: str, kind: Literal["feature", "final"] = "feature") -> Review:
    return Review(id="r", kind=kind, source=source, observations=(), summary="done", changed_paths=(), revision=9)


def compared(place: Place, since: Since = "start", state: State | None = None) -> Comparison | Unknown:
    state = state or place.state()
    return compare(place.engine.space, state, state.document.runs[0], since)


def texts(place: Place, found: Comparison | Unknown) -> dict[str, str]:
    assert isinstance(found, Comparison), found
    return {one.change.path: one.text for one in show(place.engine.space, found.changed, PLENTY).shown}


WORK = {
    "tests/new.sh": "@@ -0,0 +1 @@\n+grep -q bye greeting.txt\n",
    "greeting.txt": "@@ -1 +1,2 @@\n hello\n+bye\n",
}


def test_what_the_run_did_since_it_started_is_shown_with_tests_first(place: Place) -> None:
    found = compared(place)
    assert texts(place, found) == WORK
    assert list(texts(place, found)) == ["tests/new.sh", "greeting.txt"]
    assert isinstance(found, Comparison)
    assert (found.run_id, found.since, found.after) == ("bye.1", "start", place.state().facts.digest)


def test_a_second_attempt_shows_the_work_of_the_first_one_too(place: Place) -> None:
    place.done(c.RunReset(feature_id="bye", reason="again", next_feature_id="bye"))
    place.write("run.sh", "#!/bin/sh\n")
    state = place.state()
    found = compare(place.engine.space, state, state.document.runs[-1], "start")
    assert isinstance(found, Comparison)
    assert (found.run_id, found.began) == ("bye.2", "bye.1")
    assert set(texts(place, found)) == {*WORK, "run.sh"}
    assert [one.path for one in found.changed if one.is_outside] == ["run.sh"]
    place.forget_sources(found.before)
    lost = compare(place.engine.space, state, state.document.runs[-1], "start")
    assert isinstance(lost, Comparison)
    assert (lost.began, [one.path for one in lost.changed]) == ("bye.2", ["run.sh"])


def test_paths_outside_the_features_targets_are_marked(place: Place) -> None:
    place.write("run.sh", "#!/bin/sh\n")
    place.write("sub/greeting.txt", "another of that name\n")
    found = compared(place)
    assert isinstance(found, Comparison)
    assert [one.path for one in found.changed if one.is_outside] == ["run.sh", "sub/greeting.txt"]


def test_since_the_approval_the_targets_of_every_feature_are_inside(tmp_path: Path) -> None:
    tmp_path.joinpath("repo").mkdir()
    place = Place(make(tmp_path / "repo"))
    place.approved(plan(feature("bye"), feature("more", targets=("more.txt",))))
    place.write("more.txt", "more\n")
    place.done(c.RunStart(feature_id="bye"))
    place.work()
    start, approved = compared(place), compared(place, "approval")
    assert isinstance(approved, Comparison)
    assert set(texts(place, start)) == set(WORK)
    assert set(texts(place, approved)) == {*WORK, "more.txt"}
    assert not any(one.is_outside for one in approved.changed)
    place.write("more.txt", "again\n")
    start = compared(place)
    assert isinstance(start, Comparison)
    assert [one.path for one in start.changed if one.is_outside] == ["more.txt"]


def test_files_that_the_plan_freezes_come_first_too(place: Place) -> None:
    place.write("zz.golden", "x\n")
    state = place.state()
    assert state.document.plan is not None
    frozen = state.document.plan.model_copy(update={"protected": ("*.golden", "../outside", "[")})
    found = compared(place, state=with_plan(state, frozen))
    assert isinstance(found, Comparison)
    assert [one.path for one in found.changed if one.is_test] == ["zz.golden", "tests/new.sh"]


def test_a_plan_that_is_gone_or_whose_targets_cannot_be_matched_leaves_everything_outside(place: Place) -> None:
    state = place.state()
    assert state.document.plan is not None
    hostile = state.document.plan.model_copy(update={"features": (feature(targets=("../x",)),)})
    for document in (
        state.document.model_copy(update={"plan": None}),
        state.document.model_copy(update={"plan": hostile}),
    ):
        bare = replace(state, document=document, facts=replace(state.facts, source=None))
        found = compared(place, state=bare)
        assert isinstance(found, Comparison)
        assert all(one.is_outside for one in found.changed)
        assert len(found.changed) == 2


def test_a_review_is_about_its_own_source_whatever_came_later(place: Place) -> None:
    state = place.state()
    assert state.seen is not None
    judged, run = with_run(state, review=review(state.facts.digest))
    assert texts(place, compare(place.engine.space, judged, run, "start")) == WORK
    keep_copy(place.engine.space, state.seen.manifest, pinned=False)
    place.write("greeting.txt", "later\n")
    later, run = with_run(place.state(), review=review(state.facts.digest))
    assert texts(place, compare(place.engine.space, later, run, "start")) == WORK


def test_where_the_source_moved_and_is_not_kept_the_packet_says_so(place: Place) -> None:
    before = place.state().facts.digest
    place.write("greeting.txt", "later\n")
    later, run = with_run(place.state(), review=review(before))
    found = compare(place.engine.space, later, run, "start")
    assert isinstance(found, Unknown)
    assert "moved since the assignment of bye.1" in found.seen
    assert "reset the run" in found.remedy


def test_a_run_that_ended_without_a_review_has_no_end_that_was_kept(place: Place) -> None:
    state, run = with_run(place.state(), state="superseded")
    found = compare(place.engine.space, state, run, "start")
    assert isinstance(found, Unknown)
    assert "ended without a review" in found.seen


def test_without_a_look_at_the_source_there_is_nothing_to_compare_with(place: Place) -> None:
    state = place.engine.read(MANAGER, None, look=False)
    assert isinstance(state, State)
    found = compared(place, state=state)
    assert isinstance(found, Unknown)
    assert "check_source" in found.remedy


def test_a_start_or_an_approval_that_is_not_kept_is_said_with_what_helps(place: Place) -> None:
    state = place.state()
    remove_tree(place.root / ".flow" / "sources")
    start, approved = compared(place, "start", state), compared(place, "approval", state)
    assert isinstance(start, Unknown)
    assert isinstance(approved, Unknown)
    assert "bye.1 started from is not kept" in start.seen
    assert "reset the run" in start.remedy
    assert f"fetch the commit {state.document.approvals[0].commit}" in approved.remedy
    given = state.document.approvals[0].model_copy(update={"commit": None})
    bare = replace(state, document=state.document.model_copy(update={"approvals": (given,)}))
    found = compared(place, "approval", bare)
    assert isinstance(found, Unknown)
    assert "commit" not in found.remedy


def test_without_an_approval_in_force_there_is_none_to_compare_with(place: Place) -> None:
    state = place.state()
    document: Document = state.document.model_copy(update={"approvals": ()})
    found = compared(place, "approval", replace(state, document=document))
    assert found == Unknown("No approval is in force.", "Ask a person to approve the plan.")


def test_a_store_that_cannot_be_read_is_told_in_its_own_words(place: Place) -> None:
    class Broken(Shelf):
        def manifest(self, private: Path, digest: str) -> Manifest | None:
            seen = f"{private.name} cannot be read for {digest[:7]}."
            raise BrokenWorld(seen, "Mend the disk.")

    state = place.state()
    space = Workspace(place.root, "plans", shelf=Broken())
    found = compare(space, state, state.document.runs[0], "start")
    assert found == Unknown(".flow cannot be read for sha256:.", "Mend the disk.")


def test_links_are_read_from_the_store_and_from_the_workspace(place: Place) -> None:
    (place.root / "link").symlink_to("greeting.txt")
    assert texts(place, compared(place))["link"] == "@@ -0,0 +1 @@\n+greeting.txt\n"
    manifest = place.state().seen
    assert manifest is not None
    keep_copy(place.engine.space, manifest.manifest, pinned=False)
    found = compared(place)
    (place.root / "link").unlink()
    assert texts(place, found)["link"] == "@@ -0,0 +1 @@\n+greeting.txt\n"


@pytest.mark.parametrize("what", ["changed", "gone", "folder gone", "folder", "link", "pipe", "large"])
def test_a_file_that_is_no_longer_what_was_compared_is_never_shown(
    place: Place, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("more/new.txt", "fine\n")
    found = compared(place)
    file = place.root / "more" / "new.txt"
    file.unlink()
    if what == "changed":
        file.write_text("evil\n")
    elif what == "folder gone":
        file.parent.rmdir()
    elif what == "folder":
        file.mkdir()
    elif what == "link":
        (place.root / "fine").write_text("fine\n")
        file.symlink_to("../fine")
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "large":
        file.write_text("fine\n")
        monkeypatch.setattr(module, "READ_BYTES_MAX", 4)
    assert isinstance(found, Comparison)
    shown = {one.change.path: one for one in show(place.engine.space, found.changed, PLENTY).shown}
    assert shown["more/new.txt"].text == ""
    assert "not kept here" in shown["more/new.txt"].notes[0]
