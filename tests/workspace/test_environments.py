"""Whether a Python outside of the workspace has the workspace installed editable."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.workspace.environments import environments_lead_back

Plant = Callable[[Path, Path], object]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "src").mkdir(parents=True)
    return tmp_path / "root"


def packages(prefix: Path) -> Path:
    """Make the folder of packages of an environment."""
    folder = prefix / "lib" / "python3.12" / "site-packages"
    folder.mkdir(parents=True)
    return folder


BACK: dict[str, Plant] = {
    "a pointer file": lambda folder, root: (folder / "x.pth").write_text(f"{root}/src\n"),
    "a pointer file that imports a loader": lambda folder, root: [
        (folder / "x.pth").write_text("import _x_editable\n"),
        (folder / "_x_editable.py").write_text(f"ROOT = {str(root)!r}\n"),
    ],
    "a finder": lambda folder, root: (folder / "__editable___x_finder.py").write_text(f"MAPPING = {{'x': '{root}'}}\n"),
    "an egg link": lambda folder, root: (folder / "x.egg-link").write_text(f"{root}/src\n"),
    "a link": lambda folder, root: (folder / "x").symlink_to(root / "src"),
    "a pointer file that is too long": lambda folder, _root: (folder / "x.pth").write_text("x" * 2_000_000),
}
APART: dict[str, Plant] = {
    "nothing": lambda folder, _root: folder,
    "another project's pointer file": lambda folder, root: (folder / "x.pth").write_text(f"{root}-other/src\n"),
    "another project's finder": lambda folder, _root: (folder / "__editable___x_finder.py").write_text("M = '/else'\n"),
    "a loader that is not there": lambda folder, _root: (folder / "x.pth").write_text("import gone\n"),
    "a pointer file that is a folder": lambda folder, _root: (folder / "x.pth").mkdir(),
}


@pytest.mark.parametrize("what", BACK)
def test_an_environment_that_leads_into_the_workspace_is_told(root: Path, tmp_path: Path, what: str) -> None:
    BACK[what](packages(tmp_path / "env"), root)
    assert environments_lead_back("pytest", {"VIRTUAL_ENV": str(tmp_path / "env")}, root)


@pytest.mark.parametrize("what", APART)
def test_an_environment_that_leads_elsewhere_is_not(root: Path, tmp_path: Path, what: str) -> None:
    APART[what](packages(tmp_path / "env"), root)
    assert not environments_lead_back("pytest", {"VIRTUAL_ENV": str(tmp_path / "env")}, root)


def test_the_python_of_the_path_the_users_own_packages_and_installed_versions_are_looked_at(
    root: Path, tmp_path: Path
) -> None:
    for name in ("program", "home/.local", "home/.pyenv/versions/3.12.1", "other/versions/3.11"):
        BACK["a pointer file"](packages(tmp_path / name), root)
    program = tmp_path / "program" / "bin" / "python3"
    program.parent.mkdir()
    program.touch()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "python").symlink_to(program)
    assert environments_lead_back("pytest", {"PATH": f"relative:{tmp_path}/nowhere:{program.parent}"}, root)
    assert environments_lead_back("pytest", {"PATH": f"{tmp_path}/links"}, root)
    assert environments_lead_back("pytest", {"HOME": str(tmp_path / "home")}, root)
    assert environments_lead_back("pytest", {"PYENV_ROOT": str(tmp_path / "other")}, root)
    assert not environments_lead_back("pytest", {"PYENV_ROOT": str(tmp_path / "nowhere")}, root)


@pytest.mark.parametrize("run", ["{env}/bin/python -m pytest", "A=1 '{env}/bin/pytest' -q", "cd src && {env}/bin/tox"])
def test_an_environment_that_the_command_names_is_looked_at(root: Path, tmp_path: Path, run: str) -> None:
    BACK["a pointer file"](packages(tmp_path / "env"), root)
    assert environments_lead_back(run.format(env=tmp_path / "env"), {}, root)
    assert not environments_lead_back(run.format(env=tmp_path / "other"), {}, root)


def test_an_environment_in_the_workspace_is_its_inputs_matter(root: Path) -> None:
    BACK["a pointer file"](packages(root / ".venv"), root)
    assert not environments_lead_back("pytest", {"VIRTUAL_ENV": str(root / ".venv")}, root)


def test_what_cannot_be_looked_into_is_passed_over(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BACK["a pointer file"](packages(tmp_path / "env"), root)

    def closed(_path: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "scandir", closed)
    assert not environments_lead_back("pytest", {"VIRTUAL_ENV": str(tmp_path / "env")}, root)
