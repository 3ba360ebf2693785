"""What the tree's own ``.gitattributes`` files say of line endings.

The tree's and no other: ``.git/info/attributes``, ``core.attributesFile`` and ``core.autocrlf`` are a machine's own,
and the same source must have the same digest everywhere. Within a file the last line that speaks decides, of files
the nearest, and a nested repository does not hear the one around it, as in git. A line that git refuses, or whose
pattern ``translate`` does not know, is passed over.
"""

import os
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from flow_mcp.workspace.translate import translate

FILE_NAME = ".gitattributes"
FILE_BYTES_MAX = 1024 * 1024
"""A larger file is passed over, on every machine alike."""
LINE_CHARACTERS_MAX = 2048

Treatment = Literal["", "text", "auto"]
"""How line endings are treated: left alone, made plain, or made plain where the bytes look like a text."""

_Value = bool | str | None
_Set = tuple[tuple[str, _Value], ...]

_BLANK = " \t\r\n"
_MACRO = "[attr]"
_NAME = re.compile(r"[\w.][-\w.]*", re.ASCII)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb'\\(?:([0-3][0-7]{2})|([abfnrtv"\\])|.)', re.DOTALL)
_ESCAPED = dict(zip(b'abfnrtv"\\', b'\a\b\f\n\r\t\v"\\', strict=True))
_BINARY: Mapping[str, _Set] = {"binary": (("diff", False), ("merge", False), ("text", False))}


@dataclass(frozen=True, slots=True)
class _Line:
    expression: re.Pattern[str]
    values: _Set


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one attributes file says: its lines, the last first, and the macros that it names."""

    lines: tuple[_Line, ...]
    macros: Mapping[str, _Set]


def parse(data: bytes) -> Spoken:
    """Read an attributes file."""
    lines: list[_Line] = []
    macros: dict[str, _Set] = {}
    text = os.fsdecode(data.removeprefix(b"\xef\xbb\xbf")) if len(data) <= FILE_BYTES_MAX else ""
    for line in text.split("\n"):
        stripped = line.strip(_BLANK)
        if not stripped or stripped.startswith("#") or len(line) >= LINE_CHARACTERS_MAX:
            continue
        name, rest = _pattern(stripped)
        if name.startswith(_MACRO) and name != _MACRO:
            values = _values(rest)
            if values is not None and _NAME.fullmatch(name.removeprefix(_MACRO)):
                macros[name.removeprefix(_MACRO)] = values
            continue
        values = _values(rest)
        found = None if name.startswith("!") or values is None else translate(name, contents=False)
        if found is not None and values:
            lines.append(_Line(re.compile(found.whole()), values))
    return Spoken(tuple(reversed(lines)), macros)


def _pattern(line: str) -> tuple[str, str]:
    quoted = _QUOTED.match(line)
    if quoted is not None:
        return os.fsdecode(_ESCAPE.sub(_unescape, os.fsencode(quoted[1]))), line[quoted.end() :]
    name, *rest = re.split(f"[{_BLANK}]", line, maxsplit=1)
    return name, "".join(rest)


def _unescape(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return bytes([int(found[1], 8)])
    return bytes([_ESCAPED[found[2][0]]]) if found[2] else found[0]


def _values(text: str) -> _Set | None:
    """Give attribute and value, the last first; None where a name is none."""
    found: list[tuple[str, _Value]] = []
    for word in re.split(f"[{_BLANK}]+", text.strip(_BLANK)) if text.strip(_BLANK) else ():
        name, equals, value = word.partition("=")
        bare = name[1:] if name.startswith(("-", "!")) else name
        if not _NAME.fullmatch(bare):
            return None
        plain: _Value = value if equals else True
        found.append((bare, False if name.startswith("-") else None if name.startswith("!") else plain))
    return tuple(reversed(found))


class Attributes:
    """The attributes files of one source."""

    def __init__(self, files: Mapping[bytes, Spoken], tops: AbstractSet[bytes]) -> None:
        """Take what is said in each folder, and where nested repositories start; the top of all is empty."""
        self._files = files
        self._tops = tops
        self._chains: dict[bytes, _Chain] = {}

    def treatment(self, path: bytes) -> Treatment:
        """Say how the line endings of a file are treated."""
        folder = path.rpartition(b"/")[0]
        chain = self._chains.get(folder)
        if chain is None:
            chain = self._chains[folder] = self._chain(folder)
        return _treatment(chain.resolved(path)) if chain.files else ""

    def _chain(self, folder: bytes) -> "_Chain":
        files: list[tuple[bytes, Spoken]] = []
        while True:
            spoken = self._files.get(folder)
            if spoken is not None:
                files.append((folder + b"/" if folder else b"", spoken))
            if not folder or folder in self._tops:
                # Only the file at the top of a repository may name macros.
                own = _BINARY if spoken is None else {**_BINARY, **spoken.macros}
                return _Chain(tuple(files), own)
            folder = folder.rpartition(b"/")[0]


@dataclass(frozen=True, slots=True)
class _Chain:
    """The files that speak for one folder, the nearest first, each with the folder that it stands in."""

    files: tuple[tuple[bytes, Spoken], ...]
    macros: Mapping[str, _Set]

    def resolved(self, path: bytes) -> dict[str, _Value]:
        found: dict[str, _Value] = {}
        for base, spoken in self.files:
            below = os.fsdecode(path[len(base) :])
            for line in spoken.lines:
                if line.expression.match(below):
                    self._fill(found, line.values)
        return found

    def _fill(self, found: dict[str, _Value], values: _Set) -> None:
        for name, value in values:
            if name not in found:
                found[name] = value
                if value is True and name in self.macros:
                    self._fill(found, self.macros[name])


def _treatment(values: Mapping[str, _Value]) -> Treatment:
    """Decide as git does: the old ``crlf`` speaks where ``text`` does not, and ``eol`` alone means text."""
    action = _action(values.get("text"))
    if action is None:
        action = _action(values.get("crlf"))
    if action is None:
        return "text" if values.get("eol") in ("lf", "crlf") else ""
    return action


def _action(value: _Value) -> Treatment | None:
    if value is True or value == "input":
        return "text"
    if value is False:
        return ""
    return "auto" if value == "auto" else None
