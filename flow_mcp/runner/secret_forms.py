"""In which forms a secret value may stand in a command's output."""

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

FORM_BYTES_MIN = 8
"""A shorter line of a value of many lines, or a shorter password in a URL, is not looked for."""
PIECE_BYTES_MAX = 2048
"""A longer line is looked for piece by piece; up to seven letters at its end may be too short a piece."""
DISTINCT_MIN = 4

_WORD_CHARACTERS_MAX = 11
_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s:/@]{0,256}:([^\s/@]{1,1024})@")
# What stands at the edges of a key says nothing, and stands in every key.
_HEADER = "-----"


def is_plain(value: str) -> bool:
    """Say whether a value is a plain word, or so monotonous that hiding it would hide ordinary output."""
    is_word = value.isalpha() and len(value) <= _WORD_CHARACTERS_MAX and (value.islower() or value.isupper())
    return is_word or len(set(value)) < DISTINCT_MIN


def password_in(value: str) -> str:
    """Give the password of a URL; empty where there is none."""
    found = _PASSWORD.search(value)
    return "" if found is None else found.group(1)


def forms(secrets: Mapping[str, str]) -> dict[bytes, str]:
    """Give what to look for, and the name of the variable that it comes from."""
    found: dict[bytes, str] = {}
    for name, value in secrets.items():
        for part in (*value.splitlines(), password_in(value)):
            text = part.strip()
            is_header = text.startswith(_HEADER) and text.endswith(_HEADER)
            if len(text) >= FORM_BYTES_MIN and not is_header and not is_plain(text):
                found |= dict.fromkeys(_pieces(text), name)
        if len(value) >= FORM_BYTES_MIN and "\n" in value:
            found |= dict.fromkeys(_pieces_of(_base64s(value.encode("utf-8", "surrogateescape"))), name)
    return found


def _pieces(text: str) -> Iterator[bytes]:
    data = text.encode("utf-8", "surrogateescape")
    yield from _pieces_of((data, *_base64s(data)))
    if data.isascii():
        for other in (quote(text, safe=""), quote_plus(text), json.dumps(text)[1:-1], html.escape(text)):
            yield from _pieces_of((other.encode(),))


def _pieces_of(forms_of_one: tuple[bytes, ...]) -> Iterator[bytes]:
    for data in forms_of_one:
        for at in range(0, len(data), PIECE_BYTES_MAX):
            piece = data[at : at + PIECE_BYTES_MAX]
            if len(piece) >= FORM_BYTES_MIN:
                yield piece


def _base64s(data: bytes) -> tuple[bytes, ...]:
    """Give what is the same in every base64 text that holds these bytes, for each of three places in a group of three.

    The letters at either end also depend on the neighbours, and are left out.
    """
    found = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).rstrip(b"=")
        inner = whole[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6]
        found += [inner, inner.translate(bytes.maketrans(b"+/", b"-_"))]
    return tuple(found)
