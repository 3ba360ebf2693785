import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Document, Observation
from flow_mcp.engine import checks as checks_module
from flow_mcp.engine.checks import Checks, Waited
from flow_mcp.engine.core import Asked, Done, State
from flow_mcp.store.files import PlantedLink
from flow_mcp.store.lock import Busy, WorkspaceLock
from tests.engine.place import CHECK, GATE, MANAGER, PERSON, Hold, Place, external, is_alive, last, lone, plan, until

ROOT = Path(__file__).resolve().parents[2]


def running(place: Place, run: str = CHECK.run, **more: Any) -> None:  # noqa: ANN401 - whatever a command takes
    """Start a run of a plan whose one check is this command."""
    place.approved(lone(run, **more))
    place.done(c.RunStart())


def holding(place: Place, hold: Hold, *after: str) -> tuple[str, str]:
    """Start a run and a check that runs until it is let go."""
    hold.install(place, *after)
    running(place, hold.run)
    return begun(place, hold)


def begun(place: Place, hold: Hold) -> tuple[str, str]:
    ids = place.begin("focused", hold.run)
    hold.begun()
    return ids


@contextmanager
def elsewhere(place: Place, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Do something in another process."""
    command = [sys.executable, "-m", "tests.engine.elsewhere", str(place.root), *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(place: Place, *words: str) -> str:
    """Give the last word of another process."""
    with elsewhere(place, *words) as process:
        return process.communicate(timeout=60)[0].splitlines()[-1]


def operations(document: Document) -> list[str]:
    return [operation.kind for operation in document.operations]


# Where an observation belongs.


def test_a_check_of_each_scope_is_recorded_where_it_belongs(place: Place) -> None:
    place.approved(plan(**external(CHECK, "new")))
    place.done(c.RunStart())
    place.work()
    place.observe("baseline", GATE.run)
    place.observe("external", CHECK.run, requirement="r1")
    for scope, command in (("focused", CHECK.run), ("broad", GATE.run)):
        place.observe(scope, command)  # type: ignore[arg-type]
    place.observe("proof", GATE.run, feature_id="bye")
    document = place.document
    assert [one.scope for one in document.baselines] == ["baseline"]
    assert [(one.scope, one.requirement) for one in document.externals] == [("external", "r1")]
    assert [one.scope for one in document.runs[0].observations] == ["focused", "broad", "proof"]
    assert document.runs[0].observations[-1].feature_id == "bye"
    assert all(one.revision == one.started_revision + 1 for one in observations(document))
    assert all(one.attested_by == "runner" and one.ineligible is None for one in observations(document))
    assert operations(document)[3:] == ["check_start", "check_end"] * 5


ENDINGS = {
    "passes": (["exit 0"], {}, "exited", 0, None, True),
    "fails": (["exit 3"], {}, "exited", 3, None, True),
    "is ended by the clock": (["sleep 60"], {"timeout_s": 1}, "timed-out", None, "timed-out", True),
    "kills itself": (["kill -9 $$"], {}, "signalled", None, "signalled", True),
    "says too much": (["head -c 11000000 /dev/zero"], {}, "exited", 0, "output-incomplete", False),
    "lacks its tool": (["no-such-tool"], {}, "exited", 127, None, True),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_every_ending_is_recorded_as_what_it_was(place: Place, how: str) -> None:
    lines, more, ended, code, ineligible, complete = ENDINGS[how]
    place.script("do.sh", *lines)
    running(place, "./do.sh", **more)
    seen = place.observe("focused", "./do.sh")
    assert (seen.ended, seen.exit_code, seen.ineligible, seen.complete) == (ended, code, ineligible, complete)
    assert last(place.document) == seen
    assert place.document.pending is None


@pytest.mark.parametrize(("run", "code"), [("no-such-tool --version", 127), ("./plain.txt", 126)])
def test_a_command_that_is_no_program_ends_by_the_shells_own_code(place: Place, run: str, code: int) -> None:
    place.write("plain.txt", "words\n")
    running(place, run)
    seen = place.observe("focused", run)
    assert (seen.ended, seen.exit_code, seen.ineligible) == ("exited", code, None)


def test_a_program_that_is_killed_within_a_command_gives_the_command_its_shells_code(place: Place) -> None:
    place.script("do.sh", "kill -9 $$")
    running(place, "./do.sh && ./run.sh .flow/reports/new.xml")
    seen = place.observe("focused", "./do.sh && ./run.sh .flow/reports/new.xml")
    assert (seen.ended, seen.exit_code, seen.ineligible) == ("exited", 137, None)


def test_where_no_bash_is_to_be_had_the_check_was_not_run(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(place)
    (tmp_path / "bin").mkdir()
    git = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / "bin" / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    seen = place.observe("focused", CHECK.run)
    assert (seen.ended, seen.exit_code, seen.ineligible, seen.complete) == ("not-run", None, "not-run", None)
    assert "No bash was found" in str(seen.sandbox.reason)


def test_a_report_folder_that_is_a_planted_link_is_not_run_and_not_followed(place: Place, tmp_path: Path) -> None:
    running(place, "./run.sh .flow/reports/new.xml", report=".flow/reports/new.xml")
    (tmp_path / "aside").mkdir()
    (place.root / ".flow" / "reports").symlink_to(tmp_path / "aside")
    seen = place.observe("focused", "./run.sh .flow/reports/new.xml")
    assert (seen.ended, seen.ineligible) == ("not-run", "not-run")
    assert list((tmp_path / "aside").iterdir()) == []


# Cancelling.


def test_a_check_is_cancelled_from_where_it_runs(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    pid = hold.begun()
    place.checks.cancel(*ids)
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
    place.checks.cancel(document.plan_id, check_id)
    place.checks.cancel("no-such-plan", check_id)
    assert sorted((place.root / ".flow").rglob("*")) == before


def test_another_check_than_the_named_one_is_not_cancelled(place: Place, hold: Hold) -> None:
    plan_id, check_id = holding(place, hold)
    for other in ("check-1", "../../evil", "x/../../evil"):
        Checks(place.another()).cancel(plan_id, other)
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
    until(lambda: not place.engine.slot.is_taken())
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
    until(lambda: not place.engine.slot.is_taken())
    assert place.observe("focused", hold.run).exit_code == 0


def test_a_closing_stands_though_the_command_cannot_be_told(place: Place, hold: Hold) -> None:
    holding(place, hold)
    folder = place.root / ".flow" / "checks"
    folder.rename(folder.with_name("aside"))
    folder.symlink_to(folder.with_name("aside"))
    assert place.done(c.Close(kind="deferred", summary="later")).document.closure is not None


def test_closing_this_process_cancels_what_runs_in_it(place: Place, hold: Hold) -> None:
    holding(place, hold)
    place.checks.close(60)
    assert last(place.document).ended == "cancelled"
    place.checks.close(0)


# A runner that is gone.


def failing(message: str) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(message)

    return fail


def killed_runner(place: Place, hold: Hold) -> str:
    """Have another process start a check, and kill it while the check runs."""
    hold.install(place)
    running(place, hold.run)
    with elsewhere(place, "start", "focused", hold.run) as process:
        assert process.stdout is not None
        check_id = process.stdout.readline().strip()
        hold.begun()
        process.kill()
        process.wait(60)
    return check_id


def test_the_next_mutation_records_a_lost_check_in_its_own_write(place: Place, hold: Hold) -> None:
    check_id = killed_runner(place, hold)
    document = place.document
    assert document.pending is not None
    waited = place.checks.wait(document.plan_id, check_id, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.always-recorded"
    assert check_id in waited.seen
    after = place.done(c.RunReset(feature_id="bye", reason="lost")).document
    seen = last(after)
    assert (seen.ended, seen.ineligible) == ("runner-lost", "runner-lost")
    assert seen.revision == after.revision == document.revision + 1
    assert after.runs[0].observations == (seen,)
    assert operations(after)[-2:] == ["check_start", "run_reset"]
    assert list((place.root / ".flow" / "checks").glob("*.cancel")) == []


def test_the_next_mutation_may_be_another_check(place: Place, hold: Hold) -> None:
    killed_runner(place, hold)
    hold.release()
    seen = place.observe("focused", hold.run)
    assert [one.ended for one in observations(place.document)] == ["runner-lost", "exited"]
    assert seen.exit_code == 0


def test_a_check_whose_private_folder_went_is_lost_and_its_late_end_is_dropped(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    (place.root / ".flow").rename(place.root.parent / "gone")
    (place.root / ".flow").mkdir(mode=0o700)
    after = place.another().ask(c.RunReset(feature_id="bye", reason="cleaned"), Asked(MANAGER))
    assert isinstance(after, Done)
    assert last(after.document).ended == "runner-lost"
    hold.release()
    assert place.ended(*ids).ended == "runner-lost"


def test_a_check_whose_runner_breaks_is_told_to_who_waits_and_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(place)
    monkeypatch.setattr(checks_module, "observe", failing("out of order"))
    ids = place.begin("focused", CHECK.run)
    with pytest.raises(RuntimeError, match="out of order"):
        place.checks.wait(*ids, 60)
    until(lambda: not place.engine.slot.is_taken())
    assert last(place.done(c.RunReset(feature_id="bye", reason="broken")).document).ended == "runner-lost"


def test_a_check_that_cannot_begin_leaves_the_slot_free(place: Place, tmp_path: Path) -> None:
    running(place)
    (place.root / ".flow" / "checks").symlink_to(tmp_path)
    with pytest.raises(PlantedLink):
        place.begin("focused", CHECK.run)
    assert not place.engine.slot.is_taken()
    (place.root / ".flow" / "checks").unlink()
    assert place.observe("focused", CHECK.run).ended == "exited"


def test_where_no_thread_is_to_be_had_the_slot_is_free_and_the_check_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(place)
    refuse = failing("can't start new thread")
    with monkeypatch.context() as full:
        real = threading.Thread.start
        full.setattr(threading.Thread, "start", lambda one: (refuse if one.name.startswith("check-") else real)(one))
        with pytest.raises(RuntimeError, match="thread") as caught:
            place.begin("focused", CHECK.run)
    assert "thread" in str(caught.value)  # which holds on to everything that was under way
    assert not place.engine.slot.is_taken()
    assert place.checks._running == {}
    pending = place.document.pending
    assert pending is not None
    waited = place.checks.wait(place.document.plan_id, pending.id, 60)
    assert isinstance(waited, Refused)
    assert waited.rule == "observe.always-recorded"


# One at a time.


def test_a_second_check_is_refused_with_the_id_of_the_first(place: Place, hold: Hold) -> None:
    plan_id, check_id = holding(place, hold)
    for checks in (place.checks, Checks(place.another())):
        refused = checks.start(c.CheckStart(scope="broad", command=GATE.run), Asked(MANAGER))
        assert isinstance(refused, Refused)
        assert (refused.rule, refused.retryable) == ("observe.settled-first", True)
        assert refused.remedy.arguments == {"plan_id": plan_id, "check_id": check_id}
    assert check_id in said(place, "start", "focused", hold.run)


def test_a_second_check_of_no_known_plan_is_refused_with_the_id_of_the_first(place: Place, hold: Hold) -> None:
    plan_id, check_id = holding(place, hold)
    refused = place.checks.start(c.CheckStart(scope="broad", command=GATE.run), Asked(MANAGER, plan_id="other"))
    assert isinstance(refused, Refused)
    assert refused.remedy.arguments == {"plan_id": plan_id, "check_id": check_id}


def test_while_a_cancelled_check_is_ending_the_next_one_is_asked_to_come_again(place: Place) -> None:
    running(place)
    with place.another().slot.taken() as taken:
        assert taken
        refused = place.checks.start(c.CheckStart(scope="focused", command=CHECK.run), Asked(MANAGER))
    assert isinstance(refused, Refused)
    assert (refused.rule, refused.remedy.tool, refused.retryable) == ("observe.settled-first", "status", True)
    assert place.observe("focused", CHECK.run).ended == "exited"


def test_a_refused_check_leaves_the_slot_free(place: Place) -> None:
    place.approved()
    refused = place.checks.start(c.CheckStart(scope="broad", command=GATE.run), Asked(MANAGER))
    assert isinstance(refused, Refused)
    assert refused.rule == "observe.active-run"
    assert not place.engine.slot.is_taken()


def test_nothing_is_decided_while_a_check_runs_but_others_read_and_write(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    place.refused("observe.settled-first", c.ReviewStart(summary="done"))
    place.refused("observe.settled-first", c.RunReset(feature_id="bye", reason="again"))
    other = place.another()
    state = other.read(MANAGER, None, look=True)
    assert isinstance(state, State)
    assert state.step.arguments == {"check_id": ids[1]}
    with WorkspaceLock(place.root / ".flow" / "lock").hold(5):
        pass
    waive = c.Waive(kind="path", value="tests/old.sh", because="known", shown_source=state.facts.digest)
    assert isinstance(other.ask(waive, Asked(PERSON)), Done)
    hold.release()
    assert place.ended(*ids).exit_code == 0
    assert operations(place.document)[-3:] == ["check_start", "waive", "check_end"]


# Waiting.


def test_whoever_waits_elsewhere_sees_the_output_and_the_end(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    other = Checks(place.another())
    waited = other.wait(*ids, 1.5 * checks_module.POLL_S)
    assert isinstance(waited, Waited)
    assert (waited.observation, waited.elapsed_s, waited.tail) == (None, None, "holding\n")
    here = place.checks.wait(*ids, 0)
    assert isinstance(here, Waited)
    assert here.elapsed_s is not None
    assert here.tail == "holding\n"
    with elsewhere(place, "wait", *ids) as process:
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


def hold_lock(place: Place, held: threading.Event, free: threading.Event) -> None:
    with WorkspaceLock(place.root / ".flow" / "lock").hold(60):
        held.set()
        free.wait(60)


def test_the_end_is_recorded_however_long_others_hold_the_lock(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = holding(place, hold)
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
    ids = holding(place, hold)
    answers, real = iter([True, True]), place.engine.ask
    busy = Refused("write.expected-revision", "It kept changing.", place.state().step, retryable=True)

    def ask(ask: c.Ask, asked: Asked, *, alone: bool = False) -> Done | Refused:
        return busy if next(answers, False) else real(ask, asked, alone=alone)

    monkeypatch.setattr(place.engine, "ask", ask)
    hold.release()
    assert place.ended(*ids).exit_code == 0


def test_when_the_lock_never_comes_free_the_waiter_is_told_and_the_check_is_lost(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = holding(place, hold)
    monkeypatch.setattr("flow_mcp.engine.core.LOCK_TIMEOUT_S", 0.05)
    monkeypatch.setattr(checks_module, "RECORD_S", -1.0)
    with WorkspaceLock(place.root / ".flow" / "lock").hold(60):
        hold.release()
        with pytest.raises(Busy):
            place.checks.wait(*ids, 60)
    until(lambda: not place.engine.slot.is_taken())
    assert last(place.done(c.RunReset(feature_id="bye", reason="lost")).document).ended == "runner-lost"


def test_cases_that_do_not_fit_into_the_document_are_said_to_be_too_large(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.approved()
    place.done(c.RunStart())
    size = max(len(data) for name, data in place.bytes().items() if name.endswith(".json"))
    name = "n" * 60_000
    place.script("run.sh", "mkdir -p .flow/reports", f"echo '<testsuite><testcase name=\"{name}\"/></testsuite>' >$1")
    ids = place.begin("broad", GATE.run)
    monkeypatch.setattr("flow_mcp.engine.sizes.DOCUMENT_BYTES_MAX", size + 40_000)
    seen = place.ended(*ids)
    assert seen.exit_code == 0
    assert seen.report is not None
    assert (seen.report.reason, seen.report.passed) == ("over-limits", 0)


# Before it starts.


def test_a_policy_that_requires_containment_refuses_before_anything_runs(place: Place) -> None:
    running(place, "./run.sh .flow/reports/new.xml", report=".flow/reports/new.xml")
    before = place.bytes()
    strict = Place(place.root, policy={"sandbox": "require"})
    ask = c.CheckStart(scope="focused", command="./run.sh .flow/reports/new.xml")
    refused = strict.checks.start(ask, Asked(MANAGER))
    assert isinstance(refused, Refused)
    assert refused.rule == "attest.sandbox"
    assert refused.remedy.who == "person"
    assert place.bytes() == before
    assert not (place.root / ".flow" / "reports").exists()


def test_a_start_replays_by_its_operation_id_while_it_runs_and_after(place: Place, hold: Hold) -> None:
    hold.install(place)
    running(place, hold.run)
    ask, asked = c.CheckStart(scope="focused", command=hold.run), Asked(MANAGER, operation_id="go")
    first = place.checks.start(ask, asked)
    assert isinstance(first, Done)
    hold.begun()
    for checks in (place.checks, Checks(place.another()), Place(place.root, policy={"sandbox": "require"}).checks):
        again = checks.start(ask, asked)
        assert isinstance(again, Done)
        assert again.replayed
        assert again.answer == first.answer
    hold.release()
    place.ended(first.document.plan_id, str(first.answer["check_id"]))
    assert operations(place.document)[-2:] == ["check_start", "check_end"]
    last_time = place.checks.start(ask, asked)
    assert isinstance(last_time, Done)
    assert last_time.replayed
    conflict = place.checks.start(c.CheckStart(scope="broad", command=GATE.run), asked)
    assert isinstance(conflict, Refused)
    assert conflict.rule == "write.operation-replays"


def test_a_start_that_another_thread_has_just_made_is_not_run_twice(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.script("do.sh", "echo ran >>cache/runs")
    (place.root / "cache").mkdir()
    running(place, "./do.sh")
    ask, asked = c.CheckStart(scope="focused", command="./do.sh"), Asked(MANAGER, operation_id="go")
    first = place.checks.start(ask, asked)
    assert isinstance(first, Done)
    place.ended(first.document.plan_id, str(first.answer["check_id"]))
    until(lambda: not place.engine.slot.is_taken())
    monkeypatch.setattr(place.engine, "replayed", lambda *_: None)
    monkeypatch.setattr(place.engine, "ask", lambda *_, **__: first_again(first))
    again = place.checks.start(ask, asked)
    assert isinstance(again, Done)
    assert again.replayed
    until(lambda: not place.engine.slot.is_taken())
    assert (place.root / "cache" / "runs").read_text() == "ran\n"


def first_again(done: Done) -> Done:
    return Done(done.document, done.answer, done.step, done.operation_id, replayed=True, seen=None)


# What stays behind.


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - a count of what is open


def test_thirty_checks_leave_no_thread_no_descriptor_and_little_memory(place: Place) -> None:
    running(place, "test -f run.sh")
    place.observe("focused", "test -f run.sh")
    until(lambda: not place.engine.slot.is_taken())
    threads, open_before = threading.active_count(), descriptors()
    for _ in range(30):
        place.observe("focused", "test -f run.sh")
    until(lambda: not place.engine.slot.is_taken())
    until(lambda: threading.active_count() <= threads)
    assert descriptors() <= open_before
    assert len(place.checks._running) == checks_module.ENDED_MAX
    assert len(observations(place.document)) == 31


def test_a_signal_to_this_process_group_does_not_reach_the_command(place: Place, hold: Hold) -> None:
    ids = holding(place, hold)
    assert os.getpgid(hold.begun()) != os.getpgrp()
    hold.release()
    seen: Observation = place.ended(*ids)
    assert seen.exit_code == 0
