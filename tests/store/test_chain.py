import json
from collections.abc import Callable, Iterator

import pytest
from pydantic import JsonValue, ValidationError

from flow_mcp.domain.model import Document, blank
from flow_mcp.store import chain
from tests.store.records import RESEAL, draft, finished, resealed

Edit = Callable[[JsonValue], JsonValue]


def test_the_first_operation_points_at_nothing_and_each_later_one_at_the_one_before_it() -> None:
    document = finished()
    first, *rest = document.operations
    assert first.previous == chain.GENESIS
    assert [one.previous for one in rest] == [one.digest() for one in document.operations[:-1]]
    assert chain.fault(document) is None


def test_what_an_operation_said_of_its_own_binding_does_not_count() -> None:
    document = draft()
    lie = document.operations[0].model_copy(update={"body": "mine", "previous": "mine"})
    bare = document.model_copy(update={"operations": ()})
    assert chain.appended(bare, lie) == document


def test_a_document_without_operations_has_no_chain() -> None:
    assert chain.fault(blank("p", "w")) == "no operation led to it"


def leaves(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*path, number))
    else:
        yield path


def changed(value: JsonValue) -> JsonValue:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


def edited(whole: JsonValue, path: tuple[str | int, ...], *, remove: bool) -> Document | None:
    """Edit one leaf; None where no document has this shape."""
    whole = json.loads(json.dumps(whole))
    place: JsonValue = whole
    for step in path[:-1]:
        place = place[step]  # type: ignore[index]
    if remove:
        del place[path[-1]]  # type: ignore[union-attr,arg-type]
    else:
        place[path[-1]] = changed(place[path[-1]])  # type: ignore[index]
    try:
        return Document.model_validate_json(json.dumps(whole))
    except ValidationError:
        return None


@pytest.mark.parametrize("make", [finished, resealed])
@pytest.mark.parametrize("remove", [False, True], ids=["changed", "removed"])
def test_no_field_of_a_document_can_be_edited_without_breaking_its_chain(
    make: Callable[[], Document], *, remove: bool
) -> None:
    document = make()
    whole = document.as_json()
    tried = [edited(whole, path, remove=remove) for path in leaves(whole)]
    valid = [one for one in tried if one is not None and one != document]
    assert len(valid) > 20
    assert [one for one in valid if chain.fault(one) is None] == []


@pytest.mark.parametrize("number", [0, 3, -2])
def test_an_operation_that_was_taken_out_is_missed(number: int) -> None:
    document = finished()
    operations = list(document.operations)
    del operations[number]
    fault = chain.fault(document.model_copy(update={"operations": tuple(operations)}))
    assert fault is not None
    assert "does not follow the one before it" in fault


def test_operations_in_another_order_are_seen() -> None:
    document = finished()
    first, second, *rest = document.operations
    assert chain.fault(document.model_copy(update={"operations": (second, first, *rest)})) is not None


def test_an_edit_of_the_content_is_told_apart_from_one_of_the_operations() -> None:
    fault = chain.fault(finished().model_copy(update={"goal": "Something else."}))
    assert fault == "its content is not what its last operation left"


def test_a_reseal_begins_a_chain_that_names_all_that_came_before() -> None:
    document = resealed()
    place = next(number for number, one in enumerate(document.operations) if one.kind == RESEAL)
    assert chain.fault(document) is None
    old = document.operations[0].model_copy(update={"previous": "sha256:whatever"})
    assert chain.fault(document.model_copy(update={"operations": (old, *document.operations[1:])})) is not None
    assert document.operations[place].previous != document.operations[place - 1].digest()


def test_a_reseal_forgives_what_was_broken_before_it() -> None:
    document = resealed()
    place = next(number for number, one in enumerate(document.operations) if one.kind == RESEAL)
    broken = document.operations[1].model_copy(update={"previous": "sha256:by-hand"})
    before = (document.operations[0], broken, *document.operations[2:place])
    again = document.model_copy(update={"operations": before})
    for operation in document.operations[place:]:
        again = chain.appended(again, operation)
    assert chain.fault(again) is None
