"""One word as bash reads it."""

import pytest

from flow_mcp.domain.shell.words import Fault, Word, assignment_of, fault, plain_word, read_word


@pytest.mark.parametrize(
    ("raw", "text", "varies"),
    [
        ("a", "a", False),
        ("'a b'", "a b", False),
        ("'$A `b` \\'", "$A `b` \\", False),
        ('"a b"', "a b", False),
        ('"a\\$A"', "a$A", False),
        ('"a\\"b\\\\"', 'a"b\\', False),
        ('"a\\b"', "a\\b", False),
        ("a\\ b", "a b", False),
        ("\\$A", "$A", False),
        ("a'b'\"c\"", "abc", False),
        ("''", "", False),
        ("{}", "{}", False),
        ("a#b", "a#b", False),
        ("$A", "$A", True),
        ("${A}b", "${A}b", True),
        ('"x$A"', "x$A", True),
        ('"x${A}"', "x${A}", True),
        ("*.py", "*.py", True),
        ("a?", "a?", True),
        ("~/x", "~/x", True),
        ("[a]", "[a]", True),
    ],
)
def test_a_plain_word_is_read_as_bash_reads_it(raw: str, text: str, varies: bool) -> None:  # noqa: FBT001 - a table row
    assert read_word(raw) == Word(text, raw, varies)


@pytest.mark.parametrize(
    "raw",
    [
        "#x",
        "$(a)",
        "`a`",
        '"`a`"',
        "$'a'",
        '$"a"',
        "${A:-b}",
        "$1",
        "{a,b}",
        "a b",
        "a;b",
        "a|b",
        "a&",
        "<a",
        "(a)",
        "'a",
        "a\\",
        '"a',
        "$[1]",
        "$((1))",
    ],
)
def test_anything_else_is_a_fault_and_never_a_word(raw: str) -> None:
    found = read_word(raw)
    assert isinstance(found, Fault)
    assert found.text == raw


def test_a_comment_is_no_word_although_its_sign_may_stand_inside_one() -> None:
    assert read_word("#a") == Fault("a comment hides the rest of the line", "#a")


def test_a_fault_is_cut_at_eighty_characters_and_not_before() -> None:
    assert fault("x", "a" * 80).text == "a" * 80
    assert fault("x", "a" * 81).text == "a" * 79 + "…"


def test_a_word_splits_into_a_variable_and_its_value() -> None:
    assert assignment_of(plain_word("A=b=c")) == ("A", plain_word("b=c"))
    assert assignment_of(plain_word("1=b")) is None
    assert assignment_of(plain_word("ab")) is None


def test_a_pattern_is_a_word_that_file_names_decide() -> None:
    assert Word("*.py", "*.py", varies=True).is_pattern
    assert not Word("*.py", "'*.py'", varies=False).is_pattern
    assert not Word("$A", "$A", varies=True).is_pattern
