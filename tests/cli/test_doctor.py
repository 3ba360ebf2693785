import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flow_mcp.cli import checkup
from flow_mcp.cli.finding import Finding
from flow_mcp.store.documents import PlansFolder
from flow_mcp.store.files import Inaccessible
from tests.cli.conftest import Flow
from tests.cli.rig import FLOW, PLAN, Holder, Project, run_flow, terminal


def found(flow: Flow, what: str, code: int = 0) -> list[tuple[str, str]]:
    ended = flow("doctor", "--json")
    assert ended.code == code
    return [(one["level"], one["seen"]) for one in ended.body["findings"] if one["what"] == what]


def test_a_whole_workspace_has_no_problem(drafted: Project, flow: Flow) -> None:
    ended = flow("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == "No problem was found."
    for what in (
        "flow-mcp",
        "python",
        "git",
        "bash",
        "node",
        "workspace",
        "disk",
        "plans folder",
        "private folder",
        "lock",
        "source",
        "policy",
    ):
        assert f"  {what} " in ended.out
    assert str(drafted.root) in ended.out
    assert "problem" not in ended.out.removesuffix("No problem was found.\n")
    assert run_flow(drafted, "doctor").code == 0


def test_containment_and_host_channel_are_said_to_be_none(started: Project, flow: Flow) -> None:
    (contained,) = found(flow, "containment")
    (channel,) = found(flow, "host channel")
    assert (contained[0], channel[0]) == ("advice", "advice")
    assert contained[1].startswith("none")
    assert found(flow, "plans folder") == [("advice", "plans/ is not there yet")]
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
    assert (ignored[0], "MY_TOKEN" in ignored[1]) == ("advice", True)


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
    assert found(flow, "private folder", 1)[0][0] == "problem"
    assert found(flow, "lock", 1) == []


def test_old_temporary_files_are_noted(drafted: Project, flow: Flow) -> None:
    for folder in ("plans", ".flow"):
        old = drafted.root / folder / ".x.json.0123456789abcdef.tmp"
        old.touch()
        assert found(flow, "stale files") == []
        os.utime(old, (1, 1))
        assert found(flow, "stale files") == [("advice", f"1 temporary files of killed writers in {folder}/")]
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
    assert found(flow, "git", 1) == [("advice", "none on PATH outside the workspace")]


def test_a_folder_without_a_repository_is_noted(started: Project, flow: Flow, tmp_path: Path) -> None:
    (started.root / ".git").rename(tmp_path / "git")
    ((level, seen),) = found(flow, "history")
    assert (level, "is no git repository" in seen) == ("advice", True)
    assert found(flow, "git")[0][0] == "ok"


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


def test_a_git_inside_the_workspace_is_none(started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    started.write("bin/git", "#!/bin/sh\ntouch ran\n")
    (started.root / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(started.root / "bin"))
    assert found(flow, "git", 1)[0][0] == "problem"
    assert not (started.root / "ran").exists()


def test_a_disk_that_fills_up_is_told(started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    for free_mib, level, code in ((63, "problem", 1), (64, "advice", 0), (1024, "ok", 0)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free_mib: SimpleNamespace(free=free << 20))
        assert found(flow, "disk", code) == [(level, f"{free_mib:,} MiB free")]

    def fail(_path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(shutil, "disk_usage", fail)
    assert found(flow, "disk") == [("advice", "free space is not known: Input/output error")]
    assert started.root.exists()


def test_a_low_limit_of_open_files_is_told(started: Project) -> None:
    script = "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)); "
    script += "from flow_mcp.cli.app import run; sys.exit(run(['doctor', '--json']))"
    done = subprocess.run([sys.executable, "-c", script], cwd=started.root, capture_output=True, check=True)
    told = {one["what"]: one for one in json.loads(done.stdout)["findings"]}
    assert (told["open files"]["level"], "ulimit -n" in told["open files"]["remedy"]) == ("advice", True)


def test_an_endless_limit_of_open_files_and_a_system_without_one_are_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("resource.getrlimit", lambda _: (-1, -1))
        assert [one.level for one in checkup._descriptors()] == ["ok"]
    monkeypatch.setitem(sys.modules, "resource", None)
    assert list(checkup._descriptors()) == []


def test_the_project_is_looked_at_too(started: Project, flow: Flow) -> None:
    for name, text in {"package.json": "{", "pytest.ini": "", ".tox/x": "", "tests/test_new.py": ""}.items():
        started.write(name, text)
    assert found(flow, "gate")[0][1].startswith("Found `python3 -m pytest")
    assert found(flow, "ignore rules") == [("advice", ".tox: not ignored, so all in it counts as source.")]
    assert found(flow, "source") == [("ok", "7 files")]
    assert [level for level, _ in found(flow, "protected")] == ["ok", "advice"]
    assert found(flow, "project")[0][1].startswith("package.json is not well-formed")
    assert found(flow, "history")[0][1].startswith("The tree differs from HEAD")


def test_inputs_that_the_plan_lists_are_no_advice(started: Project, flow: Flow) -> None:
    started.write(".gitignore", ".flow/\n.venv/\n")
    started.write(".venv/pyvenv.cfg", "")
    assert found(flow, "inputs")[0][0] == "advice"
    started.drafted(plan=PLAN.model_copy(update={"inputs": (".venv",)}))
    assert found(flow, "inputs") == []


def test_somebody_in_a_folder_of_the_repository_is_told_which_the_workspace_is(
    started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(flow, "folder") == []
    monkeypatch.chdir(started.root / "tests")
    ((level, seen),) = found(flow, "folder")
    assert (level, seen.startswith("you stand in tests/;")) == ("ok", True)


def test_a_source_that_cannot_be_listed_hides_nothing_else(started: Project, flow: Flow) -> None:
    (started.root / ".gitignore").write_bytes(b"#" * (1 << 20) + b"#")
    assert found(flow, "source", 1)[0][0] == "problem"
    assert found(flow, "policy", 1)


@pytest.mark.parametrize("columns", ["80", "40"])
def test_a_terminal_of_any_width_gets_lines_that_fit(started: Project, columns: str) -> None:
    started.write("pytest.ini", "")
    with terminal() as (slave, person):
        with os.fdopen(slave, "wb") as stream:
            subprocess.run(
                [FLOW, "doctor"], cwd=started.root, stdout=stream, env={**os.environ, "COLUMNS": columns}, check=True
            )
        shown = re.sub(r"\x1b\[[0-9;]*m", "", person.seen)
    assert max(len(line) for line in shown.splitlines()) <= int(columns)
    assert re.search(r"^ok +gate +Found", shown, re.MULTILINE)


def test_a_misspelt_variable_is_told_by_the_doctor_and_by_the_server(
    started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(flow, "variable") == []
    served = run_flow(started, "serve")
    assert "FLOW_" not in served.err
    monkeypatch.setenv("FLOW_APROVE", "caller")
    ((level, seen),) = found(flow, "variable")
    assert (level, "the nearest is FLOW_APPROVE" in seen) == ("advice", True)
    served = run_flow(started, "serve", FLOW_APROVE="caller")
    assert (served.out, "The variable FLOW_APROVE is none that Flow reads" in served.err) == ("", True)


def test_a_record_that_cannot_be_read_is_told_once(drafted: Project, flow: Flow) -> None:
    drafted.path.write_text("{")
    body = flow("doctor", "--json").body
    assert sum("Line 1" in one["seen"] for one in body["findings"]) == 1
    assert any(one["what"] == "protected" for one in body["findings"])
