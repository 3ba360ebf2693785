"""Wrong arguments are told in plain words: which field, what was given, what is wanted."""

import enum
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, field_validator, model_validator

from flow_mcp.server.arguments import KEPT_CHARACTERS, mended, nearest, parse_arguments, shown


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Command(Closed):
    run: Annotated[str, Field(min_length=1, max_length=5)]
    report: Annotated[str, Field(pattern="^r")] | None = None


class ByCase(Closed):
    kind: Literal["case"]
    run: str
    case: str


class ByNothing(Closed):
    kind: Literal["none"]
    because: Annotated[str, Field(min_length=3)]


class Speed(enum.Enum):
    SLOW = "slow"
    FAST = "fast"


class Request(Closed):
    title: str = "t"
    wait_s: Annotated[int, Field(ge=1, le=45)] = 1
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    sure: bool = False
    view: Literal["next", "plan"] | None = None
    speed: Speed = Speed.SLOW
    checks: Annotated[tuple[str | Command, ...], Field(max_length=3)] = ()
    names: Annotated[list[str], Field(min_length=1)] | None = None
    proof: Annotated[ByCase | ByNothing, Field(discriminator="kind")] | None = None
    loose: Optional[ByCase | ByNothing] = None  # noqa: UP045 - the older spelling is read too
    either: list[str] | int | None = None
    page: HttpUrl | None = None

    @field_validator("title")
    @classmethod
    def _no_shouting(cls, title: str) -> str:
        if title.isupper():
            message = "a title is not shouted."
            raise ValueError(message)
        return title

    @model_validator(mode="after")
    def _sure_when_fast(self) -> "Request":
        if self.speed is Speed.FAST and not self.sure:
            message = "be sure to be fast"
            raise AssertionError(message)
        return self


_FIELDS = "`title`, `wait_s`, `share`, `sure`, `view`, `speed`, `checks`, `names`, `proof`, `loose`, `either`, `page`"


def _told(**arguments: object) -> list[str]:
    faults = parse_arguments(Request, arguments)
    assert isinstance(faults, list), faults
    return faults


def test_right_arguments_make_a_request() -> None:
    request = parse_arguments(Request, {"checks": ["a", {"run": "b"}], "view": None, "speed": "slow", "share": 0.1})
    assert isinstance(request, Request)
    assert request.checks == ("a", Command(run="b"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"title": 5}, "`title` must be a text; 5 was given."),
        ({"title": "LOUD"}, "`title`: a title is not shouted."),
        ({"speed": "fast"}, "be sure to be fast."),
        ({"wait_s": "5"}, '`wait_s` must be a whole number; "5" was given.'),
        ({"wait_s": 5.5}, "`wait_s` must be a whole number; 5.5 was given."),
        ({"wait_s": True}, "`wait_s` must be a whole number; true was given."),
        ({"wait_s": None}, "`wait_s` must be a whole number; null was given."),
        ({"wait_s": 0}, "`wait_s` must be at least 1; 0 was given."),
        ({"wait_s": 46}, "`wait_s` must be at most 45; 46 was given."),
        ({"share": 0}, "`share` must be more than 0.0; 0 was given."),
        ({"share": 1}, "`share` must be less than 1.0; 1 was given."),
        ({"share": "x"}, '`share` must be a number; "x" was given.'),
        ({"sure": 1}, "`sure` must be true or false; 1 was given."),
        ({"view": "all"}, "`view` must be one of 'next' or 'plan'; \"all\" was given."),
        ({"speed": "light"}, "`speed` must be one of 'slow' or 'fast'; \"light\" was given."),
        ({"names": "x"}, '`names` must be a list; "x" was given.'),
        ({"names": []}, "`names` must not be empty."),
        ({"names": ["a", 5]}, "`names[1]` must be a text; 5 was given."),
        ({"checks": ["a"] * 4}, '`checks` must be at most 3 long; ["a", "a", "a", "a"] was given.'),
        ({"checks": [5]}, "`checks[0]` must be a text or an object; 5 was given."),
        ({"checks": ["a", {"run": ""}]}, "`checks[1].run` must not be empty."),
        (
            {"checks": [{"run": "123456"}]},
            '`checks[0].run` must be a text of at most 5 characters; "123456" was given.',
        ),
        (
            {"checks": [{"run": "a", "report": "x"}]},
            '`checks[0].report` must be a text that matches ^r; "x" was given.',
        ),
        ({"checks": [{}]}, "`checks[0].run` is missing."),
        ({"checks": [{"run": "a", "rum": 1}]}, "`checks[0].rum` is no field; did you mean `run`?"),
        ({"either": "x"}, '`either` must be a list or a whole number; "x" was given.'),
        ({"either": [5]}, "`either[0]` must be a text; 5 was given."),
        ({"proof": {}}, "`proof.kind` is missing."),
        ({"proof": {"kind": "x"}}, "`proof.kind` must be one of 'case', 'none'; \"x\" was given."),
        ({"proof": "case"}, '`proof` must be an object; "case" was given.'),
        ({"proof": {"kind": "case", "run": "r"}}, "`proof.case` is missing."),
        (
            {"proof": {"kind": "none", "because": "x"}},
            '`proof.because` must be a text of at least 3 characters; "x" was given.',
        ),
        ({"loose": {"kind": "case", "run": "r"}}, "`loose.case` is missing."),
        ({"loose": {"kind": "none", "because": 5}}, "`loose.because` must be a text; 5 was given."),
        ({"loose": 5}, "`loose` must be an object; 5 was given."),
        ({"page": "x"}, '`page` must be of another form; "x" was given.'),
        ({"titel": "x"}, "`titel` is no field; did you mean `title`?"),
        (
            {"zzz": 1},
            f"`zzz` is no field; the fields here are {_FIELDS}.",
        ),
    ],
)
def test_a_wrong_argument_is_told_in_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    assert parse_arguments(Request, arguments) == [sentence]


def test_every_fault_is_told() -> None:
    assert _told(title=5, checks=[5, {"run": ""}], x=1) == [
        "`title` must be a text; 5 was given.",
        "`checks[0]` must be a text or an object; 5 was given.",
        "`checks[1].run` must not be empty.",
        f"`x` is no field; the fields here are {_FIELDS}.",
    ]


def test_many_faults_are_counted() -> None:
    told = _told(names=[5] * 500)
    assert len(told) == 11
    assert told[-1] == "490 more of the arguments are wrong."


def test_a_long_value_and_a_long_name_are_cut() -> None:
    (value, name) = _told(title=["x" * 1000], **{"y" * 1000: 1})
    assert value == f'`title` must be a text; ["{"x" * 57}… was given.'
    assert name.startswith(f"`{'y' * 60}` is no field; the fields here are")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "The arguments must be one JSON object."),
        (None, "The arguments must be one JSON object."),
        ({"a": float("nan")}, "The arguments hold something that is not JSON."),
        ({"a": object()}, "The arguments hold something that is not JSON."),
        ({"a": "\ud800"}, "The arguments hold half of a surrogate pair, which is no character."),
    ],
)
def test_what_is_no_json_object_is_refused(arguments: object, sentence: str) -> None:
    assert parse_arguments(Request, arguments) == [sentence]


def test_what_nests_too_deep_is_refused() -> None:
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    assert parse_arguments(Request, {"names": deep}) == ["The arguments nest too deep."]
    for _ in range(5_000):
        deep = [deep]
    assert parse_arguments(Request, {"names": deep}) == ["The arguments nest too deep."]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from([*Request.model_fields, "run", "kind", "x"]), inner)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*Request.model_fields, "x"]), _json, max_size=4))
def test_any_arguments_are_a_request_or_plain_sentences(arguments: dict[str, Any]) -> None:
    for sentence in _told_or_none(arguments):
        assert sentence.endswith((".", "?"))
        assert len(sentence) < 400
        for noise in ("pydantic", "http", "str]", "Input should", "type=", "constrained"):
            assert noise not in sentence


def _told_or_none(arguments: object) -> list[str]:
    parsed = parse_arguments(Request, arguments)
    return parsed if isinstance(parsed, list) else []


def test_the_nearest_name_is_one_that_exists_or_none() -> None:
    assert nearest("stauts", ["status", "close"]) == "status"
    assert nearest("x" * 100_000, ["status"]) is None


def test_a_shown_value_is_json_that_fits_a_sentence() -> None:
    assert shown({"a": [1, None]}) == '{"a": [1, null]}'
    assert shown(object()) == '"object"'
    assert shown("\ud800") == '"?"'


def test_what_was_sent_is_given_back_without_what_is_wrong_and_within_bounds() -> None:
    assert mended(Request, {"title": "a", "wait_s": 99, "colour": "red"}) == ({"title": "a"}, ["wait_s"])
    assert mended(Request, {"title": "a"}) == ({"title": "a"}, [])
    assert mended(Request, {"title": "a", "checks": ["b" * KEPT_CHARACTERS], "wait_s": 0}) == (
        {"title": "a"},
        ["wait_s", "checks"],
    )
    assert mended(Request, {"names": ["b" * KEPT_CHARACTERS], "wait_s": 0}) == ({}, ["wait_s", "names"])
    odds: list[object] = [[], "text", {"title": "\ud800"}, {"title": object()}, {"share": float("nan")}]
    for odd in odds:
        assert mended(Request, odd) == ({}, [])
