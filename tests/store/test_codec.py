import json
import math
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store.codec import DEPTH_MAX, DOCUMENT_BYTES_MAX, INTEGER_MAX, JsonValue, Unreadable, parse, render


def values_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[JsonValue]:
    numbers = st.integers(-INTEGER_MAX, INTEGER_MAX) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | text,
        lambda inner: st.lists(inner) | st.dictionaries(text, inner),
        max_leaves=30,
    )


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = values_of(TEXT)

# What is refused, the line it is refused for, and words that its sentence has and no other.
HOSTILE: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 1, "the file is empty"),
    "byte order mark": (b'\xef\xbb\xbf{"a": 1}', 1, "byte-order mark"),
    "latin-1": (b'{\n"a": "caf\xe9"}', 2, "the byte 0xe9 is not UTF-8"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), 1, "the byte 0xff is not UTF-8"),
    "raw surrogate": (b'{\n\n"a": "\xed\xa0\x80"}', 3, "the byte 0xed is not UTF-8"),
    "conflict, ours": (b'{\n<<<<<<< HEAD\n"a": 1\n', 2, "(<<<<<<<)"),
    "conflict, base": (b'{\n"a": 1\n||||||| 1f2e3d\n', 3, "(|||||||)"),
    "conflict, middle": (b'{\n"a": 1,\n\n=======\n"a": 2\n}', 4, "(=======)"),
    "conflict, theirs": (b'{\n"a": 1,\n"b": 2,\n\n>>>>>>> main\n}', 5, "(>>>>>>>)"),
    "nul": (b'{"a": \x001}', 1, "U+0000"),
    "escape sequence": (b'{"a":\n"\x1b[31mred"}', 2, "U+001B"),
    "delete": (b'{"a":\n"\x7f"}', 2, "U+007F"),
    "c1 control": ('{"a":\n"\x9b31m"}'.encode(), 2, "U+009B"),
    "high surrogate": (b'{"a":\n"\\ud800"}', 2, "\\ud800 is half"),
    "low surrogate": (b'{"a":\n"\\\\\\uDC00"}', 2, "\\uDC00 is half"),
    "two high surrogates": (b'{"a":\n"\\ud83d\\ud83d\\ude00"}', 2, "\\ud83d is half"),
    "surrogate in a key": (b'{"x": 1,\n\n"\\udfff": 1}', 3, "\\udfff is half"),
    "deep arrays": (b"[" * DEPTH_MAX + b"\n[" + b"]" * (DEPTH_MAX + 1), 2, "deeper than 64"),
    "deep objects": (b'{"a":\n' * 100_000, 65, "deeper than 64"),
    "key twice": (b'{\n"a": 1,\n"b": 2,\n"a": 3}', 4, 'the key "a" stands twice'),
    "key twice, spelt otherwise": (b'{"in": [{"b": {}, "\\u0061b" : 1},\n{"ab": 1,\n"\\u0061b"\n: 2}]}', 3, '"ab"'),
    "key twice among texts": (b'{"a": "b",\n"b": ["a", {}],\n"c": "b",\n"b": 1}', 4, 'the key "b" stands twice'),
    "long key twice": (
        b'{"' + b"k" * 10_000 + b'": 1,\n"' + b"k" * 10_000 + b'": 2}',
        2,
        'the key "' + "k" * 40 + '..." stands',
    ),
    "integer above": (b'{"a": "9007199254740993",\n"b": 9007199254740993}', 2, '"9007199254740993" is an integer'),
    "integer below": (b'{"a":\n-9007199254740993}', 2, '"-9007199254740993" is an integer'),
    "endless integer": (b'{"a": 1,\n"b": ' + b"9" * 100_000 + b"}", 2, '"' + "9" * 40 + '..." is an integer'),
    "float too large": (b'[1e99, "1e999",\n1e999]', 2, '"1e999" is too large'),
    "float too small": (b"[1.5,\n-1e999]", 2, '"-1e999" is too large'),
    "not a number": (b'["NaN",\nNaN]', 2, '"NaN" is no JSON number'),
    "infinity": (b'["Infinity", 1,\n\nInfinity]', 3, '"Infinity" is no JSON number'),
    "minus infinity": (b"[\n-Infinity]", 2, '"-Infinity" is no JSON number'),
    "second document": (b'{"a": 1}\n{"a": 1}', 2, "more text follows"),
    "open text": (b'{"a":\n"b}', 2, "never closed"),
    "text over two lines": (b'{"a":\n"b\nc"}', 2, "end of its line"),
    "short escape": (b'{"a": "\\u12"}', 1, "four hexadecimal digits"),
    "strange escape": (b'{"a": "\\x41"}', 1, "does not escape"),
    "key without quotes": (b"{a: 1}", 1, "a key in double quotes"),
    "no colon": (b'{"a" 1}', 1, "a colon is missing"),
    "no comma": (b'{"a": 1\n"b": 2}', 2, "a comma or a closing bracket"),
    "cut short": (b'{"a": [1, 2', 1, "column 12: a comma or a closing bracket"),
    "no value": (b'{"a":\n\n}', 3, "a value is missing"),
    "single quotes": (b"['a']", 1, "column 2: a value is missing"),
    "python literal": (b"[1, 2,\nTrue]", 2, "column 1: a value is missing"),
    "comment": (b"// a plan\n{}", 1, "column 1: a value is missing"),
    "leading zero": (b'{"a": 007}', 1, "column 8: a comma"),
    "too large": (b'"' + b"\n" * 99 + b"a" * DOCUMENT_BYTES_MAX, 100, "goes past 4194304 bytes"),
}


def refusal(data: bytes) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        parse(data)
    return caught.value


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused_with_its_line_and_a_remedy(name: str) -> None:
    data, line, words = HOSTILE[name]
    refused = refusal(data)
    assert refused.line == line
    assert refused.seen.startswith(f"Line {line}: ")
    assert words in refused.seen
    assert "`flow-mcp verify`" in refused.remedy


def test_no_two_hostile_documents_are_refused_with_the_same_sentence() -> None:
    sentences = [refusal(data).seen for data, _, _ in HOSTILE.values()]
    assert len(sentences) >= 40
    assert sorted(set(sentences)) == sorted(sentences)


def test_the_remedy_of_a_merge_is_to_resolve_it_and_of_a_wrong_encoding_to_save_it_anew() -> None:
    assert "keep one side" in refusal(HOSTILE["conflict, middle"][0]).remedy
    assert "UTF-8" in refusal(HOSTILE["utf-16"][0]).remedy
    assert "git checkout" in refusal(HOSTILE["cut short"][0]).remedy


def test_a_refusal_shows_hostile_text_short_and_without_control_characters() -> None:
    refused = refusal('{"\u202e\u001b": 1, "\u202e\\u001b": 1}'.replace("\u001b", "\\u001b").encode())
    assert refused.seen.isprintable()
    assert refused.seen.isascii()


def test_a_refusal_is_a_broken_world_and_reads_as_sentences() -> None:
    refused = refusal(b"")
    assert isinstance(refused, BrokenWorld)
    assert str(refused) == f"{refused.seen} {refused.remedy}"


def test_a_document_of_exactly_4_mib_is_read_and_one_byte_more_is_not() -> None:
    largest = b'"' + b"a" * (DOCUMENT_BYTES_MAX - 2) + b'"'
    assert parse(largest) == "a" * (DOCUMENT_BYTES_MAX - 2)
    assert "4194304 bytes" in refusal(largest + b"\n").seen


def test_nesting_of_64_is_read_and_of_65_is_not() -> None:
    deepest = b"[" * DEPTH_MAX + b'"[[[["' + b"]" * DEPTH_MAX
    assert render(parse(deepest)).startswith(b"[\n  [\n")
    assert refusal(b"[" + deepest + b"]").line == 1


def test_brackets_side_by_side_do_not_nest() -> None:
    assert parse(b"[" + b"[[]]," * 1000 + b"{}]") == [*[[[]]] * 1000, {}]


def test_closing_brackets_alone_are_a_syntax_error_not_a_depth() -> None:
    assert "a value is missing" in refusal(b"]]]").seen


def test_integers_up_to_2_to_the_53rd_are_read_exactly() -> None:
    assert parse(b"[9007199254740992, -9007199254740992]") == [INTEGER_MAX, -INTEGER_MAX]


def test_what_only_looks_hostile_inside_a_text_is_read() -> None:
    text = '<<<<<<< HEAD NaN 1e999 [[{{ \\ud800 \u00e9 \U0001f600 " \\'
    assert parse(json.dumps({text: text}).encode()) == {text: text}
    assert parse(b'"\\ud83d\\ude00"') == "\U0001f600"
    assert parse(b'[\n "=======",\n =1]'.replace(b"=1", b"1")) == ["=======", 1]


def test_a_document_with_carriage_returns_is_read() -> None:
    assert parse(b'{\r\n  "a": 1\r\n}\r\n') == {"a": 1}


@pytest.mark.parametrize(
    "data",
    [
        b'"' + b'\\"' * 500_000,
        b'"' * 1_000_000,
        b"\\" * 1_000_000,
        b"[]" * 500_000,
        b"1." * 500_000,
        b'{"a" ' * 64 + b" " * 1_000_000,
    ],
)
def test_a_large_broken_document_is_refused_without_a_pause(data: bytes) -> None:
    # A scan that were quadratic in a million characters would not end within the test run.
    assert refusal(data).line == 1


@settings(deadline=None)
@given(st.binary() | TEXT.map(str.encode) | VALUES.map(lambda value: json.dumps(value).encode()[:-1]))
@example(b"[1e999.NaN")
@example(b'{"a":1,"a":2]')
@example(b'{"a":1,"a":2}}')
@example(b"-")
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = parse(data)
    except Unreadable as error:
        refused = error
    else:
        assert repr(parse(render(value))) == repr(value)
        return
    assert 1 <= refused.line <= data.count(b"\n") + 1
    assert refused.seen.isprintable()


@settings(deadline=None)
@given(VALUES)
@example([0.0, -0.0, 1e22, 5e-324, sys.float_info.max, 1, True])
@example({"\x00\x1b\x7f\x9f\u2028\u202e\ufeff\U000e0041": "\x00\x1b\x7f\x9f\u2028\u202e\ufeff\U000e0041"})
def test_what_is_written_reads_back_as_the_same_value(value: JsonValue) -> None:
    data = render(value)
    # By repr, since 1, 1.0 and True are equal and must not become each other.
    assert repr(parse(data)) == repr(value)
    assert render(parse(data)) == data


@settings(deadline=None)
@given(values_of(st.text(st.characters(min_codepoint=32, max_codepoint=126))))
def test_a_document_of_visible_characters_is_written_as_the_standard_library_would(value: JsonValue) -> None:
    assert render(value).decode() == json.dumps(value, indent=2) + "\n"


@settings(deadline=None)
@given(VALUES)
def test_a_written_document_ends_its_lines_only_between_facts(value: JsonValue) -> None:
    text = render(value).decode()
    assert len(text.splitlines()) == text.count("\n")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_a_written_document_is_readable_json() -> None:
    value: JsonValue = {"b": {"lines": ["caf\u00e9", "\U0001f600"], "none": [], "empty": {}}, "a": [1, 2.5, None, True]}
    assert (
        render(value).decode()
        == """\
{
  "b": {
    "lines": [
      "caf\u00e9",
      "\U0001f600"
    ],
    "none": [],
    "empty": {}
  },
  "a": [
    1,
    2.5,
    null,
    true
  ]
}
"""
    )


@pytest.mark.parametrize(
    "unseen",
    ["\x7f", "\x85", "\u00ad", "\u200b", "\u2028", "\u202e", "\u2066", "\ufeff", "\ufff9", "\u061c", "\U000e0041"],
)
def test_a_character_that_a_reviewer_cannot_see_is_written_as_an_escape(unseen: str) -> None:
    data = render(["a" + unseen + "b"])
    assert data.isascii()
    assert parse(data) == ["a" + unseen + "b"]


def nested(depth: int) -> JsonValue:
    value: JsonValue = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "float nan"),
        ([math.inf], "float inf"),
        ({"a": [-math.inf]}, "float -inf"),
        (INTEGER_MAX + 1, "int 9007199254740993"),
        (-INTEGER_MAX - 1, "int -9007199254740993"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        ({1: "a"}, "int 1"),
        (("a", "b"), "tuple"),
        (b"bytes", "bytes"),
        (nested(65), "deeper than 64"),
        ("a" * (DOCUMENT_BYTES_MAX - 2), "4194305 bytes"),
    ],
)
def test_nothing_is_written_that_could_not_be_read_back(value: JsonValue, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        render(value)


def test_the_largest_and_the_deepest_value_are_written() -> None:
    assert len(render("a" * (DOCUMENT_BYTES_MAX - 3))) == DOCUMENT_BYTES_MAX
    assert parse(render(nested(64))) == nested(64)


def test_a_value_that_holds_itself_is_not_written() -> None:
    value: list[JsonValue] = []
    value.append(value)
    with pytest.raises(ValueError, match="deeper"):
        render(value)
