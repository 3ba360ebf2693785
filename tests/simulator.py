"""A world in which the kernel is driven with fabricated facts.

Every accepted step is asked for its invariants, written as text and read back, so that "stored" means storable.
A refused one raises ``No``. What happened is also logged apart from the document, for the twin in ``tests/laws``.
"""

import json
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace

from flow_mcp.domain.cases import kept_cases
from flow_mcp.domain.commands import (
    KINDS,
    Ask,
    CheckEnd,
    CheckStart,
    Close,
    NewFinding,
    PlanApprove,
    PlanDeny,
    PlanSave,
    ResealDocument,
    ReviewStart,
    ReviewSubmit,
    RunReset,
    RunStart,
    Waive,
    needs_source,
)
from flow_mcp.domain.decide import decide
from flow_mcp.domain.decision import Accepted, Facts, HiddenPath, Moment, OutwardLink, Refused, SourceFacts
from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.history import active_run, approval, derived_kind
from flow_mcp.domain.invariants import breaches
from flow_mcp.domain.listing import LINES_MAX
from flow_mcp.domain.model import (
    Actor,
    Document,
    Operation,
    PendingCheck,
    Scope,
    blank,
)
from flow_mcp.domain.plan import Feature, Inherited, Plan, Platform
from flow_mcp.domain.policy import Policy
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from tests.fabricated import GREEN, Event, Result, observation_of, passing_of

MANAGER = Actor(role="manager")
PERSON = Actor(role="person", channel="dialog")
TERMINAL = Actor(role="person", channel="terminal-unverified")
REVIEWER = Actor(role="reviewer")
ATTESTED = Actor(role="reviewer", host="host", agent="flow-reviewer")
FLOW = Actor(role="flow")

GOAL = "Make it work,\nand show that it does."
BLOCKING = NewFinding(severity="blocking", summary="It is wrong.", evidence="a.py:1 returns nothing")
ADVISORY = NewFinding(severity="advisory", summary="It could be shorter.")


class No(Exception):  # noqa: N818 - what the kernel said, not an error of the program
    """A request was refused."""

    def __init__(self, ask: Ask, refused: Refused) -> None:
        super().__init__(f"{refused.rule}: {refused.seen}")
        self.ask = ask
        self.refused = refused


class Broken(Exception):  # noqa: N818 - the document is broken, not the program
    """A document breaks invariants, so that it was not stored."""

    def __init__(self, found: tuple[str, ...]) -> None:
        super().__init__("; ".join(found))
        self.names = tuple(breach.partition(":")[0] for breach in found)


class Forbidden(Exception):  # noqa: N818 - what a proof shows, not an error of the program
    """A state that a rule forbids got stored."""


@dataclass
class World:
    """A document, the facts around it, and short ways to ask for what happens next."""

    book: Rulebook = ALL_RULES
    document: Document = field(default_factory=lambda: blank("p", "w"))
    source: str = "s0"
    commit: str | None = None
    protected: dict[str, str] = field(default_factory=lambda: {"tests/test_kept.py": "sha256:kept"})
    dirty: tuple[str, ...] = ()
    targets_dirty: tuple[str, ...] = ()
    verifiers: tuple[str, ...] = ()
    configuration: dict[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ("a.py",)
    outside: tuple[str, ...] = ()
    hidden: tuple[HiddenPath, ...] = ()
    outward: tuple[OutwardLink, ...] = ()
    since_judged: tuple[str, ...] | None = ("a.py",)
    blind: bool = False
    policy: Policy = field(default_factory=Policy)
    platform: Platform = "linux"
    worktree: str = "w"
    other_open: str | None = None
    owed: tuple[Inherited, ...] = ()
    copy_present: bool = True
    start_present: bool = True
    check_lost: bool = False
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    suite: tuple[str, ...] = ("unit :: keeps", "unit :: works")
    edits: int = 0
    trail: list[Document] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    frozen: dict[str, str] = field(default_factory=dict)

    def clone(self) -> "World":
        """Give a second world that goes its own way from here."""
        other = copy(self)
        other.protected, other.configuration = dict(self.protected), dict(self.configuration)
        other.lines, other.trail, other.events = dict(self.lines), list(self.trail), list(self.events)
        return other

    @property
    def plan(self) -> Plan:
        assert self.document.plan is not None
        return self.document.plan

    @property
    def gate(self) -> str:
        assert self.plan.gate is not None
        return self.plan.gate.run

    @property
    def pending(self) -> PendingCheck:
        assert self.document.pending is not None
        return self.document.pending

    @property
    def running(self) -> Feature:
        run = active_run(self.document)
        feature = None if run is None else self.plan.feature(run.feature_id)
        assert feature is not None
        return feature

    def facts(self, actor: Actor) -> Facts:
        """Gather what the engine would."""
        source = SourceFacts(
            digest=self.source,
            commit=self.commit,
            protected=self.protected,
            verifiers=(*self.protected, *self.verifiers),
            protected_dirty=self.dirty,
            targets_dirty=self.targets_dirty,
            test_configuration=self.configuration,
            changed=self.changed,
            outside=self.outside,
            hidden=self.hidden,
            outward=self.outward,
            since_judged=self.since_judged,
        )
        return Facts(
            actor=actor,
            policy=self.policy,
            platform=self.platform,
            worktree=self.worktree,
            other_open=self.other_open,
            owed=self.owed,
            source=None if self.blind else source,
            copy_present=self.copy_present,
            start_present=self.start_present,
            check_lost=self.check_lost and self.document.pending is not None,
            lines=self.lines,
        )

    def edit(self) -> str:
        """Change the source, so that it has a digest that it never had."""
        self.edits += 1
        self.source = f"s{self.edits}"
        return self.source

    def ask(self, ask: Ask, actor: Actor = MANAGER) -> Accepted:
        """Decide, and store what follows.

        Raises:
            No: where a rule objects.
            Broken: where what follows breaks an invariant.
        """
        known = replace(self, blind=self.blind and not needs_source(ask)).facts(actor)
        decision = decide(self.document, ask, known, Moment(at="now", fresh="f"), self.book)
        if isinstance(decision, Refused):
            raise No(ask, decision)
        if isinstance(ask, CheckEnd) and len(set(ask.passing)) > LINES_MAX:
            lines = tuple(sorted(set(ask.passing)))
            self.lines[digest_json(list(lines))] = lines
        self.store(with_operation(decision, ask, actor))
        return decision

    def store(self, document: Document) -> None:
        """Write a document as text and take what is read back."""
        found = breaches(document, self.lines, self.book)
        if found:
            raise Broken(found)
        read = Document.model_validate_json(json.dumps(document.as_json()))
        assert read == document, "what is read back is what was written"
        beside = {entry.digest: () for entry in read.listings if entry.lines is None}
        assert kept_cases(read, {**self.lines, **beside}) is not None, "no list that a rule asks for is dropped"
        self.document = read
        self.trail.append(read)

    def save(self, plan: Plan, goal: str = GOAL) -> Accepted:
        return self.ask(PlanSave(goal=goal, plan=plan))

    def approve(self, actor: Actor = PERSON, digest: str | None = None, revision: int | None = None) -> Accepted:
        shown = self.document.revision if revision is None else revision
        known = "" if self.document.plan is None else self.plan.digest()
        accepted = self.ask(
            PlanApprove(plan_digest=digest or known, shown_revision=shown, shown_source=self.source), actor
        )
        if len(self.document.approvals) == 1:
            self.frozen = dict(self.protected)
        return accepted

    def deny(self, because: str = "It asks for too much.", digest: str | None = None) -> Accepted:
        known = "" if self.document.plan is None else self.plan.digest()
        return self.ask(PlanDeny(plan_digest=digest or known, because=because), PERSON)

    def start(self, feature: str | None = None) -> Accepted:
        return self.ask(RunStart(feature_id=feature))

    def begin(
        self, scope: Scope, command: str | None = None, *, feature: str | None = None, requirement: str | None = None
    ) -> Accepted:
        run = command or ("pytest -q" if self.document.plan is None else self.gate)
        return self.ask(CheckStart(scope=scope, command=run, feature_id=feature, requirement=requirement))

    def end(self, result: Result = GREEN, check_id: str | None = None) -> Accepted:
        """End the pending check with a result; without one, as late news of an unknown check."""
        pending = self.document.pending or stray(self)
        given = approval(self.document)
        approved = None if given is None else given.source
        passing = passing_of(self.plan, pending, result, self.suite)
        seen = observation_of(self.plan, pending, result, passing, approved)
        accepted = self.ask(CheckEnd(check_id=check_id or pending.id, observation=seen, passing=passing), FLOW)
        event = Event(
            scope=pending.scope,
            command=pending.command,
            platform=pending.platform,
            source=pending.source,
            feature=pending.feature_id,
            result=result,
            passing=frozenset(passing),
            approved=result.approved or approved,
        )
        self.events.append(event)
        return accepted

    def check(
        self,
        scope: Scope,
        command: str | None = None,
        result: Result = GREEN,
        *,
        feature: str | None = None,
        requirement: str | None = None,
    ) -> Accepted:
        self.begin(scope, command, feature=feature, requirement=requirement)
        return self.end(result)

    def prove(self, feature: str, result: Result | None = None) -> Accepted:
        wanted = self.plan.feature(feature)
        assert wanted is not None
        assert wanted.proof is not None
        return self.check("proof", wanted.proof.run, result or Result(code=1, failed=1), feature=feature)

    def external(self, result: Result = GREEN, on: Platform | None = None, index: int = 0) -> Accepted:
        """Observe an external entry on a platform that meets it."""
        entry, here = (self.plan.external_evidence or ())[index], self.platform
        self.platform = on or (here if entry.platform == "any" else entry.platform)
        try:
            return self.check("external", entry.command.run, result, requirement=entry.requirement)
        finally:
            self.platform = here

    def wanted(self) -> list[tuple[Scope, str]]:
        """List what the next review of the active run asks for: a scope, and a command, feature or entry."""
        final = derived_kind(self.document, self.running.id) == "final"
        features = self.plan.features if final else (self.running,)
        runs = dict.fromkeys(check.run for feature in features for check in feature.checks)
        proofs = [one.id for one in features if one.proof is not None and one.proof.kind != "none"]
        entries = range(len(self.plan.external_evidence or ()) if final else 0)
        found: list[tuple[Scope, str]] = [] if self.document.baselines else [("baseline", self.gate)]
        found += [("focused", run) for run in runs]
        found += [("broad", self.gate)]
        found += [("proof", name) for name in proofs]
        found += [("external", str(index)) for index in entries]
        return found

    def observe(self, scope: Scope, what: str, result: Result | None = None) -> Accepted:
        """Observe one of what is wanted."""
        if scope == "proof":
            return self.prove(what, result)
        if scope == "external":
            return self.external(result or GREEN, index=int(what))
        return self.check(scope, what, result or GREEN)

    def show(self) -> None:
        """Observe all that the next review of the active run asks for."""
        for scope, what in self.wanted():
            self.observe(scope, what)

    def review(self, summary: str = "Done.", risks: tuple[str, ...] = ()) -> Accepted:
        return self.ask(ReviewStart(summary=summary, risks=risks))

    def verdict(
        self,
        verdict: str = "passed",
        findings: tuple[NewFinding, ...] = (),
        actor: Actor = REVIEWER,
        assignment: str | None = None,
        summary: str = "Looked at.",
    ) -> Accepted:
        run = active_run(self.document)
        known = "review-0" if run is None or run.review is None else run.review.id
        words = {"assignment_id": assignment or known, "verdict": verdict, "summary": summary, "findings": findings}
        return self.ask(ReviewSubmit.model_validate(words), actor)

    def finish(self, feature: str | None = None) -> None:
        """Take a feature from its start to a passed review."""
        self.start(feature)
        self.edit()
        self.show()
        self.review()
        self.verdict()

    def reset(self, feature: str, then: str | None = None, reason: str = "Try again.") -> Accepted:
        return self.ask(RunReset(feature_id=feature, reason=reason, next_feature_id=then))

    def waive(
        self, kind: str, value: str, actor: Actor = PERSON, shown: str | None = None, because: str = "Known."
    ) -> Accepted:
        words = {"kind": kind, "value": value, "because": because, "shown_source": shown or self.source}
        return self.ask(Waive.model_validate(words), actor)

    def close(
        self, kind: str = "completed", actor: Actor = MANAGER, shown: str | None = None, summary: str = "Over."
    ) -> Accepted:
        digest = self.source if kind == "accepted" else None
        words = {"kind": kind, "summary": summary, "shown_source": shown or digest}
        return self.ask(Close.model_validate(words), actor)

    def reseal(self, actor: Actor = PERSON, because: str = "I merged by hand.") -> Accepted:
        accepted = self.ask(ResealDocument(because=because), actor)
        self.events = []
        return accepted

    def refusal(self, act: Callable[[], object]) -> Refused:
        """Give what an act is refused with."""
        try:
            act()
        except No as no:
            return no.refused
        message = "nothing objected"
        raise AssertionError(message)


def with_operation(accepted: Accepted, ask: Ask, actor: Actor) -> Document:
    """Append the entry of one accepted mutation."""
    document = accepted.document
    entry = Operation(
        id=f"op-{document.revision}",
        kind=KINDS[type(ask)],
        input=digest_json(ask.as_json()),
        revision=document.revision,
        actor=actor,
        at="now",
        entity=accepted.entity,
        answer=dict(accepted.answer),
        body=document.body_digest(),
        previous=document.operations[-1].digest() if document.operations else "",
    )
    return document.model_copy(update={"operations": (*document.operations, entry)})


def stray(world: World) -> PendingCheck:
    """Make a check that nobody started."""
    return PendingCheck(
        id="check-0",
        scope="broad",
        command=world.gate,
        source=world.source,
        platform=world.platform,
        started_revision=world.document.revision,
    )


def without(rule_id: str) -> Rulebook:
    """Give the rules with one of them out."""
    return Rulebook(out=frozenset({rule_id}))
