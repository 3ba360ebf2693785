import re
from pathlib import Path

import pytest

from flow_mcp.domain.commands import Close, ReviewStart, RunStart
from flow_mcp.engine.core import State
from flow_mcp.engine.gather import keep_copy
from flow_mcp.workspace.collecting import NEWEST_KEPT
from flow_mcp.workspace.keeping import adding
from tests.cli.conftest import Flow
from tests.cli.held import Held, held_plan, until
from tests.cli.rig import APP_DONE, CONFIRM, GATE, MANAGER, SLUG, Project, run_flow
from tests.workspace.rig import roomed

EXTRA = NEWEST_KEPT + 3


def clutter(project: Project, first: int = 0) -> None:
    """Keep more sources than are spared, none of which any plan rests on."""
    before = (project.root / "app.py").read_text()
    for number in range(first, first + EXTRA):
        project.write("app.py", f"{before}# {number}\n")
        engine = project.engine()
        state = engine.read(MANAGER, None, look=True)
        assert isinstance(state, State)
        assert state.seen is not None
        keep_copy(engine.space, state.seen.manifest, pinned=False)
    project.write("app.py", before)


def kept(project: Project) -> int:
    return len([*(project.root / ".flow" / "sources").glob("*.json")])


def test_what_an_open_plan_rests_on_stays_through_the_whole_goal(started: Project, flow: Flow, typed: Flow) -> None:
    started.drafted().approved()
    clutter(started)
    started.ask(RunStart())
    assert flow("gc", "--now").code == 0
    started.observe("baseline", GATE)
    started.write("app.py", APP_DONE)
    clutter(started, 100)
    removed = flow("gc", "--now", "--json").body["removed"]
    assert removed["sources"] > 0
    started.observe("focused", SLUG)
    started.observe("broad", GATE)
    started.observe("proof", SLUG, "slug")
    started.ask(ReviewStart(summary="slug() is there"))
    clutter(started, 200)
    assert flow("gc", "--now").code == 0
    document = started.document
    assert [one.exit_code for one in document.baselines] == [1]
    assert [one.ineligible for one in document.runs[0].observations] == [None, None, None]
    assert "+def slug(text):" in flow("diff").out
    ended = typed("review", "--pass", "--summary", "It does.", script=((CONFIRM, "yes\n"),))
    assert (ended.code, "+def slug(text):" in ended.err) == (0, True)
    assert flow("call", "close", '{"kind": "completed", "summary": "Done."}').code == 0


def test_what_closed_plans_needed_is_freed(worked: Project, flow: Flow) -> None:
    clutter(worked)
    assert flow("gc", "--now").code == 0
    before = kept(worked)
    worked.ask(Close(kind="deferred", summary="Later."))
    clutter(worked, 100)
    ended = flow("gc", "--now", "--json")
    assert ended.code == 0
    removed = ended.body["removed"]
    assert (removed["sources"], kept(worked)) == (before + EXTRA - NEWEST_KEPT, NEWEST_KEPT)
    assert removed["objects"] > 0
    assert removed["bytes"] > 0
    assert re.fullmatch(r"Removed kept sources: 0, objects: 0 \(0\.0 MiB\)\.\n", flow("gc", "--now").out), (
        "nothing is left to remove"
    )
    assert ended.body["check_running"] is False


def test_what_was_kept_within_the_last_hour_stays_without_now(approved: Project, flow: Flow) -> None:
    clutter(approved)
    before = kept(approved)
    ended = flow("gc")
    assert (ended.code, ended.out) == (0, "Removed kept sources: 0, objects: 0 (0.0 MiB).\n")
    assert kept(approved) == before


def test_a_check_that_runs_is_not_disturbed(started: Project, flow: Flow, tmp_path: Path) -> None:
    held = Held(tmp_path / "held")
    held.install(started)
    started.drafted(plan=held_plan()).approved().ask(RunStart())
    assert run_flow(started, "call", "validate", '{"scope": "baseline", "wait_s": 0}').code == 0
    held.begun()
    clutter(started)
    started.write("app.py", "something else\n")
    ended = flow("gc", "--now", "--json")
    assert (ended.code, ended.body["check_running"]) == (0, True)
    assert ended.body["removed"]["sources"] > 0
    assert "A check runs" in flow("gc").out
    held.release()
    until(lambda: started.document.pending is None)
    (seen,) = started.document.baselines
    assert (seen.ended, seen.exit_code, seen.ineligible) == ("exited", 0, None)


def test_what_killed_runners_left_is_removed(approved: Project, flow: Flow) -> None:
    with roomed(approved.root / ".flow") as folder:
        left = folder.with_name(f"{folder.name}left")
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "file").write_text("x")
    assert flow("gc").code == 0
    assert not left.exists()


@pytest.mark.parametrize("as_json", [True, False])
def test_with_a_document_that_cannot_be_read_no_source_is_removed(
    approved: Project, flow: Flow, *, as_json: bool
) -> None:
    clutter(approved)
    approved.write("plans/torn.json", "{")
    before = kept(approved)
    ended = flow("gc", "--now", *(["--json"] if as_json else []))
    assert (ended.code, ended.err, kept(approved)) == (1, "", before)
    words = "No kept source was removed: what torn rests on cannot be read."
    if as_json:
        assert (ended.body["summary"], ended.body["removed"]) == (words, None)
    else:
        assert ended.out.splitlines() == [words, "`flow-mcp verify` says what is wrong with it; mend it first."]
    (approved.root / "plans" / "torn.json").unlink()
    assert flow("gc", "--now").code == 0
    assert kept(approved) < before


def test_while_somebody_keeps_a_source_none_is_removed(approved: Project, flow: Flow) -> None:
    clutter(approved)
    before = kept(approved)
    with adding(approved.root / ".flow"):
        ended = flow("gc", "--now")
    assert (ended.code, "somebody keeps one right now" in ended.out, kept(approved)) == (1, True, before)


def test_before_the_first_plan_there_is_nothing_to_remove(started: Project, flow: Flow) -> None:
    assert (flow("gc").code, flow("gc", "--now").code) == (0, 0)
    assert not (started.root / "plans").exists()


def test_a_link_in_place_of_the_store_is_a_broken_world(approved: Project, flow: Flow, tmp_path: Path) -> None:
    (approved.root / ".flow" / "objects").rename(tmp_path / "objects")
    (approved.root / ".flow" / "objects").symlink_to(tmp_path / "objects")
    ended = flow("gc", "--now")
    assert (ended.code, len(ended.err.splitlines())) == (4, 2)
    assert [*(tmp_path / "objects").iterdir()]
