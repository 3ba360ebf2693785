"""From a client's arguments to a request model, or to plain sentences on what is wrong with them.

A model reads these sentences and calls again, so each names the field, what was given and what is wanted; the
words of the validation library, which name Python's types and a web page, never go out.
"""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from flow_mcp.server.fields import Place, place_of
from flow_mcp.server.strict_json import is_text

GIVEN_CHARACTERS: Final = 60
"""So much of a wrong value, or of a name, is shown."""

SENTENCES_MAX: Final = 10
"""More faults than these are counted, not told."""

KEPT_CHARACTERS: Final = 2_000
"""So much of what was sent is given back beside its faults."""

_TOO_DEEP: Final = "The arguments nest too deep."
_NAMES_SHOWN: Final = 16
_REASON_CHARACTERS: Final = 400

ModelT = TypeVar("ModelT", bound=BaseModel)


def parse_arguments(model: type[ModelT], arguments: object) -> ModelT | list[str]:
    """Return the request that the arguments make, or every fault of them as a sentence.

    Strict: `"5"` is no number, 1 is no truth value, and a field that the model does not know is refused.
    """
    if not isinstance(arguments, dict):
        return ["The arguments must be one JSON object."]
    try:
        text = json.dumps(arguments, allow_nan=False, ensure_ascii=False)
    except RecursionError:
        return [_TOO_DEEP]
    except (TypeError, ValueError):
        return ["The arguments hold something that is not JSON."]
    if not is_text(text):
        return ["The arguments hold half of a surrogate pair, which is no character."]
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        return plain_errors(error, model)


def mended(model: type[BaseModel], arguments: object) -> tuple[dict[str, Any], list[str]]:
    """Return what a call can send again as it is, and the fields that it has to write anew.

    What was sent without the fields that are wrong, and without those that make it longer than 2,000 characters.
    """
    if not isinstance(arguments, dict):
        return {}, []
    try:
        text = json.dumps(arguments, allow_nan=False, ensure_ascii=False)
        if not is_text(text):
            return {}, []
        model.model_validate_json(text, strict=True)
    except ValidationError as error:
        wrong = dict.fromkeys(str(detail["loc"][0]) for detail in error.errors(include_url=False) if detail["loc"])
    except (RecursionError, TypeError, ValueError):
        return {}, []
    else:
        wrong = {}
    kept: dict[str, Any] = {}
    for name, value in arguments.items():
        grown = kept | {name: value}
        fits = name not in wrong and len(json.dumps(grown, ensure_ascii=False)) <= KEPT_CHARACTERS
        kept = grown if fits else kept
    anew = (wrong.keys() | arguments.keys()) - kept.keys()
    return kept, [name for name in model.model_fields if name in anew]


def plain_errors(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return each fault of a validation as one sentence in plain words, at most ten and a count of the rest."""
    details = error.errors(include_url=False)
    faults = [(place_of(model, detail["loc"]), detail) for detail in details]
    sentences = [
        sentence
        for _, group in groupby(faults, key=lambda fault: fault[0].union or fault[0].path)
        for sentence in _told([*group])
    ]
    if len(sentences) > SENTENCES_MAX:
        rest = len(sentences) - SENTENCES_MAX
        return [*sentences[:SENTENCES_MAX], f"{rest} more of the arguments are wrong."]
    return sentences


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that a wrong one most likely means."""
    close = difflib.get_close_matches(name[:GIVEN_CHARACTERS], [*names], n=1)
    return close[0] if close else None


def shown(value: object) -> str:
    """Return a value as JSON, cut to a length that fits a sentence."""
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    short = text if len(text) <= GIVEN_CHARACTERS else text[: GIVEN_CHARACTERS - 1] + "…"
    return short.encode("utf-8", "replace").decode()


_Fault = tuple[Place, ErrorDetails]


def _told(faults: list[_Fault]) -> list[str]:
    """Tell the faults at one place; where it takes several kinds of value, tell those of the kind that was meant."""
    if not faults[0][0].union:
        return [_sentence(place, detail) for place, detail in faults]
    arms = [[*arm] for _, arm in groupby(faults, key=lambda fault: fault[0].arm)]
    meant = min(arms, key=_distance)
    if _distance(meant)[0]:
        wanted = " or ".join(dict.fromkeys(_wanted(detail) for arm in arms for _, detail in arm))
        place, detail = meant[0]
        return [_must(place.path, wanted, detail["input"])]
    return [_sentence(place, detail) for place, detail in meant]


def _distance(arm: list[_Fault]) -> tuple[bool, bool, int]:
    """Return how far a value is from one of the kinds it may be: another kind, another variant, so many faults."""
    is_other_kind = any(place.path == place.union and _is_kind(detail) for place, detail in arm)
    return is_other_kind, any(detail["type"] == "literal_error" for _, detail in arm), len(arm)


def _is_kind(detail: ErrorDetails) -> bool:
    return detail["type"].endswith("_type")


def _sentence(place: Place, detail: ErrorDetails) -> str:
    tell = _TOLD.get(detail["type"])
    return tell(place, detail) if tell else _must(place.path, _wanted(detail), detail["input"])


def _must(path: str, wanted: str, given: object) -> str:
    return f"`{path}` must be {wanted}; {shown(given)} was given."


def _missing(place: Place, _detail: ErrorDetails) -> str:
    return f"`{place.path}` is missing."


def _too_short(place: Place, detail: ErrorDetails) -> str:
    if detail["ctx"]["min_length"] == 1:
        return f"`{place.path}` must not be empty."
    return _must(place.path, _wanted(detail), detail["input"])


def _unknown(place: Place, _detail: ErrorDetails) -> str:
    likely = nearest(place.last, place.known)
    if likely:
        return f"`{place.path}` is no field; did you mean `{likely}`?"
    names = ", ".join(f"`{name}`" for name in place.known[:_NAMES_SHOWN])
    return f"`{place.path}` is no field; the fields here are {names}."


def _reasoned(place: Place, detail: ErrorDetails) -> str:
    """Tell what our own validator says; its text is written for the same reader."""
    reason = str(detail["ctx"]["error"])[:_REASON_CHARACTERS].rstrip(".")
    return f"`{place.path}`: {reason}." if place.path else f"{reason}."


def _no_variant(place: Place, detail: ErrorDetails) -> str:
    context = detail["ctx"]
    path = f"{place.path}.{context['discriminator'].strip(chr(39))}"
    return _must(path, f"one of {context['expected_tags']}", context["tag"])


def _missing_variant(place: Place, detail: ErrorDetails) -> str:
    return f"`{place.path}.{detail['ctx']['discriminator'].strip(chr(39))}` is missing."


def _too_deep(_place: Place, _detail: ErrorDetails) -> str:
    return _TOO_DEEP


_TOLD: Final[Mapping[str, Callable[[Place, ErrorDetails], str]]] = {
    "missing": _missing,
    "string_too_short": _too_short,
    "too_short": _too_short,
    "extra_forbidden": _unknown,
    "value_error": _reasoned,
    "assertion_error": _reasoned,
    "union_tag_invalid": _no_variant,
    "union_tag_not_found": _missing_variant,
    "json_invalid": _too_deep,
}

_WANTED: Final[Mapping[str, str]] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "string_pattern_mismatch": "a text that matches {pattern}",
    "too_short": "at least {min_length} long",
    "too_long": "at most {max_length} long",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
}


def _wanted(detail: ErrorDetails) -> str:
    context: dict[str, Any] = detail.get("ctx", {})
    return _WANTED.get(detail["type"], "of another form").format(**context)
