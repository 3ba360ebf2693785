"""The difference of two texts by lines, found in bounded time, with nothing in it that acts on a screen.

Lines that both texts have exactly once divide them; what lies between is matched by ``difflib`` as long as the
effort lasts. Beyond it a stretch is shown as taken away and put anew: longer than needed, and never wrong.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

CONTEXT_LINES = 3
NO_NEWLINE = "\\ No newline at end of file"

# What a person cannot see or what steers a screen: controls but tab, marks that reorder a line, characters without
# width, halves of characters (which stand for bytes that are no UTF-8).
_UNSEEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_BYTE_FIRST, _BYTE_LAST, _BYTE_BASE = 0xDC80, 0xDCFF, 0xDC00
_REPEATED = -1


class Effort:
    """What is left of the steps that matching lines may take."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        """Take steps where so many are left, and say whether they were."""
        if steps > self.left:
            return False
        self.left -= steps
        return True


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines ``old`` to ``old_end`` of the one text, and ``new`` to ``new_end`` of the other, counted from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Unified:
    """Two texts by lines, and the stretches in which they differ, in order."""

    before: Sequence[bytes]
    after: Sequence[bytes]
    stretches: tuple[Stretch, ...]

    @property
    def removed(self) -> int:
        """How many lines went."""
        return sum(each.old_end - each.old for each in self.stretches)

    @property
    def added(self) -> int:
        """How many lines came."""
        return sum(each.new_end - each.new for each in self.stretches)

    def total(self) -> int:
        """Count the lines that ``lines`` gives."""
        return sum(1 if raw is None or raw.endswith(b"\n") else 2 for _, raw in self._marked())

    def lines(self) -> Iterator[str]:
        """Give the unified difference, each line printable and without its end."""
        for mark, raw in self._marked():
            if raw is None:
                yield mark
            else:
                yield mark + visible(raw.removesuffix(b"\n"))
                if not raw.endswith(b"\n"):
                    yield NO_NEWLINE

    def _marked(self) -> Iterator[tuple[str, bytes | None]]:
        """Give each line with its mark; a hunk's heading stands alone."""
        for hunk in _hunks(self.stretches):
            around = _around(hunk, len(self.before))
            old, new = _range(around.old, around.old_end), _range(around.new, around.new_end)
            yield f"@@ -{old} +{new} @@", None
            at = around.old
            for each in hunk:
                yield from ((" ", line) for line in self.before[at : each.old])
                yield from (("-", line) for line in self.before[each.old : each.old_end])
                yield from (("+", line) for line in self.after[each.new : each.new_end])
                at = each.old_end
            yield from ((" ", line) for line in self.before[at : around.old_end])


def unified(before: bytes, after: bytes, effort: Effort) -> Unified:
    """Compare two texts; a line ends with a newline and with nothing else."""
    old, new = split_lines(before), split_lines(after)
    found = sorted(_stretches(old, new, effort), key=lambda each: (each.old, each.new))
    return Unified(old, new, tuple(found))


def split_lines(data: bytes) -> list[bytes]:
    """Split bytes into lines with their ends; the last one may have none."""
    *whole, rest = data.split(b"\n")
    return [*(line + b"\n" for line in whole), *([rest] if rest else [])]


def visible(raw: bytes) -> str:
    """Write bytes as text in which everything can be seen: ``<U+202E>`` for a character, ``<0xFF>`` for a byte."""
    return _UNSEEN.sub(_written, raw.decode("utf-8", "surrogateescape"))


def _written(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"<0x{code - _BYTE_BASE:02X}>" if _BYTE_FIRST <= code <= _BYTE_LAST else f"<U+{code:04X}>"


def _stretches(old: Sequence[bytes], new: Sequence[bytes], effort: Effort) -> Iterator[Stretch]:
    """Give what differs, in no order: what is equal at the ends goes first, then what stands once in both divides."""
    waiting = [Stretch(0, len(old), 0, len(new))]
    while waiting:
        here = _stripped(old, new, waiting.pop())
        if here.old == here.old_end or here.new == here.new_end:
            if (here.old, here.new) != (here.old_end, here.new_end):
                yield here
        elif not effort.spend(here.old_end - here.old + here.new_end - here.new):
            yield here
        elif anchors := _anchors(old, new, here):
            waiting += _between(here, anchors)
        else:
            yield from _matched(old, new, here, effort)


def _stripped(old: Sequence[bytes], new: Sequence[bytes], here: Stretch) -> Stretch:
    start, start_new, end, end_new = here.old, here.new, here.old_end, here.new_end
    while start < end and start_new < end_new and old[start] == new[start_new]:
        start, start_new = start + 1, start_new + 1
    while start < end and start_new < end_new and old[end - 1] == new[end_new - 1]:
        end, end_new = end - 1, end_new - 1
    return Stretch(start, end, start_new, end_new)


def _anchors(old: Sequence[bytes], new: Sequence[bytes], here: Stretch) -> list[tuple[int, int]]:
    """Give the longest rising row of lines that stand exactly once in both, as pairs of their places."""
    once, once_new = _once(old, here.old, here.old_end), _once(new, here.new, here.new_end)
    pairs = [(at, once_new.get(line, _REPEATED)) for line, at in once.items() if at != _REPEATED]
    return _rising([(at, at_new) for at, at_new in pairs if at_new != _REPEATED])


def _once(lines: Sequence[bytes], start: int, end: int) -> dict[bytes, int]:
    """Give each line's place, or that it stands there more than once; in the order of the places."""
    places: dict[bytes, int] = {}
    for at in range(start, end):
        places[lines[at]] = _REPEATED if lines[at] in places else at
    return places


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give a longest subsequence whose second places rise, as the first ones do."""
    tops: list[int] = []
    at_top: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(at_top[pile - 1] if pile else _REPEATED)
        tops[pile : pile + 1] = [place]
        at_top[pile : pile + 1] = [number]
    found: list[tuple[int, int]] = []
    number = at_top[-1] if at_top else _REPEATED
    while number != _REPEATED:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _between(here: Stretch, anchors: Sequence[tuple[int, int]]) -> Iterator[Stretch]:
    ends = [(here.old - 1, here.new - 1), *anchors, (here.old_end, here.new_end)]
    for (left, left_new), (right, right_new) in pairwise(ends):
        yield Stretch(left + 1, right, left_new + 1, right_new)


def _matched(old: Sequence[bytes], new: Sequence[bytes], here: Stretch, effort: Effort) -> Iterator[Stretch]:
    """Match lines that repeat, where that is affordable; ``difflib`` looks at each equal pair once a match."""
    one, other = old[here.old : here.old_end], new[here.new : here.new_end]
    counts, counts_new = Counter(one), Counter(other)
    pairs = sum(count * counts_new[line] for line, count in counts.items())
    matches = sum(min(count, counts_new[line]) for line, count in counts.items())
    if not pairs or not effort.spend((len(one) + pairs) * (1 + matches)):
        yield here
        return
    for tag, start, end, start_new, end_new in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Stretch(here.old + start, here.old + end, here.new + start_new, here.new + end_new)


def _hunks(stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """Put stretches together whose context would touch."""
    hunk: list[Stretch] = []
    for each in stretches:
        if hunk and each.old - hunk[-1].old_end > 2 * CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(each)
    if hunk:
        yield hunk


def _around(hunk: Sequence[Stretch], old_lines: int) -> Stretch:
    first, last = hunk[0], hunk[-1]
    above = min(CONTEXT_LINES, first.old)
    below = min(CONTEXT_LINES, old_lines - last.old_end)
    return Stretch(first.old - above, last.old_end + below, first.new - above, last.new_end + below)


def _range(start: int, end: int) -> str:
    """Write a range of lines, counted from 1, as ``diff -u`` does."""
    length = end - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"
