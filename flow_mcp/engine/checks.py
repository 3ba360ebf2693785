"""Checks that are under way in this process: started, waited for, cancelled, and always recorded."""

import secrets
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from flow_mcp.domain.commands import CheckEnd, CheckStart
from flow_mcp.domain.decision import Refused, call, person
from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Actor, Document, Observation
from flow_mcp.engine.asked import Asked, Done
from flow_mcp.engine.cancels import Cancel
from flow_mcp.engine.core import Engine
from flow_mcp.engine.folder import read_folder
from flow_mcp.engine.observing import Job, Seen, observe, without_report
from flow_mcp.engine.tail import kept_tail
from flow_mcp.store.files import prepare_private
from flow_mcp.store.lock import Busy

RECORD_S = 300.0
"""How long a finished check tries to be recorded while others hold the lock."""
POLL_S = 0.1
ENDED_MAX = 8
"""So many ended checks stay known with the end of their output."""
_DIGITS_MAX = 10

_FLOW = Actor(role="flow")


@dataclass(slots=True)
class Running:
    """A check of this process: its output so far, and what came of it."""

    check_id: str
    plan_id: str
    output: Path
    began_s: float
    cancel: Cancel
    ended: threading.Event = field(default_factory=threading.Event)
    seen: Seen | None = None
    failure: BaseException | None = None

    @property
    def elapsed_s(self) -> float:
        """How long it has run, in seconds."""
        return round(time.monotonic() - self.began_s, 1)


@dataclass(frozen=True, slots=True)
class Waited:
    """What is known of a check after waiting: its observation, or that it runs still."""

    document: Document
    observation: Observation | None
    tail: str
    elapsed_s: float | None


class Checks:
    """The checks of one engine."""

    def __init__(self, engine: Engine) -> None:
        """Keep nothing yet."""
        self._engine = engine
        self._folder = engine.space.private / "checks"
        self._running: dict[tuple[str, str], Running] = {}

    def start(self, ask: CheckStart, asked: Asked) -> Done | Refused:
        """Enter the check in the document and begin to run it; the workspace's lock is free while it runs."""
        known = self._engine.replayed(ask, asked)
        if known is not None:
            return known
        if self._engine.settings.policy.sandbox == "require":
            return _uncontained()
        with ExitStack() as stack:
            if not stack.enter_context(self._engine.slot.taken()):
                return self._occupied(asked)
            self._engine.cancels.clear()
            done = self._engine.ask(ask, asked, alone=True)
            if isinstance(done, Done) and not done.replayed:
                self._begin(done, stack)
            return done

    def _occupied(self, asked: Asked) -> Refused:
        meant = self._engine.pending(asked.plan_id)
        every = [held.document for held in read_folder(self._engine.plans).stored.values()]
        documents = every if isinstance(meant, Refused) else [meant[0], *every]
        pending = next(((one.plan_id, one.pending.id) for one in documents if one.pending is not None), None)
        if pending is None:
            remedy = call("status", {}, (), "It was cancelled and is ending: ask again in a moment.")
        else:
            say = "Wait for it, or cancel it with cancel: true."
            remedy = call("validate", {"plan_id": pending[0], "check_id": pending[1]}, (), say)
        seen = (
            "A check is running in this workspace." if pending is None else f"{pending[1]} of {pending[0]} is running."
        )
        return Refused("observe.settled-first", seen, remedy, retryable=True)

    def _begin(self, done: Done, slot: ExitStack) -> None:
        """Run the check in a thread of its own, which holds the slot from here on."""
        document, pending = done.document, done.document.pending
        assert pending is not None, "an accepted check is pending"  # noqa: S101 - a broken program
        prepare_private(self._folder)
        output = self._folder / f"{document.plan_id}.{pending.id}.{secrets.token_hex(4)}.log"
        cancel = self._engine.cancels.signal(document.plan_id, pending.id)
        running = Running(pending.id, document.plan_id, output, time.monotonic(), cancel)
        manifest = None if done.seen is None else done.seen.manifest
        allowed = self._engine.settings.environment
        records = self._engine.records(document)
        job = Job(self._engine.space, records, document, pending, manifest, allowed, output, cancel)
        self._remember(running)
        own = slot.pop_all()
        thread = threading.Thread(target=self._run, args=(running, job, own), name=pending.id, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread is to be had: the slot is free again, and the check is lost
            own.close()
            del self._running[running.plan_id, running.check_id]
            raise

    def _remember(self, running: Running) -> None:
        ended = [key for key, one in self._running.items() if one.ended.is_set()]
        for key in ended[: max(0, len(ended) - ENDED_MAX + 1)]:
            del self._running[key]
        self._running[running.plan_id, running.check_id] = running

    def _run(self, running: Running, job: Job, slot: ExitStack) -> None:
        with slot:
            try:
                running.seen = observe(job)
                self._record(running, running.seen)
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits; the check is settled as lost
                running.failure = error
            finally:
                running.ended.set()

    def _record(self, running: Running, seen: Seen) -> None:
        """Record the end of a check, however long others hold the lock (row observe.always-recorded)."""
        deadline_s = time.monotonic() + RECORD_S
        done = self._told(running, seen, deadline_s)
        if isinstance(done, Refused) and done.rule == "plan.bounded" and seen.passing:
            # Its cases do not fit: that is recorded instead of them.
            self._told(running, without_report(seen), deadline_s)

    def _told(self, running: Running, seen: Seen, deadline_s: float) -> Done | Refused:
        ask = CheckEnd(check_id=running.check_id, observation=seen.observation, passing=seen.passing)
        while True:
            is_late = time.monotonic() > deadline_s
            try:
                done = self._engine.ask(ask, Asked(_FLOW, plan_id=running.plan_id))
            except Busy:
                if is_late:
                    raise
            else:
                if isinstance(done, Done) or not done.retryable or is_late:
                    return done

    def cancel(self, plan_id: str, check_id: str) -> None:
        """Ask for the end of a check, in this process or another one; of one that does not run, nothing is asked."""
        running = self._running.get((plan_id, check_id))
        if running is not None:
            running.cancel.set()
            return
        found = self._engine.pending(plan_id)
        if not isinstance(found, Refused) and found[0].pending is not None and found[0].pending.id == check_id:
            self._engine.cancels.request(plan_id, check_id)

    def close(self, wait_s: float) -> None:
        """Cancel what runs in this process, and wait until it is recorded, ``wait_s`` seconds at most."""
        deadline_s = time.monotonic() + wait_s
        running = list(self._running.values())
        for one in running:
            one.cancel.set()
        for one in running:
            one.ended.wait(max(0.0, deadline_s - time.monotonic()))

    def wait(self, plan_id: str, check_id: str, wait_s: float) -> Waited | Refused:
        """Wait for a check of this process or another one, ``wait_s`` seconds at most."""
        running = self._running.get((plan_id, check_id))
        deadline_s = time.monotonic() + wait_s
        while True:
            if running is not None:
                running.ended.wait(max(0.0, deadline_s - time.monotonic()))
            found = self._look(plan_id, check_id, running)
            if isinstance(found, Refused) or found.observation is not None or time.monotonic() >= deadline_s:
                return found
            time.sleep(POLL_S)

    def _look(self, plan_id: str, check_id: str, running: Running | None) -> Waited | Refused:
        if running is not None and running.failure is not None:
            raise running.failure
        found = self._engine.pending(plan_id)
        if isinstance(found, Refused):
            return found
        document, is_lost = found
        started = _started_revision(check_id)
        seen = next((one for one in observations(document) if one.started_revision == started), None)
        if seen is None and (document.pending is None or document.pending.id != check_id or is_lost):
            return _unknown(check_id, lost=document.pending is not None and document.pending.id == check_id)
        if running is not None and running.seen is not None:
            tail = running.seen.tail
        else:
            tail = kept_tail(self._folder, plan_id, check_id)
        elapsed_s = None if running is None or seen is not None else running.elapsed_s
        return Waited(document, seen, tail, elapsed_s)


def _started_revision(check_id: str) -> int:
    number = check_id.removeprefix("check-")
    return int(number) if number.isdecimal() and len(number) < _DIGITS_MAX else -1


def _unknown(check_id: str, *, lost: bool) -> Refused:
    if lost:
        seen = f"The runner of {check_id} is gone; the next mutation records it as lost."
        return Refused("observe.always-recorded", seen, call("status", {}, (), "Observe it again."), retryable=False)
    seen = f"No check {check_id!r} is running or recorded."
    remedy = call("status", {"view": "evidence"}, (), "See what was recorded.")
    return Refused("observe.pending-only", seen, remedy, retryable=False)


def _uncontained() -> Refused:
    seen = "The policy requires containment, and this version runs commands without any."
    remedy = person("Set sandbox: prefer in the user's configuration, or use a version that contains commands.")
    return Refused("attest.sandbox", seen, remedy, retryable=False)
