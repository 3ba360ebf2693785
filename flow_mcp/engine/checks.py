"""Checks: started in a process of their own, waited for, cancelled, and cleaned up after; from any server or verb."""

import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass

from flow_mcp.domain.commands import CheckStart
from flow_mcp.domain.decision import Refused, call, person
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Document, Observation, PendingCheck
from flow_mcp.engine.asked import Asked, Done
from flow_mcp.engine.core import Engine
from flow_mcp.engine.folder import read_folder
from flow_mcp.engine.granted import secret_names
from flow_mcp.engine.keeper import Spec, read_ticket
from flow_mcp.engine.lost import clean_up
from flow_mcp.engine.tail import kept_tail
from flow_mcp.engine.warm import WARM, Handle, Launcher
from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, environment, new_token
from flow_mcp.store.files import prepare_private

POLL_S = 0.1
_DIGITS_MAX = 10


@dataclass(frozen=True, slots=True)
class Waited:
    """What is known of a check after waiting: its observation, or that it runs still."""

    document: Document
    observation: Observation | None
    tail: str
    elapsed_s: float | None


class Checks:
    """The checks of one workspace, as one process sees them."""

    def __init__(self, engine: Engine, launcher: Launcher = WARM) -> None:
        """Keep nothing yet."""
        self._engine = engine
        self._launcher = launcher
        self._folder = engine.space.private / "checks"
        self._begun: dict[tuple[str, str], Handle] = {}

    def start(self, ask: CheckStart, asked: Asked) -> Done | Refused:
        """Enter the check in the document and begin to run it; the workspace's lock is free while it runs."""
        known = self._engine.replayed(ask, asked)
        if known is not None:
            return known
        if self._engine.settings.policy.sandbox == "require":
            return _uncontained()
        self._engine.prepare()
        self._launcher.ready()
        held = self._engine.slot.take()
        if held is None:
            return self._occupied(asked)
        handed = False
        try:
            clean_up(self._engine, spared=True)
            done = self._engine.ask(ask, asked, alone=True)
            if isinstance(done, Done) and not done.replayed:
                handed = True
                self._begin(done, held.descriptor)
            return done
        finally:
            # Who was handed the slot gives it back; who knows whether a process has it where that failed half-way.
            (held.let_go if handed else held.give_back)()

    def clean_up(self, *, spared: bool = True) -> bool:
        """End what lost runners left, where no check runs; say whether that could be seen to."""
        self._engine.prepare()
        held = self._engine.slot.take()
        if held is None:
            return False
        try:
            clean_up(self._engine, spared=spared)
        finally:
            held.give_back()
        return True

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

    def _begin(self, done: Done, slot: int) -> None:
        """Run the check in a process of its own, which holds the slot from here on."""
        document, pending = done.document, done.document.pending
        assert pending is not None, "an accepted check is pending"  # noqa: S101 - a broken program
        prepare_private(self._folder)
        output = self._folder / f"{document.plan_id}.{pending.id}.{secrets.token_hex(4)}.log"
        settings, space = self._engine.settings, self._engine.space
        given = environment(os.environ, (*ALLOWED_BY_DEFAULT, *settings.environment))
        spec = Spec(
            root=str(space.root),
            plans=space.plans,
            policy=settings.policy.model_dump(),
            environment=given,
            secrets=secret_names(given, settings.environment, ALLOWED_BY_DEFAULT),
            without=tuple(self._engine.book.out),
            plan_id=document.plan_id,
            check_id=pending.id,
            output=str(output),
            token=new_token(),
        )
        self._forget_ended()
        self._begun[document.plan_id, pending.id] = self._launcher.launch(spec, slot)

    def _forget_ended(self) -> None:
        for key in [key for key, handle in list(self._begun.items()) if handle.wait(0)]:
            self._begun.pop(key, None)

    def cancel(self, plan_id: str, check_id: str) -> bool:
        """Ask for the end of a check, whichever process started it; say whether it is pending."""
        found = self._engine.pending(plan_id)
        is_pending = not isinstance(found, Refused) and _is_pending(found[0].pending, check_id)
        if is_pending:
            self._engine.cancels.request(plan_id, check_id)
        return is_pending

    def close(self) -> None:
        """Look no longer at what was started; it goes on, and another process finds it."""
        self._begun.clear()

    def wait(self, plan_id: str, check_id: str, wait_s: float) -> Waited | Refused:
        """Wait for a check of this process or another one, ``wait_s`` seconds at most."""
        handle = self._begun.get((plan_id, check_id))
        deadline_s = time.monotonic() + wait_s
        while True:
            left_s = max(0.0, deadline_s - time.monotonic())
            if handle is not None:
                handle.wait(left_s)
            found = self._look(plan_id, check_id)
            if isinstance(found, Refused) or found.observation is not None or time.monotonic() >= deadline_s:
                return found
            time.sleep(POLL_S)

    def _look(self, plan_id: str, check_id: str) -> Waited | Refused:
        found = self._engine.pending(plan_id)
        if isinstance(found, Refused):
            return found
        document, is_lost = found
        started = _started_revision(check_id)
        seen = next((one for one in observations(document) if one.started_revision == started), None)
        is_pending = _is_pending(document.pending, check_id)
        if seen is None and (not is_pending or is_lost):
            if is_lost:
                with suppress(BrokenWorld):  # the next start says what stands in the way
                    self.clean_up()
            return _unknown(check_id, lost=is_pending)
        tail = kept_tail(self._folder, plan_id, check_id)
        ticket = None if seen is not None else read_ticket(self._folder, plan_id, check_id)
        elapsed_s = None if ticket is None else round(max(0.0, time.time() - ticket.began_at_s), 1)
        return Waited(document, seen, tail, elapsed_s)


def _is_pending(pending: PendingCheck | None, check_id: str) -> bool:
    return pending is not None and pending.id == check_id


def _started_revision(check_id: str) -> int:
    number = check_id.removeprefix("check-")
    return int(number) if number.isdecimal() and len(number) < _DIGITS_MAX else -1


def _unknown(check_id: str, *, lost: bool) -> Refused:
    if lost:
        seen = f"The runner of {check_id} has ended without an answer. The check is lost, which is no pass."
        return Refused(
            "observe.always-recorded",
            seen,
            call("status", {}, (), "Start it again; status names the call."),
            retryable=False,
        )
    seen = f"No check {check_id!r} is running or recorded."
    remedy = call("status", {"view": "evidence"}, (), "See what was recorded.")
    return Refused("observe.pending-only", seen, remedy, retryable=False)


def _uncontained() -> Refused:
    seen = "The policy requires containment, and this version runs commands without any."
    remedy = person("Set sandbox: prefer in the user's configuration, or use a version that contains commands.")
    return Refused("attest.sandbox", seen, remedy, retryable=False)
