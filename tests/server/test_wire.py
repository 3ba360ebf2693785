"""The text of the wire: lines are cut right however they arrive, and every message becomes one line."""

import json
import logging
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from flow_mcp.server.strict_json import DEPTH_MAX, DIGITS_MAX
from flow_mcp.server.wire import BadLine, Overlong, dump, read_message, split


def _split(pieces: Iterable[bytes], line_bytes_max: int) -> list[bytes | Overlong]:
    arriving = iter([*pieces, b""])
    return [*split(lambda: next(arriving), line_bytes_max)]


@settings(deadline=None)
@given(st.binary(max_size=200), st.lists(st.integers(1, 20)))
def test_lines_are_the_same_however_the_stream_is_cut(data: bytes, cuts: list[int]) -> None:
    pieces, rest = [], data
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert _split([piece for piece in [*pieces, rest] if piece], 200) == data.split(b"\n")


def test_the_bound_is_taken_and_one_byte_more_is_not() -> None:
    assert _split([b"12345\n123", b"456\n1"], 5) == [b"12345", Overlong(b"123456", b"123456"), b"1"]


def test_of_an_overlong_line_only_the_ends_are_kept() -> None:
    (line, rest) = _split([b"a" * 100_000, b"b" * 100_000, b"c" * 600, b"d\n"], 150_000)
    assert line == Overlong(b"a" * 65_536, b"c" * 511 + b"d")
    assert rest == b""


@pytest.mark.parametrize(
    ("head", "tail", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"xxx', b"xxx", 7),
        (b'{"method":"x","params":{"id":1,"a":"xxx', b'xxx"},"jsonrpc":"2.0","id":"end"}', "end"),
        (b'{"method":"x","params":{"a":"xxx', b'xxx"},"jsonrpc":"2.0", "id" : -5 } ', -5),
        (b'{"method":"x","params":{"a":"xxx', b'"b":{"id":5}}', None),
        (b'{"method":"x","id":1,"params":{"a":"xxx', b'xxx"},"id":2}', None),
        (b'{"method":"x","id":[5],"params":{"a":"xxx', b"xxx", None),
        (b"xxx", b"xxx", None),
    ],
)
def test_an_overlong_request_is_answered_by_its_id_wherever_it_stands(
    head: bytes, tail: bytes, request_id: int | str | None
) -> None:
    bad = read_message(Overlong(head, tail))
    assert bad == BadLine(-32700, "The line is longer than Flow reads.", (request_id,))


def test_an_overlong_answer_is_an_error_for_whoever_asked() -> None:
    message = read_message(Overlong(b'{"jsonrpc":"2.0","id":7,"result":{"a":"xxx', b"xxx"))
    assert isinstance(message, JSONRPCError)
    assert message.id == 7


@pytest.mark.parametrize(
    "word",
    [b'"' * 60_000, b'\\"' * 60_000, b'"\\' * 60_000, b"[{" * 60_000, b"a:" * 60_000, b"[]" * 80 + b'"\\' * 60_000],
)
def test_a_hostile_line_costs_one_pass(word: bytes) -> None:
    started = time.process_time()
    assert isinstance(read_message(b'{"id":1,"method":' + word), BadLine)
    assert time.process_time() - started < 2


@settings(deadline=None)
@given(st.text() | st.binary().map(repr))
def test_any_text_is_a_message_or_refused(text: str) -> None:
    read_message(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"x","extra":true}', JSONRPCRequest),
        (b'{"jsonrpc":"2.0","id":"1","method":"x","params":null}', JSONRPCRequest),
        (b'{"jsonrpc":"2.0","method":"x","params":{}}', JSONRPCNotification),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', JSONRPCResponse),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}', JSONRPCError),
    ],
)
def test_each_kind_of_message_is_read_as_such(line: bytes, kind: type[JSONRPCMessage]) -> None:
    assert type(read_message(line)) is kind


def test_the_bounds_of_a_value_are_taken() -> None:
    value = (
        "[" * (DEPTH_MAX - 3)
        + "9" * DIGITS_MAX
        + ', "[[[['
        + '", "\\ud83d\\ude00", [], 1.5e300'
        + "]" * (DEPTH_MAX - 3)
    )
    line = f'{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{value},"b":[{"[]," * 80}1]}}}}'
    message = read_message(line.encode())
    assert isinstance(message, JSONRPCRequest)
    assert message.params == json.loads(line)["params"]


def _response(result: dict[str, Any]) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=7, result=result)


def test_a_message_is_one_line_of_utf_8() -> None:
    line = dump(_response({"a": "ä\n\r\u2028", "b": "\ud800"}))
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 7, "result": {"a": "ä\n\r\u2028", "b": "?"}}


@pytest.mark.parametrize("value", [float("inf"), object()])
def test_an_answer_that_is_no_json_becomes_an_error_with_its_id(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL):
        line = dump(_response({"a": value}))
    assert json.loads(line)["id"] == 7
    assert json.loads(line)["error"] == {"code": -32603, "message": "Flow made an answer that is not JSON."}


def test_a_notification_that_is_no_json_is_dropped() -> None:
    assert dump(JSONRPCNotification(jsonrpc="2.0", method="x", params={"a": float("nan")})) == b""
