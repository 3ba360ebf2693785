import pytest

from flow_mcp.domain import commands as c
from flow_mcp.engine.checks import Checks, Waited
from tests.engine.checking import holding, running, said
from tests.engine.place import CHECK, PERSON, Hold, Place, is_alive, last, lone, until


def test_a_check_is_cancelled_from_where_it_runs(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    pid = hold.begun()
    assert place.checks.cancel(*ids)
    seen = place.ended(*ids)
    assert (seen.ended, seen.exit_code, seen.ineligible) == ("cancelled", None, "cancelled")
    assert not is_alive(pid)


def test_a_check_is_cancelled_by_another_engine_and_the_next_one_is_not(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    Checks(place.another()).cancel(*ids)
    assert place.ended(*ids).ended == "cancelled"
    hold.release()
    assert place.observe("focused", hold.run).ended == "exited"


def test_a_check_is_cancelled_by_another_process(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    assert said(place, "cancel", *ids) == "asked"
    assert place.ended(*ids).ended == "cancelled"


@pytest.mark.parametrize("check_id", ["check-999", "check-5", "../../evil", "x/../../evil", ""])
def test_what_does_not_run_is_not_cancelled_and_nothing_is_written(place: Place, check_id: str) -> None:
    document = place.approved()
    before = sorted((place.root / ".flow").rglob("*"))
    assert not place.checks.cancel(document.plan_id, check_id)
    assert not place.checks.cancel("no-such-plan", check_id)
    assert sorted((place.root / ".flow").rglob("*")) == before


def test_another_check_than_the_named_one_is_not_cancelled(place: Place, hold: Hold) -> None:
    plan_id, check_id = holding(place, hold)
    for other in ("check-1", "../../evil", "x/../../evil"):
        assert not Checks(place.another()).cancel(plan_id, other)
    assert list(place.root.rglob("*.cancel")) == []
    hold.release()
    assert place.ended(plan_id, check_id).ended == "exited"


def test_a_request_of_long_ago_cancels_no_check_that_bears_the_same_id(place: Place) -> None:
    running(place)
    document = place.document
    place.engine.cancels.request(document.plan_id, f"check-{document.revision + 1}")
    assert place.observe("focused", CHECK.run).ended == "exited"


def test_closing_cancels_and_records_in_one_write_and_late_news_are_dropped(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    pid = hold.begun()
    closed = place.done(c.Close(kind="deferred", summary="later")).document
    seen = last(closed)
    assert (seen.ended, seen.ineligible, seen.revision) == ("cancelled", "cancelled", closed.revision)
    assert closed.pending is None
    waited = place.checks.wait(*ids, 60)
    assert isinstance(waited, Waited)
    assert waited.observation == seen
    until(lambda: not is_alive(pid))
    place.settled()
    assert place.document == closed


@pytest.mark.parametrize("kind", ["abandoned", "accepted"])
def test_every_other_way_to_leave_ends_the_command_too(place: Place, hold: Hold, kind: str) -> None:
    holding(place, hold)
    pid = hold.begun()
    source = place.state().facts.digest
    place.done(c.Close(kind=kind, summary="enough", shown_source=source), PERSON)  # type: ignore[arg-type]
    until(lambda: not is_alive(pid))


def test_after_such_a_closing_the_next_plan_has_its_checks(place: Place, hold: Hold) -> None:
    holding(place, hold)
    place.done(c.Close(kind="deferred", summary="later"))
    hold.release()
    place.approved(lone(hold.run), goal="Once more")
    place.done(c.RunStart())
    place.settled()
    assert place.observe("focused", hold.run).exit_code == 0


def test_a_closing_stands_though_the_command_cannot_be_told(place: Place, hold: Hold) -> None:
    holding(place, hold)
    folder = place.root / ".flow" / "checks"
    folder.rename(folder.with_name("aside"))
    folder.symlink_to(folder.with_name("aside"))
    assert place.done(c.Close(kind="deferred", summary="later")).document.closure is not None
