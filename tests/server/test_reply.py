"""An answer says the same twice, is JSON whatever is in it, and never too long."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import TextContent

from flow_mcp.server.desk import Reply
from flow_mcp.server.reply import REPLY_CHARACTERS_MAX, clean, failure, result


def _text(body: dict[str, Any]) -> str:
    answer = result(Reply(body, is_error=False))
    (content,) = answer.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == answer.structured_content
    assert len(content.text) <= REPLY_CHARACTERS_MAX
    content.text.encode()
    return content.text


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters())
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=8)
    ),
    max_leaves=40,
)


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(max_size=4), _json, max_size=6), st.sampled_from([1, 50, 3_000, 30_000]))
def test_every_body_fits_is_json_and_says_the_same_twice(body: dict[str, Any], times: int) -> None:
    _text({**body, "more": ["lorem ipsum"] * times, "deep": {"a": {"b": "x" * times}}})


def test_the_bound_is_taken_and_one_more_is_cut() -> None:
    body = {"summary": "x" * (REPLY_CHARACTERS_MAX - len('{"summary":""}'))}
    assert len(_text(body)) == REPLY_CHARACTERS_MAX
    cut = json.loads(_text({"summary": body["summary"] + "x"}))
    assert cut["summary"] == "x" * 2_000 + "…"
    assert cut["truncated"] == (
        "This answer had 20,001 characters and was cut to fit 20,000. Ask for less at once to see the rest."
    )


def test_of_a_long_answer_the_short_fields_stay_whole() -> None:
    body = {"summary": "s", "next": {"tool": "status"}, "refused": None, "n": 5, "lines": ["line"] * 9_000}
    cut = json.loads(_text(body))
    assert {key: cut[key] for key in ("summary", "next", "refused", "n")} == {
        "summary": "s",
        "next": {"tool": "status"},
        "refused": None,
        "n": 5,
    }
    assert cut["lines"] == ["line"] * 2_000


def test_an_answer_that_cannot_be_cut_says_only_that() -> None:
    assert [*json.loads(_text({f"n{i}": int("9" * 4_000) for i in range(40)}))] == ["truncated"]


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_a_body_that_is_no_json_is_an_error_of_the_desk(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        result(Reply({"summary": value}, is_error=False))


def test_a_failure_names_its_kind_alone() -> None:
    reply = failure(ValueError("a secret"))
    assert reply.is_error
    assert reply.body == {"summary": "Flow failed inside (ValueError). It goes on; its standard error has the details."}


def test_clean_text_is_left_alone() -> None:
    assert clean("ä\U0001f600\0") == "ä\U0001f600\0"
