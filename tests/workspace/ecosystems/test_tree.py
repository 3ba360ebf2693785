import os
from pathlib import Path

import pytest

from flow_mcp.workspace.ecosystems import tree
from flow_mcp.workspace.ecosystems.survey import survey
from flow_mcp.workspace.ecosystems.tree import DEPTH_LOOKED_AT_MAX, look
from flow_mcp.workspace.ignore import OversizedRules
from flow_mcp.workspace.paths import Descent, Inaccessible
from tests.workspace.ecosystems.projects import write

REST = "so nothing was taken from it: mend it, or name the gate yourself."


def test_a_tree_names_its_files_folder_by_folder(tmp_path: Path) -> None:
    found = look(write(tmp_path, {"a/b/c.py": "x", "a/d.py": "", "e.py": ""}))
    assert found.is_whole
    assert list(found.paths("a")) == ["d.py", "b/c.py"]
    assert found.has("a", "x", "d.py") == "d.py"
    assert found.has("nowhere", "d.py") is None
    assert (found.text("a/b/c.py"), found.text("a/none.py")) == ("x", "")


def test_a_folder_that_lies_too_deep_or_is_one_too_many_is_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = "/".join("d" * DEPTH_LOOKED_AT_MAX)
    assert look(write(tmp_path / "fits", {f"{deep}/a": ""})).is_whole
    assert not look(write(tmp_path / "deep", {f"{deep}/d/a": ""})).is_whole
    monkeypatch.setattr(tree, "FOLDERS_MAX", 2)
    assert not look(write(tmp_path / "wide", {"a/x": "", "b/x": ""})).is_whole
    assert look(write(tmp_path / "two", {"a/x": ""})).is_whole
    assert "larger than is looked at" in survey(tmp_path / "wide", "").notes[0]


def test_a_folder_of_very_many_names_is_looked_at_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "NAMES_PER_FOLDER_MAX", 3)
    found = look(write(tmp_path, dict.fromkeys("abcd", "")))
    assert (found.is_whole, len(found.files[""])) == (False, 3)


def test_a_top_that_is_gone_and_an_endless_ignore_file_are_broken_worlds(tmp_path: Path) -> None:
    with pytest.raises(Inaccessible):
        look(tmp_path / "gone")
    (tmp_path / ".gitignore").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(OversizedRules):
        look(tmp_path)


def test_what_is_closed_to_this_user_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = look(write(tmp_path, {"package.json": "{}", "a/b": ""}))

    def closed(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tree, "open_file", closed)
    assert found.table("package.json") == {}
    assert found.unread == [
        f"package.json cannot be read (Permission denied), {REST}",
    ]
    monkeypatch.setattr(tree, "_entries", closed)
    assert found.names("a") == ()
    assert not look(tmp_path).is_whole


def test_a_file_that_goes_away_meanwhile_is_empty(tmp_path: Path) -> None:
    found = look(write(tmp_path, {"a/b": "x", "a/c": "x"}))
    (tmp_path / "a" / "c").unlink()
    os.mkfifo(tmp_path / "a" / "c")
    assert found.text("a/c") == ""
    (tmp_path / "a").rename(tmp_path / "z")
    assert found.text("a/b") == ""
    assert found.names("a") == ()


def test_a_dependency_folder_that_is_closed_counts_as_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {".gitignore": "", "node_modules/a": ""})
    real = tree._inside

    def gone(descent: Descent, path: str) -> dict[str, bool]:
        (tmp_path / "node_modules").rename(tmp_path / "gone")
        return real(descent, path)

    monkeypatch.setattr(tree, "_inside", gone)
    assert survey(tmp_path, "").unignored == ("node_modules",)
    (tmp_path / "gone").rename(tmp_path / "node_modules")
    monkeypatch.setattr(tree, "_inside", real)
    entries = tree._entries

    def closed(folder: int) -> list[tuple[str, bool]]:
        found = entries(folder)
        if ("a", False) in found:
            raise PermissionError(13, "Permission denied")
        return found

    monkeypatch.setattr(tree, "_entries", closed)
    assert survey(tmp_path, "").unignored == ("node_modules",)
