import os
import stat
import sys
from pathlib import Path

import pytest

from flow_mcp.cli import checkup
from flow_mcp.cli.checkup import Finding
from flow_mcp.store.documents import PlansFolder
from flow_mcp.store.files import Inaccessible
from tests.cli.conftest import Flow
from tests.cli.rig import Holder, Project, run_flow


def found(flow: Flow, what: str, code: int = 0) -> list[tuple[str, str]]:
    ended = flow("doctor", "--json")
    assert ended.code == code
    return [(one["level"], one["seen"]) for one in ended.body["findings"] if one["what"] == what]


def test_a_whole_workspace_has_no_problem(drafted: Project, flow: Flow) -> None:
    ended = flow("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == "No problem was found."
    for what in ("flow-mcp", "python", "git", "bash", "node", "workspace", "plans folder", "lock", "policy"):
        assert f"  {what} " in ended.out
    assert str(drafted.root) in ended.out
    assert "problem" not in ended.out.removesuffix("No problem was found.\n")
    assert run_flow(drafted, "doctor").code == 0


def test_containment_and_host_channel_are_said_to_be_none(started: Project, flow: Flow) -> None:
    (contained,) = found(flow, "containment")
    (channel,) = found(flow, "host channel")
    assert (contained[0], channel[0]) == ("note", "note")
    assert contained[1].startswith("none")
    assert found(flow, "plans folder") == [("note", "plans/ is not there yet")]
    assert not (started.root / "plans").exists()


def test_each_setting_names_its_source(started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    started.write("flow.yaml", "sandbox: require\nenvironment: [CI, MY_TOKEN]\n")
    monkeypatch.setenv("FLOW_APPROVE", "caller")
    policy = [seen for _, seen in found(flow, "policy")]
    assert "approve: caller (variable)" in policy
    assert "sandbox: require (repository)" in policy
    assert "reviewer: any (default)" in policy
    assert found(flow, "environment") == [("ok", "CI is passed to commands (repository)")]
    (ignored,) = found(flow, "flow.yaml")
    assert (ignored[0], "MY_TOKEN" in ignored[1]) == ("note", True)


def test_an_unreadable_document_is_a_problem(drafted: Project, flow: Flow) -> None:
    drafted.write("plans/other.json", "{")
    ((level, seen),) = found(flow, "document other", 1)
    assert (level, "Line 1" in seen) == ("problem", True)
    assert found(flow, "plans folder", 1) == [("ok", "plans/, 1 of 2 documents hold")]
    assert "Problems found: 1." in flow("doctor").out


def test_a_plans_folder_that_is_a_link_is_a_problem(started: Project, flow: Flow, tmp_path: Path) -> None:
    (started.root / "plans").symlink_to(tmp_path)
    ended = flow("doctor", "--json")
    assert (ended.code, "goes through 'plans'" in ended.out) == (1, True)


def test_a_plans_folder_that_cannot_be_read_is_a_problem(
    started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: PlansFolder) -> tuple[str, ...]:
        seen = "plans/ cannot be read: permission is denied."
        raise Inaccessible(seen, "Give this user the right to it.")

    monkeypatch.setattr(PlansFolder, "names", fail)
    assert found(flow, "plans folder", 1) == [("problem", "plans/ cannot be read: permission is denied.")]
    assert started.root.exists()


def test_a_lock_that_is_held_is_a_problem(started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "LOCK_S", 0.05)
    flow("status")
    holding = Holder(started)
    assert found(flow, "lock", 1)[0][0] == "problem"
    holding.release()
    assert found(flow, "lock")[0][0] == "ok"


def test_a_private_folder_that_is_a_link_is_a_problem(started: Project, flow: Flow, tmp_path: Path) -> None:
    (started.root / ".flow").symlink_to(tmp_path)
    assert found(flow, "lock", 1)[0][0] == "problem"


def test_old_temporary_files_are_noted(drafted: Project, flow: Flow) -> None:
    for folder in ("plans", ".flow"):
        old = drafted.root / folder / ".x.json.0123456789abcdef.tmp"
        old.touch()
        assert found(flow, "stale files") == []
        os.utime(old, (1, 1))
        assert found(flow, "stale files") == [("note", f"1 temporary files of killed writers in {folder}/")]
        old.unlink()


def test_a_workspace_that_is_none_ends_the_look(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = flow("doctor", "--workspace", str(tmp_path / "nope"), "--json")
    assert (ended.code, ended.body["findings"][-1]["what"]) == (1, "workspace")
    monkeypatch.setenv("FLOW_SANDBOX", "nonsense")
    ended = flow("doctor", "--workspace", str(tmp_path), "--json")
    assert (ended.code, "FLOW_SANDBOX" in ended.body["findings"][-1]["seen"]) == (1, True)


def test_a_missing_git_is_a_problem_in_a_repository_alone(
    started: Project, flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = tmp_path / "empty"
    nothing.mkdir()
    monkeypatch.setenv("PATH", str(nothing))
    assert found(flow, "git", 1)[0][0] == "problem"
    assert found(flow, "bash", 1)[0][0] == "problem"
    (started.root / ".git").rename(tmp_path / "git")
    assert found(flow, "git", 1) == [("note", "not on PATH")]


def test_a_folder_without_a_repository_is_noted(started: Project, flow: Flow, tmp_path: Path) -> None:
    (started.root / ".git").rename(tmp_path / "git")
    ((level, seen),) = found(flow, "git")
    assert (level, "is no repository" in seen) == ("note", True)


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\n", "no program"])
def test_a_git_that_does_not_answer_is_a_problem(
    started: Project, flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    bad = tmp_path / "bin" / "git"
    bad.parent.mkdir()
    bad.write_text(script)
    bad.chmod(bad.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{bad.parent}{os.pathsep}{os.environ['PATH']}")
    assert found(flow, "git", 1) == [("problem", f"{bad} does not answer")]
    assert started.root.exists()


def test_an_old_python_is_a_problem() -> None:
    assert checkup._python((3, 10)).level == "problem"
    assert checkup._python(sys.version_info[:2]).level == "ok"
    assert Finding("ok", "a", "b").remedy == ""
