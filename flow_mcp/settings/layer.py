"""One source of settings, checked as a whole: what it says, where, and nothing that Flow does not know.

The same checks hold for a flag, a variable, the user's file and the repository's: a value is right or wrong by
itself. Whether it has any effect is decided where the sources meet, in ``flow_mcp.settings``.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NoReturn, get_args

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.policy import Policy
from flow_mcp.settings.variable_names import NAME, PATTERN
from flow_mcp.workspace.paths import READ_FLAGS, safe_relative

if TYPE_CHECKING:
    from flow_mcp.settings.strict_yaml import Value

FILE_BYTES_MAX: Final = 64 * 1024
VARIABLES_MAX: Final = 100
WORDS_MAX: Final = 32
PLANS_DEFAULT: Final = "plans"

Source = Literal["flag", "variable", "user", "repository", "default"]

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    name: get_args(field.annotation) for name, field in Policy.model_fields.items()
}
"""What each part of the policy can be."""

SINGLE: Final = (*CHOICES, "plans")
"""The settings that hold one text."""

_KNOWN: Final = (*SINGLE, "environment", "notify")
_RESERVED: Final = frozenset((".git", ".flow"))
_QUOTED_CHARACTERS_MAX: Final = 40
_PREFIX_MIN: Final = 3


class SettingsFault(BrokenWorld):
    """A setting cannot be used: its file, its name or its value."""


def refuse(seen: str, remedy: str) -> NoReturn:
    """Say that a setting cannot be used."""
    raise SettingsFault(seen, remedy)


@dataclass(frozen=True, slots=True)
class Said:
    """One value, who said it, and where, in words that can begin a sentence."""

    source: Source
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source says: single values by name, variables for commands, and what tells the user (theirs alone)."""

    single: Mapping[str, Said]
    variables: tuple[Said, ...]
    notify: tuple[str, ...]


NOTHING: Final = Layer({}, (), ())


def read_layer(path: Path, source: Source, shown: str) -> Layer:
    """Read a file of settings as hostile; one that is not there says nothing.

    Args:
        path: the file, which is not followed where it is a link.
        source: whose file it is; in the repository's, each variable is named whole.
        shown: what refusals call it.

    Raises:
        SettingsFault: for a file, a name or a value that cannot be used.
    """
    data = _read(path, shown)
    if data is None:
        return NOTHING
    from flow_mcp.settings.strict_yaml import Misread, read_mapping  # noqa: PLC0415 - costs 20 ms, and most have no file

    try:
        values = read_mapping(data)
    except Misread as misread:
        remedy = f"Correct {shown}: one setting a line, such as 'sandbox: require'."
        refuse(f"{shown}, line {misread.line}: {misread.what}.", remedy)
    _refuse_unknown(values, shown)
    single = {
        name: checked(name, Said(source, f"{shown}, line {value.line}", _text(name, value, shown)))
        for name, value in values.items()
        if name in SINGLE
    }
    listed, told = values.get("environment"), values.get("notify")
    return Layer(
        single,
        () if listed is None else tuple(_variables(listed, source, shown)),
        () if told is None else _words(told, source, shown),
    )


def checked(name: str, said: Said) -> Said:
    """Give a value that its setting can have; a plans folder comes back in its plain form.

    Raises:
        SettingsFault: for any other value.
    """
    if name == "plans":
        return replace(said, text=_folder(said))
    if said.text not in CHOICES[name]:
        refuse(f"{said.place}: {name} cannot be {short(said.text)}.", f"Write {_belongs(name)}.")
    return said


def refuse_access(shown: str, error: OSError) -> NoReturn:
    """Say that the file system does not let a file be read."""
    refuse(f"{shown} cannot be read: {error.strerror}.", "Give this user the right to read it, or remove it.")


def short(text: str) -> str:
    """Quote hostile text: ASCII, short, on one line."""
    return ascii(text[:_QUOTED_CHARACTERS_MAX])


def _read(path: Path, shown: str) -> bytes | None:
    """Read a small regular file; None where there is none."""
    # Asked first for Windows, which has no way to open without following.
    if path.is_symlink():
        refuse(f"{shown} is a link.", f"Put a regular file in its place, or remove {shown}.")
    try:
        descriptor = os.open(path, READ_FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        refuse_access(shown, error)
    try:
        data = _content(descriptor)
    finally:
        os.close(descriptor)
    if data is None:
        refuse(f"{shown} is no regular file.", f"Remove {shown}, or put a regular file in its place.")
    if len(data) > FILE_BYTES_MAX:
        refuse(f"{shown} is longer than {FILE_BYTES_MAX} bytes.", "Keep nothing in it but settings.")
    return data


def _content(descriptor: int) -> bytes | None:
    """Give one byte more than a file of settings may have, if it has them; None for a folder, a pipe or the like."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(FILE_BYTES_MAX + 1)


def _refuse_unknown(values: Mapping[str, "Value"], shown: str) -> None:
    unknown = next((name for name in values if name not in _KNOWN), None)
    if unknown is None:
        return
    from difflib import get_close_matches  # noqa: PLC0415 - for a misspelt name only

    seen = f"{shown}, line {values[unknown].line}: there is no setting {short(unknown)}"
    known = f"known are {', '.join(_KNOWN)}"
    if values[unknown].kind == "a mapping":
        refuse(f"{seen}.", f"Settings stand at the top, one a line, such as 'sandbox: require'; {known}.")
    plain = unknown[:_QUOTED_CHARACTERS_MAX].casefold().replace("-", "_").removeprefix("flow_")
    nearest = [name for name in _KNOWN if len(plain) >= _PREFIX_MIN and name.startswith(plain)]
    nearest = nearest or get_close_matches(plain, _KNOWN, n=1)
    if not nearest:
        refuse(f"{seen}.", f"Take the line out, or write one that there is; {known}.")
    remedy = f"Write {nearest[0]!r} if that is meant, or take the line out; {known}."
    refuse(f"{seen}; the nearest is {nearest[0]!r}.", remedy)


def _text(name: str, value: "Value", shown: str) -> str:
    """Give a single value's text; YAML reads ``off`` as no, so a known value counts whatever YAML takes it for."""
    if value.kind != "a text" and value.text not in CHOICES.get(name, ()):
        remedy = f"Write {_belongs(name)}; a text that looks like something else goes into quotes."
        refuse(f"{shown}, line {value.line}: {name} holds {value.kind} where one text belongs.", remedy)
    return value.text


def _belongs(name: str) -> str:
    choices = CHOICES.get(name)
    return "the name of a folder in the workspace" if choices is None else " or ".join(choices)


def _folder(said: Said) -> str:
    remedy = f"Name a folder of its own in the workspace, such as {PLANS_DEFAULT!r}."
    try:
        plain = safe_relative(said.text)
    except ValueError as error:
        refuse(f"{said.place}: {error}", remedy)
    if not plain.isprintable():
        refuse(f"{said.place}: the path {short(said.text)} holds a character that cannot be seen.", remedy)
    # Some file systems tell neither case nor closing dots and blanks apart.
    if not _RESERVED.isdisjoint(part.casefold().rstrip(". ") for part in plain.split("/")):
        refuse(f"{said.place}: the path {short(said.text)} goes through '.git' or '.flow'.", remedy)
    return plain


def _words(value: "Value", source: Source, shown: str) -> tuple[str, ...]:
    """Give the program and the arguments that tell the user that an answer of theirs is waited for."""
    place = f"{shown}, line {value.line}"
    if source == "repository":
        refuse(f"{place}: a repository cannot name a command to run.", "Name it in your own configuration.")
    remedy = "Write a list of a program and its arguments, such as 'notify: [notify-send, Flow]'."
    if value.kind != "a list" or not value.items or any(item.kind != "a text" for item in value.items):
        refuse(f"{place}: notify does not hold a list of texts.", remedy)
    if len(value.items) > WORDS_MAX:
        refuse(f"{place}: notify holds more than {WORDS_MAX} words.", remedy)
    unseen = next((item.text for item in value.items if not item.text.isprintable()), None)
    if unseen is not None:
        refuse(f"{place}: notify holds {short(unseen)}, with a character that cannot be seen.", remedy)
    program = value.items[0].text
    if not program.strip() or not (Path(program).is_absolute() or Path(program).name == program):
        seen = f"{place}: notify begins with {short(program)}, which is neither a program's name nor its whole path."
        refuse(seen, "Name a program of PATH alone, or write its path from the root on.")
    return tuple(item.text for item in value.items)


def _variables(value: "Value", source: Source, shown: str) -> Iterator[Said]:
    remedy = "Write a list of names, such as 'environment: [CI, RUST_BACKTRACE]'."
    place = f"{shown}, line {value.line}"
    if value.kind != "a list":
        refuse(f"{place}: environment holds {value.kind} where a list of names belongs.", remedy)
    if len(value.items) > VARIABLES_MAX:
        refuse(f"{place}: environment names more than {VARIABLES_MAX} variables.", remedy)
    form = NAME if source == "repository" else PATTERN
    for item in value.items:
        place = f"{shown}, line {item.line}"
        if item.kind != "a text":
            refuse(f"{place}: environment lists {item.kind} where the name of a variable belongs.", remedy)
        if not form.fullmatch(item.text):
            refuse(f"{place}: environment lists {short(item.text)}, which cannot name a variable.", remedy)
        yield Said(source, place, item.text)
