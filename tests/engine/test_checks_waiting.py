import pytest

from flow_mcp.domain.decision import Refused
from flow_mcp.engine import checks as checks_module
from flow_mcp.engine.checks import Checks, Waited
from tests.engine.checking import elsewhere, holding, line
from tests.engine.place import Hold, Place, last


def test_whoever_waits_elsewhere_sees_the_output_and_the_end(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    other = Checks(place.another())
    waited = other.wait(*ids, 1.5 * checks_module.POLL_S)
    assert isinstance(waited, Waited)
    assert (waited.observation, waited.tail) == (None, "holding\n")
    assert waited.elapsed_s is not None
    here = place.checks.wait(*ids, 0)
    assert isinstance(here, Waited)
    assert here.elapsed_s is not None
    assert here.tail == "holding\n"
    with elsewhere(place, "wait", *ids) as process:
        assert line(process) == "waiting"
        hold.release()
        assert process.communicate(timeout=60)[0].strip() == "exited"
    after = other.wait(*ids, 60)
    assert isinstance(after, Waited)
    assert after.observation == last(place.document)
    assert (after.tail, after.elapsed_s) == ("holding\n", None)


@pytest.mark.parametrize("check_id", ["check-999", "check-", "check-99999999999", "nonsense", "../x", ""])
def test_an_unknown_check_is_not_waited_for(place: Place, check_id: str) -> None:
    document = place.approved()
    waited = place.checks.wait(document.plan_id, check_id, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.pending-only"
    assert repr(check_id) in waited.seen


def test_a_check_of_an_unknown_plan_is_not_waited_for(place: Place) -> None:
    waited = place.checks.wait("none-such", "check-1", 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "plan.approved-first"


def test_another_check_than_the_pending_one_is_not_waited_for(place: Place, hold: Hold) -> None:
    plan_id, _ = holding(place, hold)
    waited = place.checks.wait(plan_id, "check-1", 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.pending-only"


# Always recorded.
