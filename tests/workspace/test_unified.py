"""The lines that differ: right for any two texts, in bounded time, with nothing unseen in them."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_mcp.workspace import unified as module
from flow_mcp.workspace.unified import NO_NEWLINE, Effort, Unified, split_lines, unified, visible

PLENTY = 20_000_000
TEXTS = st.lists(st.sampled_from([b"\n", b"a\n", b"b\n", b"c\n", b"}\n"]) | st.binary(max_size=3)).map(b"".join)


def shown(before: bytes, after: bytes, effort: int = PLENTY) -> list[str]:
    return list(unified(before, after, Effort(effort)).lines())


def rebuilt(difference: Unified) -> list[bytes]:
    """Apply the stretches to the one text."""
    found: list[bytes] = []
    at = 0
    for each in difference.stretches:
        assert each.old >= at
        found += [*difference.before[at : each.old], *difference.after[each.new : each.new_end]]
        at = each.old_end
    return [*found, *difference.before[at:]]


def test_a_change_stands_between_three_lines_of_context() -> None:
    before = b"".join(b"%d\n" % number for number in range(10))
    assert shown(before, before.replace(b"5\n", b"five\nmore\n")) == [
        "@@ -3,7 +3,8 @@",
        " 2",
        " 3",
        " 4",
        "-5",
        "+five",
        "+more",
        " 6",
        " 7",
        " 8",
    ]


def test_changes_far_apart_are_two_hunks_and_near_ones_are_one() -> None:
    lines = [b"%d\n" % number for number in range(30)]
    far, near = list(lines), list(lines)
    far[5] = far[20] = b"x\n"
    near[5] = near[12] = b"x\n"
    assert [line for line in shown(b"".join(lines), b"".join(far)) if line[0] == "@"] == [
        "@@ -3,7 +3,7 @@",
        "@@ -18,7 +18,7 @@",
    ]
    assert [line for line in shown(b"".join(lines), b"".join(near)) if line[0] == "@"] == ["@@ -3,14 +3,14 @@"]


def test_from_empty_and_to_empty_every_line_is_there() -> None:
    assert shown(b"", b"a\nb\n") == ["@@ -0,0 +1,2 @@", "+a", "+b"]
    assert shown(b"a\n", b"") == ["@@ -1 +0,0 @@", "-a"]
    assert shown(b"a\n", b"a\n") == []


def test_a_newline_at_the_end_that_is_missing_is_said() -> None:
    assert shown(b"a\nb", b"a\nb\n") == ["@@ -1,2 +1,2 @@", " a", "-b", NO_NEWLINE, "+b"]
    assert unified(b"a\nb", b"a\nb\n", Effort(PLENTY)).total() == 5


def test_lines_end_with_a_newline_and_with_nothing_else() -> None:
    text = "a\rb\x0bc\x0cd\x85e\u2028f".encode()
    assert split_lines(text) == [text]
    assert shown(b"a\n", b"a\r\n") == ["@@ -1 +1 @@", "-a", "+a<U+000D>"]


@given(TEXTS, TEXTS, st.sampled_from([0, 20, PLENTY]))
def test_any_text_is_rebuilt_from_its_difference_whatever_the_effort(before: bytes, after: bytes, effort: int) -> None:
    difference = unified(before, after, Effort(effort))
    assert b"".join(rebuilt(difference)) == after
    lines = list(difference.lines())
    assert len(lines) == difference.total()
    assert sum(line.startswith("+") for line in lines) == difference.added
    assert sum(line.startswith("-") for line in lines) == difference.removed
    assert (before == after) is (not lines)


def test_a_moved_block_and_repeated_lines_are_matched_and_not_replaced() -> None:
    before = b"def a():\n    return 1\n\n\ndef b():\n    return 1\n\n"
    after = b"def b():\n    return 1\n\n\ndef a():\n    return 1\n\n"
    assert sum(line[0] in "+-" for line in shown(before, after)) < 9
    repeated = b"x\ny\nx\ny\nx\n"
    assert shown(repeated, b"y\nx\nx\ny\nz\n") != shown(repeated, b"y\nx\nx\ny\nz\n", 10)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"".join(b"old %d\n" % n for n in range(50_000)), b"".join(b"new %d\n" % n for n in range(50_000))),
        (b"x\ny\n" * 50_000, b"y\nx\nx\n" * 33_000),
        (b"".join(b"%d\n" % n for n in range(50_000)), b"".join(b"%d\n" % n for n in reversed(range(50_000)))),
        (
            b"".join(b"%d\n\n" % (n % 700) for n in range(40_000)),
            b"".join(b"%d\n\n" % (n % 699) for n in range(40_000)),
        ),
    ],
    ids=["rewritten", "repeated", "reversed", "shifted"],
)
def test_a_rewrite_of_fifty_thousand_lines_ends_soon(before: bytes, after: bytes) -> None:
    effort = Effort(PLENTY)
    began_s = time.process_time()
    difference = unified(before, after, effort)
    assert time.process_time() - began_s < 20
    assert b"".join(rebuilt(difference)) == after
    assert 0 <= effort.left < PLENTY


def test_scattered_edits_of_a_long_file_are_each_shown_alone() -> None:
    lines = [b"line %d\n\n" % number for number in range(40_000)]
    after = list(lines)
    for at in range(0, 40_000, 1000):
        after[at] = b"edited\n\n"
    difference = unified(b"".join(lines), b"".join(after), Effort(PLENTY))
    assert (difference.added, difference.removed) == (40, 40)


def test_matching_takes_no_step_more_than_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(module, "SequenceMatcher", refuse)
    text = b"x\ny\n" * 300
    effort = Effort(5_000)
    assert unified(text, b"y\nx\nx\n" * 200, effort).added > 0
    assert effort.left >= 0


HOSTILE = {
    "escape": ("\x1b[2Jgone", "<U+001B>[2Jgone"),
    "title": ("\x1b]0;evil\x07", "<U+001B>]0;evil<U+0007>"),
    "c1": ("\x9b31m", "<U+009B>31m"),
    "override": ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
    "carriage": ("real\rfake", "real<U+000D>fake"),
    "backspace": ("no\x08\x08ok", "no<U+0008><U+0008>ok"),
    "unseen": ("a\u200bb\ufeffc\u3164d\U000e0041e", "a<U+200B>b<U+FEFF>c<U+3164>d<U+E0041>e"),
    "separator": ("a\u2028+fake", "a<U+2028>+fake"),
    "plain": ("\ttab, é, 日本, 😀", "\ttab, é, 日本, 😀"),
}


@pytest.mark.parametrize(("raw", "text"), HOSTILE.values(), ids=HOSTILE)
def test_what_acts_on_a_screen_or_cannot_be_seen_is_written_out(raw: str, text: str) -> None:
    assert visible(raw.encode()) == text
    assert shown(b"", raw.encode() + b"\n")[1] == f"+{text}"


def test_bytes_that_are_no_utf_8_are_written_out() -> None:
    assert visible(b"caf\xe9 \xff\xfe") == "caf<0xE9> <0xFF><0xFE>"
    assert visible(b"\xed\xa0\x80") == "<0xED><0xA0><0x80>"


@given(st.binary())
def test_no_bytes_at_all_give_a_character_that_steers(raw: bytes) -> None:
    bad = {unicodedata.category(mark) for mark in visible(raw).replace("\t", "")} & {"Cc", "Cs", "Zl", "Zp"}
    assert not bad
