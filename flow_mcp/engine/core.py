"""One mutation from request to saved document, and one read."""

import os
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime

from flow_mcp.domain.commands import KINDS, Ask, CheckEnd, CheckStart, PlanApprove, PlanSave, ResealDocument
from flow_mcp.domain.decide import decide
from flow_mcp.domain.decision import Accepted, Facts, Moment, Refused, call, person
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.invariants import breaches
from flow_mcp.domain.model import Actor, Document, Operation
from flow_mcp.domain.plan import Plan
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from flow_mcp.domain.view import next_step
from flow_mcp.engine.asked import Asked, Done, State
from flow_mcp.engine.cancels import Cancels
from flow_mcp.engine.folder import Debts, Folder, choose, named, read_folder, unreadable_debt
from flow_mcp.engine.gather import Gathered, Workspace, at_hand, gather, keep_copy
from flow_mcp.engine.looked import BLINDLY, Looked
from flow_mcp.engine.page import write_page
from flow_mcp.engine.request import (
    input_of,
    is_blind,
    is_last_word,
    looked_at,
    may_lack_copy,
    new_lines,
    rests_on_copy,
    slug,
)
from flow_mcp.engine.resealing import beyond_reseal, edited, whole_digest
from flow_mcp.engine.sizes import fitted
from flow_mcp.engine.slot import CheckSlot
from flow_mcp.settings import Settings
from flow_mcp.store import chain
from flow_mcp.store.documents import Stored, rendered
from flow_mcp.store.files import IGNORE_NAME, prepare_private
from flow_mcp.store.furthest import WorktreePlans
from flow_mcp.store.lock import WorkspaceLock
from flow_mcp.store.sidecars import Lines
from flow_mcp.workspace.entries import Unstable
from flow_mcp.workspace.platform import this_platform
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.root import worktree_id

__all__ = ["Asked", "Done", "Engine", "State", "slug", "whole_digest"]

LOCK_TIMEOUT_S = 30.0

_TRIAL = Moment(at="", fresh="")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _token() -> str:
    return secrets.token_hex(4)


class Engine:
    """Everything that happens to the documents of one workspace."""

    def __init__(
        self,
        space: Workspace,
        settings: Settings,
        book: Rulebook = ALL_RULES,
        clock: Callable[[], str] = _now,
        token: Callable[[], str] = _token,
    ) -> None:
        """Prepare the private folder; nothing else is touched yet."""
        prepare_private(space.private)
        self.worktree = worktree_id(space.private)
        self.space = space
        self.settings = settings
        self.book = book
        self.plans = WorktreePlans(space.root / space.plans, book, space.private)
        self.slot = CheckSlot(space.private)
        self.cancels = Cancels(space.private)
        self._lock = WorkspaceLock(space.private / "lock")
        self._debts = Debts()
        self._clock = clock
        self._token = token

    def prepare(self) -> None:
        """Make the private folder anew where it was removed meanwhile; what was in it is missed by the rules.

        Raises:
            BrokenWorld: where it cannot be made.
        """
        if not os.path.lexists(self.space.private / IGNORE_NAME):
            prepare_private(self.space.private)
            self.worktree = worktree_id(self.space.private, self.worktree)

    def read(self, actor: Actor, plan_id: str | None, *, look: bool) -> State | Refused:
        """Read a document and what helps next; ``look`` says whether the source is looked at too."""
        self.prepare()
        folder = read_folder(self.plans)
        held = choose(folder, self.worktree, plan_id, None, "")
        if isinstance(held, Refused):
            return held
        document = held.document
        seen = self._seen(folder, document, document.plan) if look else None
        looked = self._looked(folder, document, seen, alone=False)
        facts = self._facts(folder, held, actor, looked)
        step = named(next_step(document, facts, self.book), folder, document)
        return State(document, facts, step, folder, seen, self.space)

    def pending(self, plan_id: str | None) -> tuple[Document, bool] | Refused:
        """Give a document, and whether its pending check has lost its runner; quick enough to ask again and again."""
        self.prepare()
        held = choose(read_folder(self.plans), self.worktree, plan_id, None, "")
        if isinstance(held, Refused) or not self._is_lost(held.document, alone=False):
            return held if isinstance(held, Refused) else (held.document, False)
        # A check that ended since the document was read was recorded before its runner gave the slot back.
        again = choose(read_folder(self.plans), self.worktree, held.document.plan_id, None, "")
        lost = held.document.pending
        return again if isinstance(again, Refused) else (again.document, again.document.pending == lost)

    def ask(self, ask: Ask, asked: Asked, *, alone: bool = False) -> Done | Refused:
        """Decide one request and save what follows (rows write.*).

        Args:
            ask: the request.
            asked: who asks, and under which names.
            alone: whether the caller holds the slot for checks; what is pending then has lost its runner.

        Raises:
            BrokenWorld: where the world stands in the way; nothing was written.
        """
        self.prepare()
        for _ in range(5):
            outcome = self._once(ask, asked, alone=alone)
            if outcome is not None:
                return outcome
        remedy = call("status", {}, (), "Look at the plan and ask again.")
        return Refused("write.expected-revision", "The plan kept changing meanwhile.", remedy, retryable=True)

    def _once(self, ask: Ask, asked: Asked, *, alone: bool) -> Done | Refused | None:
        """Try once; None when the document changed between looking at the world and taking the lock."""
        known = self.replayed(ask, asked)
        if known is not None:
            return known
        folder = read_folder(self.plans)
        goal = slug(ask.goal) if isinstance(ask, PlanSave) else "none"
        before = self._chosen(folder, ask, asked, f"{goal}-{self._token()}")
        if isinstance(before, Refused):
            return before
        plan = ask.plan if isinstance(ask, PlanSave) else before.document.plan
        anew = is_last_word(ask, before.document)
        seen = None if is_blind(ask) else self._seen(folder, before.document, plan, anew=anew)
        looked = replace(BLINDLY, alone=alone)
        if not is_blind(ask):
            looked = self._looked(folder, before.document, seen, alone=alone)
        looked = replace(looked, kept=self._keep(ask, asked, folder, before, looked))
        with self._held():
            folder = read_folder(self.plans)
            held = self._chosen(folder, ask, asked, before.document.plan_id)
            if isinstance(held, Refused) or self._operation(folder, asked) is not None:
                return None
            if looked_at(ask, held.document) != looked_at(ask, before.document):
                return None
            return self._decided(ask, asked, folder, held, looked)

    def _held(self) -> AbstractContextManager[None]:
        """Hold the workspace's lock (row write.atomic-locked)."""
        return self._lock.hold(LOCK_TIMEOUT_S) if self.book.holds("write.atomic-locked") else nullcontext()

    def _chosen(self, folder: Folder, ask: Ask, asked: Asked, fresh_id: str) -> Stored | Refused:
        """Find the document that is meant; a draft is not saved or approved while what is owed cannot be read."""
        held = choose(folder, self.worktree, asked.plan_id, ask, fresh_id)
        if isinstance(held, Stored) and isinstance(ask, PlanSave | PlanApprove) and not held.document.approvals:
            hidden = unreadable_debt(folder, held.document.plan_id)
            if hidden is not None:
                raise hidden
        return held

    def _seen(self, folder: Folder, document: Document, plan: Plan | None, *, anew: bool = False) -> Gathered | None:
        """Look at the source the way a plan asks."""
        return None if plan is None else gather(self.space, self._records(folder, document), document, plan, anew=anew)

    def _looked(self, folder: Folder, document: Document, seen: Gathered | None, *, alone: bool) -> Looked:
        manifest = None if seen is None else seen.manifest
        return Looked(seen, at_hand(self.space, self._records(folder, document), document, manifest), alone)

    def records(self, document: Document) -> Records:
        """Say which files of the plans folder are records, and so no part of the source."""
        return self._records(read_folder(self.plans), document)

    def _records(self, folder: Folder, document: Document) -> Records:
        return Records(self.space.plans, frozenset(folder.stored) | {document.plan_id})

    def _keep(self, ask: Ask, asked: Asked, folder: Folder, before: Stored, looked: Looked) -> bool:
        """Keep the private copy that an accepted request would rest on, before the document says so.

        A request that is refused already keeps none. False says that there is none.
        """
        if looked.seen is None or not rests_on_copy(ask):
            return True
        facts = self._facts(folder, before, asked.actor, looked)
        trial = self._stale(asked, before.document) or decide(before.document, ask, facts, _TRIAL, self.book)
        if isinstance(trial, Refused):
            return False
        try:
            keep_copy(self.space, looked.seen.manifest, pinned=not isinstance(ask, CheckStart))
        except Unstable:
            # Something was remembered of a file that is not so any more: it is read the next time.
            self.space.memory.forget()
            raise
        except BrokenWorld:
            if not may_lack_copy(ask):
                raise
        return True

    def _stale(self, asked: Asked, document: Document) -> Refused | None:
        """Refuse a request that names another revision (row write.expected-revision)."""
        if asked.expected_revision in {None, document.revision} or not self.book.holds("write.expected-revision"):
            return None
        words = f"You expected revision {asked.expected_revision}; {document.plan_id} is at {document.revision}."
        remedy = call("status", {}, (), "Look at what changed, then ask again at this revision.")
        return Refused("write.expected-revision", words, remedy, retryable=True)

    def _decided(self, ask: Ask, asked: Asked, folder: Folder, held: Stored, looked: Looked) -> Done | Refused | None:
        facts = self._facts(folder, held, asked.actor, looked)
        stale = self._stale(asked, held.document)
        moment = Moment(at=self._clock(), fresh=self._token())
        decision = stale or decide(held.document, ask, facts, moment, self.book)
        if isinstance(decision, Refused):
            return replace(decision, remedy=named(decision.remedy, folder, held.document))
        if not looked.kept:
            return None
        saved = self._saved(ask, asked, decision, facts, moment)
        if isinstance(saved, Refused):
            return saved
        document, operation = saved
        if held.document.pending is not None and not isinstance(ask, CheckEnd) and not facts.check_lost:
            self._cancel(document, held.document.pending.id)
        step = named(next_step(document, self._facts_after(folder, document, facts), self.book), folder, document)
        return Done(document, operation.answer, step, operation.id, replayed=False, seen=looked.seen)

    def _cancel(self, document: Document, check_id: str) -> None:
        """End the command of a check that was settled while it runs; what it would say now is dropped."""
        if document.pending is None:
            with suppress(BrokenWorld):  # the document is saved; the command then ends by itself
                self.cancels.request(document.plan_id, check_id)

    def _saved(
        self, ask: Ask, asked: Asked, accepted: Accepted, facts: Facts, moment: Moment
    ) -> tuple[Document, Operation] | Refused:
        operation = Operation(
            id=asked.operation_id or f"op-{moment.fresh}-{accepted.document.revision}",
            kind=KINDS[type(ask)],
            input=input_of(ask, asked),
            revision=accepted.document.revision,
            actor=asked.actor,
            at=moment.at,
            entity=accepted.entity,
            answer=dict(accepted.answer),
            body="",
            previous="",
        )
        document = chain.appended(accepted.document, operation)
        fresh = new_lines(ask, facts)
        lines = {**facts.lines, **fresh}
        data = fitted(ask, document, fresh) if self.book.holds("plan.bounded") else rendered(document)
        if isinstance(data, Refused):
            return data
        self._whole(ask, document, lines, data)
        self.plans.save(document, lines, data)
        write_page(self.space.root / self.space.plans, document, lines)
        return document, operation

    def _facts_after(self, folder: Folder, document: Document, facts: Facts) -> Facts:
        """Give the facts as they are once a request was accepted: what was missing may have been kept for it.

        Where nothing was missing nothing is looked at again.
        """
        after = replace(facts, check_lost=False)
        if facts.source is None or (facts.copy_present and facts.start_present):
            return after
        with suppress(BrokenWorld):  # the document is saved, and the next call looks again
            looked = self._looked(folder, document, self._seen(folder, document, document.plan), alone=False)
            source = None if looked.seen is None else looked.seen.facts
            after = replace(after, source=source, copy_present=looked.hands.copy, start_present=looked.hands.start)
        return after

    def _whole(self, ask: Ask, document: Document, lines: Lines, data: bytes) -> None:
        """Ask the whole schema and every invariant of what is about to be written (row write.whole-schema)."""
        if not self.book.holds("write.whole-schema"):
            return
        found = breaches(document, lines, self.book)
        if found and isinstance(ask, ResealDocument):
            raise beyond_reseal(document.plan_id, f"resealed, it still cannot be true: {found[0]}.")
        assert not found, f"the kernel broke its own invariant: {found}"  # noqa: S101 - crash, never write
        Document.model_validate_json(data)

    def edited(self, plan_id: str) -> Stored | Refused:
        """Give a document that was edited outside Flow, for its reseal; refuse one that holds (row write.chain-intact).

        Raises:
            Damaged: where no reseal can help, because the text or the shape of the document is broken.
        """
        return edited(self.plans, self.worktree, plan_id)

    def reseal(self, asked: Asked, plan_id: str, because: str, shown: str) -> Done | Refused:
        """Take over a document that was edited outside Flow, by a person's decision (row write.chain-intact).

        Args:
            asked: who asks.
            plan_id: whose document it is.
            because: why the edit stands.
            shown: digest of the whole document as the person saw it.

        Raises:
            BrokenWorld: where no reseal can help, or the world stands in the way; nothing was written.
        """
        ask = ResealDocument(because=because)
        self.prepare()
        with self._held():
            known = self.replayed(ask, asked)
            if known is not None:
                return known
            held = self.edited(plan_id)
            if isinstance(held, Refused):
                return held
            if whole_digest(held.document) != shown:
                remedy = person("Look at it as it is now, then decide again.")
                return Refused("approve.exact", "The document changed since it was shown.", remedy, retryable=True)
            done = self._decided(ask, asked, read_folder(self.plans), self.plans.told(held), BLINDLY)
            assert done is not None, "everything was kept that a reseal rests on"  # noqa: S101 - a broken program
            return done

    def _operation(self, folder: Folder, asked: Asked) -> tuple[Stored, Operation] | None:
        """Find an operation by its id, whatever document it is in."""
        if asked.operation_id is None or not self.book.holds("write.operation-replays"):
            return None
        every = ((held, entry) for held in folder.stored.values() for entry in held.document.operations)
        return next(((held, entry) for held, entry in every if entry.id == asked.operation_id), None)

    def replayed(self, ask: Ask, asked: Asked) -> Done | Refused | None:
        """Answer a known operation id again, or refuse another request under it; None for a new one.

        Row write.operation-replays: whatever document it is in, and at any later revision.
        """
        folder = read_folder(self.plans)
        found = self._operation(folder, asked)
        if found is None:
            return None
        held, operation = found
        document = held.document
        if (operation.kind, operation.input) != (KINDS[type(ask)], input_of(ask, asked)):
            words = f"The operation id {operation.id!r} was used for another request ({operation.kind})."
            remedy = call("status", {}, (), "Use a new operation_id.")
            return Refused("write.operation-replays", words, remedy, retryable=False)
        looks = document.plan is not None and document.closure is None and not is_blind(ask)
        seen = self._seen(folder, document, document.plan) if looks else None
        looked = self._looked(folder, document, seen, alone=False) if looks else BLINDLY
        facts = self._facts(folder, held, asked.actor, looked)
        step = named(next_step(document, facts, self.book), folder, document)
        return Done(document, operation.answer, step, operation.id, replayed=True, seen=None)

    def _is_lost(self, document: Document, *, alone: bool) -> bool:
        return document.pending is not None and (alone or not self.slot.is_taken())

    def _facts(self, folder: Folder, held: Stored, actor: Actor, looked: Looked) -> Facts:
        document = held.document
        owes, lines = self._debts.owed(folder, document.plan_id)
        others = [name for name in folder.driven(self.worktree) if name != document.plan_id]
        return Facts(
            actor=actor,
            policy=self.settings.policy,
            platform=this_platform(),
            worktree=self.worktree,
            other_open=others[0] if others else None,
            owed=owes,
            source=None if looked.seen is None else looked.seen.facts,
            copy_present=looked.hands.copy,
            start_present=looked.hands.start,
            check_lost=self._is_lost(document, alone=looked.alone),
            lines={**held.lines, **lines},
        )
