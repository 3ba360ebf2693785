"""The schema that a client is shown is small, closed and free of references."""

import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from flow_mcp.server.schema import input_schema


class Closed(BaseModel):
    """A docstring for readers of the code."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Command(Closed):
    """Another docstring."""

    run: Annotated[str, Field(min_length=1)]
    timeout_s: int | None = None


class ByCase(Closed):
    kind: Literal["case"]
    case: str


class ByNothing(Closed):
    kind: Literal["none"]
    because: str


class View(enum.Enum):
    NEXT = "next"
    PLAN = "plan"


class Plan(Closed):
    title: str = Field(description="What it is called", max_length=80)
    checks: tuple[str | Command, ...] = ()
    first: Command | None = Field(default=None, description="The first of all")
    proof: Annotated[ByCase | ByNothing, Field(discriminator="kind")]
    view: View = View.NEXT
    ways: list[Literal["a", "b"]] | None = None


_COMMAND = {
    "type": "object",
    "properties": {"run": {"type": "string", "minLength": 1}, "timeout_s": {"type": "integer"}},
    "required": ["run"],
    "additionalProperties": False,
}


def test_a_model_becomes_one_flat_closed_schema() -> None:
    assert input_schema(Plan) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 80, "description": "What it is called"},
            "checks": {"type": "array", "items": {"anyOf": [{"type": "string"}, _COMMAND]}},
            "first": {**_COMMAND, "description": "The first of all"},
            "proof": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"type": "string", "enum": ["case"]}, "case": {"type": "string"}},
                        "required": ["kind", "case"],
                        "additionalProperties": False,
                    },
                    {
                        "type": "object",
                        "properties": {"kind": {"type": "string", "enum": ["none"]}, "because": {"type": "string"}},
                        "required": ["kind", "because"],
                        "additionalProperties": False,
                    },
                ]
            },
            "view": {"type": "string", "enum": ["next", "plan"], "default": "next"},
            "ways": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        },
        "required": ["title", "proof"],
        "additionalProperties": False,
    }


def test_a_model_without_fields_is_a_closed_object() -> None:
    assert input_schema(Closed) == {"type": "object", "properties": {}, "additionalProperties": False}


class Open(BaseModel):
    a: int


class Mapped(Closed):
    a: dict[str, int]


class Holder(Closed):
    inner: list[Open]


class Demanding(Closed):
    a: int | None


class Circle(Closed):
    inner: "Circle | None" = None


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Open, "An object is open"),
        (Mapped, "An object is open"),
        (Holder, "An object is open"),
        (Demanding, "The field a may be null and is required"),
        (Circle, "Circle refers to itself"),
    ],
)
def test_a_model_that_has_no_small_schema_is_refused(model: type[BaseModel], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        input_schema(model)


def test_a_fixed_row_keeps_its_bounds() -> None:
    class Row(Closed):
        pair: Annotated[list[Any], Field(min_length=2, max_length=2)]

    assert input_schema(Row)["properties"]["pair"] == {"type": "array", "items": {}, "minItems": 2, "maxItems": 2}
