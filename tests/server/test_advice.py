"""What plan_save says beside its answer, on real projects."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from flow_mcp.domain.commands import PlanSave
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import blank
from flow_mcp.domain.plan import Command, Gate, Plan
from flow_mcp.engine.core import Asked, Done
from flow_mcp.server import advice
from flow_mcp.server.advice import SENTENCES_MAX, advise, advise_refused, weightiest
from tests.cli.rig import APP_DONE, MANAGER, PLAN, Project
from tests.workspace.ecosystems.projects import PYTEST_TEST, environment, package, write

OTHER = Gate(run="./check.sh", no_report_because="A script.")


def told(project: Project, plan: Plan = PLAN) -> list[str]:
    done = project.engine().ask(PlanSave(goal="Add slug", plan=plan), Asked(MANAGER))
    assert isinstance(done, Done), done
    return advise(project.root, done.document, done.seen)


def fails(_root: Path, _start: str) -> None:
    seen = "It cannot be read."
    raise BrokenWorld(seen, "Open it.")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project").started()


def about(sentences: list[str], *words: str) -> str:
    """Give the one sentence that holds these words."""
    (found,) = (one for one in sentences if all(word in one for word in words))
    return found


def test_a_plan_that_misses_nothing_is_told_what_it_freezes_alone(project: Project) -> None:
    (only,) = told(project)
    assert only.startswith("Approval freezes 1 test and configuration file, first tests/check.py. A feature may change")
    assert only.endswith("(now: none does).")
    feature = PLAN.features[0].model_copy(update={"targets": ("app.py", "tests/check.py")})
    assert "(now: tests/check.py)" in told(project, PLAN.model_copy(update={"features": (feature,)}))[0]


def test_a_suite_that_no_command_runs_is_named_first(project: Project) -> None:
    project.write("pytest.ini", "")
    project.write("tests/test_a.py", PYTEST_TEST)
    first = told(project)[0]
    assert first.startswith("The project has `python3 -m pytest --junitxml=.flow/reports/gate.xml` with report")
    assert first.endswith("Take it as the gate, or as a check.")
    checked = PLAN.features[0].model_copy(update={"checks": (*PLAN.features[0].checks, Command(run="pytest -q"))})
    assert "The project has" not in told(project, PLAN.model_copy(update={"features": (checked,)}))[0]


def test_a_gate_without_a_report_is_told_which_one_the_project_has(project: Project) -> None:
    project.write("pytest.ini", "")
    plan = PLAN.model_copy(update={"gate": Gate(run="pytest -q", no_report_because="None.")})
    assert told(project, plan)[0].startswith("The gate has no report, and the project has `python3 -m pytest")
    own = Gate(run="python3 -m pytest --junitxml=.flow/reports/gate.xml", report=".flow/reports/gate.xml")
    assert "gate" not in told(project, PLAN.model_copy(update={"gate": own}))[0]


def test_the_name_of_a_runner_inside_another_word_is_not_the_runner(project: Project) -> None:
    write(project.root, {"go.mod": "module m\n", "a_test.go": ""})
    plan = PLAN.model_copy(update={"gate": Gate(run="cargo test", no_report_because="None.")})
    assert told(project, plan)[0].startswith("The project has `go test ./...` without a report (go)")


def test_ignored_folders_that_are_not_listed_and_unignored_caches_are_named(project: Project) -> None:
    write(project.root, {**environment(".venv"), "node_modules/a/index.js": "", ".tox/x": ""})
    sentences = told(project)
    assert about(sentences, "`inputs`").startswith(".venv, node_modules: ignored, and commands run in a copy")
    assert about(sentences, ".gitignore").startswith(".tox: not ignored")
    listed = PLAN.model_copy(update={"inputs": (".venv", "node_modules")})
    assert not any("`inputs`" in one for one in told(project, listed))


def test_uncommitted_tests_and_targets_are_told_apart(project: Project) -> None:
    project.write("app.py", APP_DONE)
    project.write("tests/test_new.py", PYTEST_TEST)
    sentences = told(project)
    assert "tests/test_new.py" in about(sentences, "Approval would freeze 1", "uncommitted")
    assert "app.py" in about(sentences, "Targets hold 1 path with uncommitted changes")
    assert about(sentences, "The tree differs from HEAD").endswith("Commit before you ask for approval.")


def test_a_folder_without_git_without_a_commit_or_without_tests_is_told_what_to_do(tmp_path: Path) -> None:
    bare = Project(tmp_path / "bare")
    bare.write("app.py", "")
    sentences = told(bare)
    assert "Run `git init`" in about(sentences, "no git repository")
    assert "Let the first feature add tests" in about(sentences, "No test file")
    assert not any("Targets hold" in one for one in sentences)
    bare.git("init", "-q")
    assert "Commit before" in about(told(bare), "no commit yet")


def test_a_repository_inside_another_is_told(tmp_path: Path) -> None:
    Project(tmp_path).git("init", "-q")
    assert "Flow covers only this one" in about(told(Project(tmp_path / "inner").started()), str(tmp_path))


def test_there_are_eight_sentences_at_most_and_each_has_its_next_step(project: Project, tmp_path: Path) -> None:
    Project(tmp_path).git("init", "-q")
    write(project.root, {"pytest.ini": "", "package.json": "{", "app.py": "", ".tox/x": "", **environment(".venv")})
    write(project.root, {"web/package.json": package("", "vitest"), "venv/.gitignore": "*", "venv/pyvenv.cfg": ""})
    project.write(".gitignore", ".flow/\n.venv/\n")
    sentences = told(project)
    assert len(sentences) == SENTENCES_MAX
    assert all(one.endswith((".", ")")) and len(one) < 400 for one in sentences)
    assert not any(os.linesep in one for one in sentences)


def test_notes_of_what_was_not_understood_come_last(project: Project) -> None:
    project.write("package.json", "{")
    assert told(project)[-1].startswith("package.json is not well-formed")


def test_a_project_that_cannot_be_looked_at_is_advice_and_no_failure(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advice, "survey", fails)
    assert told(project)[0] == "It cannot be read. Open it."


def refused(project: Project, plan: Plan) -> list[str]:
    answer = project.engine().ask(PlanSave(goal="Add slug", plan=plan), Asked(MANAGER))
    assert isinstance(answer, Refused), answer
    return advise_refused(project.root, answer, plan.gate)


def test_a_refused_draft_is_told_what_the_project_offers(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project.root, {"pytest.ini": "", "web/package.json": package("", "vitest"), ".venv/pyvenv.cfg": ""})
    project.write(".venv/.gitignore", "*")
    project.write(".gitignore", ".flow/\n")
    drafts = (
        {"gate": None},
        {"gate": Gate(run="pytest || true", no_report_because="None.")},
        {"gate": Gate(run="pytest -k one", no_report_because="None.")},
    )
    for change in drafts:
        told_by = refused(project, PLAN.model_copy(update=change))
        assert [one.split("`")[1].split(" --")[0] for one in told_by] == [
            "python3 -m pytest",
            "cd web && npx vitest run",
        ]
    own = Gate(run="python3 -m pytest --junitxml=.flow/reports/gate.xml")
    assert [one.split("`")[1] for one in refused(project, PLAN.model_copy(update={"gate": own}))][:1] == [
        "cd web && npx vitest run --reporter=default --reporter=junit --outputFile.junit=../.flow/reports/gate.xml"
    ]
    (folder,) = refused(project, PLAN.model_copy(update={"inputs": (".venv",)}))
    assert folder.startswith(".venv: ignored only by a file inside")
    assert refused(project, PLAN.model_copy(update={"features": ()})) == []
    monkeypatch.setattr(advice, "survey", fails)
    assert refused(project, PLAN.model_copy(update={"gate": None})) == []


def test_a_document_without_a_plan_or_a_look_gets_none(project: Project) -> None:
    done = project.engine().ask(PlanSave(goal="Add slug", plan=PLAN), Asked(MANAGER))
    assert isinstance(done, Done)
    assert advise(project.root, blank("p", "w"), done.seen) == []
    assert advise(project.root, replace(done, seen=None).document, None) == []


def test_targets_in_a_folder_that_is_not_there_are_told(project: Project) -> None:
    targets = ("test/run.sh", "nosuch/*.c", "new.py", "tests/new.py", "app.py", "!tests/old.py")
    feature = PLAN.features[0].model_copy(update={"targets": targets})
    done = project.engine().ask(PlanSave(goal="Add slug", plan=PLAN), Asked(MANAGER))
    assert isinstance(done, Done)
    plan = PLAN.model_copy(update={"features": (feature,)})
    sentences = advise(project.root, done.document.model_copy(update={"plan": plan}), done.seen)
    lost = about(sentences, "in folders that are not there either")
    assert "test/run.sh, nosuch/*.c (test/, nosuch/)." in lost
    assert "new.py" not in lost


def test_the_weightiest_advice_is_a_gate_that_cannot_run_and_missing_inputs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project.root, {**environment(".venv"), "Makefile": "test:\n"})
    project.write(".gitignore", ".flow/\n.venv/\n")
    plan = PLAN.model_copy(update={"gate": Gate(run="make tset", no_report_because="None.")})
    done = project.engine().ask(PlanSave(goal="Add slug", plan=plan), Asked(MANAGER))
    assert isinstance(done, Done)
    gate, inputs = weightiest(project.root, done.document, done.seen)
    assert "asks for the target 'tset'" in gate
    assert inputs.startswith(".venv: ignored")
    assert advise(project.root, done.document, done.seen)[0] == gate
    assert weightiest(project.root, blank("p", "w"), done.seen) == []
    monkeypatch.setattr(advice, "survey", fails)
    assert weightiest(project.root, done.document, done.seen) == [gate]
