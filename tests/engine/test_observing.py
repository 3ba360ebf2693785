"""A check on the current source: in a copy, through an input that leads back, and in place."""

import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.model import PendingCheck
from flow_mcp.engine import observing, placing
from flow_mcp.engine.job import Job
from flow_mcp.engine.observing import observe
from flow_mcp.engine.tail import kept_tail
from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, environment, new_token
from flow_mcp.runner.redaction import TOKENS_ALONE
from flow_mcp.workspace import workplaces
from flow_mcp.workspace.copies import LEFT_MAX
from flow_mcp.workspace.disposal import disposed
from flow_mcp.workspace.source import take_manifest
from flow_mcp.workspace.sources import store_copy
from tests.engine.place import CHECK, Hold, Place, lone
from tests.engine.threaded import threaded

# On the current source.


def test_what_a_command_changes_is_changed_in_its_copy_and_is_named_and_is_no_drift(place: Place) -> None:
    place.script("do.sh", "echo more >>greeting.txt", "touch made.txt", "rm tests/old.sh", "mkdir new", "touch new/x")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    seen = place.observe("focused", "./do.sh")
    assert (seen.exit_code, seen.ineligible, seen.drifted, seen.in_place) == (0, None, (), None)
    assert seen.left == ("changed greeting.txt", "removed tests/old.sh", "added made.txt", "added new/")
    assert seen.source == place.state().facts.digest
    assert (place.root / "greeting.txt").read_text() == "hello\n"
    assert (place.root / "tests" / "old.sh").exists()
    assert not (place.root / "made.txt").exists()


def test_what_a_command_leaves_in_ignored_folders_is_not_named(place: Place) -> None:
    place.script("do.sh", "mkdir -p cache", "touch cache/made")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    seen = place.observe("focused", "./do.sh")
    assert (seen.exit_code, seen.left) == (0, None)


def test_no_more_than_twenty_paths_are_named_and_the_others_are_counted(place: Place) -> None:
    place.script("do.sh", "for n in $(seq 30); do touch made$n; done")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    left = place.observe("focused", "./do.sh").left
    assert left is not None
    assert len(left) == LEFT_MAX + 1
    assert left[-1] == "and 10 more"


def test_edits_of_the_workspace_during_a_check_do_not_matter(place: Place, hold: Hold) -> None:
    hold.install(place, "cat greeting.txt", "grep -q hello greeting.txt && [ ! -e later.txt ]")
    place.approved(lone(hold.run))
    place.done(c.RunStart())
    asked = place.state().facts.digest
    ids = place.begin("focused", hold.run)
    hold.begun()
    place.write("greeting.txt", "worse\n")
    place.write("later.txt", "later\n")
    hold.release()
    seen = place.ended(*ids)
    assert (seen.exit_code, seen.ineligible, seen.drifted) == (0, None, ())
    assert seen.source == asked != place.state().facts.digest


@pytest.mark.parametrize("builds", [True, False])
def test_files_are_as_old_as_in_the_workspace_where_a_build_is_lent_that_goes_by_times(
    place: Place, *, builds: bool
) -> None:
    os.utime(place.root / "greeting.txt", (1_000_000_000, 1_000_000_000))
    os.utime(place.root / "run.sh", (1_100_000_000, 1_100_000_000))
    (place.root / "cache").mkdir()
    place.script("do.sh", "find greeting.txt ! -newermt 2002-01-01 | grep -q greeting")
    place.approved(lone("./do.sh").model_copy(update={"inputs": ("cache",) if builds else ()}))
    place.done(c.RunStart())
    assert (place.observe("focused", "./do.sh").exit_code == 0) is builds


def test_a_command_runs_with_the_history_of_the_workspace_and_cannot_change_it(place: Place) -> None:
    head = place.git("rev-parse", "HEAD")
    place.script("do.sh", f"[ $(git rev-parse HEAD) = {head} ] && git update-ref -d HEAD && rm -r .git")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    assert place.observe("focused", "./do.sh").exit_code == 0
    assert place.git("rev-parse", "HEAD") == head


def test_a_command_that_loses_the_copys_history_does_not_find_the_workspaces(place: Place) -> None:
    place.script("do.sh", "rm -r .git", "cd tests && ! git rev-parse --git-dir")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    assert place.observe("focused", "./do.sh").exit_code == 0


# Through an input that leads back, and in place.


def leading_back(place: Place, wanted: str) -> None:
    """Start a run of a plan whose input names the workspace, as an editable install does."""
    place.write("cache/editable.pth", f"{place.root}\n")
    place.approved(lone(wanted).model_copy(update={"inputs": ("cache",)}))
    place.done(c.RunStart())


def test_an_input_that_leads_back_is_watched_and_an_edit_meanwhile_is_drift(place: Place, hold: Hold) -> None:
    hold.install(place)
    leading_back(place, hold.run)
    ids = place.begin("focused", hold.run)
    hold.begun()
    place.write("greeting.txt", "worse\n")
    place.write("later.txt", "later\n")
    hold.release()
    seen = place.ended(*ids)
    assert (seen.exit_code, seen.ineligible) == (0, "source-drift")
    assert seen.drifted == ("greeting.txt", "later.txt")
    assert (seen.in_place, seen.inputs, seen.shared_inputs) == (None, ("cache",), ("cache",))


def test_an_input_that_leads_back_to_a_source_that_stands_still_is_no_drift(place: Place) -> None:
    leading_back(place, "grep -q hello greeting.txt")
    seen = place.observe("focused", "grep -q hello greeting.txt")
    assert (seen.exit_code, seen.ineligible, seen.in_place) == (0, None, None)


def test_a_small_input_is_copied_and_what_a_command_writes_there_is_thrown_away(place: Place) -> None:
    place.write("cache/known", "kept\n")
    place.script("do.sh", "grep -q kept cache/known && echo worse >cache/known && touch cache/more")
    place.approved(lone("./do.sh").model_copy(update={"inputs": ("cache",)}))
    place.done(c.RunStart())
    seen = place.observe("focused", "./do.sh")
    assert (seen.exit_code, seen.inputs, seen.shared_inputs, seen.left) == (0, ("cache",), None, None)
    assert [path.name for path in (place.root / "cache").iterdir()] == ["known"]
    assert (place.root / "cache" / "known").read_text() == "kept\n"


def without_store(place: Place) -> None:
    """Let nothing more be kept in the store of sources."""
    objects = place.root / ".flow" / "objects"
    objects.rename(objects.with_name("aside"))
    objects.touch()


def test_where_no_copy_can_be_kept_the_command_runs_in_place_and_says_why(place: Place) -> None:
    place.script("do.sh", "test -d .flow")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    without_store(place)
    place.write("greeting.txt", "hello you\n")
    seen = place.observe("focused", "./do.sh")
    assert (seen.exit_code, seen.ineligible) == (0, None)
    assert seen.in_place is not None
    assert "is not here" in seen.in_place
    assert str(place.root) not in seen.in_place
    assert place.state().facts.digest == seen.source


def test_where_a_copy_cannot_be_made_the_command_runs_in_place_too(place: Place) -> None:
    place.script("do.sh", "test -d .flow")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    without_store(place)
    seen = place.observe("focused", "./do.sh")
    assert seen.exit_code == 0
    assert seen.in_place is not None
    assert ".flow/objects" in seen.in_place
    assert str(place.root) not in seen.in_place


def test_a_command_that_edits_the_source_in_place_is_drift_and_the_paths_are_named(place: Place) -> None:
    place.script("do.sh", "echo more >>greeting.txt", "touch made.txt", "rm tests/old.sh", "touch cache")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    without_store(place)
    seen = place.observe("focused", "./do.sh")
    assert (seen.exit_code, seen.ineligible, seen.left) == (0, "source-drift", None)
    assert seen.drifted == ("cache", "greeting.txt", "made.txt", "tests/old.sh")
    assert seen.source != place.state().facts.digest


def test_no_more_than_twenty_drifted_paths_are_named(place: Place) -> None:
    place.script("do.sh", "for n in $(seq 30); do touch made$n; done")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    without_store(place)
    assert len(place.observe("focused", "./do.sh").drifted) == observing.DRIFTED_MAX


def test_a_worse_reason_than_drift_is_kept(place: Place) -> None:
    place.script("do.sh", "touch made.txt", "sleep 60")
    place.approved(lone("./do.sh", timeout_s=1))
    place.done(c.RunStart())
    without_store(place)
    seen = place.observe("focused", "./do.sh")
    assert (seen.ineligible, seen.drifted) == ("timed-out", ("made.txt",))


def test_a_report_folder_that_is_a_planted_link_is_not_run_and_not_followed(place: Place, tmp_path: Path) -> None:
    place.approved(lone(CHECK.run, report=CHECK.report))
    place.done(c.RunStart())
    without_store(place)
    (tmp_path / "aside").mkdir()
    (place.root / ".flow" / "reports").symlink_to(tmp_path / "aside")
    seen = place.observe("focused", CHECK.run)
    assert (seen.ended, seen.ineligible) == ("not-run", "not-run")
    assert list((tmp_path / "aside").iterdir()) == []


def test_a_damaged_source_is_run_in_place_once_and_then_kept_anew(place: Place) -> None:
    place.approved(lone("grep -q hello greeting.txt"))
    place.done(c.RunStart())
    place.damage("hello\n")
    first = place.observe("focused", "grep -q hello greeting.txt")
    assert (first.exit_code, first.ineligible) == (0, None)
    assert first.in_place is not None
    assert "damaged at 'greeting.txt'" in first.in_place
    second = place.observe("focused", "grep -q hello greeting.txt")
    assert (second.exit_code, second.in_place) == (0, None)


def test_variables_that_name_the_workspace_lead_to_the_copy(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.script("bin/tool", "echo worked")
    place.script("do.sh", "[ $(tool) = worked ] && [ $(command -v tool) = $(pwd)/bin/tool ]")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    monkeypatch.setenv("PATH", os.pathsep.join([str(place.root / "bin"), os.environ["PATH"]]))
    assert place.observe("focused", "./do.sh").exit_code == 0


def test_no_folder_above_a_copy_is_the_workspace(place: Place) -> None:
    place.script("do.sh", "while [ $(pwd) != / ]; do cd ..; [ ! -e greeting.txt ] || exit 1; done")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    assert place.observe("focused", "./do.sh").exit_code == 0


def job_of(place: Place, tmp_path: Path, **changes: object) -> Job:
    """Make the job of a focused check that is asked for now."""
    asked = take_manifest(place.root, place.engine.records(place.document), ())
    store_copy(place.root, asked, place.engine.space.private)
    document = place.document
    words = {"source": asked.digest, "platform": "linux", "started_revision": document.revision + 1}
    pending = PendingCheck.model_validate({"id": "check-9", "scope": "focused", "command": CHECK.run, **words})
    job = Job(
        space=place.engine.space,
        records=place.engine.records(document),
        document=document,
        pending=pending,
        environment=environment(os.environ, ALLOWED_BY_DEFAULT),
        redactor=TOKENS_ALONE,
        output=tmp_path / "output.log",
        token=new_token(),
        alone=False,
        cancel=threading.Event(),
    )
    return replace(job, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("known", [True, False])
def test_an_edit_between_the_request_and_a_start_in_place_is_drift_too(
    place: Place, tmp_path: Path, *, known: bool
) -> None:
    place.approved()
    place.work()
    job = job_of(place, tmp_path)
    without_store(place)
    if not known:
        place.forget_sources(job.pending.source)
    place.write("greeting.txt", "bye\n")
    seen = observe(job).observation
    assert seen.ineligible == "source-drift"
    assert seen.drifted == (("greeting.txt",) if known else ())


def test_source_that_the_command_itself_puts_back_in_place_is_drift_all_the_same(place: Place, tmp_path: Path) -> None:
    place.script("run.sh", "echo hello >greeting.txt")
    place.approved()
    job = job_of(place, tmp_path)
    without_store(place)
    place.write("greeting.txt", "bye\n")
    seen = observe(job).observation
    assert (seen.ineligible, seen.drifted) == ("source-drift", ("greeting.txt",))


def test_why_a_command_was_not_run_holds_no_path_of_this_machine(place: Place, tmp_path: Path) -> None:
    place.approved()
    job = job_of(place, tmp_path)
    taken = place.root / "taken.log"
    taken.write_text("")
    seen = observe(replace(job, output=taken)).observation
    assert seen.ended == "not-run"
    assert "taken.log" in str(seen.sandbox.reason)
    assert str(place.root) not in str(seen.sandbox.reason)
    gone = observe(replace(job, space=replace(job.space, root=place.root / "nowhere"))).observation
    assert gone.ended == "not-run"
    assert str(place.root) not in str(gone.sandbox.reason).replace("nowhere", "")


def test_why_a_command_ran_in_place_holds_no_path_of_this_machine(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workplaces, "user_cache_path", lambda name: tmp_path / "cache" / name)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    place.approved()
    for one in workplaces.workplaces(place.root):
        (one.parent / "mine").mkdir()
    told = str(observe(job_of(place, tmp_path)).observation.in_place)
    assert told.startswith("~/flow-mcp/mine lies where Flow keeps its copies")
    assert str(tmp_path) not in told


def test_a_large_copy_is_taken_up_by_the_next_check_whatever_was_done_to_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "SPARED_FILES_MIN", 1)
    monkeypatch.setattr(placing, "is_subreaper", lambda: True)
    place.checks, _ = threaded(place.engine)
    place.script("do.sh", "grep -c hello greeting.txt", "echo hello >>greeting.txt", "touch tests/more.sh")
    place.approved(lone("./do.sh"))
    place.done(c.RunStart())
    inodes: list[int] = []
    for _ in range(2):
        seen = place.observe("focused", "./do.sh")
        place.settled()
        checks, check_id = place.root / ".flow" / "checks", f"check-{seen.started_revision}"
        assert kept_tail(checks, place.document.plan_id, check_id) == "1\n"
        assert seen.left == ("changed greeting.txt", "added tests/more.sh")
        (spare,) = disposed(place.engine.space.private)
        inodes.append((spare / place.root.name / "run.sh").stat().st_ino)
    assert inodes[0] == inodes[1]
    assert place.checks.clean_up(spared=False)
    assert disposed(place.engine.space.private) == []


def test_an_account_without_a_home_has_none_to_hide(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def homeless() -> Path:
        raise RuntimeError

    place.approved(lone("./run.sh x"))
    monkeypatch.setattr(Path, "home", homeless)
    job = job_of(place, tmp_path)
    assert observing._plain(job, f"{place.root}/x is gone") == "x is gone"
