"""The keeper records the end of a check, whatever happens meanwhile."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.history import observations
from flow_mcp.domain.policy import Policy
from flow_mcp.engine import keeper as keeper_module
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Asked, Done
from flow_mcp.engine.keeper import Keeper, Spec, new_ticket, opened_ticket, read_ticket, ticket_path
from flow_mcp.store.lock import Busy, WorkspaceLock
from tests.engine.checking import holding, running
from tests.engine.place import CHECK, GATE, Hold, Place, is_alive, last, until
from tests.engine.threaded import Threaded, threaded

SPEC = Spec(
    root="/some/where",
    plans="plans",
    policy=Policy().model_dump(),
    environment={"PATH": "/usr/bin"},
    secrets=(),
    without=("attest.source",),
    plan_id="p",
    check_id="check-1",
    output="/some/where/.flow/checks/p.check-1.log",
    token="0123abcd",  # noqa: S106 - a word for finding processes, no secret
)


@pytest.mark.parametrize("name", ["plain", "two words", "quo'te\"s", "new\nline", "\udcff\udcfe", "ünïcödé"])
def test_what_a_keeper_is_told_arrives_whatever_bytes_a_path_or_a_value_holds(name: str) -> None:
    spec = replace(SPEC, root=f"/{name}", output=f"/{name}/x.log", environment={"HOME": f"/{name}"})
    assert Spec.loads(spec.dumps()).root == spec.root
    assert Spec.loads(spec.dumps()).output == spec.output
    assert Spec.loads(spec.dumps()).environment == spec.environment


def test_a_keepers_engine_is_under_the_same_policy_and_rules(place: Place) -> None:
    strict = Policy.model_validate({"sandbox": "require"})
    engine = Spec.loads(replace(SPEC, root=str(place.root), policy=strict.model_dump()).dumps()).engine()
    assert engine.space == place.engine.space
    assert engine.settings.policy == strict
    assert engine.book.out == {"attest.source"}


def hold_lock(place: Place, held: threading.Event, free: threading.Event) -> None:
    with WorkspaceLock(place.root / ".flow" / "lock").hold(60):
        held.set()
        free.wait(60)


def in_threads(place: Place, hold: Hold) -> tuple[tuple[str, str], Threaded]:
    place.checks, launcher = threaded(place.engine)
    return holding(place, hold), launcher


def test_the_end_is_recorded_however_long_others_hold_the_lock(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, _ = in_threads(place, hold)
    monkeypatch.setattr("flow_mcp.engine.core.LOCK_TIMEOUT_S", 0.05)
    tries, real = threading.Semaphore(0), place.engine.ask

    def counted(ask: c.Ask, asked: Asked, *, alone: bool = False) -> Done | Refused:
        tries.release()
        return real(ask, asked, alone=alone)

    monkeypatch.setattr(place.engine, "ask", counted)
    held, free = threading.Event(), threading.Event()
    holder = threading.Thread(target=hold_lock, args=(place, held, free))
    holder.start()
    assert held.wait(60)
    hold.release()
    assert all(tries.acquire(timeout=60) for _ in range(3))
    free.set()
    holder.join(60)
    assert place.ended(*ids).exit_code == 0


def test_a_refusal_that_passes_is_waited_out_too(place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, _ = in_threads(place, hold)
    answers, real = iter([True, True]), place.engine.ask
    busy = Refused("write.expected-revision", "It kept changing.", place.state().step, retryable=True)

    def ask(ask: c.Ask, asked: Asked, *, alone: bool = False) -> Done | Refused:
        return busy if next(answers, False) else real(ask, asked, alone=alone)

    monkeypatch.setattr(place.engine, "ask", ask)
    hold.release()
    assert place.ended(*ids).exit_code == 0


def test_when_the_lock_never_comes_free_the_check_is_lost(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, launcher = in_threads(place, hold)
    monkeypatch.setattr("flow_mcp.engine.core.LOCK_TIMEOUT_S", 0.05)
    monkeypatch.setattr(keeper_module, "RECORD_S", -1.0)
    with WorkspaceLock(place.root / ".flow" / "lock").hold(60):
        hold.release()
        assert launcher.handles[0].wait(60)
    assert isinstance(launcher.handles[0].failure, Busy)
    waited = place.checks.wait(*ids, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.always-recorded"
    assert last(place.done(c.RunReset(feature_id="bye", reason="lost")).document).ended == "runner-lost"


def test_cases_that_do_not_fit_into_the_document_are_said_to_be_too_large(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.checks, _ = threaded(place.engine)
    hold.install(place)
    report = f"<testsuite><testcase name='{'n' * 60_000}'/></testsuite>"
    place.script("run.sh", "./hold.sh", "mkdir -p .flow/reports", f'echo "{report}" >$1')
    place.approved()
    place.done(c.RunStart())
    ids = place.begin("broad", GATE.run)
    hold.begun()
    size = max(len(data) for name, data in place.bytes().items() if name.endswith(".json"))
    monkeypatch.setattr("flow_mcp.engine.sizes.DOCUMENT_BYTES_MAX", size + 40_000)
    hold.release()
    seen = place.ended(*ids)
    assert seen.exit_code == 0
    assert seen.report is not None
    assert (seen.report.reason, seen.report.passed) == ("over-limits", 0)


def test_a_check_that_was_settled_before_it_began_is_not_run(place: Place, tmp_path: Path) -> None:
    place.script("do.sh", f"touch '{tmp_path}/ran'")
    running(place, "./do.sh")
    for check_id in ("check-1", "check-99"):
        spec = replace(SPEC, root=str(place.root), plan_id=place.document.plan_id, check_id=check_id)
        Keeper(place.engine, spec, threading.Event(), alone=False).keep()
    Keeper(place.engine, replace(SPEC, plan_id="no-such-plan"), threading.Event(), alone=False).keep()
    assert not (tmp_path / "ran").exists()
    assert place.document.pending is None


def test_an_end_of_the_output_that_cannot_be_kept_costs_no_record(place: Place, hold: Hold) -> None:
    ids, _ = in_threads(place, hold)
    for output in (place.root / ".flow" / "checks").glob("*.log"):
        output.with_suffix(".tail").mkdir()
    hold.release()
    assert place.ended(*ids).exit_code == 0


# Tickets.


def test_a_ticket_is_read_as_it_was_written(tmp_path: Path) -> None:
    wrote = new_ticket("abc", tmp_path)
    ticket_path(tmp_path, "p", "check-1").write_text(wrote.model_dump_json())
    assert read_ticket(tmp_path, "p", "check-1") == wrote
    assert read_ticket(tmp_path, "p", "check-2") is None


@pytest.mark.parametrize(
    "changed", [{"began_at_s": float("inf")}, {"began_at_s": float("nan")}, {"pid": "1"}, {"more": 1}, {"token": None}]
)
def test_a_ticket_that_is_none_is_not_read(tmp_path: Path, changed: dict[str, object]) -> None:
    path = tmp_path / "p.check-1.ticket"
    path.write_text(json.dumps(json.loads(new_ticket("abc", tmp_path).model_dump_json()) | changed))
    assert opened_ticket(path) is None


def test_a_ticket_that_is_a_planted_link_is_not_followed(place: Place, tmp_path: Path) -> None:
    (tmp_path / "aside").write_text(new_ticket("abc", tmp_path).model_dump_json())
    (tmp_path / "p.check-1.ticket").symlink_to(tmp_path / "aside")
    assert read_ticket(tmp_path, "p", "check-1") is None
    running(place)
    document = place.document
    target = ticket_path(place.root / ".flow" / "checks", document.plan_id, f"check-{document.revision + 1}")
    target.parent.mkdir(mode=0o700)
    target.symlink_to(tmp_path / "elsewhere")
    place.checks = Checks(place.engine)
    assert place.observe("focused", CHECK.run).ended == "exited"
    assert not (tmp_path / "elsewhere").exists()


# Documents that are away.


def test_a_document_that_is_away_when_the_check_ends_is_waited_for(place: Place, hold: Hold, tmp_path: Path) -> None:
    ids = holding(place, hold)
    path = place.root / "plans" / f"{ids[0]}.json"
    path.rename(tmp_path / "stashed")
    hold.release()
    tail = place.root / ".flow" / "checks"
    until(lambda: list(tail.glob("*.tail")))
    (tmp_path / "stashed").rename(path)
    assert place.ended(*ids).exit_code == 0


def test_a_check_whose_private_folder_is_removed_ends_itself(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    pid = hold.begun()
    shutil.rmtree(place.root / ".flow")
    until(lambda: not is_alive(pid))
    again = Place(place.root)
    until(lambda: not again.engine.slot.is_taken())
    reset = c.RunReset(feature_id="bye", reason="its facts are gone")
    assert observations(again.done(reset, plan_id=ids[0]).document)[0].ended in {"runner-lost", "cancelled"}
