"""What is kept of a command's output, and what a person may be shown of it."""

import hashlib
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner.output import Output, new_output


def _tail_of(data: bytes, *, tail_bytes_max: int = 1000) -> str:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        output = Output(descriptor, 0, tail_bytes_max)
        output.take(data)
        return output.tail()
    finally:
        os.close(descriptor)


def test_output_within_the_cap_is_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "output"
    with new_output(path, 10, 4) as (output, _):
        output.take(b"01234")
        output.take(b"56789")
    assert path.read_bytes() == b"0123456789"
    assert (output.total_bytes, output.stored_bytes, output.tail()) == (10, 10, "6789")


def test_one_byte_over_the_cap_is_counted_and_digested_but_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "output"
    with new_output(path, 10, 4) as (output, _):
        output.take(b"0123456789")
        output.take(b"X")
    assert path.read_bytes() == b"0123456789"
    assert (output.total_bytes, output.stored_bytes, output.tail()) == (11, 10, "789X")
    assert output.digest == "sha256:" + hashlib.sha256(b"0123456789X").hexdigest()


def test_the_output_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with new_output(tmp_path / "output", 1, 1):
        assert stat.S_IMODE((tmp_path / "output").stat().st_mode) == 0o600


def test_the_time_of_the_start_is_the_file_systems(tmp_path: Path) -> None:
    with new_output(tmp_path / "output", 1, 1) as (_, started_ns):
        (tmp_path / "later").touch()
    assert (tmp_path / "later").stat().st_mtime_ns >= started_ns


@pytest.mark.parametrize("planted", ["file", "link", "dangling"])
def test_what_stands_at_the_outputs_path_is_left_alone(tmp_path: Path, planted: str) -> None:
    target = tmp_path / "target"
    if planted != "dangling":
        target.write_text("mine")
    path = tmp_path / "output"
    if planted == "file":
        path.write_text("mine")
    else:
        path.symlink_to(target)
    with pytest.raises(BrokenWorld, match="cannot be created"), new_output(path, 1, 1):
        pass
    assert target.exists() == (planted != "dangling")


def test_a_broken_world_leaves_no_output_file(tmp_path: Path) -> None:
    with pytest.raises(BrokenWorld, match="seen"), new_output(tmp_path / "output", 1, 1):
        raise BrokenWorld("seen", "remedy")  # noqa: EM101 - said by the test
    assert not (tmp_path / "output").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_full_disk_costs_the_file_but_neither_count_nor_digest() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        output = Output(descriptor, 100, 100)
        output.take(b"abc")
        output.take(b"def")
    finally:
        os.close(descriptor)
    assert (output.total_bytes, output.stored_bytes, output.tail()) == (6, 0, "abcdef")
    assert output.digest == "sha256:" + hashlib.sha256(b"abcdef").hexdigest()


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"plain\n\ttext", "plain\n\ttext"),
        (b"a\r\nb", "a\nb"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link", "xlink"),
        (b"\x1b]0;never ended\nFAILED", "]0;never ended\nFAILED"),
        (b"\x1b[999", "[999"),
        (b"\x00\x07\x08\x7f\xc2\x9b!", "!"),
        ("\u202egnp.exe\u2066".encode(), "gnp.exe"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
    ],
)
def test_the_tail_is_safe_to_show(data: bytes, shown: str) -> None:
    assert _tail_of(data) == shown


def test_a_tail_begins_with_a_whole_character() -> None:
    assert _tail_of("xäöü".encode(), tail_bytes_max=5) == "öü"
    assert _tail_of(b"x\xf0\x9f\x99\x82y", tail_bytes_max=4) == "y"


@given(st.binary(max_size=300), st.integers(1, 100))
def test_no_tail_holds_a_control_character_or_a_lone_surrogate(data: bytes, tail_bytes_max: int) -> None:
    tail = _tail_of(data, tail_bytes_max=tail_bytes_max)
    tail.encode()
    assert all(char in "\n\t" or char.isprintable() or ord(char) >= 0xA0 for char in tail)


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 30))
def test_the_tail_does_not_depend_on_the_pieces(chunks: list[bytes], tail_bytes_max: int) -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        output = Output(descriptor, 0, tail_bytes_max)
        for chunk in chunks:
            output.take(chunk)
    finally:
        os.close(descriptor)
    assert output.tail() == _tail_of(b"".join(chunks), tail_bytes_max=tail_bytes_max)
