"""A question reaches the person in both eras, and only an answer to that very question counts."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import CallToolRequestParams, ElicitResult, ListRootsResult

from flow_mcp.server.asking import Asked, RetryAsker
from flow_mcp.server.desk import Answer, Field, Question
from tests.server.rig import FORMS, Rig, running

_FORM = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Approve this plan"},
        "why": {"type": "string", "title": "Why", "description": "In one line", "maxLength": 4000},
    },
    "required": ["approve"],
}
_YES = {"action": "accept", "content": {"approve": True, "why": "it is good", "unasked": "x"}}
_ANSWERS = [
    (_YES, {"action": "accept", "content": {"approve": True, "why": "it is good"}}),
    ({"action": "accept", "content": {"approve": False}}, {"action": "accept", "content": {"approve": False}}),
    ({"action": "decline"}, {"action": "decline", "content": {}}),
    ({"action": "cancel", "content": {}}, {"action": "cancel", "content": {}}),
    ({"action": "accept", "content": {"approve": "yes"}}, None),
    ({"action": "accept", "content": {"approve": 1}}, None),
    ({"action": "accept", "content": {"approve": True, "why": "x" * 4001}}, None),
    ({"action": "accept"}, None),
]


def _ask(rig: Rig, **more: object) -> int:
    return rig.post("tools/call", {"name": "ask", "arguments": {"plan": "p", **more}})


@pytest.mark.parametrize(("given", "understood"), _ANSWERS)
def test_a_question_of_the_handshake_era_waits_for_its_answer(
    shared: Rig, given: dict[str, Any], understood: dict[str, Any] | None
) -> None:
    request_id = _ask(shared)
    question = shared.read()
    assert question["method"] == "elicitation/create"
    assert question["params"] == {"mode": "form", "message": "Approve plan p?", "requestedSchema": _FORM}
    shared.send({"jsonrpc": "2.0", "id": question["id"], "result": given})
    answer = shared.read()
    assert answer["id"] == request_id
    assert answer["result"]["structuredContent"]["first"] == understood


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"action":"maybe"}}',
        '{"jsonrpc":"2.0","id":ID,"result":[]}',
        '{"jsonrpc":"2.0","id":ID,"result":{"action":"\\ud800"}}',
    ],
)
def test_an_answer_that_is_none_is_no_consent(shared: Rig, line: str) -> None:
    _ask(shared)
    question_id = shared.read()["id"]
    shared.send_bytes(line.replace("ID", str(question_id)).encode() + b"\n")
    assert shared.read()["result"]["structuredContent"]["first"] is None


def _retry(needed: dict[str, Any], name: str, answer: object, **arguments: object) -> dict[str, Any]:
    return {
        "name": "ask",
        "arguments": {"plan": "p", **arguments},
        "inputResponses": {name: answer},
        "requestState": needed["requestState"],
    }


def test_a_question_of_the_later_era_ends_the_call_and_the_next_one_answers_it(shared_modern: Rig) -> None:
    for given, understood in _ANSWERS:
        _ask(shared_modern)
        needed = shared_modern.read()["result"]
        assert needed["resultType"] == "input_required"
        (name, request), *_ = needed["inputRequests"].items()
        assert request["params"] == {"mode": "form", "message": "Approve plan p?", "requestedSchema": _FORM}
        result = shared_modern.ask("tools/call", _retry(needed, name, given))["result"]
        assert result["structuredContent"] == {"passes": 2, "first": understood}


def test_several_questions_are_asked_one_after_the_other_and_each_once(shared_modern: Rig) -> None:
    _ask(shared_modern, twice=True)
    first = shared_modern.read()["result"]
    second = shared_modern.ask("tools/call", _retry(first, "question-1", _YES, twice=True))["result"]
    assert second["resultType"] == "input_required"
    (name,) = second["inputRequests"]
    assert second["inputRequests"][name]["params"]["requestedSchema"]["properties"]["speed"]["enum"] == ["slow", "fast"]
    fast = {"action": "accept", "content": {"speed": "fast"}}
    done = shared_modern.ask("tools/call", _retry(second, name, fast, twice=True))["result"]
    assert done["structuredContent"] == {
        "passes": 3,
        "first": {"approve": True, "why": "it is good"},
        "second": {"speed": "fast"},
    }


def test_an_answer_to_other_arguments_or_with_a_forged_state_asks_anew(shared_modern: Rig) -> None:
    _ask(shared_modern)
    needed = shared_modern.read()["result"]
    plain = json.dumps([["digest", None]])
    forged = {**needed, "requestState": needed["requestState"][:-4] + "AAAA"}
    for params in (
        _retry(needed, "question-1", _YES, plan="another"),
        _retry(forged, "question-1", _YES),
        _retry({"requestState": plain}, "question-1", _YES),
        {"name": "ask", "arguments": {"plan": "p"}, "inputResponses": {"question-1": _YES}},
    ):
        again = shared_modern.ask("tools/call", params)["result"]
        assert again["resultType"] == "input_required"


def test_the_state_of_a_server_that_has_been_restarted_asks_anew(shared_modern: Rig, tmp_path: Path) -> None:
    _ask(shared_modern)
    needed = shared_modern.read()["result"]
    with running(tmp_path) as restarted:
        restarted.modern(FORMS)
        again = restarted.ask("tools/call", _retry(needed, "question-1", _YES))["result"]
    assert again["resultType"] == "input_required"


_TICK = Field("ok", "OK", "Is it?", "tick", (), required=True)


def _pass(question: Question, state: str | None, **responses: Any) -> Answer | str | None:  # noqa: ANN401 - answers
    """Return the answer of one pass, or the state that it asks with."""
    asker = RetryAsker(CallToolRequestParams(name="x", request_state=state, input_responses=responses))
    try:
        return anyio.run(asker.ask, question)
    except Asked as asked:
        return asked.needed.request_state


def test_an_answer_counts_only_for_the_question_that_was_shown() -> None:
    shown = Question("Approve digest 1 at revision 5?", (_TICK,))
    state = _pass(shown, None)
    assert isinstance(state, str)
    answers = {"question-1": ElicitResult(action="accept", content={"ok": True})}
    assert _pass(shown, state, **answers) == Answer("accept", {"ok": True})
    for changed in (
        Question("Approve digest 2 at revision 5?", (_TICK,)),
        Question(shown.message, ()),
        Question(shown.message, (Field("ok", "OK", "Is it not?", "tick", (), required=True),)),
    ):
        again = _pass(changed, state, **answers)
        assert isinstance(again, str)
        assert again != state


def test_a_retry_without_the_answer_asks_again() -> None:
    shown = Question("Well?", (_TICK,))
    state = _pass(shown, None)
    assert isinstance(state, str)
    assert _pass(shown, state) == state


def test_an_answer_to_something_else_is_no_consent_then_and_later() -> None:
    async def both(asker: RetryAsker) -> tuple[Answer | None, Answer | None]:
        return await asker.ask(Question("One?", (_TICK,))), await asker.ask(Question("Two?", (_TICK,)))

    state = _pass(Question("One?", (_TICK,)), None)
    assert isinstance(state, str)
    wrong = {"question-1": ListRootsResult(roots=[])}
    with pytest.raises(Asked) as asked:
        anyio.run(both, RetryAsker(CallToolRequestParams(name="x", request_state=state, input_responses=wrong)))
    yes = {"question-2": ElicitResult(action="accept", content={"ok": True})}
    later = CallToolRequestParams(name="x", request_state=asked.value.needed.request_state, input_responses=yes)
    assert anyio.run(both, RetryAsker(later)) == (None, Answer("accept", {"ok": True}))


def test_a_choice_is_one_of_its_options() -> None:
    question = Question("Which?", (Field("way", "Way", "Which way", "choice", ("a", "b"), required=False),))
    state = _pass(question, None)
    assert isinstance(state, str)
    for value, understood in (("b", Answer("accept", {"way": "b"})), (None, Answer("accept", {})), ("c", None)):
        response = ElicitResult(action="accept", content={"way": value})
        assert _pass(question, state, **{"question-1": response}) == understood


def test_half_a_surrogate_pair_in_a_question_is_shown_as_a_question_mark() -> None:
    asker = RetryAsker(CallToolRequestParams(name="x"))
    field = Field("way", "\ud800", "\ud800", "choice", ("\ud800",), required=True)
    with pytest.raises(Asked) as asked:
        anyio.run(asker.ask, Question("Plan \ud800?", (field,)))
    assert "Plan ??" in asked.value.needed.model_dump_json()
