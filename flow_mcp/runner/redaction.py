"""Hide secrets in what a command wrote: granted values, in the forms of ``secret_forms``, and tokens by their shape.

It guards against accident: a test that prints its surroundings, a tool that shows a URL with its password. A program
that wants to tell a secret can spell it in a way that nobody looks for.

A stream is cut only where no secret can straddle the cut: what may be the beginning of one waits for what follows, up
to ``HELD_BYTES_MAX``, and no longer secret is known. Every pattern takes time linear in the output.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from flow_mcp.runner.secret_forms import forms
from flow_mcp.runner.token_shapes import PRIVATE_KEY, SHAPES, URL_CREDENTIALS, Shape

HELD_BYTES_MAX = 20 * 1024
"""More than the longest secret that is looked for."""

_APART_DIGITS = 8
_CONTEXT_BYTES = 1
_BREAKS = (b" ", b"\n", b"\t", b"\r")
_KEY_BEGINS = PRIVATE_KEY.begin.encode()
_KEY_HEAD = re.compile(rb"-----BEGIN[ A-Z0-9_]{0,72}(?:PRIVATE KEY(?: BLOCK)?-----|-{0,5}\Z)")
_KEY_END = re.compile(rb"-----END[ A-Z0-9_]{0,60}KEY(?: BLOCK)?-----")


@dataclass(frozen=True, slots=True)
class _Kind:
    """One way to find secrets.

    Attributes:
        pattern: matches one.
        name: says what was found.
        open_from: says from where on the end of some output may be the beginning of one.
        many: whether one name stands for many secrets.
    """

    pattern: re.Pattern[bytes]
    name: Callable[[bytes], str]
    open_from: Callable[[bytes], int]
    many: bool

    def mark(self, found: bytes, *, apart: bool) -> bytes:
        """Give what stands in place of a secret; if asked for ``apart``, another one for each secret."""
        name = self.name(found)
        if apart and self.many:
            name += " " + hashlib.sha256(found).hexdigest()[:_APART_DIGITS]
        before, after = (b"://", b"@") if name.startswith(URL_CREDENTIALS.name) else (b"", b"")
        return before + f"[redacted: {name}]".encode() + after

    def replaced(self, data: bytes, since: int, *, apart: bool) -> tuple[bytes, int]:
        """Hide every secret in whole data, and say where what begins at ``since`` is now."""
        given, at, now = bytearray(), 0, -1
        for found in self.pattern.finditer(data):
            given += data[at : found.start()]
            if now < 0 and found.end() > since:
                now = len(given) - max(0, found.start() - since)
            given += self.mark(found.group(), apart=apart)
            at = found.end()
        given += data[at:]
        return bytes(given), len(given) - (len(data) - since) if now < 0 else now


class _Strand:
    """Hides the secrets of one kind in a stream."""

    def __init__(self, kind: _Kind) -> None:
        self._kind = kind
        self._data = b""
        # How much of it was given already, and is there as the context of what follows.
        self._given = 0

    def take(self, chunk: bytes) -> bytes:
        self._data += chunk
        return self._give(max(self._kind.open_from(self._data), len(self._data) - HELD_BYTES_MAX))

    def finish(self) -> bytes:
        return self._give(len(self._data))

    def _give(self, until: int) -> bytes:
        pieces, at = [], self._given
        for found in self._kind.pattern.finditer(self._data, at) if until > at else ():
            if found.start() >= until:
                break
            pieces += [self._data[at : found.start()], self._kind.mark(found.group(), apart=False)]
            at = found.end()
        if at < until:
            pieces.append(self._data[at:until])
            at = until
        first = max(0, at - _CONTEXT_BYTES)
        self._data, self._given = self._data[first:], at - first
        return b"".join(pieces)


class Stream:
    """Hides secrets in bytes that come piece by piece; the result does not depend on the pieces."""

    def __init__(self, kinds: Iterable[_Kind]) -> None:
        """Begin with nothing held back."""
        self._strands = [_Strand(kind) for kind in kinds]

    def take(self, chunk: bytes) -> bytes:
        """Take the next bytes, and give what can be told by now."""
        for strand in self._strands:
            chunk = strand.take(chunk)
        return chunk

    def finish(self) -> bytes:
        """Give the rest."""
        rest = b""
        for strand in self._strands:
            rest = strand.take(rest) + strand.finish()
        return rest


class Redactor:
    """What is to be hidden in one command's output."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Take the values that are to be hidden, by the names of their variables."""
        known = forms(secrets)
        self._kinds = (_of_values(known), _TOKENS) if known else (_TOKENS,)

    def stream(self) -> Stream:
        """Begin a stream."""
        return Stream(self._kinds)

    def end_of(self, data: bytes, since: int) -> bytes:
        """Hide every secret in data, and give what begins at ``since``; a secret across it is hidden too."""
        for kind in self._kinds:
            data, since = kind.replaced(data, since, apart=False)
        return data[since:]

    def text(self, text: str) -> str:
        """Hide every secret in a text."""
        return self.end_of(text.encode("utf-8", "surrogateescape"), 0).decode("utf-8", "surrogateescape")

    def names(self, names: Sequence[str]) -> Sequence[str]:
        """Hide every secret in the names of cases, so that names which differ still do.

        Behind the kind of a token stands the beginning of its digest. Nothing can be guessed from it, since tokens are
        random; a granted value need not be, and its variable's name stands for it alone.
        """
        joined = "\n".join(names)
        # Seldom is there any: one look at all of them says so.
        return names if self.text(joined) == joined else [self._name(name) for name in names]

    def _name(self, name: str) -> str:
        data = name.encode("utf-8", "surrogateescape")
        for kind in self._kinds:
            data, _ = kind.replaced(data, 0, apart=True)
        return data.decode("utf-8", "surrogateescape")


def _of_values(known: Mapping[bytes, str]) -> _Kind:
    longest_first = sorted(known, key=len, reverse=True)

    def open_from(data: bytes) -> int:
        return min(_begun(data, form) for form in longest_first)

    pattern = re.compile(b"|".join(re.escape(form) for form in longest_first))
    return _Kind(pattern, lambda found: known[found], open_from, many=False)


def _begun(data: bytes, form: bytes) -> int:
    """Say where the end of the data begins that is the beginning of a form, but not all of it."""
    at = data.find(form[:1], max(0, len(data) - len(form) + 1))
    while at >= 0 and not form.startswith(data[at:]):
        at = data.find(form[:1], at + 1)
    return len(data) if at < 0 else at


def _open_token_from(data: bytes) -> int:
    """Say where the last word begins, or the private key that has not ended."""
    word = max(data.rfind(one) for one in _BREAKS) + 1
    key = data.rfind(_KEY_BEGINS, max(0, len(data) - HELD_BYTES_MAX))
    is_open = key >= 0 and _KEY_HEAD.match(data, key) is not None and _KEY_END.search(data, key) is None
    return min(word, key) if is_open else word


def _name_of_token(found: bytes) -> str:
    return next(shape.name for shape in _LONGEST_FIRST if found.startswith(shape.begin.encode()))


def _pattern(shape: Shape) -> str:
    begin = re.escape(shape.begin)
    # A token does not begin within a word; asked behind its beginning, where few come, that costs nothing.
    is_bounded = shape.begin[0].isalnum()
    return begin + (f"(?<![A-Za-z0-9]{begin})" if is_bounded else "") + shape.rest


def _tokens() -> _Kind:
    # By first letter, so that most positions are passed over at one look.
    ordered = sorted(_LONGEST_FIRST, key=lambda shape: shape.begin[0])
    branches = []
    for first, shapes in groupby(ordered, key=lambda shape: shape.begin[0]):
        letter = re.escape(first)
        branches.append(letter + "(?:" + "|".join(_pattern(shape).removeprefix(letter) for shape in shapes) + ")")
    return _Kind(re.compile("|".join(branches).encode()), _name_of_token, _open_token_from, many=True)


_LONGEST_FIRST = sorted(SHAPES, key=lambda shape: len(shape.begin), reverse=True)
_TOKENS = _tokens()

TOKENS_ALONE = Redactor({})
"""For a command that was granted no secret."""
