from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.workspace import inputs as inputs_module
from flow_mcp.workspace.inputs import link_inputs

Plant = Callable[[Path, Path], object]


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    root, target = tmp_path / "root", tmp_path / "target"
    (root / "env" / "lib").mkdir(parents=True)
    (root / "src").mkdir()
    target.mkdir()
    return root, target


def test_inputs_that_exist_are_there_in_the_copy_and_others_are_not(place: tuple[Path, Path]) -> None:
    root, target = place
    (root / "env" / "lib" / "tool").write_text("x")
    (target / "taken").mkdir()
    (root / "taken").mkdir()
    assert link_inputs(root, ("env/", "none", "taken", "env/lib"), target) is False
    assert (target / "env" / "lib" / "tool").read_text() == "x"
    assert not (target / "none").exists()
    assert not (target / "taken").is_symlink()


BACK: dict[str, Plant] = {
    "a pointer file": lambda env, root: (env / "lib" / "x.pth").write_text(f"{root}/src\n"),
    "a pointer that imports": lambda env, root: (env / "lib" / "x.pth").write_text(f"import a; a.add('{root}/src')\n"),
    "a pointer that is relative": lambda env, _root: (env / "lib" / "x.pth").write_text("../../src\n"),
    "a link": lambda env, root: (env / "lib" / "pkg").symlink_to(root / "src"),
    "a finder": lambda env, _root: (env / "lib" / "__editable___x_finder.py").write_text("MAPPING = {}\n"),
}


@pytest.mark.parametrize("what", BACK)
def test_an_input_that_leads_back_into_the_workspace_is_told(place: tuple[Path, Path], what: str) -> None:
    root, target = place
    BACK[what](root / "env", root)
    assert link_inputs(root, ("env",), target) is True


APART: dict[str, Plant] = {
    "a link inside itself": lambda env, _root: (env / "here").symlink_to(env / "lib"),
    "a link out": lambda env, _root: (env / "out").symlink_to("/usr"),
    "a pointer elsewhere": lambda env, _root: (env / "lib" / "x.pth").write_text("/usr/lib/elsewhere\n./here\n"),
    "a pointer that is a folder": lambda env, _root: (env / "lib" / "x.pth").mkdir(),
}


@pytest.mark.parametrize("what", APART)
def test_an_input_that_leads_elsewhere_is_not(place: tuple[Path, Path], what: str) -> None:
    root, target = place
    APART[what](root / "env", root)
    assert link_inputs(root, ("env",), target) is False


def test_an_input_with_too_much_to_look_through_counts_as_leading_back(
    place: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, target = place
    monkeypatch.setattr(inputs_module, "LOOKED_AT_MAX", 2)
    for number in range(3):
        (root / "env" / str(number)).write_text("")
    assert link_inputs(root, ("env",), target) is True


def test_a_folder_that_goes_while_it_is_looked_through_is_passed_over(
    place: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, target = place

    def gone(_path: str) -> object:
        raise FileNotFoundError

    monkeypatch.setattr("flow_mcp.workspace.inputs.os.scandir", gone)
    assert link_inputs(root, ("env",), target) is False
