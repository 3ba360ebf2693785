"""Writing whole bytes, and private files in one step."""

import os
import stat
from pathlib import Path

import pytest

from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.writer import replace_file, write_all


def test_every_byte_is_written_however_little_the_system_takes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr("flow_mcp.workspace.writer.os.write", lambda to, data: real(to, data[:2]))
    with (tmp_path / "file").open("wb", buffering=0) as file:
        write_all(file.fileno(), b"all of it")
        write_all(file.fileno(), b"")
    assert (tmp_path / "file").read_bytes() == b"all of it"


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with (tmp_path / "file").open("rb") as reader:
        replace_file(tmp_path, "file", b"new")
        assert reader.read() == b"old"
    assert (tmp_path / "file").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_planted_link_is_replaced_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").symlink_to(tmp_path / "outside")
    replace_file(tmp_path / "folder", "file", b"new")
    assert (tmp_path / "outside").read_bytes() == b"kept"
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with pytest.raises(Inaccessible):
        replace_file(tmp_path / "link", "file", b"evil")
    assert (tmp_path / "folder" / "file").read_bytes() == b"new"


@pytest.mark.parametrize("broken", ["write", "fsync", "rename"])
def test_a_disk_that_fails_leaves_the_old_bytes_and_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, broken, full)
    with pytest.raises(Inaccessible, match="No space left") as refused:
        replace_file(tmp_path, "file", b"new")
    monkeypatch.undo()
    assert refused.value.remedy == "Free some space, then try again."
    assert (tmp_path / "file").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
