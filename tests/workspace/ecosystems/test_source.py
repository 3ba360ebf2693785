import os
from pathlib import Path

import pytest

from flow_mcp.workspace.ecosystems import source
from flow_mcp.workspace.ecosystems.source import SourceState, look_at_source
from tests.workspace.rig import PLANS, Repo


def seen(root: Path) -> SourceState:
    return look_at_source(root, PLANS)


def test_each_state_of_the_history_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py")
    assert seen(repo.root).history == "no-repository"
    repo.started()
    assert seen(repo.root).history == "no-commit"
    repo.commit(".")
    assert seen(repo.root).history == "clean"
    repo.write("a.py", "more\n")
    assert seen(repo.root).history == "changed"
    monkeypatch.setattr(source, "FILES_READ_MAX", 0)
    assert seen(repo.root).history == "unknown"
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    assert seen(repo.root).history == "no-git"


def test_what_would_be_frozen_and_what_of_it_is_uncommitted_is_named(tmp_path: Path) -> None:
    repo = Repo(tmp_path).started()
    repo.write("a.py")
    repo.write("tests/test_a.py")
    repo.commit(".")
    repo.write("tests/test_b.py")
    repo.write("plans/goal.json", "{}")
    repo.write(".flow/x")
    found = seen(tmp_path)
    assert (found.files, found.has_tests) == (3, True)
    assert found.frozen == ("tests/test_a.py", "tests/test_b.py")
    assert found.frozen_changed == ("tests/test_b.py",)


def test_runner_configuration_is_frozen_and_is_no_test(tmp_path: Path) -> None:
    Repo(tmp_path).write("pytest.ini")
    found = seen(tmp_path)
    assert (found.frozen, found.has_tests) == (("pytest.ini",), False)


def test_a_repository_inside_another_names_the_outer_one(tmp_path: Path) -> None:
    Repo(tmp_path).started()
    inner = Repo(tmp_path / "a" / "inner").started()
    assert seen(inner.root).outer == str(tmp_path)
