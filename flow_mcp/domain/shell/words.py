"""Words of a command line as bash reads them: an allow-list over the characters of one word.

The grammar says where a word begins and ends; this module reads the word itself and takes nothing on trust, so a
command is accepted only where two independent readers agree on it.
"""

import re
from dataclasses import dataclass
from typing import Final

FAULT_TEXT_CHARS_MAX: Final = 80

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_EXPANSION: Final = rf"\$(?:{_NAME}|\{{{_NAME}\}})"
_PIECE: Final = re.compile(
    rf"""
      (?P<single>'[^']*')
    | (?P<double>"(?:[^"\\`$]|\\.|{_EXPANSION}|\$(?=["\ |)/.,:;]))*")
    | (?P<escape>\\.)
    | (?P<expansion>{_EXPANSION})
    | (?P<pattern>[*?\[~])
    | (?P<plain>(?:\{{\}}|[^\s\\'"`$&|;<>(){{}}*?\[~])+)
    """,
    re.VERBOSE,
)
_IN_QUOTES: Final = re.compile(rf"\\.|{_EXPANSION}")
_ESCAPED_IN_QUOTES: Final = re.compile(r'\\([$`"\\])')
_ASSIGNMENT: Final = re.compile(rf"({_NAME})=(.*)", re.DOTALL)
_PATTERN_CHARACTERS: Final = re.compile(r"[*?\[]")

_OFFENCES: Final = (
    ("$((", "arithmetic can run commands hidden in variables"),
    ("$[", "arithmetic can run commands hidden in variables"),
    ("$(", "a command substitution runs a command whose result is lost"),
    ("`", "a command substitution runs a command whose result is lost"),
    ("$'", "$'…' can hide characters: use plain quotes"),
    ('$"', '$"…" is translated before it runs: use plain quotes'),
    ("${", "only ${NAME} may be expanded: other forms can assign or run things"),
    ("$", "only $NAME may be expanded: quote a literal dollar sign with '…'"),
    ("{", "braces expand to several words: quote them, or write the words out"),
    ("}", "braces expand to several words: quote them, or write the words out"),
)
_OFFENCE: Final = re.compile("|".join(re.escape(mark) for mark, _ in _OFFENCES))
_UNREADABLE: Final = "this cannot be read as one plain word"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is not allowed in a command.

    Attributes:
        what: the reason, in plain words for a person.
        text: the offending text, at most 80 characters.
    """

    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        text: the word without its quotes; an expansion stays as written.
        raw: the word as written.
        varies: it holds an expansion, a glob or a tilde, so the machine decides what it becomes.
    """

    text: str
    raw: str
    varies: bool

    @property
    def is_pattern(self) -> bool:
        """True where file names decide what the word becomes."""
        return self.varies and _PATTERN_CHARACTERS.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: `NAME=value` prefixes, then the words."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]


def names(text: str) -> frozenset[str]:
    """Read a table's cell: the words of a text, as a set."""
    return frozenset(text.split())


def fault(what: str, text: str) -> Fault:
    """Make a fault whose text is cut to 80 characters."""
    return Fault(what, text if len(text) <= FAULT_TEXT_CHARS_MAX else text[: FAULT_TEXT_CHARS_MAX - 1] + "…")


def read_word(raw: str) -> Word | Fault:
    """Read one word as bash does: quotes removed, expansions kept, anything else a fault."""
    if raw.startswith("#"):
        return fault("a comment hides the rest of the line", raw)
    text, varies, position = "", False, 0
    while position < len(raw):
        piece = _PIECE.match(raw, position)
        if piece is None:
            return fault(_offence(raw, position), raw)
        shown, moves = _unquoted(piece)
        text, varies, position = text + shown, varies or moves, piece.end()
    return Word(text, raw, varies)


def plain_word(text: str) -> Word:
    """Make the word that stands for a text which no shell reads again."""
    return Word(text, text, varies=False)


def assignment_of(word: Word) -> tuple[str, Word] | None:
    """Split `NAME=value`; None where the word is none. The value keeps whether it varies."""
    parts = _ASSIGNMENT.fullmatch(word.text)
    return None if parts is None else (parts[1], Word(parts[2], parts[2], word.varies))


def _unquoted(piece: re.Match[str]) -> tuple[str, bool]:
    raw = piece[0]
    match piece.lastgroup:
        case "single":
            return raw[1:-1], False
        case "double":
            expands = any(inner[0].startswith("$") for inner in _IN_QUOTES.finditer(raw))
            return _ESCAPED_IN_QUOTES.sub(r"\1", raw[1:-1]), expands
        case "escape":
            return raw[1:], False
        case kind:
            return raw, kind != "plain"


def _offence(raw: str, position: int) -> str:
    mark = _OFFENCE.search(raw, position)
    return _UNREADABLE if mark is None else dict(_OFFENCES)[mark[0]]
