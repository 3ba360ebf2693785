"""What differs between two sources, path by path: computed from their manifests and kept bytes, bounded, in order.

Tests and frozen files come first, then what lies outside the targets, then the rest, so that a weakened test does not
hide behind a long generated file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.paths import raw_path
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED, matches
from flow_mcp.workspace.source import Manifest, SourceEntry
from flow_mcp.workspace.unified import Effort, Unified, unified

What = Literal["added", "removed", "changed", "mode changed", "kind changed"]
Reader = Callable[[SourceEntry], bytes | None]
"""Gives a file's bytes as they lay there, or a link's target; None where they are not kept or more than the maximum."""

READ_BYTES_MAX = 16 * 1024 * 1024
"""What a reader gives of one file at most, in bytes."""

TEXT_BYTES_MAX = 2 * 1024 * 1024
TEXT_LINES_MAX = 100_000
EFFORT_STEPS = 100_000_000
"""Of matching lines, for one answer: about a second at worst."""

_READ_COST_BYTES = 4096
_HEADING_CHARACTERS = 160
_SHARE = 4
_NAMES_SHARE = 10
_EMPTY = digest_bytes(b"")
_WORDS = {"file": "a file", "link": "a link", "special": "a pipe, socket or device", "nested": "a nested repository"}


@dataclass(frozen=True, slots=True)
class Change:
    """A path at which two sources differ.

    Attributes:
        path: printable, as in the manifests.
        before: what was there.
        after: what is there.
        is_test: a test, what steers one, or a file that the plan froze.
        is_outside: outside the targets.
        twin: a path with the same bytes that went where this one came, or came where this one went; a hint only.
    """

    path: str
    before: SourceEntry | None
    after: SourceEntry | None
    is_test: bool
    is_outside: bool
    twin: str | None

    @property
    def what(self) -> What:
        """Say what happened."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        if self.before.kind != self.after.kind:
            return "kind changed"
        return "mode changed" if self.before.digest == self.after.digest else "changed"


@dataclass(frozen=True, slots=True)
class Reads:
    """Where the bytes of either side come from."""

    before: Reader
    after: Reader


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is shown.

    Attributes:
        characters_max: of everything together, as ``measure`` counts.
        line_characters_max: of one line.
        read_bytes_max: what is read of all files together; the rest is named and not counted.
        with_moves: show the contents of a file that has its bytes from one that went, and of the one that went.
        measure: how many characters a text costs.
    """

    characters_max: int
    line_characters_max: int
    read_bytes_max: int
    with_moves: bool
    measure: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Difference:
    """One path as it is shown.

    Attributes:
        change: what changed.
        added: how many lines came; None where they were not counted.
        removed: how many lines went; None where they were not counted.
        notes: sentences on what lines do not show.
        text: the unified difference, as far as it is shown; every character of it can be seen.
        lines_left_out: how many lines of it are not shown.
    """

    change: Change
    added: int | None
    removed: int | None
    notes: tuple[str, ...]
    text: str
    lines_left_out: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What there was no room for: whole paths, some of them by name, and their lines as far as they were counted."""

    paths: int
    lines: int
    uncounted: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """What is shown, in order, and what is not."""

    shown: tuple[Difference, ...]
    left_out: LeftOut


def changed_between(before: Manifest, after: Manifest) -> tuple[str, ...]:
    """Give the paths whose kind, bytes or executable bit differ, in the order of the paths' bytes."""
    old, new = before.present(), after.present()
    return tuple(sorted((path for path in old.keys() | new.keys() if old.get(path) != new.get(path)), key=raw_path))


def changes(before: Manifest, after: Manifest, frozen: Collection[str], outside: Collection[str]) -> tuple[Change, ...]:
    """Compare two manifests (row attest.changed-paths).

    Args:
        before: the source as it was.
        after: the source as it is.
        frozen: paths that come first, beside those that ``DEFAULT_PROTECTED`` names.
        outside: paths outside the targets, which come next.
    """
    old, new = before.present(), after.present()
    paths = changed_between(before, after)
    tests = matches(DEFAULT_PROTECTED, paths) | frozenset(frozen)
    gone = _by_bytes(old[path] for path in paths if path not in new)
    come = _by_bytes(new[path] for path in paths if path not in old)

    def change(path: str) -> Change:
        was, now = old.get(path), new.get(path)
        twins = gone if was is None else come if now is None else {}
        entry = now or was
        twin = None if entry is None else twins.get(entry.digest)
        return Change(path, was, now, path in tests, path in outside, twin)

    return tuple(sorted(map(change, paths), key=lambda each: (not each.is_test, not each.is_outside)))


def _by_bytes(entries: Iterable[SourceEntry]) -> dict[str, str]:
    """Give the first path of each content; empty files say nothing of where they came from."""
    found: dict[str, str] = {}
    for entry in entries:
        if entry.kind == "file" and entry.digest != _EMPTY:
            found.setdefault(entry.digest, entry.path)
    return found


def differences(changed: Sequence[Change], reads: Reads, bounds: Bounds) -> Differences:
    """Show what changed, as much as the bounds let; what is first in order is first in room.

    No file takes more than a quarter of the room before each had its turn; what is left then goes to those that
    were cut, in the same order.
    """
    filling = _Filling(bounds)
    effort, left_bytes = Effort(EFFORT_STEPS), bounds.read_bytes_max
    for change in changed:
        if left_bytes <= 0:
            filling.leave_out(change.path, None)
            continue
        piece, read_bytes = _piece(change, reads, bounds, effort)
        left_bytes -= read_bytes + _READ_COST_BYTES
        filling.take(piece)
    return filling.done()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A change, with its lines where it has some; no ``parts`` where they are not counted."""

    change: Change
    notes: tuple[str, ...]
    parts: tuple[Unified, ...] | None
    is_shown: bool

    def total(self) -> int | None:
        """Count the lines that ``lines`` gives; None where they are not counted."""
        if self.parts is None:
            return None
        return sum(part.total() for part in self.parts) if self.is_shown else 0

    def lines(self) -> Iterator[str]:
        """Give what is shown, line by line."""
        return chain.from_iterable(part.lines() for part in self.parts or () if self.is_shown)


class _Taken:
    """A piece with the lines that it has got so far."""

    def __init__(self, piece: _Piece, bounds: Bounds) -> None:
        self.piece = piece
        self.total = piece.total() or 0
        self._bounds = bounds
        self._lines = piece.lines()
        self._kept: list[str] = []
        self._next = next(self._lines, None)

    def fill(self, room: int) -> int:
        """Take lines while they fit, and give what they cost."""
        spent = 0
        while self._next is not None:
            line = _cut(self._next, self._bounds.line_characters_max)
            cost = self._bounds.measure(line + "\n")
            if spent + cost > room:
                break
            spent += cost
            self._kept.append(line)
            self._next = next(self._lines, None)
        return spent

    def done(self) -> Difference:
        """Give the path as it is shown."""
        parts = self.piece.parts
        return Difference(
            change=self.piece.change,
            added=None if parts is None else sum(part.added for part in parts),
            removed=None if parts is None else sum(part.removed for part in parts),
            notes=self.piece.notes,
            text="".join(f"{line}\n" for line in self._kept),
            lines_left_out=self.total - len(self._kept),
        )


class _Filling:
    """Spreads the room over the pieces."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._names_room = bounds.characters_max // _NAMES_SHARE
        self._room = bounds.characters_max - self._names_room
        self._share = self._room // _SHARE
        self._taken: list[_Taken] = []
        self._names: list[str] = []
        self._paths = self._lines = self._uncounted = 0

    def take(self, piece: _Piece) -> None:
        """Give a piece its heading and its share, or leave it out."""
        heading = _HEADING_CHARACTERS + sum(map(self._bounds.measure, (piece.change.path, *piece.notes)))
        if heading > self._room:
            self.leave_out(piece.change.path, piece.total())
            return
        taken = _Taken(piece, self._bounds)
        self._room -= heading
        self._room -= taken.fill(min(self._room, self._share))
        self._taken.append(taken)

    def leave_out(self, path: str, lines: int | None) -> None:
        """Count a path, and name it where there is room for names."""
        self._paths += 1
        self._lines += lines or 0
        self._uncounted += lines is None
        cost = self._bounds.measure(path)
        if cost <= self._names_room:
            self._names_room -= cost
            self._names.append(path)

    def done(self) -> Differences:
        """Give what is left of the room to those that were cut."""
        if not self._paths:
            self._room += self._names_room
        for taken in self._taken:
            self._room -= taken.fill(self._room)
        left_out = LeftOut(self._paths, self._lines, self._uncounted, tuple(self._names))
        return Differences(tuple(taken.done() for taken in self._taken), left_out)


def _cut(line: str, characters_max: int) -> str:
    beyond = len(line) - characters_max
    return line if beyond <= 0 else f"{line[:characters_max]}… ({beyond:,} more characters)"


def _piece(change: Change, reads: Reads, bounds: Bounds, effort: Effort) -> tuple[_Piece, int]:
    """Look at one change, and say how many bytes were read for it."""
    notes = list(_notes(change))
    if change.what == "mode changed":
        return _Piece(change, tuple(notes), (), is_shown=False), 0
    before, why_before = _content(change.before, reads.before)
    after, why_after = _content(change.after, reads.after)
    read_bytes = len(before or b"") + len(after or b"")
    if before is None or after is None:
        notes += [f"Before: {why_before}"] * (before is None) + [f"After: {why_after}"] * (after is None)
        return _Piece(change, (*notes, _digests(change)), None, is_shown=False), read_bytes
    hidden = _hidden(before, after)
    if hidden is not None:
        notes.append(f"{hidden}: {_sizes(change, before, after)}. {_digests(change)}")
        return _Piece(change, tuple(notes), None, is_shown=False), read_bytes
    is_apart = change.what == "kind changed"
    pairs = ((before, b""), (b"", after)) if is_apart else ((before, after),)
    parts = tuple(unified(old, new, effort) for old, new in pairs)
    return _Piece(change, tuple(notes), parts, is_shown=bounds.with_moves or change.twin is None), read_bytes


def _notes(change: Change) -> Iterator[str]:
    was, now = change.before, change.after
    if was is not None and now is not None:
        if was.kind != now.kind:
            yield f"It was {_WORDS[was.kind]} and is {_WORDS[now.kind]}."
        elif was.kind == "special":
            yield f"It is {_WORDS[now.kind]} of another type."
        if was.executable != now.executable:
            yield "It can be executed now." if now.executable else "It cannot be executed any more."
    else:
        entry = now or was
        if entry is not None and entry.kind != "file":
            yield f"It {'is' if was is None else 'was'} {_WORDS[entry.kind]}."
        if entry is not None and entry.executable:
            yield f"It {'can' if was is None else 'could'} be executed."
    if change.twin is not None:
        went = "the removed" if was is None else "the added"
        yield f"It has the same bytes as {went} {change.twin}, so it may have been moved."


def _content(entry: SourceEntry | None, read: Reader) -> tuple[bytes | None, str]:
    """Give what lines are made of, or None and why there is nothing."""
    if entry is None or entry.kind not in ("file", "link"):
        return b"", ""
    try:
        data = read(entry)
    except BrokenWorld as error:
        return None, f"{error.seen} {error.remedy}"
    if data is None:
        return None, f"its bytes are not kept here, or are more than {READ_BYTES_MAX:,}."
    if entry.kind == "link":
        return data + b"\n", ""
    # Its digest is of these line endings; others would show as a change of every line.
    return data.replace(b"\r\n", b"\n") if entry.raw else data, ""


def _hidden(before: bytes, after: bytes) -> str | None:
    """Say why lines are not shown; None where they can be."""
    if b"\0" in before or b"\0" in after:
        return "Binary"
    largest = max(len(before), len(after))
    lines = max(before.count(b"\n"), after.count(b"\n"))
    return "Too large to show" if largest > TEXT_BYTES_MAX or lines > TEXT_LINES_MAX else None


def _sizes(change: Change, before: bytes, after: bytes) -> str:
    sides = ((change.before, before, "before"), (change.after, after, "after"))
    return ", ".join(f"{len(data):,} bytes {when}" for entry, data, when in sides if entry is not None)


def _digests(change: Change) -> str:
    sides = ((change.before, "before"), (change.after, "after"))
    told = ", ".join(f"{entry.digest} {when}" for entry, when in sides if entry is not None and entry.digest)
    return f"Digests: {told}."
