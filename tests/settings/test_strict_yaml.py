import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flow_mcp.settings.strict_yaml import DEPTH_MAX, Misread, read_mapping

# What is refused, the line it is refused for, and words that its sentence has and no other.
HOSTILE: dict[str, tuple[bytes, int, str]] = {
    "latin-1": (b"plans: a\nplans: caf\xe9\n", 2, "the byte 0xe9"),
    "latin-1 behind a mark": (b"\xef\xbb\xbfa: b\n\n\nc: \xe8", 4, "the byte 0xe8"),
    "utf-16": ("plans: a".encode("utf-16"), 1, "the byte 0xff"),
    "surrogate": (b"a: \xed\xa0\x80", 1, "the byte 0xed"),
    "nul": (b"a: b\n\n\x00", 3, "U+0000"),
    "escape": (b"a: b\nc: \x1b[31m", 2, "U+001B"),
    "c1 line break": ("a: b\x85c: d".encode(), 1, "U+0085"),
    "line separator": ("a: b\u2028c: d".encode(), 1, "U+2028"),
    "bidi": ("a: b\n# \u202e".encode(), 2, "U+202E"),
    "no character": ("a: \uffff".encode(), 1, "U+FFFF"),
    "conflict": (b"a: b\n<<<<<<< HEAD\nc: d\n", 2, "(<<<<<<<)"),
    "conflict, middle": (b"a: b\r\n\r\n=======\r\n", 3, "(=======)"),
    "anchor": (b"a: &laugh [b]\n", 1, "'laugh'"),
    "alias": (b"a: b\nc: *lol\n", 2, "'lol'"),
    "alias as a key": (b"*key : b\n", 1, "'key'"),
    "laughs": (b"a: &a [x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]", 1, "anchor or alias stands here ('a')"),
    "nameless anchor": (b"a: & b\n", 1, "no proper name"),
    "python tag": (b"a:\n- !!python/object/apply:os.system [x]\n", 2, "python/object/apply"),
    "own tag": (b"a: !mine b\n", 1, "'!mine'"),
    "tag without a name": (b"a: ! b\n", 1, "('!')"),
    "tag of a tag": (b"%TAG !e! tag:x,1:\n--- !e!y\na: b\n", 2, "'tag:x,1:y'"),
    "unknown tag handle": (b"a: !e!x b\n", 1, "a tag is not written"),
    "deep brackets": (b"a: " + b"[" * 30_000, 1, f"deeper than {DEPTH_MAX}"),
    "second document": (b"a: b\n---\nc: d\n", 2, "a second document"),
    "text after a mapping": (b"{a: b}\nc: d\n", 2, "more text follows"),
    "key twice": (b"a: b\nb: c\n'a': d\n", 3, "'a' stands here again, first in line 1"),
    "number as a key": (b"1: b\n", 1, "the key '1' is a number"),
    "nan as a key": (b"\n.nan: b\n", 2, "the key '.nan' is a number"),
    "yes as a key": (b"on: b\n", 1, "the key 'on' is a yes or no"),
    "nothing as a key": (b"~: b\n", 1, "the key '~' is nothing"),
    "date as a key": (b"2001-01-01: b\n", 1, "is a date"),
    "merge": (b"<<: {a: b}\n", 1, "the key '<<' is a merge mark"),
    "equals": (b"=: b\n", 1, "the key '=' is a default mark"),
    "list as a key": (b"? [a]\n: b\n", 1, "a key is a list"),
    "mapping as a key": (b"{a: b}: c\n", 1, "a key is a mapping"),
    "list": (b"- a\n", 1, "the file holds a list"),
    "text": (b"\nsandbox\n", 2, "the file holds a text"),
    "escape too short": (b'a: "\\xZ"\n', 1, "lacks the hexadecimal digits"),
    "escape unknown": (b'a: "\\q"\n', 1, "does not escape"),
    "escape too large": (b'\na: "\\U00110000"\n', 2, "in an escape or a directive is too large"),
    "open quotation": (b"a: 'b\n", 2, "a quotation is opened"),
    "open bracket": (b"a: [b\n", 2, "a bracket '['"),
    "open brace": (b"{a: b\n", 2, "a brace '{'"),
    "no colon": (b"a: b\nc\nd: e\n", 3, "no colon after it"),
    "two colons": (b"a: b: c\n", 1, "a colon stands where"),
    "dash": (b"a: - b\n", 1, "a dash stands where"),
    "tab": (b"a:\n\tb: c\n", 2, "a tab stands where"),
    "reserved": (b"a: @b\n", 1, "that YAML reserves"),
    "indentation": (b"a:\n  b: c\n d: e\n", 3, "the indentation"),
    "block mark": (b"a: |x\n", 1, "a '|' or '>'"),
    "version 2": (b"%YAML 2.0\n--- {a: b}\n", 1, "another YAML than version 1"),
    "two directives": (b"%YAML 1.1\n%YAML 1.1\n--- {a: b}\n", 2, "begins with '%'"),
    "no value": (b"a: ]\n", 1, "the text is not YAML"),
}


def refusal(data: bytes) -> Misread:
    with pytest.raises(Misread) as caught:
        read_mapping(data)
    return caught.value


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_with_its_line(name: str) -> None:
    data, line, words = HOSTILE[name]
    refused = refusal(data)
    assert refused.line == line
    assert words in refused.what
    assert refused.what.isprintable()
    assert refused.what.isascii()
    assert len(refused.what) < 150


def test_the_words_of_a_refusal_are_those_of_no_other() -> None:
    said = [refusal(data).what for data, _, _ in HOSTILE.values()]
    assert len(set(said)) == len(said)
    for name, (_, _, words) in HOSTILE.items():
        assert [other for other, what in zip(HOSTILE, said, strict=True) if words in what] == [name]


@pytest.mark.parametrize("number", ["9" * 5000 + ".1", "1." + "9" * 5000])
def test_an_endless_version_number_is_refused(number: str) -> None:
    assert "too large" in refusal(f"%YAML {number}\n--- {{a: b}}\n".encode()).what


def test_a_character_beyond_all_numbers_is_refused() -> None:
    assert "too large" in refusal(b'a: "\\UFFFFFFFF"').what


def test_nesting_up_to_the_limit_is_read_and_one_more_is_not() -> None:
    # The mapping itself is one level.
    inside = DEPTH_MAX - 1
    assert read_mapping(b"a: " + b"[" * inside + b"]" * inside)["a"].kind == "a list"
    assert "nest deeper" in refusal(b"a: " + b"[" * (inside + 1) + b"]" * (inside + 1)).what


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# nothing yet\n", b"---\n", b"\xef\xbb\xbf", b"{}"])
def test_a_file_without_any_value_is_an_empty_mapping(data: bytes) -> None:
    assert read_mapping(data) == {}


def test_a_mapping_gives_each_value_with_its_line_and_kind() -> None:
    text = "\ufeffa: b\r\nn: 12\rf: .nan\ny: off\nz:\nd: 2001-01-01\nm: {x: y}\nq: 'off'\nl:\n  - x\n  - 1\n"
    found = read_mapping(text.encode())
    assert {name: (value.line, value.kind, value.text) for name, value in found.items()} == {
        "a": (1, "a text", "b"),
        "n": (2, "a number", "12"),
        "f": (3, "a number", ".nan"),
        "y": (4, "a yes or no", "off"),
        "z": (5, "nothing", ""),
        "d": (6, "a date", "2001-01-01"),
        "m": (7, "a mapping", ""),
        "q": (8, "a text", "off"),
        "l": (9, "a list", ""),
    }
    assert [(item.line, item.kind, item.text) for item in found["l"].items] == [
        (10, "a text", "x"),
        (11, "a number", "1"),
    ]


@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    look(data)


@given(st.lists(st.sampled_from([*"ab:-?[]{},#&*!|>'\"%@`~=<.0 \t\n\\", "\n", "\n  ", ": ", "- ", "---\n", "? "])))
@example(["%", "YAML"])
def test_any_heap_of_marks_that_yaml_knows_is_read_or_refused(marks: list[str]) -> None:
    look("".join(marks).encode())


def look(data: bytes) -> None:
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    try:
        named = [value.line for value in read_mapping(data).values()]
    except Misread as refused:
        named = [refused.line]
    assert all(1 <= line <= lines for line in named)
