import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Document
from flow_mcp.engine import sizes
from flow_mcp.engine.sizes import CHECK_BYTES, RESERVED_BYTES, fitted, room
from flow_mcp.store.codec import DOCUMENT_BYTES_MAX
from flow_mcp.store.documents import rendered
from tests.histories import drafted

DOCUMENT = drafted().document
SIZE = len(rendered(DOCUMENT))

FREE: list[c.Ask] = [c.RunReset(feature_id="a", reason="r"), c.Close(kind="deferred", summary="s")]
REVIEW = c.ReviewSubmit(assignment_id="r", verdict="passed", summary="s")
BOUND: list[c.Ask] = [c.RunStart(), c.ReviewStart(summary="s"), REVIEW]
CHECK = c.CheckStart(scope="broad", command="x")


def test_a_reset_and_the_closing_have_room_that_nothing_else_may_take() -> None:
    assert {room(ask) for ask in FREE} == {DOCUMENT_BYTES_MAX}
    assert {room(ask) for ask in BOUND} == {DOCUMENT_BYTES_MAX - RESERVED_BYTES}
    assert room(CHECK) == DOCUMENT_BYTES_MAX - RESERVED_BYTES - CHECK_BYTES


def limited(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(sizes, "DOCUMENT_BYTES_MAX", limit + RESERVED_BYTES)


def test_the_limit_is_accepted_and_one_byte_more_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, SIZE)
    assert fitted(c.RunStart(), DOCUMENT, {}) == rendered(DOCUMENT)
    limited(monkeypatch, SIZE - 1)
    refused = fitted(c.RunStart(), DOCUMENT, {})
    assert isinstance(refused, Refused)
    assert (refused.rule, refused.retryable, refused.remedy.arguments) == ("plan.bounded", False, {"kind": "deferred"})
    assert f"{SIZE} bytes; {SIZE - 1} are allowed" in refused.seen


def test_what_no_document_can_hold_is_refused_and_no_crash() -> None:
    huge: Document = DOCUMENT.model_copy(update={"goal": "x" * DOCUMENT_BYTES_MAX})
    refused = fitted(c.RunStart(), huge, {})
    assert isinstance(refused, Refused)
    assert "larger than" in refused.seen


def test_a_review_that_is_too_long_is_handed_in_again_and_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 10)
    refused = fitted(REVIEW, DOCUMENT, {})
    assert isinstance(refused, Refused)
    assert (refused.remedy.who, refused.remedy.tool) == ("reviewer", "review_submit")
    assert refused.remedy.arguments == {"assignment_id": "r"}


def test_a_list_that_its_file_could_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = tuple(f"{number:06d}" for number in range(2_001))
    monkeypatch.setattr("flow_mcp.store.sidecars.BYTES_MAX", 7 * 2_001)
    assert isinstance(fitted(c.RunStart(), DOCUMENT, {"d": lines}), bytes)
    monkeypatch.setattr("flow_mcp.store.sidecars.BYTES_MAX", 7 * 2_001 - 1)
    assert isinstance(fitted(c.RunStart(), DOCUMENT, {"d": lines}), Refused)
    assert isinstance(fitted(c.RunStart(), DOCUMENT, {"d": lines[1:]}), bytes)
