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
from flow_mcp.runner.redaction import TOKENS_ALONE


def _tail_of(data: bytes, *, tail_bytes_max: int = 1000) -> str:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        output = Output(descriptor, 0, tail_bytes_max, TOKENS_ALONE)
        output.take(data)
        return output.tail()
    finally:
        os.close(descriptor)


def test_output_within_the_cap_is_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "output"
    with new_output(path, 10, 4, TOKENS_ALONE) as (output, _):
        output.take(b"01234")
        output.take(b"56789")
        output.finish()
    assert path.read_bytes() == b"0123456789"
    assert (output.total_bytes, output.is_stored_whole, output.tail()) == (10, True, "6789")


def test_one_byte_over_the_cap_is_counted_and_digested_but_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "output"
    with new_output(path, 10, 4, TOKENS_ALONE) as (output, _):
        output.take(b"0123456789")
        output.take(b"X")
        output.finish()
    assert path.read_bytes() == b"0123456789"
    assert (output.total_bytes, output.is_stored_whole, output.tail()) == (11, False, "789X")
    assert output.digest == "sha256:" + hashlib.sha256(b"0123456789X").hexdigest()


def test_the_output_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with new_output(tmp_path / "output", 1, 1, TOKENS_ALONE):
        assert stat.S_IMODE((tmp_path / "output").stat().st_mode) == 0o600


def test_the_time_of_the_start_is_the_file_systems(tmp_path: Path) -> None:
    with new_output(tmp_path / "output", 1, 1, TOKENS_ALONE) as (_, started_ns):
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
    with pytest.raises(BrokenWorld, match="cannot be created"), new_output(path, 1, 1, TOKENS_ALONE):
        pass
    assert target.exists() == (planted != "dangling")


def test_a_broken_world_leaves_no_output_file(tmp_path: Path) -> None:
    with pytest.raises(BrokenWorld, match="seen"), new_output(tmp_path / "output", 1, 1, TOKENS_ALONE):
        raise BrokenWorld("seen", "remedy")  # noqa: EM101 - said by the test
    assert not (tmp_path / "output").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_full_disk_costs_the_file_but_neither_count_nor_digest() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        output = Output(descriptor, 100, 100, TOKENS_ALONE)
        output.take(b"abc\n")
        output.take(b"def")
        output.finish()
    finally:
        os.close(descriptor)
    assert (output.total_bytes, output.is_stored_whole, output.tail()) == (7, False, "abc\ndef")
    assert output.digest == "sha256:" + hashlib.sha256(b"abc\ndef").hexdigest()


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
        output = Output(descriptor, 0, tail_bytes_max, TOKENS_ALONE)
        for chunk in chunks:
            output.take(chunk)
    finally:
        os.close(descriptor)
    assert output.tail() == _tail_of(b"".join(chunks), tail_bytes_max=tail_bytes_max)


# Secrets.

_TOKEN = b"ghp_" + b"0aB1" * 9
_MARK = "[redacted: github-token]"


def test_secrets_are_hidden_in_the_file_and_size_and_digest_are_those_of_what_was_written(tmp_path: Path) -> None:
    path, data = tmp_path / "output", b"a " + _TOKEN + b" b"
    with new_output(path, 100, 100, TOKENS_ALONE) as (output, _):
        output.take(data[:20])
        output.take(data[20:])
        output.finish()
    assert path.read_text() == output.tail() == f"a {_MARK} b"
    assert (output.total_bytes, output.is_stored_whole) == (len(data), True)
    assert output.digest == "sha256:" + hashlib.sha256(data).hexdigest()


def test_a_mark_that_does_not_fit_any_more_is_cut_like_all_else(tmp_path: Path) -> None:
    path = tmp_path / "output"
    with new_output(path, 10, 100, TOKENS_ALONE) as (output, _):
        output.take(_TOKEN)
        output.finish()
    assert (path.read_text(), output.is_stored_whole) == (_MARK[:10], False)


@pytest.mark.parametrize("tail_bytes_max", range(1, 45))
def test_no_tail_begins_within_a_secret(tail_bytes_max: int) -> None:
    tail = _tail_of(b"x" * 100_000 + b" " + _TOKEN + b" end", tail_bytes_max=tail_bytes_max)
    assert f"x {_MARK} end".endswith(tail)


@pytest.mark.parametrize("within", [b"\x1b[31m", b"\x00", b"\r"])
def test_a_secret_with_a_terminal_sequence_in_it_is_not_made_whole_by_showing_it(within: bytes) -> None:
    assert _tail_of(_TOKEN[:9] + within + _TOKEN[9:]) == _MARK


def test_the_tail_of_much_output_in_many_pieces_hides_its_secrets_too() -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        output = Output(descriptor, 0, 60, TOKENS_ALONE)
        for _ in range(2000):
            output.take(b"x" * 50)
        output.take(b" " + _TOKEN[:9])
        output.take(_TOKEN[9:] + b" end")
    finally:
        os.close(descriptor)
    assert output.tail().lstrip("x") == f" {_MARK} end"
