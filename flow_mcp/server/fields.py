"""Where in a request model a fault lies.

The validation library names a place by a list that mixes field names and positions with labels for the kinds that a
field may have. Only the model tells them apart, so the list is walked along its annotations.
"""

import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

NAME_CHARACTERS: Final = 60
"""A caller's own name for a field is shown so far."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place in the arguments.

    Attributes:
        path: as a person writes it, `plan.features[0].title`; empty for the arguments as a whole.
        last: the last name of the path.
        known: the fields that the object has at this place.
        union: the path of the first value on the way that may be of several kinds; empty where there is none.
        arm: the kind that the fault speaks for.
    """

    path: str
    last: str
    known: tuple[str, ...]
    union: str
    arm: str


def place_of(model: type[BaseModel], steps: Sequence[int | str]) -> Place:
    """Return the place that the validation library's list of steps means."""
    at: Any = model
    path, last, union, arm = "", "", "", ""
    known: tuple[str, ...] = ()
    for step in steps:
        kinds = _kinds(at)
        if len(kinds) > 1:
            union, arm = (union, arm) if union else (path, str(step))
            at = next((kind for kind in kinds if str(step) in _labels(kind)), object)
            continue
        at, known = _into(kinds[0], step)
        last = str(step)[:NAME_CHARACTERS]
        path = f"{path}[{step}]" if isinstance(step, int) else f"{path}.{last}".removeprefix(".")
    return Place(path, last, known, union, arm)


def _kinds(annotation: Any) -> list[Any]:  # noqa: ANN401 - annotations are of no type
    """Return what a value may be, `None` aside."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [inner for arm in get_args(annotation) if arm is not type(None) for inner in _kinds(arm)]
    return [annotation]


def _labels(kind: Any) -> Iterable[str]:  # noqa: ANN401 - annotations are of no type
    """Return the names by which the validation library calls a kind: of its class, or of its variant."""
    if not _is_model(kind):
        return ()
    literals = [field.annotation for field in kind.model_fields.values() if get_origin(field.annotation) is Literal]
    return [kind.__name__, *(tag for literal in literals for tag in get_args(literal))]


def _into(kind: Any, step: int | str) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401 - annotations are of no type
    """Return the annotation one step further in, and the fields there are to choose from."""
    if _is_model(kind):
        fields = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
        return fields.get(str(step), object), tuple(fields)
    inside = get_args(kind)
    return (inside[0] if inside else object), ()


def _is_model(kind: Any) -> bool:  # noqa: ANN401 - annotations are of no type
    return isinstance(kind, type) and issubclass(kind, BaseModel)
