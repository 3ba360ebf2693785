"""Private folders: how they are made, entered and removed."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from flow_mcp.workspace.folders import PlantedLink, private_folder, read_private, remove_tree
from flow_mcp.workspace.paths import Inaccessible


def test_private_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    made = private_folder(tmp_path / ".flow", "a", "b")
    assert made == tmp_path / ".flow" / "a" / "b"
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in (made, made.parent, made.parent.parent))
    assert private_folder(tmp_path / ".flow", "a", "b") == made


def test_a_link_or_file_in_place_of_a_private_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / ".flow").symlink_to(tmp_path / "outside")
    with pytest.raises(PlantedLink, match=r"\.flow"):
        private_folder(tmp_path / ".flow", "a")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("")
    with pytest.raises(PlantedLink, match="real/a"):
        private_folder(tmp_path / "real", "a")
    (tmp_path / "real" / "b").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PlantedLink, match="real/b"):
        private_folder(tmp_path / "real", "b", "c")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_private_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(Inaccessible, match="No such file"):
        private_folder(tmp_path / "gone" / ".flow")


def test_a_private_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    assert read_private(tmp_path / "gone", bytes_max=4) is None
    (tmp_path / "file").write_bytes(b"1234")
    assert read_private(tmp_path / "file", bytes_max=4) == b"1234"
    with pytest.raises(PlantedLink):
        read_private(tmp_path / "file", bytes_max=3)


def test_a_tree_goes_whatever_is_in_it_and_what_its_links_point_to_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    tree = tmp_path / "tree"
    (tree / "locked" / "inner").mkdir(parents=True)
    (tree / "locked" / "inner" / "read-only").write_text("x")
    (tree / "locked" / "inner" / "read-only").chmod(0o400)
    (tree / "link").symlink_to(outside)
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "pipe")
    (tree / "locked" / "inner").chmod(0)
    (tree / "locked").chmod(0o500)
    tree.chmod(0o500)
    remove_tree(tree)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert (outside / "kept").read_text() == "kept"


def test_a_tree_deeper_than_a_path_can_say_goes_too(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    here = os.open(tree, os.O_RDONLY)
    for _ in range(1100):  # deeper than open files and nested calls reach, and longer than a path may be
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        remove_tree(tree)
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["rm", "-rf", str(tree)], check=True)  # pytest's own cleaning cannot


def test_files_links_and_nothing_at_all_are_removed_alike(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    for name in ("link", "file", "nothing"):
        remove_tree(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_name: bytes, *, dir_fd: int) -> None:
        raise OSError(16, f"Device or resource busy {dir_fd}")

    monkeypatch.setattr(os, "rmdir", busy)
    (tmp_path / "tree").mkdir()
    with pytest.raises(Inaccessible, match="busy"):
        remove_tree(tmp_path / "tree")
