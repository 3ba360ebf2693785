"""A document's text and its JSON values are one to one: strict to read, stable to write.

The standard library reads the JSON. Around it stand refusals for everything that two readers could
understand differently or that only a broken merge leaves behind, each with its line.
"""

import codecs
import json
import math
import re
from itertools import accumulate, islice
from typing import NoReturn, TypeAlias

from flow_mcp.domain.errors import BrokenWorld

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

DOCUMENT_BYTES_MAX = 4 * 1024 * 1024
DEPTH_MAX = 64
INTEGER_MAX = 2**53
SHOWN_CHARACTERS_MAX = 40

_VERIFY = "then run `flow-mcp verify`."
_RESTORE = f"Restore the file, for example with `git checkout -- <file>`, {_VERIFY}"
_MERGE = f"Resolve the merge: keep one side whole (`git checkout --ours` or `--theirs -- <file>`), {_VERIFY}"
_ENCODE = f"Save the file as plain UTF-8, or restore it with `git checkout -- <file>`, {_VERIFY}"

# An unclosed string runs to the end of the text: so every scan is linear, whatever it is given.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+'
_SHAPE = re.compile(rf"{_STRING}|[\[{{]|[\]}}]", re.DOTALL)
_NO_SHAPE = re.compile(rf'(?:{_STRING}|[^"\[\]{{}}]++)++', re.DOTALL)
_NUMBER = re.compile(rf"{_STRING}|-?Infinity|NaN|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?", re.DOTALL)
_COLON = re.compile(r"[ \t\r\n]*+:")
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u(?P<lone>[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
# What a reviewer of a diff cannot see, or what reorders the line that shows it.
_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_ENCODER = json.JSONEncoder(ensure_ascii=False)

# The decoder's own words differ between Python versions; these are the ones a person gets to read.
_SYNTAX = {
    "Unterminated string": "a text is opened and never closed",
    "Invalid control": "a text runs over the end of its line or holds a raw tab",
    "Invalid \\u": "a \\u escape lacks its four hexadecimal digits",
    "Invalid \\": "a backslash stands before a character that JSON does not escape",
    "Expecting property": "a key in double quotes is missing",
    "Expecting ':'": "a colon is missing",
    "Expecting ','": "a comma or a closing bracket is missing",
    "Extra data": "the document has ended and more text follows",
}
_SYNTAX_ELSE = "a value is missing or misspelt"


class Unreadable(BrokenWorld):
    """A file's text is no document; its bytes are left alone.

    Attributes:
        line: the line at fault, counted from 1.
        seen: one sentence that names the line and what stands there.
        remedy: one sentence on what a person does about it.
    """

    def __init__(self, line: int, seen: str, remedy: str) -> None:
        super().__init__(seen, remedy)
        self.line = line


class TooLarge(ValueError):  # noqa: N818 - it says what the value is
    """A value has more bytes than a document may hold."""


class _BadNumberError(Exception):
    """The decoder met a number that is refused."""

    def __init__(self, token: str, why: str) -> None:
        super().__init__(token)
        self.token = token
        self.why = why


class _KeyTwiceError(Exception):
    """The decoder closed an object that names a key twice."""


def parse(data: bytes) -> JsonValue:
    """Read one JSON value from the whole of `data`.

    Floats must be finite, integers within 2^53 of zero, nesting within 64 containers.

    Raises:
        Unreadable: the text is empty, over 4 MiB, not UTF-8, left from a merge, or not strict JSON.
    """
    text = _decoded(data)
    _refuse_marks(text)
    _refuse_depth(text)
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_exact,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except json.JSONDecodeError as error:
        raise _syntax(text, error) from None
    except _BadNumberError as error:
        raise _bad_number(text, error) from None
    except _KeyTwiceError:
        raise _key_twice(text) from None
    return value


def _decoded(data: bytes) -> str:
    """Return the text of `data`, or refuse its size or encoding."""
    if len(data) > DOCUMENT_BYTES_MAX:
        line = data.count(b"\n", 0, DOCUMENT_BYTES_MAX) + 1
        seen = f"Line {line}: the file goes past {DOCUMENT_BYTES_MAX} bytes, the most a document may hold."
        raise Unreadable(line, seen, _RESTORE)
    if not data.strip():
        raise Unreadable(1, "Line 1: the file is empty.", _RESTORE)
    if data.startswith(codecs.BOM_UTF8):
        raise Unreadable(1, "Line 1: the file begins with a byte-order mark.", _ENCODE)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        seen = f"Line {line}: the byte 0x{data[error.start]:02x} is not UTF-8 text."
        raise Unreadable(line, seen, _ENCODE) from None


def _refuse_marks(text: str) -> None:
    """Refuse conflict markers, raw control characters and lone surrogates."""
    if found := _CONFLICT.search(text):
        # A JSON string holds no raw line break, so no line of a document can begin like this.
        raise _at(text, found.start(), f"a conflict marker ({found[0]}) is left from a git merge", _MERGE)
    if found := _CONTROL.search(text):
        raise _at(text, found.start(), f"the control character U+{ord(found[0]):04X} stands in the text")
    for found in _SURROGATE.finditer(text):
        if found["lone"]:
            raise _at(text, found.start(), f"\\u{found['lone']} is half of a character (a lone surrogate)")


def _refuse_depth(text: str) -> None:
    """Refuse nesting that would exhaust a reader's stack."""
    brackets = _NO_SHAPE.sub("", text)
    depths = list(accumulate(1 if bracket in "[{" else -1 for bracket in brackets))
    if max(depths, default=0) > DEPTH_MAX:
        count = depths.index(DEPTH_MAX + 1)
        marks = (found.start() for found in _SHAPE.finditer(text) if not found[0].startswith('"'))
        position = next(islice(marks, count, None))
        raise _at(text, position, f"brackets nest deeper than {DEPTH_MAX}")


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Build an object, each of whose keys stands once."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _KeyTwiceError
    return made


def _exact(token: str) -> int:
    """Read an integer that every JSON reader keeps exactly."""
    # The length comes first: converting a huge number is slow, and Python refuses it with its own error.
    if len(token) > len(str(-INTEGER_MAX)) or abs(int(token)) > INTEGER_MAX:
        raise _BadNumberError(token, "is an integer beyond 2^53, which other readers would round")
    return int(token)


def _finite(token: str) -> float:
    """Read a float that is a number."""
    value = float(token)
    if not math.isfinite(value):
        raise _BadNumberError(token, "is too large for a number")
    return value


def _no_constant(token: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity."""
    raise _BadNumberError(token, "is no JSON number")


def _bad_number(text: str, error: _BadNumberError) -> Unreadable:
    """Name the line of the first number with the refused spelling."""
    at = next(found.start() for found in _NUMBER.finditer(text) if found[0] == error.token)
    return _at(text, at, f"{_shown(error.token)} {error.why}")


def _key_twice(text: str) -> Unreadable:
    """Name the first key that stands twice in one object, and the line where it does so again."""
    keys: list[set[str]] = []
    marks = _SHAPE.finditer(text)
    # The decoder has met such a key, so this ends before the text does.
    while True:
        found = next(marks)
        if found[0] in "[{":
            keys.append(set())
        elif found[0] in "]}":
            keys.pop()
        elif _COLON.match(text, found.end()):
            key: str = json.loads(found[0])
            if key in keys[-1]:
                return _at(text, found.start(), f"the key {_shown(key)} stands twice in one object")
            keys[-1].add(key)


def _syntax(text: str, error: json.JSONDecodeError) -> Unreadable:
    """Say in plain words where the text stops being JSON."""
    words = (own for theirs, own in _SYNTAX.items() if error.msg.startswith(theirs))
    column = error.pos - text.rfind("\n", 0, error.pos)
    return _at(text, error.pos, f"not JSON at column {column}: {next(words, _SYNTAX_ELSE)}")


def _at(text: str, position: int, what: str, remedy: str = _RESTORE) -> Unreadable:
    """Make the refusal of what stands at `position`, a character offset."""
    line = text.count("\n", 0, position) + 1
    return Unreadable(line, f"Line {line}: {what}.", remedy)


def _shown(text: str) -> str:
    """Quote hostile text: ASCII, short, on one line."""
    short = text if len(text) <= SHOWN_CHARACTERS_MAX else text[:SHOWN_CHARACTERS_MAX] + "..."
    return json.dumps(short)


def render(value: JsonValue) -> bytes:
    """Write `value` as a person reviews it: one fact a line, keys in the given order, UTF-8.

    The same value always gives the same bytes, and `parse` reads them back to it. Characters that a
    reviewer could not see are written as escapes.

    Raises:
        TooLarge: it takes more than 4 MiB.
        ValueError: `parse` would refuse it, or it is no JSON value.
    """
    parts: list[str] = []
    _write(value, "\n", parts)
    parts.append("\n")
    try:
        data = "".join(parts).encode()
    except UnicodeEncodeError:
        message = "a text holds a lone surrogate"
        raise ValueError(message) from None
    if len(data) > DOCUMENT_BYTES_MAX:
        message = f"{len(data)} bytes, more than the {DOCUMENT_BYTES_MAX} that a document may hold"
        raise TooLarge(message)
    return data


def _write(value: JsonValue, indent: str, parts: list[str]) -> None:
    """Append the text of `value`, whose line begins with `indent` (a line break and spaces)."""
    if isinstance(value, dict):
        _write_block("{}", [(f"{_quoted(key)}: ", item) for key, item in value.items()], indent, parts)
    elif isinstance(value, list):
        _write_block("[]", [("", item) for item in value], indent, parts)
    else:
        parts.append(_scalar(value))


def _write_block(brackets: str, items: list[tuple[str, JsonValue]], indent: str, parts: list[str]) -> None:
    """Append an object or an array, its items a line each."""
    deeper = f"{indent}  "
    if len(deeper) > len("\n") + 2 * DEPTH_MAX:
        message = f"containers nest deeper than {DEPTH_MAX}"
        raise ValueError(message)
    if not items:
        parts.append(brackets)
        return
    before = f"{brackets[0]}{deeper}"
    for name, item in items:
        parts.append(before)
        parts.append(name)
        _write(item, deeper, parts)
        before = f",{deeper}"
    parts.append(f"{indent}{brackets[1]}")


def _scalar(value: object) -> str:
    """Return the text of a value without parts."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) <= INTEGER_MAX:
        return int.__repr__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    return _quoted(value)


def _quoted(text: object) -> str:
    """Return a JSON string on one line, in which every character can be seen."""
    if not isinstance(text, str):
        message = f"{type(text).__name__} {str(text)[:SHOWN_CHARACTERS_MAX]} has no strict JSON form here"
        raise ValueError(message)  # noqa: TRY004 - one kind of error for all that parse would refuse
    quoted = _ENCODER.encode(text)
    return quoted if text.isprintable() else _UNSEEN.sub(_escaped, quoted)


def _escaped(found: re.Match[str]) -> str:
    """Return the JSON escape of one character."""
    return json.dumps(found[0])[1:-1]
