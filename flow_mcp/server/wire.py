"""Lines in, lines out: the text of the wire, without any descriptor.

A line is one JSON-RPC message in UTF-8. A line that is none is answered in one plain sentence, to the id that
it carries where one can be read, because a client that gets no answer waits until its own time runs out.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import ValidationError

from flow_mcp.server.strict_json import NotJsonError, is_text, parse

LINE_BYTES_MAX: Final = 8 * 1024 * 1024
"""A longer line is refused; nothing of it is parsed."""

_HEAD_BYTES: Final = 64 * 1024
_TAIL_BYTES: Final = 512

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Overlong:
    """What is kept of a line over the bound: enough to find whose request it is."""

    head: bytes
    tail: bytes


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no message, and who is told.

    Attributes:
        ids: the requests that are answered; None is answered to the client as a whole.
    """

    code: int
    sentence: str
    ids: tuple[RequestId | None, ...]

    def answers(self) -> list[JSONRPCError]:
        """Return one error answer an id."""
        error = ErrorData(code=self.code, message=self.sentence)
        return [JSONRPCError(jsonrpc="2.0", id=request_id, error=error) for request_id in self.ids]


class _Line:
    """The line that is arriving, and never more of it than the bound."""

    def __init__(self, line_bytes_max: int) -> None:
        self._max = line_bytes_max
        self._kept = bytearray()
        self._tail: bytes | None = None

    def add(self, piece: bytes) -> None:
        if self._tail is not None:
            self._tail = (self._tail + piece)[-_TAIL_BYTES:]
            return
        self._kept += piece
        if len(self._kept) > self._max:
            self._tail = bytes(self._kept[-_TAIL_BYTES:])
            del self._kept[_HEAD_BYTES:]

    def take(self) -> bytes | Overlong:
        kept, tail = bytes(self._kept), self._tail
        self._kept, self._tail = bytearray(), None
        return kept if tail is None else Overlong(kept, tail)


def split(read: Callable[[], bytes], line_bytes_max: int) -> Iterator[bytes | Overlong]:
    """Yield each line of a stream without its line feed, and last what stands after the last one.

    Args:
        read: returns the next piece of the stream, however long; empty at its end.
        line_bytes_max: of a longer line only the ends are kept.
    """
    line = _Line(line_bytes_max)
    while piece := read():
        *ends, rest = piece.split(b"\n")
        for end in ends:
            line.add(end)
            yield line.take()
        line.add(rest)
    yield line.take()


def read_message(line: bytes | Overlong) -> JSONRPCMessage | BadLine | None:
    """Return the message of a line, or why it is none, or None for a blank line.

    An answer of the client that cannot be read comes back as an error, so that whoever asked hears of it.
    """
    if isinstance(line, Overlong):
        return _unreadable("The line is longer than Flow reads.", line.head, line.tail)
    if not line.strip():
        return None
    try:
        return _message(parse(line))
    except NotJsonError as error:
        return _unreadable(str(error), line[:_HEAD_BYTES], line[_HEAD_BYTES:][-_TAIL_BYTES:])


def dump(message: JSONRPCMessage) -> bytes:
    """Return a message as one line that every client can read.

    Half a surrogate pair becomes `?`. An answer that is not JSON at all becomes an error with the same id,
    because its request must be answered; any other message that is not JSON is dropped.
    """
    try:
        return _encode(message.model_dump(by_alias=True, exclude_unset=True))
    except (TypeError, ValueError, RecursionError):
        _log.exception("a message to the client is not JSON")
    if not isinstance(message, JSONRPCResponse):
        return b""
    error = {"code": INTERNAL_ERROR, "message": "Flow made an answer that is not JSON."}
    return _encode({"jsonrpc": "2.0", "id": message.id, "error": error})


def _encode(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _message(value: object) -> JSONRPCMessage | BadLine:
    if isinstance(value, list):
        return _batch(value)
    if not isinstance(value, dict):
        kind = {str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")
        return BadLine(INVALID_REQUEST, f"A message is a JSON object; this line holds {kind}.", (None,))
    if "method" in value:
        return _call(value)
    if "result" in value or "error" in value:
        return _answer(value)
    sentence = 'The message has none of "method", "result" and "error": it asks and answers nothing.'
    return BadLine(INVALID_REQUEST, sentence, (_request_id(value.get("id")),))


def _request_id(value: object) -> RequestId | None:
    """Return an id that an answer can carry back unchanged, else None."""
    if isinstance(value, str):
        return value if is_text(value) and "\ufffd" not in value else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _batch(items: list[object]) -> BadLine:
    """Refuse a batch to every request in it: each of them waits for an answer of its own."""
    asked = [_request_id(item.get("id")) for item in items if isinstance(item, dict) and "method" in item]
    ids = tuple(request_id for request_id in asked if request_id is not None)
    sentence = "Flow takes no batches: send each message on a line of its own."
    return BadLine(INVALID_REQUEST, sentence, ids or (None,))


def _call(value: dict[str, Any]) -> JSONRPCMessage | BadLine:
    request_id = _request_id(value.get("id"))
    if sentence := _call_fault(value, request_id):
        return BadLine(INVALID_REQUEST, sentence, (request_id,))
    method, params = value["method"], value.get("params")
    if request_id is None:
        return JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
    return JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params)


def _call_fault(value: dict[str, Any], request_id: RequestId | None) -> str | None:
    if value.get("jsonrpc") != "2.0":
        return 'The message does not say "jsonrpc": "2.0".'
    if "id" in value and request_id is None:
        return 'The "id" of a request is a text or a whole number.'
    if not isinstance(value["method"], str):
        return 'The "method" of a message is a text.'
    if "result" in value or "error" in value:
        return 'The message has a "method" and an answer in one.'
    if not isinstance(value.get("params"), dict | None):
        return 'The "params" of a message are an object.'
    return None


def _answer(value: dict[str, Any]) -> JSONRPCMessage | BadLine:
    """Return the client's answer to a question of ours."""
    model = JSONRPCResponse if "result" in value else JSONRPCError
    try:
        return model.model_validate(value)
    except ValidationError:
        return _unreadable_answer(_request_id(value.get("id")))


def _unreadable_answer(request_id: RequestId | None) -> JSONRPCError | BadLine:
    if request_id is None:
        return BadLine(INVALID_REQUEST, "The client's answer names no question.", ())
    error = ErrorData(code=INVALID_REQUEST, message="The client's answer cannot be read.")
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _unreadable(sentence: str, head: bytes, tail: bytes) -> JSONRPCError | BadLine:
    """Tell what is wrong with a line to whoever waits: a request of the client, or a question of ours."""
    seen = _glance(head.decode("utf-8", "replace"))
    ids = [*seen.get("id", []), *_TAIL_ID.findall(tail.decode("utf-8", "replace"))]
    request_id = _request_id(_scalar(ids[0])) if len(ids) == 1 else None
    if "method" not in seen and ("result" in seen or "error" in seen):
        return _unreadable_answer(request_id)
    return BadLine(PARSE_ERROR, sentence, (request_id,))


# Possessive, so that a hostile line costs one pass; a string that never closes reaches to the end.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]:,]|[^\s"{}\[\]:,]++')

# Some clients write the id last. An unescaped quote cannot stand inside a string, so this finds a member.
_TAIL_ID = re.compile(r'[,{]\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*}\s*$')


def _glance(text: str) -> dict[str, list[str]]:
    """Return the first word after each key of the outermost object, as far as a broken line lets it be read.

    A word that touches the end of the text is left out: more of it may be missing.
    """
    found: dict[str, list[str]] = {}
    depth, last, key = 0, "", ""
    for match in _TOKEN.finditer(text):
        word = match[0]
        if depth == 1 and key and match.end() < len(text):
            found.setdefault(str(_scalar(key)), []).append(word)
        key = last if depth == 1 and word == ":" else ""
        depth += (word in "{[") - (word in "}]")
        last = word
    return found


def _scalar(word: str) -> object:
    try:
        return json.loads(word)
    except ValueError:
        return None
