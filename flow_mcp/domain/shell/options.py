"""How programs read their options: one scanner, driven by a table that says what is looked for.

A table is written as text, because it is read far more often than it changes:
`"--lf -k= -p=plugin"` looks for the flag `--lf`, for `-k` with a value, and for `-p` where the check named `plugin`
finds its value worth a word.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from flow_mcp.domain.shell.words import Word

ABBREVIATION_CHARS_MIN: Final = 4

CLUSTERS: Final = "clusters"
"""`-abc` is three letters, as getopt reads it. Without it `-abc` is one name, as go, gradle and ctest read it."""
ABBREVIATED: Final = "abbreviated"
"""`--dese` stands for `--deselect`."""
FOLDED: Final = "folded"
"""`--testNamePattern` and `--test-name-pattern` are one option."""


@dataclass(frozen=True, slots=True)
class OptionTable:
    """What is looked for among a program's options.

    Attributes:
        picks: option → None for a flag, else the name of the check its value goes through ("" takes any value).
        takes: the other options whose value is a word of its own, so that it is not taken for an operand.
        attaches: options whose value, where they have one, is in the same word (`-j4`).
        manner: how the program reads options: `CLUSTERS`, `ABBREVIATED`, `FOLDED`.
    """

    picks: Mapping[str, str | None]
    takes: frozenset[str]
    attaches: frozenset[str]
    manner: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hit:
    """One option that was looked for: as written with its value, the value, and the check it asks for."""

    shown: str
    value: Word | None
    check: str | None


@dataclass(frozen=True, slots=True)
class Scan:
    """A program's arguments, sorted: hits, operands, and the words after `--`."""

    hits: tuple[Hit, ...]
    options: tuple[Word, ...]
    operands: tuple[Word, ...]
    rest: tuple[Word, ...]


def option_table(picks: str, takes: str, manner: str) -> OptionTable:
    """Read a table from its text; every option is brought to the form in which the scanner compares.

    Among `takes`, `-j?` is an option that only attaches its value.
    """
    ways = frozenset(manner.split())
    looked_for: dict[str, str | None] = {}
    for entry in picks.split():
        name, equals, check = entry.partition("=")
        looked_for[_canonical(name, ways)] = check if equals else None
    others = takes.split()
    taking = frozenset(_canonical(name, ways) for name in others if not name.endswith("?"))
    attaching = frozenset(name.removesuffix("?") for name in others if name.endswith("?"))
    return OptionTable(looked_for, taking, attaching, ways)


def joined(first: OptionTable, second: OptionTable) -> OptionTable:
    """Look for what either table looks for, in the manner of the first."""
    picks = {**second.picks, **first.picks}
    return OptionTable(picks, first.takes | second.takes, first.attaches | second.attaches, first.manner)


def scan(table: OptionTable, words: tuple[Word, ...]) -> Scan:
    """Sort a program's arguments (without the program's own name)."""
    hits: list[Hit] = []
    options: list[Word] = []
    operands: list[Word] = []
    rest = iter(words)
    for word in rest:
        if word.text == "--":
            break
        if not word.text.startswith("-") or word.text == "-":
            operands.append(word)
            continue
        options.append(word)
        for option, attached in _options(table, word.text):
            value, shown = _value(table, option, attached, word, rest), word.raw
            if value is not None and attached is None:
                shown = f"{shown} {value.raw}"
            if option in table.picks:
                hits.append(Hit(shown, value, table.picks[option]))
    return Scan(tuple(hits), tuple(options), tuple(operands), tuple(rest))


def _value(table: OptionTable, option: str, attached: str | None, word: Word, rest: Iterator[Word]) -> Word | None:
    if attached is not None:
        return Word(attached, attached, word.varies)
    return next(rest, None) if _takes_value(table, option) else None


def _takes_value(table: OptionTable, option: str) -> bool:
    return option in table.takes or table.picks.get(option) is not None


def _options(table: OptionTable, text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the options one word holds, each with the value attached to it."""
    if CLUSTERS in table.manner and not text.startswith("--"):
        yield from _letters(table, text)
        return
    name, equals, value = text.partition("=")
    option = _known(table, _canonical(name, table.manner))
    short = text[:2]
    if option in table.picks or option in table.takes or not _takes_value(table, short):
        yield option, value if equals else None
    else:
        yield short, text[2:]


def _letters(table: OptionTable, text: str) -> Iterator[tuple[str, str | None]]:
    for position, letter in enumerate(text[1:], 2):
        option = f"-{letter}"
        if _takes_value(table, option) or option in table.attaches:
            yield option, text[position:].removeprefix("=") or None
            return
        yield option, None


def _canonical(name: str, manner: frozenset[str]) -> str:
    if CLUSTERS not in manner:
        return "-" + name.lstrip("-")
    if FOLDED in manner and name.startswith("--"):
        return "--" + name.replace("-", "").lower()
    return name


def _known(table: OptionTable, option: str) -> str:
    """Spell an abbreviated option out, where the program would."""
    if option in table.takes or ABBREVIATED not in table.manner or len(option) < ABBREVIATION_CHARS_MIN:
        return option
    return next((pick for pick in sorted(table.picks) if pick.startswith(option)), option)
