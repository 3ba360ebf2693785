"""What the tree's own ``.gitignore`` files leave out, where git is not there to say it.

The innermost file that speaks decides, and nothing below an ignored folder comes back, as in git. A pattern with a
character class that ``translate`` does not know is passed over, so that what it names counts as source.
"""

import os
import re
import stat
from dataclasses import dataclass

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.paths import Descent, open_file
from flow_mcp.workspace.translate import translate

FILE_NAME = b".gitignore"
FILE_BYTES_MAX = 1024 * 1024
LINE_CHARACTERS_MAX = 1024


class OversizedRules(BrokenWorld):
    """An ignore file is larger than Flow reads."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One pattern, to be asked of a path itself, not of the folders that it lies in; a folder's ends in a slash."""

    ignores: bool
    expression: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the ignore files from the top of a repository down to one folder, the innermost first.

    Attributes:
        chain: for each ignore file, the folder that it stands in (with a closing slash, or empty), and its rules, the
            last first.
    """

    chain: tuple[tuple[bytes, tuple[_Rule, ...]], ...]

    def entering(self, path: bytes, folder: int) -> "Rules":
        """Add the rules of the ignore file in an open folder whose path ends in a slash, or is empty at the top."""
        rules = _read(folder)
        return Rules(((path, rules), *self.chain)) if rules else self

    def ignore(self, path: bytes, *, is_folder: bool) -> bool:
        """Tell whether the rules leave out this path, whose parents they keep."""
        for base, rules in self.chain:
            below = os.fsdecode(path[len(base) :]) + ("/" if is_folder else "")
            speaking = next((rule for rule in rules if rule.expression.match(below)), None)
            if speaking is not None:
                return speaking.ignores
        return False


NO_RULES = Rules(())


def _read(folder: int) -> tuple[_Rule, ...]:
    try:
        descriptor = open_file(FILE_NAME, folder)
    except OSError:  # missing, a link, or closed to this user: git reads none of these either
        return ()
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.read(descriptor, FILE_BYTES_MAX + 1) if regular else b""
    finally:
        os.close(descriptor)
    if len(data) > FILE_BYTES_MAX:
        seen = f"A '.gitignore' holds more than {FILE_BYTES_MAX} bytes."
        raise OversizedRules(seen, "Shorten it, then try again.")
    translated = [
        translate(line, contents=False) for line in reversed(_lines(data)) if len(line) <= LINE_CHARACTERS_MAX
    ]
    return tuple(_Rule(each.include, re.compile(each.whole())) for each in translated if each is not None)


def _lines(data: bytes) -> list[str]:
    text = os.fsdecode(data.removeprefix(b"\xef\xbb\xbf"))
    return [line.removesuffix("\r") for line in text.split("\n")]


def ignores(descent: Descent, path: bytes, *, is_folder: bool) -> bool:
    """Tell whether the ignore files above a path leave it out; it need not exist."""
    rules, names = NO_RULES, path.split(b"/")
    for depth in range(len(names)):
        base = b"".join(name + b"/" for name in names[:depth])
        folder = descent.folder(base.rstrip(b"/"))
        if folder is not None:
            rules = rules.entering(base, folder)
        if rules.ignore(b"/".join(names[: depth + 1]), is_folder=is_folder or depth + 1 < len(names)):
            return True
    return False
