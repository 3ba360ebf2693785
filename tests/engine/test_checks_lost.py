"""A runner that is gone: the check is recorded as lost, and what its command left is cleaned up."""

import os
import signal
import sys
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.history import observations
from flow_mcp.engine import keeper as keeper_module
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Asked, Done
from flow_mcp.engine.keeper import Spec
from flow_mcp.engine.warm import Handle, Warm
from flow_mcp.workspace.disposal import disposed
from tests.engine.checking import holding, kill_keeper, operations, running, ticket
from tests.engine.place import CHECK, MANAGER, Hold, Place, is_alive, last, until
from tests.engine.threaded import threaded

RESET = c.RunReset(feature_id="bye", reason="lost")


def lost(place: Place, hold: Hold, tmp_path: Path) -> tuple[tuple[str, str], int]:
    """Have a check whose runner was killed, and the process that its command left behind."""
    hold.install(place)
    survivor = tmp_path / "survivor"
    place.script("do.sh", "sleep 300 &", f"echo $! >'{survivor}'", "exec ./hold.sh")
    running(place, "./do.sh")
    ids = place.begin("focused", "./do.sh")
    hold.begun()
    kill_keeper(place, ids, signal.SIGKILL)
    return ids, int(survivor.read_text())


def left(place: Place) -> list[str]:
    """Name what a runner left."""
    private = place.root / ".flow"
    found = [*(private / "checks").glob("*.ticket"), *private.glob("checks/*.cancel")]
    return [*("work" for _ in disposed(private)), *(path.suffix for path in found)]


def test_the_next_mutation_records_a_lost_check_in_its_own_write(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    place.engine.cancels.request(*ids)
    document = place.document
    kill_keeper(place, ids, signal.SIGKILL)
    waited = place.checks.wait(*ids, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.always-recorded"
    assert ids[1] in waited.seen
    after = place.done(RESET).document
    seen = last(after)
    assert (seen.ended, seen.ineligible) == ("runner-lost", "runner-lost")
    assert seen.revision == after.revision == document.revision + 1
    assert after.runs[0].observations == (seen,)
    assert operations(after)[-2:] == ["check_start", "run_reset"]
    assert left(place) == []


def test_the_command_ends_with_its_runner_and_cleaning_up_ends_what_it_left(
    place: Place, hold: Hold, tmp_path: Path
) -> None:
    _, survivor = lost(place, hold, tmp_path)
    until(lambda: not is_alive(hold.begun()))
    assert is_alive(survivor)
    assert sorted(left(place)) == [".ticket", "work"]
    assert place.checks.clean_up()
    assert not is_alive(survivor)
    assert left(place) == []
    assert place.document.pending is not None


def test_the_next_mutation_may_be_another_check_which_cleans_up_first(place: Place, hold: Hold, tmp_path: Path) -> None:
    _, survivor = lost(place, hold, tmp_path)
    hold.release()
    seen = place.observe("focused", "./do.sh")
    assert not is_alive(survivor)
    assert [one.ended for one in observations(place.document)] == ["runner-lost", "exited"]
    assert seen.exit_code == 0


def test_whoever_waits_cleans_up_too(place: Place, hold: Hold, tmp_path: Path) -> None:
    ids, survivor = lost(place, hold, tmp_path)
    assert isinstance(Checks(place.another()).wait(*ids, 60), Refused)
    assert not is_alive(survivor)
    assert left(place) == []


def test_whoever_waits_is_told_though_nothing_can_be_cleaned_up(place: Place, hold: Hold, tmp_path: Path) -> None:
    ids = holding(place, hold)
    kill_keeper(place, ids, signal.SIGKILL)
    folder = place.root / ".flow" / "checks"
    folder.rename(tmp_path / "aside")
    folder.symlink_to(tmp_path / "aside")
    waited = place.checks.wait(*ids, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.always-recorded"
    assert list((tmp_path / "aside").iterdir()) != []


def test_nothing_is_cleaned_up_while_a_check_runs(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    assert not Checks(place.another()).clean_up()
    assert ticket(place, ids).pid
    hold.release()
    assert place.ended(*ids).exit_code == 0


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"token": "a b", "began_at_s": 1.0, "pid": 1}', b"x" * 5_000])
def test_a_ticket_that_tells_nothing_is_removed_and_nothing_is_ended(place: Place, data: bytes) -> None:
    folder = place.root / ".flow" / "checks"
    folder.mkdir(mode=0o700)
    (folder / "p.check-1.ticket").write_bytes(data)
    assert place.checks.clean_up()
    assert list(folder.glob("*.ticket")) == []


def test_a_check_whose_private_folder_went_is_lost_and_its_late_end_is_dropped(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    (place.root / ".flow").rename(place.root.parent / "gone")
    (place.root / ".flow").mkdir(mode=0o700)
    after = place.another().ask(c.RunReset(feature_id="bye", reason="cleaned"), Asked(MANAGER))
    assert isinstance(after, Done)
    assert last(after.document).ended == "runner-lost"
    hold.release()
    assert place.ended(*ids).ended == "runner-lost"


def ends_meanwhile(place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the check end just when the slot is looked at."""
    real = place.engine.slot.is_taken

    def taken() -> bool:
        hold.release()
        until(lambda: not real())
        return False

    place.checks = Checks(place.engine)
    monkeypatch.setattr(place.engine.slot, "is_taken", taken)


def test_a_check_that_ends_between_two_looks_is_not_lost(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = holding(place, hold)
    with monkeypatch.context() as between:
        ends_meanwhile(place, hold, between)
        found = place.engine.pending(ids[0])
    assert not isinstance(found, Refused)
    assert (found[0].pending, found[1]) == (None, False)
    assert place.ended(*ids).exit_code == 0


def test_whoever_waits_while_a_check_ends_between_two_looks_gets_its_observation(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = holding(place, hold)
    ends_meanwhile(place, hold, monkeypatch)
    assert place.ended(*ids).exit_code == 0


def test_a_check_whose_runner_breaks_is_lost(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    running(place)
    place.checks, launcher = threaded(place.engine)

    def fail(*_: object) -> None:
        message = "out of order"
        raise RuntimeError(message)

    monkeypatch.setattr(keeper_module, "observe", fail)
    ids = place.begin("focused", CHECK.run)
    waited = place.checks.wait(*ids, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.always-recorded"
    assert "out of order" in str(launcher.handles[0].failure)
    assert last(place.done(RESET).document).ended == "runner-lost"


class Failing:
    """A launcher that is ready, and then cannot launch."""

    def ready(self) -> None:
        """Be ready."""

    def launch(self, spec: Spec, slot: int) -> Handle:
        """Fail."""
        os.fstat(slot)
        seen = f"No process for {spec.check_id}."
        raise BrokenWorld(seen, "End some.")


def test_where_no_process_is_to_be_had_the_slot_is_free_and_the_check_is_lost(place: Place) -> None:
    running(place)
    place.checks = Checks(place.engine, Failing())
    with pytest.raises(BrokenWorld, match="No process for check-"):
        place.begin("focused", CHECK.run)
    assert not place.engine.slot.is_taken()
    pending = place.document.pending
    assert pending is not None
    waited = place.checks.wait(place.document.plan_id, pending.id, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.always-recorded"
    assert last(place.done(RESET).document).ended == "runner-lost"


def test_where_no_process_can_be_started_nothing_is_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    running(place)
    before = place.bytes()
    place.checks = Checks(place.engine, Warm())
    with monkeypatch.context() as without:
        without.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(BrokenWorld, match="could not be started"):
            place.begin("focused", CHECK.run)
    assert place.bytes() == before
    assert not place.engine.slot.is_taken()


def test_a_planted_link_in_the_private_folder_stops_a_check_before_it_is_entered(place: Place, tmp_path: Path) -> None:
    running(place)
    before = place.bytes()
    (tmp_path / "aside").mkdir()
    precious = [tmp_path / "aside" / f"precious.{ending}" for ending in ("ticket", "cancel", "log")]
    for path in precious:
        path.touch()
    (place.root / ".flow" / "checks").symlink_to(tmp_path / "aside")
    with pytest.raises(BrokenWorld, match="a link"):
        place.begin("focused", CHECK.run)
    assert place.bytes() == before
    assert all(path.exists() for path in precious)
    assert not place.engine.slot.is_taken()
    (place.root / ".flow" / "checks").unlink()
    assert place.observe("focused", CHECK.run).ended == "exited"


def test_folders_in_place_of_tickets_and_requests_are_removed(place: Place) -> None:
    running(place)
    folder = place.root / ".flow" / "checks"
    for name in ("a.ticket", "b.cancel"):
        (folder / name / "inside").mkdir(parents=True)
    assert place.observe("focused", CHECK.run).ended == "exited"
    assert left(place) == []
