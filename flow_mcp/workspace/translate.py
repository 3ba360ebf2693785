r"""One line of ``.gitignore`` as a regular expression whose cost does not explode with its stars.

A matcher that goes back and tries again takes the length of a name to the power of its stars. Here a star takes the
first place that fits and never another (``(?>...)``): that is enough, since what follows can only have more room that
way. Character classes are those that mean the same to everybody: ``[abc]``, ``[a-z]`` and ``[!a]``.
"""

import re
from dataclasses import dataclass

_FOLDERS = "(?:[^/]+/)*"
_SOME_FOLDERS = "(?:[^/]+/)*?"
_TOKEN = re.compile(r"\\(.)|\[([!^]?)((?:[\w.]-[\w.]|[\w. ])+)\]|(\*+)|(\?)|([^\\\[])", re.ASCII | re.DOTALL)
_IN_CLASS = re.compile(r"[\w.]-[\w.]|[\w. ]", re.ASCII)

# What closes an expression, and what stands for "all inside", by (contents, only_folders). The group's name is
# pathspec's: it holds something when a folder above the path was named.
_CLOSINGS = {
    (True, False): (r"(?:(?P<ps_d>/)|\Z)", "(?=[^/])"),
    (True, True): ("(?P<ps_d>/)", "[^/]+(?P<ps_d>/)"),
    (False, False): (r"/?\Z", r"[^/](?s:.*)\Z"),
    (False, True): (r"/\Z", r"(?:[^/]+/)+\Z"),
}


@dataclass(frozen=True, slots=True)
class Translated:
    """What a line means.

    Attributes:
        include: whether it names paths; False where it takes them back.
        anywhere: whether it names them in every folder.
        text: the expression, to be tried at the top, or for ``anywhere`` at the start of every name.
    """

    include: bool
    anywhere: bool
    text: str

    def whole(self) -> str:
        """Give the expression to be tried on a path; of several places it takes the deepest."""
        return rf"\A{_FOLDERS if self.anywhere else ''}{self.text}"


def translate(line: str, *, contents: bool) -> Translated | None:
    """Translate a line; None for one that names nothing, or that git or this module does not know.

    With ``contents`` a name stands for all that lies in the folder of that name, too. Without, the expression is to
    be asked of each folder on the way, whose path ends in a slash.
    """
    trimmed = line if line.endswith("\\ ") else line.rstrip(" \t")
    body = trimmed.removeprefix("!")
    plain = body.removesuffix("/")
    segments = plain.removeprefix("/").split("/")
    if line.startswith("#") or "" in segments:
        return None
    runs = _runs(segments if "/" in plain else ["**", *segments])
    if runs is None:
        return None
    closing, inside = _CLOSINGS[contents, body.endswith("/")]
    text, anywhere = _joined(runs, closing, inside)
    return Translated(trimmed == body, anywhere, text)


def _runs(segments: list[str]) -> list[str] | None:
    """Give the expressions between the ``**`` of a pattern, empty ones too; None where a name is not known."""
    runs: list[list[str]] = [[]]
    for segment in segments:
        name = "" if segment == "**" else _name(segment)
        if name is None:
            return None
        if name:
            runs[-1].append(name)
        else:
            runs.append([])
    return ["/".join(run) for run in runs]


def _joined(runs: list[str], closing: str, inside: str) -> tuple[str, bool]:
    first, *rest = runs
    if not rest:
        return first + closing, False
    *between, last = rest
    head = f"{first}/" if first else ""
    skips = "".join(f"(?>{_SOME_FOLDERS}{run}/)" for run in between if run)
    if not last:
        return head + skips + inside, False
    anywhere = not head and not skips
    return (last if anywhere else head + skips + _FOLDERS + last) + closing, anywhere


def _name(segment: str) -> str | None:
    pieces, at = [""], 0
    while at < len(segment):
        token = _TOKEN.match(segment, at)
        if token is None or not _rising(token[3] or ""):
            return None
        if token[4]:
            pieces.append("")
        else:
            pieces[-1] += _one(token)
        at = token.end()
    first, *rest = pieces
    *between, last = rest or [""]
    stars = "".join(f"(?>[^/]*?{piece})" for piece in between if piece) + (f"[^/]*{last}" if rest else "")
    return rf"(?>(?=[^/]){first}{stars}(?=/|\Z))"


def _one(token: re.Match[str]) -> str:
    """Give the expression of a token that stands for one character."""
    if token[3]:
        return f"(?!/)[{'^' if token[2] else ''}{token[3]}]"
    return "[^/]" if token[5] else re.escape(token[1] or token[6])


def _rising(inside: str) -> bool:
    return all(part[0] <= part[-1] for part in _IN_CLASS.findall(inside))
