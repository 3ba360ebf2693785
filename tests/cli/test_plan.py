"""The proposed plan: whether Flow's own rules accept it, what it says, and that nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from flow_mcp.domain.rules.plan import PLACEHOLDER
from tests.cli.conftest import Flow
from tests.cli.rig import Project
from tests.workspace.ecosystems.projects import CASES, PYTEST_TEST, UNITTEST, Case, environment, package, write


def suggested(flow: Flow, root: Path) -> dict[str, Any]:
    ended = flow("plan", "--suggest", "--json", "--workspace", str(root))
    assert (ended.code, ended.err) == (0, "")
    return ended.body


def begun(root: Path) -> Project:
    project = Project(root)
    project.git("init", "-q")
    project.git("add", ".")
    project.git("commit", "-qm", "start")
    return project


def everything(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rules_accept_a_plan_with_each_gate_that_is_proposed(case: Case, tmp_path: Path, flow: Flow) -> None:
    begun(write(tmp_path / "project", case.files))
    body = suggested(flow, tmp_path / "project")
    assert body["skeleton"]["plan"]["gate"] == body["suggestions"][0]["gate"]
    for one in body["suggestions"]:
        plan = body["skeleton"]["plan"] | {"gate": one["gate"]}
        plan["features"][0]["proof"]["run"] = one["gate"]["run"]
        request = json.dumps({"goal": body["skeleton"]["goal"], "plan": plan}).replace(PLACEHOLDER, "now")
        ended = flow("call", "plan_save", request, "--workspace", str(tmp_path / "project"))
        assert ended.code == 0, ended.text
        assert not any("no command of the plan runs it" in advice for advice in ended.body["advice"])


def test_the_skeleton_as_it_is_is_no_plan_yet(tmp_path: Path, flow: Flow) -> None:
    begun(write(tmp_path / "project", {"tests/test_a.py": PYTEST_TEST}))
    skeleton = json.dumps(suggested(flow, tmp_path / "project")["skeleton"])
    ended = flow("call", "plan_save", skeleton, "--workspace", str(tmp_path / "project"))
    assert (ended.code, PLACEHOLDER in ended.body["refused"]["seen"]) == (3, True)


def test_nothing_at_all_is_written(tmp_path: Path, flow: Flow) -> None:
    root = write(tmp_path / "project", {"tests/test_a.py": PYTEST_TEST})
    project = begun(root)
    before = everything(root)
    suggested(flow, root)
    flow("plan", "--suggest", "--workspace", str(root))
    assert everything(root) == before
    assert not (project.root / ".flow").exists()


def test_the_skeleton_goes_to_standard_output_and_its_explanation_beside_it(tmp_path: Path, flow: Flow) -> None:
    files = {
        "api/pytest.ini": "",
        "api/test_a.py": PYTEST_TEST,
        "web/package.json": package("", "vitest"),
        **environment("api/.venv", "pytest"),
    }
    begun(write(tmp_path / "project", files))
    ended = flow("plan", "--suggest", "--workspace", str(tmp_path / "project"))
    skeleton = json.loads(ended.out)
    assert skeleton["plan"]["inputs"] == ["api/.venv"]
    assert skeleton["goal"].startswith(PLACEHOLDER)
    told = " ".join(ended.err.split())
    assert "A plan with the gate `cd api && .venv/bin/python -m pytest" in told
    assert "not chosen `cd web && npx vitest run" in told
    assert "Several gates were found" in told
    assert "freezes 2 files at approval now: api/pytest.ini, api/test_a.py." in told
    assert f"Write what begins with {PLACEHOLDER}" in told


def test_the_folder_in_which_somebody_stands_comes_first(
    tmp_path: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"pytest.ini": "", "web/package.json": package("", "vitest"), "web/src/a.ts": ""}
    begun(write(tmp_path / "project", files))
    monkeypatch.chdir(tmp_path / "project" / "web")
    ended = flow("plan", "--suggest")
    assert "cd web && npx vitest run" in json.loads(ended.out)["plan"]["gate"]["run"]
    assert "You stand in web/" in ended.err
    assert "takes a person's approval" not in ended.err
    assert flow("plan", "--suggest", "--json").body["workspace_folder"] == "web"


def test_every_thing_that_is_missing_has_a_sentence_with_the_next_step(tmp_path: Path, flow: Flow) -> None:
    root = tmp_path / "project"
    (root / "node_modules").mkdir(parents=True)
    body = suggested(flow, root)
    told = " ".join(body["sentences"])
    for words in ("No test suite was found", "no git repository", "git init", "No test file", "Add it to .gitignore"):
        assert words in told
    assert body["skeleton"]["plan"]["gate"]["run"].startswith(PLACEHOLDER)
    assert (body["suggestions"], "No gate was found" in body["summary"]) == ([], True)
    assert "the skeleton marks where" in flow("plan", "--suggest", "--workspace", str(root)).err


def test_a_gate_without_a_report_says_why_and_what_would_help(tmp_path: Path, flow: Flow) -> None:
    root = write(tmp_path / "project", {"test_a.py": UNITTEST, "package.json": "{"})
    body = suggested(flow, root)
    assert "Plain unittest writes no JUnit report" in body["skeleton"]["plan"]["gate"]["no_report_because"]
    assert any("takes a person's approval" in one and "`flow-mcp approve`" in one for one in body["sentences"])
    assert any("package.json is not well-formed" in one for one in body["sentences"])
    assert "notes" not in body["suggestions"][0]


def test_without_a_plan_the_verb_says_how_to_propose_one(started: Project, flow: Flow) -> None:
    ended = flow("plan")
    assert (ended.code, ended.out) == (3, "")
    assert "`flow-mcp plan --suggest`" in ended.err
    assert not (started.root / ".flow").exists()


def test_the_open_plan_is_printed_as_plan_save_takes_it(drafted: Project, flow: Flow) -> None:
    ended = flow("plan")
    assert "at revision 1 is a draft." in ended.err
    again = flow("call", "plan_save", ended.out)
    assert (again.code, again.body["revision"]) == (0, 2)
    assert flow("plan").out == ended.out
    assert flow("plan", "--json").body["plan_id"] == drafted.document.plan_id


def test_a_plan_is_named_or_proposed_and_not_both(drafted: Project, flow: Flow) -> None:
    name = drafted.document.plan_id
    assert flow("plan", name).out == flow("plan", "--plan", name).out == flow("plan").out
    assert flow("plan", name, "--suggest").code == 2
    assert flow("plan", "nobody").code == 3


def test_a_plan_that_moved_on_says_so(approved: Project, flow: Flow) -> None:
    assert "is approved and frozen." in flow("plan").err
    assert flow("call", "close", '{"kind": "deferred", "summary": "later"}').code == 0
    assert "is closed as deferred." in flow("plan").err
    approved.drafted("Another goal")
    assert "inherits" not in json.loads(flow("plan").out)["plan"]


def test_several_open_plans_are_refused_as_elsewhere(drafted: Project, flow: Flow, tmp_path: Path) -> None:
    other = Project(tmp_path / "other").started().drafted("Another goal")
    (drafted.root / "plans" / other.path.name).write_bytes(other.path.read_bytes())
    (drafted.root / ".flow" / "worktree").write_text("0" * 32)
    assert "Several plans are open" in flow("plan").text
