"""Commands of a plan that ask for what the project does not have: a make target, an npm script, a program of its own.

Said only where it is certain: a makefile that includes others or makes its targets up is not understood here.
"""

import difflib
import json
import re
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.plan import Plan
from flow_mcp.engine.gather import anchored, usable
from flow_mcp.store.files import read_bytes
from flow_mcp.workspace.ecosystems.sentences import Told
from flow_mcp.workspace.paths import safe_relative
from flow_mcp.workspace.patterns import matches

BYTES_MAX = 1024 * 1024
SHOWN_CHARACTERS = 80

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PIECE = re.compile(r"\s*(?:&&|\|)\s*")
_NOT_UNDERSTOOD = re.compile(r"(?m)^\s*-?s?include\b|^[^\t#\n]*[%$][^\n]*:|^\.DEFAULT\b|\bdefine\b|\beval\b")
_TARGETS = re.compile(r"(?m)^([^\s#:=][^:=\n]*?)\s*::?(?![:=])")
_NAMES = "names {}, which is not there"
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder of the workspace in which a part of a command runs."""

    root: Path
    folder: str
    present: Collection[str]

    def text(self, name: str) -> str | None:
        try:
            data = read_bytes(self.root / self.folder, name, BYTES_MAX)
        except BrokenWorld:  # what cannot be read is not judged
            return None
        return None if data is None else data.decode("utf-8", "replace")

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name

    def has(self, name: str) -> bool:
        path = self.path(name.removeprefix("./").rstrip("/"))
        return path in self.present or any(one.startswith(f"{path}/") for one in self.present)


def of_unknown_targets(root: Path, plan: Plan, present: Collection[str]) -> Iterator[Told]:
    """Tell of each command that asks for something that neither is there nor is to be made by a feature."""
    globs = [anchored(one) for one in usable([name for feature in plan.features for name in feature.targets], [])]
    for run in dict.fromkeys(command.run for command in plan.commands()):
        which = "The gate" if plan.gate is not None and run == plan.gate.run else "The command"
        for source, wanted, nearest in _missing(root, run, present):
            if not matches(globs, [source]):
                hint = f", and the nearest is {nearest}" if nearest else ""
                lacks = f"asks for {wanted}, which {source} does not have{hint}" if wanted else _NAMES.format(source)
                seen = f"{which} `{run[:SHOWN_CHARACTERS]}` {lacks}."
                yield Told("gate", seen, "Mend the command: it would fail whatever the work is.")


def _missing(root: Path, run: str, present: Collection[str]) -> Iterator[tuple[str, str, str | None]]:
    """Give the file that lacks something, what it lacks, and what comes nearest; nothing where it is missing itself."""
    folder = ""
    for number, piece in enumerate(_PIECE.split(run)):
        words = _words(piece)
        if words[:1] == ["cd"]:
            if len(words) != len(("cd", "folder")) or not _is_inside(words[1]):
                return
            folder = words[1].strip("/").removeprefix("./")
            continue
        place = _Place(root, folder, present)
        if words[:1] == ["make"]:
            yield from _of_make(place, words[1:])
        elif words[:1] in (["npm"], ["pnpm"]):
            yield from _of_npm(place, words[1:])
        elif number == 0 and words and words[0].startswith("./") and not place.has(words[0]):
            yield place.path(words[0].removeprefix("./")), "", None


def _words(piece: str) -> list[str]:
    try:
        words = shlex.split(piece)
    except ValueError:
        return []
    while words and _VARIABLE.match(words[0]):
        words = words[1:]
    return words


def _is_inside(folder: str) -> bool:
    try:
        safe_relative(folder.strip("/"))
    except ValueError:
        return False
    return not folder.startswith("/")


def _of_make(place: _Place, words: list[str]) -> Iterator[tuple[str, str, str | None]]:
    wanted = [word for word in words if not word.startswith("-") and "=" not in word]
    name = next((name for name in _MAKEFILES if place.has(name)), None)
    text = None if name is None else place.text(name)
    # An option may take the next word, name another makefile, or go elsewhere; `-s` and the like take nothing.
    if name is None or text is None or _NOT_UNDERSTOOD.search(text) or any(_takes_more(word) for word in words):
        return
    known = [target for found in _TARGETS.findall(text) for target in found.split()]
    for target in wanted:
        if target not in known and not place.has(target):
            yield place.path(name), f"the target {target!r}", _nearest(target, known)


def _takes_more(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-[ksBinqr]+|--silent|--keep-going|--no-print-directory", word)


def _of_npm(place: _Place, words: list[str]) -> Iterator[tuple[str, str, str | None]]:
    asked = words[1] if words[:1] == ["run"] and len(words) > 1 else "test" if words[:1] == ["test"] else None
    text = place.text("package.json") if asked is not None and not asked.startswith("-") else None
    try:
        table = {} if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = table.get("scripts", {}) if isinstance(table, dict) else None
    if text is None or asked is None or not isinstance(scripts, dict) or asked in scripts:
        return
    yield place.path("package.json"), f"the script {asked!r}", _nearest(asked, list(scripts))


def _nearest(word: str, known: list[str]) -> str | None:
    close = difflib.get_close_matches(word[:SHOWN_CHARACTERS], known, n=1)
    return repr(close[0]) if close else None
