"""The project in each of its states, and the command line in this process."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.cli.app import run
from tests.cli.rig import Ended, Project, terminal

States = dict[str, Path]
Flow = Callable[..., Ended]


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this machine's settings and terminal out."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    for name in [*os.environ]:
        if name.startswith("FLOW_") or name in {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"}:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> States:
    """One project in each state, made once; tests work on copies."""
    return {"made": tmp_path_factory.mktemp("states")}


def _copy(states: States, name: str, to: Path) -> Project:
    """Copy a state; make it, and the one before it, when it is first asked for."""
    if name not in states:
        states[name] = states["made"] / name
        before = {"drafted": "started", "approved": "drafted", "worked": "approved", "pending": "worked"}.get(name)
        made = Project(states[name]) if before is None else _copy(states, before, states[name])
        getattr(made, name)()
    shutil.copytree(states[name], to, symlinks=True)
    return Project(to)


def _in(states: States, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = _copy(states, name, tmp_path / "project")
    monkeypatch.chdir(project.root)
    return project


@pytest.fixture
def started(states: States, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A repository without a plan."""
    return _in(states, "started", tmp_path, monkeypatch)


@pytest.fixture
def drafted(states: States, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A plan that waits for approval."""
    return _in(states, "drafted", tmp_path, monkeypatch)


@pytest.fixture
def approved(states: States, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A plan that a person approved."""
    return _in(states, "approved", tmp_path, monkeypatch)


@pytest.fixture
def worked(states: States, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A run with its baseline and its work, nothing observed of it yet."""
    return _in(states, "worked", tmp_path, monkeypatch)


@pytest.fixture
def pending(states: States, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An assignment that waits for its verdict."""
    return _in(states, "pending", tmp_path, monkeypatch)


@pytest.fixture
def flow(capsys: pytest.CaptureFixture[str]) -> Flow:
    """The command line in this process, without a terminal."""

    def call(*arguments: str) -> Ended:
        capsys.readouterr()
        code = run(arguments)
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return call


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Flow:
    """The command line in this process, with a person at a terminal who answers by a script."""

    def call(*arguments: str, script: tuple[tuple[str, str], ...]) -> Ended:
        capsys.readouterr()
        with terminal(*script) as (slave, person):
            with monkeypatch.context() as patch, os.fdopen(slave) as reading, os.fdopen(os.dup(slave), "w") as writing:
                patch.setattr(sys, "stdin", reading)
                patch.setattr(sys, "stderr", writing)
                code = run(arguments)
            shown = person.seen
        return Ended(code, capsys.readouterr().out, shown)

    return call
