"""What may stand at a report's path and still be read: a fresh, plain, bounded file with one name."""

import os
import sys
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.evidence import report_file
from flow_mcp.evidence.report_file import (
    REPORT_BYTES_MAX,
    UnreadableReport,
    opened_report,
    prepare_report,
    report_parts,
)

_RELATIVE = ".flow/reports/report.xml"
_REPORT = b'<testsuite><testcase name="ok"/></testsuite>'


def _reason(root: Path, relative: str = _RELATIVE, started_ns: int = 0) -> str:
    try:
        with opened_report(root, relative, started_ns):
            return ""
    except UnreadableReport as refusal:
        return refusal.reason


@pytest.mark.parametrize("relative", [".flow/reports/a.xml", ".flow/reports/deep/er/a b.xml", ".flow/reports/..a"])
def test_a_path_below_the_report_folder_is_a_reports_path(relative: str) -> None:
    assert report_parts(relative) == tuple(relative.split("/"))


@pytest.mark.parametrize(
    "relative",
    [
        "",
        ".",
        "a.xml",
        ".flow",
        ".flow/reports",
        ".flow/reports/",
        ".flow/checks/a.xml",
        ".flow/reportsx/a.xml",
        "x/.flow/reports/a.xml",
        "./.flow/reports/a.xml",
        ".flow//reports/a.xml",
        ".flow/reports/./a.xml",
        ".flow/reports/a.xml/",
        ".flow/reports/../reports/a.xml",
        ".flow/reports/../../a.xml",
        "/.flow/reports/a.xml",
        "//.flow/reports/a.xml",
        ".flow/reports/a\0b",
        ".flow/reports/a\\b",
    ],
)
def test_no_other_path_is(relative: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"below \.flow/reports/"):
        report_parts(relative)
    with pytest.raises(ValueError, match=r"below \.flow/reports/"):
        prepare_report(tmp_path, relative)


def test_a_plain_file_is_opened(tmp_path: Path, report_path: Path) -> None:
    report_path.write_bytes(_REPORT)
    with opened_report(tmp_path, _RELATIVE, report_path.stat().st_mtime_ns) as descriptor:
        assert os.read(descriptor, 1000) == _REPORT


def test_no_descriptor_is_left_open(tmp_path: Path, report_path: Path) -> None:
    lowest = os.open(tmp_path, os.O_RDONLY)
    os.close(lowest)
    report_path.write_bytes(_REPORT)
    assert _reason(tmp_path) == ""
    assert _reason(tmp_path, started_ns=1 << 62) == "stale"
    report_path.unlink()
    assert _reason(tmp_path) == "missing"
    prepare_report(tmp_path, _RELATIVE)
    again = os.open(tmp_path, os.O_RDONLY)
    os.close(again)
    assert again == lowest


def test_a_file_one_nanosecond_older_than_the_start_is_stale(tmp_path: Path, report_path: Path) -> None:
    report_path.write_bytes(_REPORT)
    os.utime(report_path, ns=(5_000, 5_000))
    assert _reason(tmp_path, started_ns=5_000) == ""
    assert _reason(tmp_path, started_ns=5_001) == "stale"


def test_the_size_limit_is_accepted_and_one_byte_more_is_not(tmp_path: Path, report_path: Path) -> None:
    report_path.touch()
    os.truncate(report_path, REPORT_BYTES_MAX)
    assert _reason(tmp_path) == ""
    os.truncate(report_path, REPORT_BYTES_MAX + 1)
    assert _reason(tmp_path) == "too-large"


def test_an_empty_file_is_no_report(tmp_path: Path, report_path: Path) -> None:
    report_path.touch()
    assert _reason(tmp_path) == "empty"


def test_a_file_with_a_second_name_is_no_report(tmp_path: Path, report_path: Path) -> None:
    (tmp_path / "older.xml").write_bytes(_REPORT)
    report_path.hardlink_to(tmp_path / "older.xml")
    assert _reason(tmp_path) == "hard-link"


@pytest.mark.parametrize("step", [".flow", ".flow/reports", ".flow/reports/inner", ".flow/reports/inner/a.xml"])
def test_a_link_at_any_step_is_not_followed(tmp_path: Path, step: str) -> None:
    real = tmp_path / "real"
    (real / "reports/inner").mkdir(parents=True)
    (real / "reports/inner/a.xml").write_bytes(_REPORT)
    link = tmp_path / step
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / step.replace(".flow", "real"))
    assert (tmp_path / ".flow/reports/inner/a.xml").exists()
    assert _reason(tmp_path, ".flow/reports/inner/a.xml") == "link"


def test_a_file_where_a_folder_belongs_is_no_way(tmp_path: Path) -> None:
    (tmp_path / ".flow").write_text("x")
    assert _reason(tmp_path) == "not-regular"


def test_a_missing_workspace_has_no_report(tmp_path: Path) -> None:
    assert _reason(tmp_path / "gone") == "missing"


def test_what_the_system_refuses_is_told_in_its_words(tmp_path: Path, report_path: Path) -> None:
    assert report_path.parent.exists()
    with pytest.raises(UnreadableReport) as caught, opened_report(tmp_path, ".flow/reports/" + "x" * 300, 0):
        pass
    assert (caught.value.reason, caught.value.detail) == ("not-accessible", "File name too long")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
def test_a_pipe_that_takes_the_files_place_does_not_hold_the_reader(
    tmp_path: Path, report_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_path.write_bytes(_REPORT)
    look = report_file._open_plain

    def swap(folder: int, name: str) -> int:
        real_open = os.open

        def swapped(path: str, flags: int, *, dir_fd: int) -> int:
            report_path.unlink()
            os.mkfifo(report_path)
            return real_open(path, flags, dir_fd=dir_fd)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", swapped)
            return look(folder, name)

    monkeypatch.setattr(report_file, "_open_plain", swap)
    assert _reason(tmp_path) == "not-regular"


def test_a_link_that_takes_a_folders_place_is_not_followed(
    tmp_path: Path, report_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_path.write_bytes(_REPORT)
    real_open = os.open

    def swapped(path: str | Path, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "reports":
            report_path.parent.rename(tmp_path / "elsewhere")
            report_path.parent.symlink_to(tmp_path / "elsewhere")
        return real_open(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapped)
    assert _reason(tmp_path) in {"link", "not-regular"}  # systems differ in how they say it
    assert report_path.exists()


def test_a_platform_that_cannot_look_safely_does_not_read(
    tmp_path: Path, report_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_path.write_bytes(_REPORT)
    monkeypatch.setattr(report_file, "_BY_DESCRIPTOR", False)
    assert _reason(tmp_path) == "not-supported"


# Making room for a report.


def test_folders_are_made_and_an_older_report_is_removed(tmp_path: Path) -> None:
    relative = ".flow/reports/unit/a.xml"
    prepare_report(tmp_path, relative)
    path = tmp_path / relative
    assert path.parent.is_dir()
    path.write_bytes(_REPORT)
    prepare_report(tmp_path, relative)
    assert not path.exists()


def test_a_link_at_the_reports_path_is_removed_and_its_target_kept(tmp_path: Path, report_path: Path) -> None:
    target = tmp_path / "mine.xml"
    target.write_text("mine")
    report_path.symlink_to(target)
    prepare_report(tmp_path, _RELATIVE)
    assert not report_path.is_symlink()
    assert target.read_text() == "mine"


def test_a_folder_at_the_reports_path_is_left_for_the_reader_to_refuse(tmp_path: Path, report_path: Path) -> None:
    report_path.mkdir()
    prepare_report(tmp_path, _RELATIVE)
    assert _reason(tmp_path) == "not-regular"


def test_a_linked_report_folder_is_refused_and_nothing_behind_it_is_touched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "report.xml").write_text("mine")
    (tmp_path / ".flow").mkdir()
    (tmp_path / ".flow/reports").symlink_to(outside)
    with pytest.raises(BrokenWorld, match="a link or a file stands where a folder belongs"):
        prepare_report(tmp_path, _RELATIVE)
    assert (outside / "report.xml").read_text() == "mine"


def test_a_workspace_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(BrokenWorld, match="No such file or directory"):
        prepare_report(tmp_path / "gone", _RELATIVE)
