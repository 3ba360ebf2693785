"""Hostile lines: each gets its own answer, to the id it carries where that can be read, and the server goes on."""

import json
from typing import NamedTuple

import pytest
from mcp_types import JSONRPCError

from flow_mcp.server.strict_json import DEPTH_MAX, DIGITS_MAX
from flow_mcp.server.wire import BadLine, read_message
from tests.server.rig import Rig


class Hostile(NamedTuple):
    what: str
    line: bytes
    code: int
    id: int | str | None
    sentence: str


def _nested(depth: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":' + b"[" * depth + b"]" * depth + b"}}"


HOSTILE = [
    Hostile("no JSON", b"hello", -32700, None, "The line is not JSON: it goes wrong at character 1."),
    Hostile(
        "cut off between words",
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{',
        -32700,
        2,
        "The line breaks off: its JSON ends before the last bracket closes.",
    ),
    Hostile(
        "two messages",
        b'{"jsonrpc":"2.0","id":3,"method":"ping"} {"jsonrpc":"2.0","method":"ping"}',
        -32700,
        3,
        "The line holds more than one JSON value; the second starts at character 42.",
    ),
    Hostile(
        "half a pair",
        rb'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"\ud800"}}',
        -32700,
        4,
        "The line holds half of a surrogate pair, which is no character.",
    ),
    Hostile("too deep", _nested(DEPTH_MAX), -32700, 5, "The line nests objects and lists more than 64 deep."),
    Hostile(
        "no UTF-8",
        b'{"jsonrpc":"2.0","id":6,"method":"\xff"}',
        -32700,
        6,
        "The line is not UTF-8: byte 0xff at offset 34.",
    ),
    Hostile(
        "a byte order mark",
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"ping"}',
        -32700,
        7,
        "The line starts with a byte order mark: send plain UTF-8.",
    ),
    Hostile(
        "a NUL",
        b'{"jsonrpc":"2.0","id":8,"method":"pi\0ng"}',
        -32700,
        8,
        "The line holds a NUL at character 37.",
    ),
    Hostile(
        "no number",
        b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":NaN}}',
        -32700,
        9,
        "The line holds NaN, which is not JSON.",
    ),
    Hostile(
        "endless in effect",
        b'{"jsonrpc":"2.0","id":11,"method":"x","params":{"a":1e999}}',
        -32700,
        11,
        "The line holds a number that is too large to be read back.",
    ),
    Hostile(
        "a number as long as a book",
        b'{"jsonrpc":"2.0","id":12,"method":"x","params":{"a":' + b"9" * 100_000 + b"}}",
        -32700,
        12,
        f"The line holds a number of more than {DIGITS_MAX} digits.",
    ),
    Hostile(
        "two ids",
        b'{"jsonrpc":"2.0","id":13,"id":14,"method":"ping"}',
        -32700,
        None,
        'The line names "id" twice in one object.',
    ),
    Hostile("a text", b'"ping"', -32600, None, "A message is a JSON object; this line holds a text."),
    Hostile("a number", b"16", -32600, None, "A message is a JSON object; this line holds a number."),
    Hostile("a truth", b"true", -32600, None, "A message is a JSON object; this line holds true or false."),
    Hostile("null", b"null", -32600, None, "A message is a JSON object; this line holds null."),
    Hostile(
        "an empty batch",
        b"[]",
        -32600,
        None,
        "Flow takes no batches: send each message on a line of its own.",
    ),
    Hostile(
        "nothing in it",
        b'{"jsonrpc":"2.0","id":17}',
        -32600,
        17,
        'The message has none of "method", "result" and "error": it asks and answers nothing.',
    ),
    Hostile(
        "another protocol",
        b'{"jsonrpc":"1.0","id":18,"method":"ping"}',
        -32600,
        18,
        'The message does not say "jsonrpc": "2.0".',
    ),
    Hostile(
        "an id that is true",
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        -32600,
        None,
        'The "id" of a request is a text or a whole number.',
    ),
    Hostile(
        "a method that is none",
        b'{"jsonrpc":"2.0","id":19,"method":["ping"]}',
        -32600,
        19,
        'The "method" of a message is a text.',
    ),
    Hostile(
        "parameters in a row",
        b'{"jsonrpc":"2.0","id":20,"method":"ping","params":[1]}',
        -32600,
        20,
        'The "params" of a message are an object.',
    ),
    Hostile(
        "question and answer in one",
        b'{"jsonrpc":"2.0","id":21,"method":"ping","result":{}}',
        -32600,
        21,
        'The message has a "method" and an answer in one.',
    ),
]
"""Each with a fault of its own."""

VARIANTS = [
    Hostile(
        "a mark too many",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"!}',
        -32700,
        1,
        "The line is not JSON: it goes wrong at character 40.",
    ),
    Hostile(
        "cut off",
        b'{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"ec',
        -32700,
        "two",
        "The line breaks off: its JSON ends before the last bracket closes.",
    ),
    Hostile(
        "cut off in its id",
        b'{"jsonrpc":"2.0","id":12',
        -32700,
        None,
        "The line breaks off: its JSON ends before the last bracket closes.",
    ),
    Hostile(
        "half a pair as its id",
        rb'{"jsonrpc":"2.0","id":"\udc00","method":"ping"}',
        -32700,
        None,
        "The line holds half of a surrogate pair, which is no character.",
    ),
    Hostile("absurdly deep", _nested(100_000), -32700, 5, "The line nests objects and lists more than 64 deep."),
    Hostile(
        "UTF-16",
        '{"id":7}'.encode("utf-16"),
        -32700,
        None,
        "The line is not UTF-8: byte 0xff at offset 0.",
    ),
    Hostile(
        "endless",
        b'{"jsonrpc":"2.0","id":10,"method":"x","params":{"a":-Infinity}}',
        -32700,
        10,
        "The line holds -Infinity, which is not JSON.",
    ),
    Hostile(
        "a raw control character",
        b'{"jsonrpc":"2.0","id":15,"method":"pi\x01ng"}',
        -32700,
        15,
        "The line is not JSON: it goes wrong at character 38.",
    ),
]
"""The same faults in other clothes."""


@pytest.mark.parametrize("hostile", [*HOSTILE, *VARIANTS], ids=lambda hostile: hostile.what)
def test_a_hostile_line_is_answered_in_its_own_words(hostile: Hostile) -> None:
    bad = read_message(hostile.line)
    assert isinstance(bad, BadLine)
    assert bad == BadLine(hostile.code, hostile.sentence, (hostile.id,))


def test_no_two_faults_are_told_in_the_same_words() -> None:
    assert len({hostile.sentence for hostile in HOSTILE}) == len(HOSTILE) >= 20


def test_the_server_answers_every_hostile_line_and_goes_on(shared: Rig) -> None:
    for hostile in (*HOSTILE, *VARIANTS):
        shared.send_bytes(hostile.line + b"\n")
        answer = shared.read()
        assert answer == {
            "jsonrpc": "2.0",
            "id": hostile.id,
            "error": {"code": hostile.code, "message": hostile.sentence},
        }
    assert shared.call("echo")["isError"] is False


def test_hostile_lines_before_the_first_request_do_not_spoil_the_connection(fresh: Rig) -> None:
    for hostile in (*HOSTILE, *VARIANTS):
        fresh.send_bytes(hostile.line + b"\n")
        assert fresh.read()["id"] == hostile.id
    fresh.modern()


def test_every_request_of_a_batch_is_answered(shared: Rig) -> None:
    batch = [{"jsonrpc": "2.0", "id": request_id, "method": "ping"} for request_id in (31, "x")]
    shared.send_bytes(json.dumps([*batch, {"jsonrpc": "2.0", "method": "n"}, 5]).encode() + b"\n")
    assert [shared.read()["id"], shared.read()["id"]] == [31, "x"]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "`params.name` is missing."),
        ({"name": 5}, "`params.name` must be a text; 5 was given."),
        ({"name": "echo", "arguments": []}, "`params.arguments` must be an object; [] was given."),
        (
            {"name": "echo", "_meta": {"progressToken": []}},
            "`params._meta.progressToken` must be a text or a whole number; [] was given.",
        ),
    ],
)
def test_misshapen_parameters_are_refused_in_plain_words(shared: Rig, params: object, sentence: str) -> None:
    shared.send({"jsonrpc": "2.0", "id": 40, "method": "tools/call", "params": params})
    answer = shared.read()
    assert answer == {"jsonrpc": "2.0", "id": 40, "error": {"code": -32602, "message": sentence}}


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":9,"result":[]}',
        b'{"jsonrpc":"2.0","id":9,"error":{"code":"x"}}',
        b'{"jsonrpc":"2.0","id":9,"result":{"a":NaN}}',
        rb'{"result":{"a":"\ud800"},"jsonrpc":"2.0","id":9}',
        b'{"id":9,"error":{"code"',
    ],
)
def test_an_answer_that_cannot_be_read_is_an_error_for_whoever_asked(line: bytes) -> None:
    message = read_message(line)
    assert isinstance(message, JSONRPCError)
    assert (message.id, message.error.message) == (9, "The client's answer cannot be read.")


@pytest.mark.parametrize("line", [b'{"jsonrpc":"2.0","result":{}}', b'{"result":NaN}'])
def test_an_answer_to_nothing_is_answered_to_nobody(line: bytes) -> None:
    bad = read_message(line)
    assert isinstance(bad, BadLine)
    assert bad.answers() == []
