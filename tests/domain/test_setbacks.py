import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flow_mcp.domain.markdown import page
from flow_mcp.domain.model import Document, TakenBack
from flow_mcp.domain.setbacks import TOLD_MAX, furthest, holds, sentences, told
from tests.histories import failed, running


def at(document: Document, revision: int) -> Document:
    """Give a document as it was, as far as its history says."""
    return document.model_copy(update={"revision": revision, "operations": document.operations[:revision]})


@pytest.fixture
def long() -> Document:
    """A goal whose first review failed."""
    return failed().document


def test_a_document_holds_itself_and_everything_that_led_to_it(long: Document) -> None:
    for revision in range(1, long.revision + 1):
        assert holds(long, furthest(at(long, revision)))
        assert told(long, furthest(at(long, revision))) is long


def test_an_earlier_document_is_told_to_be_put_back_as_of_its_next_revision(long: Document) -> None:
    found = told(at(long, 3), furthest(long))
    assert found.taken_back == (
        TakenBack(from_revision=long.revision, to_revision=3, after="review_submit", revision=4),
    )
    (sentence,) = sentences(found)
    assert f"put back from revision {long.revision} to 3 after its review_submit" in sentence


def test_another_line_of_history_is_told_of_too_however_far_it_is(long: Document) -> None:
    here = at(long, 3)
    entry = here.operations[-1].model_copy(update={"input": "another request"})
    here = here.model_copy(update={"operations": (*here.operations[:-1], entry)})
    found = told(long, furthest(here))
    assert found.taken_back is not None
    assert [(one.from_revision, one.to_revision) for one in found.taken_back] == [(3, long.revision)]
    assert "gave way to another one, at revision" in sentences(found)[0]


def test_a_document_that_was_never_put_back_says_nothing_and_keeps_its_bytes(long: Document) -> None:
    assert sentences(long) == ()
    assert "taken_back" not in long.as_json()


def test_a_second_setback_hides_no_first_one(long: Document) -> None:
    once = told(at(long, 3), furthest(long)).model_copy(update={"revision": 4, "operations": long.operations[:4]})
    twice = told(at(long, 2), furthest(once))
    assert twice.taken_back is not None
    assert [(one.from_revision, one.to_revision, one.revision) for one in twice.taken_back] == [
        (long.revision, 3, 3),
        (4, 2, 3),
    ]


def test_what_a_document_tells_already_is_not_told_twice(long: Document) -> None:
    once = told(at(long, 3), furthest(long))
    point = furthest(once.model_copy(update={"revision": 4, "operations": long.operations[:4]}))
    other = once.model_copy(update={"operations": long.operations[:3]})
    again = told(other, point)
    assert again.taken_back is not None
    assert [one.from_revision for one in again.taken_back] == [long.revision, 4]


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=2 * TOLD_MAX))
@example([(99 - number, 50 - number) for number in range(TOLD_MAX + 8)])
@example([(10 + number, 1 + number) for number in range(TOLD_MAX + 1)])
def test_however_often_it_is_put_back_the_list_is_bounded_and_spans_all_of_it(moves: list[tuple[int, int]]) -> None:
    document, told_at = running().document, [0]
    for number, (here, there) in enumerate(moves, 1):
        point = furthest(document).model_copy(
            update={"revision": here, "head": "sha256:" + "0" * 64, "taken_back": document.taken_back or ()}
        )
        document = told(document.model_copy(update={"revision": there}), point)
        assert document.taken_back is not None
        assert len(document.taken_back) == min(number, TOLD_MAX)
        told_at.append(document.taken_back[-1].revision)
    entries = document.taken_back or ()
    assert max((one.from_revision for one in entries), default=0) == max((here for here, _ in moves), default=0)
    assert min((one.to_revision for one in entries), default=0) == min((there for _, there in moves), default=0)
    # Those that are told as one stand as of the latest, so that no reviewer counts as told who was not.
    assert max((one.revision for one in entries), default=0) == max(told_at)


def test_the_closure_and_the_page_tell_of_it(long: Document) -> None:
    world = running()
    world.document = told(world.document, furthest(long))
    assert sentences(world.document)[0] in page(world.document, {})
    world.close("deferred")
    assert world.document.closure is not None
    assert sentences(world.document)[0] in world.document.closure.notes
