"""Which document a request means, and what the others in the folder owe."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flow_mcp.domain.cases import kept_cases
from flow_mcp.domain.commands import Ask, PlanSave
from flow_mcp.domain.decision import Refused, Step, call
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.history import active_run, inherited_findings, live_findings
from flow_mcp.domain.listing import listing_of
from flow_mcp.domain.model import Document, blank
from flow_mcp.domain.plan import Inherited, KeptCases, Plan
from flow_mcp.engine.restoring import fitting
from flow_mcp.store.documents import Damaged, PlansFolder, Stored, is_plan_id
from flow_mcp.store.sidecars import Lines

NAMED_MAX = 8

_SETTLED = {"completed", "completed-with-waivers", "accepted"}


@dataclass(frozen=True, slots=True)
class Folder:
    """Every document that loads, by plan id, and what is wrong with the others."""

    stored: dict[str, Stored]
    damaged: dict[str, BrokenWorld]

    def open_ids(self) -> tuple[str, ...]:
        """Name the plans that are not closed."""
        return tuple(name for name, held in self.stored.items() if held.document.closure is None)

    def driven(self, worktree: str) -> tuple[str, ...]:
        """Name the open plans that this worktree drives."""
        return tuple(name for name in self.open_ids() if self.stored[name].document.worktree == worktree)


def read_folder(plans: PlansFolder) -> Folder:
    """Load every document of the folder; one that is damaged hides no other."""
    found = plans.load_all()
    stored = {name: held for name, held in found.items() if isinstance(held, Stored)}
    damaged = {name: held for name, held in found.items() if isinstance(held, BrokenWorld)}
    return Folder(stored, fitting(plans.folder, damaged))


def likeliest(folder: Folder, plan_ids: Iterable[str]) -> str:
    """Give the plan that is most likely meant: one under way, else an approved one, else the one last worked on."""

    def rank(name: str) -> tuple[bool, bool, str]:
        document = folder.stored[name].document
        return active_run(document) is not None, bool(document.approvals), document.operations[-1].at

    return max(plan_ids, key=rank)


def named(step: Step, folder: Folder, document: Document) -> Step:
    """Name the plan in a suggested call, and to a person, as soon as several are open; a new plan then takes an id.

    Args:
        step: what helps with a plan.
        folder: the plans folder, before or after what was asked.
        document: the plan, as it is now; one that is not saved yet counts as open.
    """
    plan_id, others = document.plan_id, set(folder.open_ids()) - {document.plan_id}
    if not others or "plan_id" in step.arguments or "plan_id" in step.fill:
        return step
    if document.closure is not None and step.tool == "plan_save":
        beside = f"Open beside it: {', '.join(sorted(others)[:NAMED_MAX])}. Go on there, or give the new one a plan_id."
        return step.model_copy(update={"fill": (*step.fill, "plan_id"), "say": f"{step.say} {beside}"})
    if step.tool is not None:
        return step.model_copy(update={"arguments": {**step.arguments, "plan_id": plan_id}})
    if plan_id in step.say:
        return step
    return step.model_copy(update={"say": f"{step.say} Several plans are open; this is about {plan_id} (`--plan`)."})


def choose(folder: Folder, worktree: str, plan_id: str | None, ask: Ask | None, fresh_id: str) -> Stored | Refused:
    """Find the document that a request means.

    Without a plan id: the open plan that this worktree drives, else the only open one; where none is open, one that
    cannot be read speaks before any that is closed, since it may be the open one. Else it is the last one closed. A
    save then starts a new document.

    Raises:
        BrokenWorld: where the document that is meant cannot be loaded.
    """
    if plan_id is not None:
        return _named(folder, worktree, plan_id, ask)
    found = folder.driven(worktree) or folder.open_ids()
    if len(found) == 1:
        return folder.stored[found[0]]
    if len(found) > 1:
        seen = f"Several plans are open: {', '.join(found)}."
        remedy = call("status", {"plan_id": likeliest(folder, found)}, (), "Name the one you mean as plan_id.")
        return Refused("plan.one-open", seen, remedy, retryable=False)
    if isinstance(ask, PlanSave) or not (folder.stored or folder.damaged):
        return _fresh(fresh_id, worktree)
    if folder.damaged:
        raise next(iter(folder.damaged.values()))
    closed = folder.stored.values()
    return max(closed, key=lambda held: held.document.operations[-1].at)


def _named(folder: Folder, worktree: str, plan_id: str, ask: Ask | None) -> Stored | Refused:
    if plan_id in folder.damaged:
        raise folder.damaged[plan_id]
    if plan_id in folder.stored:
        return folder.stored[plan_id]
    if not isinstance(ask, PlanSave):
        known = ", ".join(folder.stored) or "none"
        remedy = call("status", {}, (), "Leave plan_id out, or name one of these.")
        seen = f"There is no plan {plan_id!r}; there are: {known}."
        return Refused("plan.approved-first", seen, remedy, retryable=False)
    if not is_plan_id(plan_id):
        seen = f"{plan_id[:80]!r} is no plan id: it has a-z, 0-9 and '-', begins with none, and is 80 long at most."
        remedy = call("plan_save", {}, ("goal", "plan"), "Leave plan_id out: Flow makes one from the goal.")
        return Refused("plan.bounded", seen, remedy, retryable=False)
    return _fresh(plan_id, worktree)


def _fresh(plan_id: str, worktree: str) -> Stored:
    return Stored(blank(plan_id, worktree), {})


def unreadable_debt(folder: Folder, besides: str) -> BrokenWorld | None:
    """Say what hides a part of what is owed, so that nothing is shed by damaging it (row plan.losses-carried)."""
    if folder.damaged:
        return next(iter(folder.damaged.values()))
    for held, _ in _lost_plans(folder, besides):
        for digest in held.lost():
            seen = f"it owes the list {digest}, whose file beside it is missing or was edited."
            return Damaged(
                held.document.plan_id,
                "shape",
                seen,
                "Restore the file, from git where git has it; it is named like the plan.",
            )
    return None


class Debts:
    """What deferred and abandoned plans owe, worked out once while a document is the same."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[str, tuple[Stored, Inherited, Lines]] = {}

    def owed(self, folder: Folder, besides: str) -> tuple[tuple[Inherited, ...], dict[str, tuple[str, ...]]]:
        """Give what a new plan takes over, and the lines of the listings in it.

        A plan is owed until a completed or accepted plan has inherited it (row plan.losses-carried).
        """
        found: list[Inherited] = []
        lines: dict[str, tuple[str, ...]] = {}
        for held, plan in _lost_plans(folder, besides):
            name, known = held.document.plan_id, self._known.get(held.document.plan_id)
            if known is None or known[0] is not held:
                known = self._known[name] = (held, *_inherited(held, plan))
            found.append(known[1])
            lines |= known[2]
        return tuple(found), lines


def _lost_plans(folder: Folder, besides: str) -> Iterator[tuple[Stored, Plan]]:
    """Give the deferred and abandoned plans that no completed or accepted plan has inherited."""
    others = [held for held in folder.stored.values() if held.document.plan_id != besides]
    paid = {
        entry.plan_id
        for document in (held.document for held in others)
        if document.plan is not None and document.closure is not None and document.closure.kind in _SETTLED
        for entry in document.plan.inherits
    }
    for held in others:
        document = held.document
        lost = document.closure is not None and document.closure.kind not in _SETTLED
        if lost and document.plan_id not in paid and document.plan is not None:
            yield held, document.plan


def _inherited(held: Stored, plan: Plan) -> tuple[Inherited, Lines]:
    document, given = held.document, held.document.approvals[-1] if held.document.approvals else None
    lines: dict[str, tuple[str, ...]] = {}
    kept: list[KeptCases] = []
    for (run, platform), cases in sorted((kept_cases(document, held.lines) or {}).items()):
        listing = listing_of(cases)
        lines[listing.digest] = tuple(sorted(cases))
        kept.append(KeptCases(run=run, platform=platform, listing=listing.digest))
    frozen = held.lines.get(given.protected, ()) if given is not None else ()
    own = [finding for feature in plan.features for finding in live_findings(document, feature.id)]
    inherited = Inherited(
        plan_id=document.plan_id,
        plan_digest=plan.digest(),
        kept=tuple(kept),
        protected=frozen,
        findings=(*own, *inherited_findings(document)),
    )
    return inherited, lines
