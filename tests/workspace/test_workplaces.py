"""Where disposable copies lie: apart from the workspace, in a folder that is its user's alone."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from flow_mcp.workspace import workplaces as workplaces_module
from flow_mcp.workspace.folders import PlantedLink
from flow_mcp.workspace.workplaces import workplace, workplaces


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a workspace, a cache and a folder for temporary files of their own."""
    for name in ("root", "cache", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(workplaces_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "root"


def temporary(root: Path) -> Path:
    return root.parent / "tmp" / f"flow-mcp-{os.getuid()}" / "work"


def test_copies_lie_in_the_users_cache_and_are_theirs_alone(root: Path) -> None:
    place = workplace(root)
    assert place == root.parent / "cache" / "flow-mcp" / "work"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert not (root / ".flow").exists()


def test_without_a_home_they_lie_among_the_temporary_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(_name: str) -> Path:
        raise RuntimeError

    monkeypatch.setattr(workplaces_module, "user_cache_path", homeless)
    assert workplace(root) == temporary(root)


@pytest.mark.parametrize("how", ["link", "file", "others may write"])
def test_a_cache_that_is_not_the_users_alone_is_passed_over(root: Path, how: str) -> None:
    cache = root.parent / "cache" / "flow-mcp"
    if how == "link":
        cache.symlink_to(root)
    elif how == "file":
        cache.write_text("")
    else:
        cache.mkdir()
        cache.chmod(0o777)
    assert workplace(root) == temporary(root)
    assert list(root.iterdir()) == []


def test_a_cache_that_cannot_be_read_is_passed_over(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, cache = os.access, root.parent / "cache"

    def access(path: Path, mode: int) -> bool:  # root may read everything
        return real(path, mode) and not (mode & os.R_OK and path.is_relative_to(cache))

    monkeypatch.setattr(os, "access", access)
    assert workplace(root) == temporary(root)


def test_a_workspace_that_holds_the_cache_is_never_above_its_copies(root: Path) -> None:
    assert workplace(root.parent / "cache") == temporary(root)
    inside = root.parent / "cache" / "flow-mcp" / "work" / "inside"
    inside.mkdir()
    assert workplace(inside) == temporary(root)


def test_a_workspace_that_holds_every_other_folder_keeps_them_in_its_private_one(root: Path) -> None:
    whole = root.parent
    assert list(workplaces(whole))[-1] != whole / ".flow" / "work"
    assert workplace(whole) == whole / ".flow" / "work"
    assert list(workplaces(whole))[-1] == whole / ".flow" / "work"


def test_a_link_in_place_of_the_last_resort_is_refused(root: Path) -> None:
    whole = root.parent
    (whole / ".flow").symlink_to(root)
    with pytest.raises(PlantedLink):
        workplace(whole)
