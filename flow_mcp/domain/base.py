"""The manner of every model in the kernel: frozen, closed, strict; and text that a diff can read."""

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, PlainSerializer

# Everything below a blank but newline and tab, the C1 block, and lone surrogates: none may reach a person's screen.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Closed(BaseModel):
    """A frozen model that refuses unknown fields and coerces nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    def as_json(self) -> dict[str, JsonValue]:
        """Give the model as plain JSON; fields that are absent are not there."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def _joined(value: object) -> object:
    if isinstance(value, list) and len(value) > 1 and all(isinstance(line, str) for line in value):
        if any("\n" in line for line in value):
            message = "a list of lines holds no line breaks inside a line"
            raise ValueError(message)
        value = "\n".join(value)
    if isinstance(value, str) and _UNPRINTABLE.search(value):
        message = "text holds a control character or a broken one"
        raise ValueError(message)
    return value


def _split(value: str) -> str | list[str]:
    return value.split("\n") if "\n" in value else value


def _single(value: object) -> object:
    if isinstance(value, str) and (_UNPRINTABLE.search(value) or "\n" in value or "\t" in value):
        message = "this is one line of plain text, without control characters"
        raise ValueError(message)
    return value


Text = Annotated[str, BeforeValidator(_joined), PlainSerializer(_split, return_type=str | list[str])]
"""Prose. Stored as one string, or as a list of lines when it has several."""

Line = Annotated[str, BeforeValidator(_single)]
"""One line of text, such as an id, a path or a command."""
