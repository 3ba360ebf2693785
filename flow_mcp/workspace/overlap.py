"""Whether two globs can name the same path, decided from their text alone."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from flow_mcp.workspace.patterns import matches

_FOLDERS = "**"
_MANY = "*"
_ONE = ""
_WILD = re.compile(r"[*?\[]")
_MARK = re.compile(r"(\[[^\]]+\]|\?)|(\*+)|.", re.DOTALL)


def is_literal(glob: str) -> bool:
    """Tell whether a glob has no wildcard, and so names one path."""
    return not _WILD.search(glob) and not glob.startswith("!")


def overlap(glob: str, target: str, *, target_is_file: bool) -> bool:
    """Tell whether some path could match a glob and a target, contents of a named folder included.

    A literal target counts from the workspace's top. A name with an extension is taken for a file's, a character class
    for any character: else the answer errs towards yes. What only takes back (``!``) overlaps nothing.
    """
    if glob.startswith("!") or target.startswith("!"):
        return False
    left = _segments(glob, anchored=_anchored(glob), covers=not _is_file_name(glob))
    covers = not (target_is_file or _is_file_name(target))
    right = _segments(target, anchored=is_literal(target) or _anchored(target), covers=covers)
    return glob == target or _meet(left, right, many=_FOLDERS, one=_names_meet)


def _anchored(glob: str) -> bool:
    return "/" in glob.rstrip("/")


def _is_file_name(glob: str) -> bool:
    return "." in glob.rpartition("/")[2].lstrip(".")


def _segments(glob: str, *, anchored: bool, covers: bool) -> tuple[str, ...]:
    parts = tuple(part for part in glob.split("/") if part)
    return (*(() if anchored else (_FOLDERS,)), *parts, *((_FOLDERS,) if covers else ()))


@lru_cache(maxsize=4096)
def _marks(segment: str) -> tuple[str, ...]:
    found = _MARK.finditer(segment)
    return tuple(_ONE if mark[1] else _MANY if mark[2] else mark[0] for mark in found)


def _names_meet(left: str, right: str) -> bool:
    return _meet(_marks(left), _marks(right), many=_MANY, one=_characters_meet)


def _characters_meet(left: str, right: str) -> bool:
    return left == right or _ONE in (left, right)


def _meet(left: Sequence[str], right: Sequence[str], *, many: str, one: Callable[[str, str], bool]) -> bool:
    """Tell whether two patterns share a text: ``many`` stands for any run of units, ``one`` compares two units."""
    # meets[at]: what is left of the left pattern can meet right[at:]; filled from both ends' ends.
    meets = [all(unit == many for unit in right[at:]) for at in range(len(right) + 1)]
    for unit in reversed(left):
        row = [unit == many and meets[-1]]
        for at in range(len(right) - 1, -1, -1):
            if many in (unit, right[at]):
                row.append(meets[at] or row[-1])
            else:
                row.append(meets[at + 1] and one(unit, right[at]))
        meets = row[::-1]
    return meets[0]


def within(target: str, outer: str) -> bool:
    """Tell whether what a target names lies inside what another glob names.

    Asked of a name that fits the target and that no other text is likely to spell.
    """
    fitting = _MARK.sub(lambda mark: mark[0] if not (mark[1] or mark[2]) else "~", target)
    return bool(matches((outer,), (fitting + "~" if fitting.endswith("/") else fitting,)))


def fixed_part(glob: str) -> str:
    """Give the folders that a glob spells out before its first wildcard; the whole of a literal one."""
    if is_literal(glob):
        return glob.strip("/")
    parts = glob.split("/")
    wild = next((at for at, part in enumerate(parts) if not is_literal(part)), len(parts))
    return "/".join(part for part in parts[:wild] if part)
