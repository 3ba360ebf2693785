import json

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.history import approval
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.view import status
from flow_mcp.engine.core import Asked, Done, whole_digest
from flow_mcp.store import chain
from flow_mcp.store.documents import Damaged, Stored
from tests.engine.place import CHECK, MANAGER, PERSON, Hold, Place, is_alive, last, lone, until


def edit(place: Place, **changes: object) -> str:
    """Edit the one document by hand; give its plan's id."""
    (path,) = (place.root / "plans").glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path.stem


def shown(place: Place, plan_id: str) -> str:
    held = place.engine.edited(plan_id)
    assert isinstance(held, Stored), held
    return whole_digest(held.document)


def resealed(place: Place, plan_id: str, actor: Actor = PERSON, **names: object) -> Done | Refused:
    return place.engine.reseal(Asked(actor, **names), plan_id, "I meant it.", shown(place, plan_id))  # type: ignore[arg-type]


def taken_over(place: Place, plan_id: str) -> Document:
    done = resealed(place, plan_id)
    assert isinstance(done, Done), done
    return done.document


def test_a_person_takes_over_what_was_edited_and_everything_older_counts_no_more(place: Place) -> None:
    place.finished()
    plan_id = edit(place, goal="Say good-bye twice")
    with pytest.raises(Damaged):
        place.ask(c.Close(kind="completed", summary="done"), plan_id=plan_id)
    document = taken_over(place, plan_id)
    assert document.goal == "Say good-bye twice"
    assert chain.fault(document) is None
    assert (approval(document), status(document)) == (None, "planning")
    assert [run.state for run in document.runs] == ["superseded"]
    place.refused("plan.approved-first", c.Close(kind="completed", summary="done"))
    assert place.approve().approvals[-1].source == document.approvals[0].source


def test_only_a_person_reseals(place: Place) -> None:
    place.approved()
    plan_id = edit(place, goal="Another")
    refused = resealed(place, plan_id, MANAGER)
    assert isinstance(refused, Refused)
    assert refused.rule == "close.accepted-by-person"


def test_what_was_not_edited_is_not_resealed_and_what_is_not_there_is_said(place: Place) -> None:
    document = place.approved()
    refused = place.engine.edited(document.plan_id)
    assert isinstance(refused, Refused)
    assert refused.rule == "write.chain-intact"
    again = place.engine.reseal(Asked(PERSON), document.plan_id, "why not", "sha256:any")
    assert isinstance(again, Refused)
    assert again.rule == "write.chain-intact"
    unknown = place.engine.edited("none-such")
    assert isinstance(unknown, Refused)
    assert unknown.rule == "plan.approved-first"


def test_an_answer_counts_for_the_document_that_was_shown(place: Place) -> None:
    place.approved()
    plan_id = edit(place, goal="Another")
    before = shown(place, plan_id)
    edit(place, goal="Yet another")
    refused = place.engine.reseal(Asked(PERSON), plan_id, "I meant it.", before)
    assert isinstance(refused, Refused)
    assert (refused.rule, refused.retryable) == ("approve.exact", True)


def test_a_reseal_that_names_another_revision_is_refused(place: Place) -> None:
    place.approved()
    plan_id = edit(place, goal="Another")
    refused = resealed(place, plan_id, expected_revision=7)
    assert isinstance(refused, Refused)
    assert refused.rule == "write.expected-revision"


def test_a_reseal_replays_by_its_operation_id(place: Place) -> None:
    place.approved()
    plan_id = edit(place, goal="Another")
    digest = shown(place, plan_id)
    first = place.engine.reseal(Asked(PERSON, operation_id="x"), plan_id, "I meant it.", digest)
    again = place.engine.reseal(Asked(PERSON, operation_id="x"), plan_id, "I meant it.", digest)
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert (first.replayed, again.replayed, again.document.revision) == (False, True, first.document.revision)


@pytest.mark.parametrize("change", [{"colour": "red"}, {"revision": "x"}, {"schema": 2}])
def test_where_the_shape_is_broken_no_reseal_can_help(place: Place, change: dict[str, object]) -> None:
    place.approved()
    plan_id = edit(place, **change)
    with pytest.raises(Damaged, match="no reseal can help") as caught:
        place.engine.edited(plan_id)
    assert "flow-mcp verify" in caught.value.remedy


def test_where_a_list_beside_it_is_lost_no_reseal_can_help(place: Place) -> None:
    document = place.approved()
    listing = {"digest": "sha256:" + "0" * 64, "count": 3_000}
    edit(place, listings=[*(entry.as_json() for entry in document.listings), listing])
    with pytest.raises(Damaged, match="missing or was edited too"):
        place.engine.edited(document.plan_id)


def test_what_cannot_be_true_is_not_resealed(place: Place) -> None:
    document = place.approved()
    lie = {"kind": "accepted", "summary": "Fine.", "by": "caller", "revision": 2}
    plan_id = edit(place, closure=lie)
    before = place.bytes()
    with pytest.raises(Damaged, match="resealed, it still cannot be true"):
        resealed(place, plan_id)
    assert place.bytes() == before
    assert document.closure is None


def test_a_check_that_runs_is_cancelled_by_a_reseal(place: Place, hold: Hold) -> None:
    hold.install(place)
    place.approved(lone(hold.run))
    place.done(c.RunStart())
    ids = place.begin("focused", hold.run)
    pid = hold.begun()
    document = taken_over(place, edit(place, goal="Another"))
    assert last(document).ended == "cancelled"
    assert place.ended(*ids) == last(document)
    until(lambda: not is_alive(pid))
    assert place.document == document


def test_the_revisions_go_on_after_a_reseal_and_later_edits_are_seen(place: Place) -> None:
    place.approved()
    document = taken_over(place, edit(place, goal="Another"))
    operations = [entry.as_json() for entry in document.operations]
    old = {**operations[0], "at": "1999-12-31T23:59:59Z"}
    plan_id = edit(place, operations=[old, *operations[1:]])
    with pytest.raises(Damaged) as caught:
        place.ask(c.CheckStart(scope="broad", command=CHECK.run), plan_id=plan_id)
    assert caught.value.fault == "chain"
