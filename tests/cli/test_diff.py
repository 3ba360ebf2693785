import os
import sys
from pathlib import Path

import pytest

from flow_mcp.cli.app import run
from flow_mcp.domain.commands import RunReset, RunStart
from flow_mcp.server import packet
from flow_mcp.workspace.folders import remove_tree
from tests.cli.conftest import Flow
from tests.cli.rig import APP, APP_DONE, Project, run_flow, terminal


@pytest.fixture
def active(approved: Project) -> Project:
    """A run with its work, and a change outside its targets."""
    approved.ask(RunStart())
    approved.write("app.py", APP_DONE)
    approved.write("notes/a.txt", "outside\n")
    return approved


APP_DIFF = "@@ -1,2 +1,6 @@\n def add(a, b):\n     return a + b\n+\n+\n+def slug(text):\n+    return text.lower()\n"


def test_everything_that_the_run_changed_is_printed_with_the_dangerous_first(active: Project, flow: Flow) -> None:
    active.write("tests/check.py", "# weakened\n")
    ended = flow("diff")
    assert ended.code == 0
    first, *_ = ended.out.splitlines()
    assert first == "3 changed paths since slug.1 started."
    heads = [line for line in ended.out.splitlines() if ": changed" in line or ": added" in line]
    assert heads[0].startswith("tests/check.py: changed, +1 -")
    assert heads[0].endswith(", test, outside targets")
    assert heads[1:] == ["notes/a.txt: added, +1 -0, outside targets", "app.py: changed, +4 -0"]
    assert ended.out.endswith(APP_DIFF)
    assert APP in active.root.joinpath("app.py").read_text()


def test_json_holds_the_same_and_both_digests(active: Project, flow: Flow) -> None:
    body = flow("diff", "--json").body
    assert (body["plan_id"], body["run_id"], body["since"]) == (active.document.plan_id, "slug.1", "start")
    assert body["before"] == active.document.runs[0].started_source != body["after"]
    assert [one["path"] for one in body["files"]] == ["notes/a.txt", "app.py"]
    assert body["files"][1]["diff"] == APP_DIFF


@pytest.mark.parametrize("path", ["app.py", "./app.py"])
def test_a_path_shows_that_file_alone(active: Project, flow: Flow, path: str) -> None:
    ended = flow("diff", path)
    assert ended.out == f"1 of 2 changed paths since slug.1 started.\n\napp.py: changed, +4 -0\n{APP_DIFF}"
    assert active.root.is_dir()


def test_a_folder_shows_all_in_it_and_the_workspace_shows_everything(active: Project, flow: Flow) -> None:
    assert [one["path"] for one in flow("diff", "--json", "notes/").body["files"]] == ["notes/a.txt"]
    assert len(flow("diff", "--json", ".").body["files"]) == 2
    assert flow("diff", "--json", "note").body["paths"] == 0
    assert flow("diff", "nothing").out == "0 of 2 changed paths since slug.1 started.\n"
    assert active.root.is_dir()


def test_the_approved_source_can_be_compared_with_instead(approved: Project, flow: Flow) -> None:
    approved.write("before.txt", "before the run\n")
    approved.ask(RunStart())
    assert flow("diff").out == "0 changed paths since slug.1 started.\n"
    shown = flow("diff", "--approved").out
    assert shown.startswith("1 changed path since the approval.\n\nbefore.txt: added, +1 -0, outside targets\n")


def test_a_run_is_named_and_the_newest_is_meant_where_none_is_active(active: Project, flow: Flow) -> None:
    active.ask(RunReset(feature_id="slug", reason="again", next_feature_id="slug"))
    assert flow("diff", "--json").body["run_id"] == "slug.2"
    ended = flow("diff", "--run", "slug.1")
    assert (ended.code, "ended without a review" in ended.err) == (4, True)
    unknown = flow("diff", "--run", "nope")
    assert (unknown.code, "slug.1, slug.2" in unknown.err) == (2, True)
    active.ask(RunReset(feature_id="slug", reason="stop", next_feature_id=None))
    assert "slug.2 ended" in flow("diff").err


def test_without_a_run_or_with_an_unknown_plan_there_is_nothing_to_compare(drafted: Project, flow: Flow) -> None:
    ended = flow("diff")
    assert (ended.code, "No run has started" in ended.err) == (2, True)
    assert flow("diff", "--plan", "nope").code == 3
    assert drafted.root.is_dir()


def test_a_source_that_is_not_kept_is_said_with_what_helps(approved: Project, flow: Flow) -> None:
    approved.write("before.txt", "so that no commit has the source that the run starts from\n")
    approved.ask(RunStart())
    approved.write("app.py", "other\n")
    remove_tree(approved.root / ".flow" / "sources")
    ended = flow("diff")
    assert (ended.code, ended.out) == (4, "")
    assert "slug.1 started from is not kept" in ended.err
    assert "reset the run" in ended.err


def test_nothing_of_a_file_or_its_name_acts_on_the_terminal(active: Project) -> None:
    active.write("evil\x1b[2J.txt", "\x1b]0;owned\x07\u202e # fine\r\n")
    ended = run_flow(active, "diff")
    assert ended.code == 0
    assert not set(ended.out) & {"\x1b", "\x07", "\u202e", "\r"}
    assert "+<U+001B>]0;owned<U+0007><U+202E> # fine<U+000D>" in ended.out
    assert "evil\\x1b[2J.txt: added" in ended.out


def test_on_a_terminal_lines_are_coloured_and_in_a_pipe_they_are_plain(
    active: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in flow("diff").out
    with terminal() as (slave, person):
        with monkeypatch.context() as patch, os.fdopen(slave, "w") as writing:
            patch.setattr(sys, "stdout", writing)
            patch.setenv("TERM", "xterm-256color")
            assert run(("diff", "app.py")) == 0
        shown = person.seen
    assert "\x1b[32m+def slug(text):\x1b[0m" in shown
    assert "\x1b[2m@@ -1,2 +1,6 @@\x1b[0m" in shown
    assert "\n def add(a, b):\n" in shown
    assert active.root.is_dir()


def test_notes_stand_below_the_path_and_what_is_left_out_is_named(
    active: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    (active.root / "tests" / "check.py").chmod(0o755)
    Path("notes/blob").write_bytes(b"\0")
    ended = flow("diff")
    assert "tests/check.py: mode changed, +0 -0, frozen, test, outside targets\nIt can be executed now.\n" in ended.out
    assert "notes/blob: added, outside targets\nBinary: 1 bytes after." in ended.out
    monkeypatch.setattr(packet, "READ_ALL_BYTES_MAX", 5_000)
    left = flow("diff")
    assert "\n2 paths are not shown, name them to see them: notes/blob, app.py\n" in left.out


def test_a_frozen_file_is_marked_as_one_and_a_test_that_targets_name_is_not(active: Project, flow: Flow) -> None:
    active.write("tests/check.py", "changed\n")
    active.write("tests/test_new.py", "")
    assert "tests/check.py: changed, +1 -23, frozen, test, outside targets" in flow("diff").out
    assert "tests/test_new.py: added, +0 -0, test, outside targets" in flow("diff").out
    marks = {one["path"]: one.get("marks") for one in flow("diff", "--json").body["files"]}
    assert marks["tests/check.py"] == ["frozen", "test", "outside targets"]
    assert "app.py" in marks
    assert marks["app.py"] is None
