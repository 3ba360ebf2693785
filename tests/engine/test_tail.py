import os
from pathlib import Path

import pytest

from flow_mcp.engine.tail import TAIL_BYTES, keep_tail, kept_tail


def output(folder: Path, name: str, data: bytes, at_s: int = 1_000) -> None:
    path = folder / name
    path.write_bytes(data)
    os.utime(path, (at_s, at_s))


def test_the_end_of_the_newest_output_is_shown_without_what_no_screen_should_get(tmp_path: Path) -> None:
    output(tmp_path, "p.check-3.0123abcd.log", b"old\n", 1_000)
    output(tmp_path, "p.check-3.4567abcd.log", b"a\tb\x1b[31m\x00\xff\n" + "ä\u202e\n".encode(), 2_000)
    assert kept_tail(tmp_path, "p", "check-3") == "a\tb[31m\ufffd\nä\n"


def test_a_long_output_shows_its_end_alone(tmp_path: Path) -> None:
    output(tmp_path, "p.check-3.0123abcd.log", b"x" * TAIL_BYTES + b"end\n")
    shown = kept_tail(tmp_path, "p", "check-3")
    assert shown.endswith("xend\n")
    assert len(shown) == TAIL_BYTES


def test_control_runs_other_checks_and_other_plans_are_not_shown(tmp_path: Path) -> None:
    output(tmp_path, "p.check-3.0123abcd.before.log", b"control\n")
    output(tmp_path, "p.check-33.0123abcd.log", b"later\n")
    output(tmp_path, "q.check-3.0123abcd.log", b"other\n")
    assert kept_tail(tmp_path, "p", "check-3") == ""
    assert kept_tail(tmp_path / "nowhere", "p", "check-3") == ""


def test_what_was_kept_to_be_shown_is_shown_and_not_the_output(tmp_path: Path) -> None:
    output(tmp_path, "p.check-3.0123abcd.log", b"raw\n")
    keep_tail(tmp_path / "p.check-3.0123abcd.log", "x" * TAIL_BYTES + "shown \udcff\n")
    shown = kept_tail(tmp_path, "p", "check-3")
    assert shown.endswith("xshown ?\n")
    assert len(shown) == TAIL_BYTES


@pytest.mark.parametrize("what", ["secret", "nowhere"])
def test_a_link_in_place_of_the_output_is_not_followed(tmp_path: Path, what: str) -> None:
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "p.check-3.0123abcd.log").symlink_to(tmp_path / what)
    assert kept_tail(tmp_path, "p", "check-3") == ""


def test_a_link_in_place_of_what_is_shown_or_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    output(tmp_path, "p.check-3.0123abcd.log", b"raw\n")
    (tmp_path / "p.check-3.0123abcd.tail").symlink_to(tmp_path / "p.check-3.0123abcd.log")
    assert kept_tail(tmp_path, "p", "check-3") == ""
    (tmp_path / "p.check-3.0123abcd.tail").unlink()
    (tmp_path / "link").symlink_to(tmp_path)
    assert kept_tail(tmp_path / "link", "p", "check-3") == ""


def test_a_pipe_or_a_folder_in_place_of_the_output_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.check-3.0123abcd.log")
    assert kept_tail(tmp_path, "p", "check-3") == ""
    (tmp_path / "p.check-4.0123abcd.log").mkdir()
    assert kept_tail(tmp_path, "p", "check-4") == ""
