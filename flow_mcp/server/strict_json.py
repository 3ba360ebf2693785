"""Strict JSON of one line: bounded, and every fault told in a plain sentence.

`json` of the standard library reads, because it lets each laxness be refused by name: other parsers accept
members named twice, endless numbers or half characters, or refuse them in words of their own.
"""

import json
import math
import re
from collections import Counter
from typing import Final

DEPTH_MAX: Final = 64
"""Objects and lists may be nested so deep. Flow's own requests need 6."""

DIGITS_MAX: Final = 30
"""A whole number may have so many characters."""

_NAME_CHARACTERS: Final = 40

_HALF_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?')
_NOT_BRACKET = re.compile(r"[^\[\]{}]+")


class NotJsonError(ValueError):
    """The text is not strict JSON; the message says how, in one sentence about `the line`."""


def parse(line: bytes) -> object:
    """Return the value of a line of JSON.

    Raises:
        NotJsonError: it is not UTF-8, not JSON, nested too deep, or holds what a client could not read back.
    """
    text = _text(line)
    if _is_deeper(text, DEPTH_MAX):
        message = f"The line nests objects and lists more than {DEPTH_MAX} deep."
        raise NotJsonError(message)
    try:
        value: object = json.loads(
            text, parse_constant=_no_constant, parse_int=_int, parse_float=_float, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        raise NotJsonError(_fault(text, error)) from None
    if _HALF_ESCAPE.search(text) and not is_text(json.dumps(value, ensure_ascii=False)):
        message = "The line holds half of a surrogate pair, which is no character."
        raise NotJsonError(message)
    return value


def is_text(text: str) -> bool:
    """Whether a string is text that UTF-8 can carry: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(line: bytes) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        message = f"The line is not UTF-8: byte 0x{line[error.start]:02x} at offset {error.start}."
        raise NotJsonError(message) from None
    if text.startswith("\ufeff"):
        message = "The line starts with a byte order mark: send plain UTF-8."
        raise NotJsonError(message)
    if "\0" in text:
        message = f"The line holds a NUL at character {text.index(chr(0)) + 1}."
        raise NotJsonError(message)
    return text


def _is_deeper(text: str, depth_max: int) -> bool:
    """Whether brackets outside of strings nest deeper; exact for JSON, a guess for anything else."""
    if text.count("{") + text.count("[") <= depth_max:
        return False
    depth = 0
    for bracket in _NOT_BRACKET.sub("", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > depth_max:
            return True
    return False


def _fault(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "The line breaks off: its JSON ends before the last bracket closes."
    if error.msg == "Extra data":
        return f"The line holds more than one JSON value; the second starts at character {error.pos + 1}."
    return f"The line is not JSON: it goes wrong at character {error.pos + 1}."


def _no_constant(name: str) -> object:
    message = f"The line holds {name}, which is not JSON."
    raise NotJsonError(message)


def _int(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        message = f"The line holds a number of more than {DIGITS_MAX} digits."
        raise NotJsonError(message)
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        message = "The line holds a number that is too large to be read back."
        raise NotJsonError(message)
    return number


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        message = f"The line names {json.dumps(twice[:_NAME_CHARACTERS])} twice in one object."
        raise NotJsonError(message)
    return found
