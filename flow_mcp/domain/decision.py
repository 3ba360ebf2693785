"""What goes into a decision and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field, JsonValue

from flow_mcp.domain.base import Closed, Line, Text
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.plan import Inherited, Platform
from flow_mcp.domain.policy import Policy


@dataclass(frozen=True, slots=True)
class Moment:
    """The time, as a note for people, and a fresh random token to make ids from."""

    at: str
    fresh: str


@dataclass(frozen=True, slots=True)
class HiddenPath:
    """A glob of the plan that would hide source, or a target that is ignored.

    Attributes:
        glob: what the plan names.
        path: what that would hide.
        why: what is wrong with it, in words that follow a colon.
        present: whether it is a file of the source that is there, and not only one that could come.
    """

    glob: str
    path: str
    why: str
    present: bool


@dataclass(frozen=True, slots=True)
class OutwardLink:
    """A link of the source, and the place out of it to which it leads."""

    path: str
    goal: str


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The workspace as it is now.

    Attributes:
        digest: what evidence is bound to.
        commit: HEAD, when the tree is clean.
        protected: protected files that exist, path to digest.
        verifiers: files of Flow's own default list of verifiers that exist, whatever the plan protects.
        protected_dirty: protected files and other verifiers that differ from HEAD, or were deleted since.
        targets_dirty: files that targets name and that differ from HEAD; none where there is no HEAD.
        test_configuration: files in force that steer a test runner, path to digest.
        changed: paths that differ from the source that the active run's feature was first started from.
        outside: those of ``changed`` that no target of the active feature names.
        hidden: what the plan's artifacts, inputs and targets would hide.
        outward: links that lead out of the source, and did not when it was approved.
        since_judged: paths that differ from the source of the pending assignment, else of the last final review; None
            where that source is not kept here.
    """

    digest: str
    commit: str | None
    protected: Mapping[str, str]
    verifiers: tuple[str, ...]
    protected_dirty: tuple[str, ...]
    targets_dirty: tuple[str, ...]
    test_configuration: Mapping[str, str]
    changed: tuple[str, ...]
    outside: tuple[str, ...]
    hidden: tuple[HiddenPath, ...]
    outward: tuple[OutwardLink, ...]
    since_judged: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What the engine gathered for one decision; nothing in it comes from the caller's words.

    Attributes:
        actor: who asks, as far as the connection or host attests it.
        policy: the values in force now.
        platform: read by this process.
        worktree: random id of this worktree.
        other_open: id of another open plan that this worktree drives, if any.
        owed: what deferred and abandoned plans in the folder still owe.
        source: the workspace, or None where it was not looked at.
        copy_present: the approved source is at hand, or was rebuilt.
        start_present: the active run's start manifest is at hand.
        check_lost: the pending check's runner or private state is gone.
        lines: the contents of listings by digest, those in sidecars too.
    """

    actor: Actor
    policy: Policy
    platform: Platform
    worktree: str
    other_open: str | None
    owed: tuple[Inherited, ...]
    source: SourceFacts | None
    copy_present: bool
    start_present: bool
    check_lost: bool
    lines: Mapping[str, tuple[str, ...]]

    @property
    def digest(self) -> str:
        """The current source, or nothing that equals any digest."""
        return "" if self.source is None else self.source.digest

    @property
    def look(self) -> SourceFacts:
        """The workspace, for what follows an accepted request that is bound to it."""
        assert self.source is not None, "the engine looks at the source first"  # noqa: S101 - a broken program
        return self.source


class Step(Closed):
    """The next call that helps, or what a person does. ``fill`` names arguments that the caller writes."""

    who: str
    tool: Line | None = None
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    fill: tuple[Line, ...] = ()
    say: Text


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a rule says no: what was seen, what helps, and whether the same call could succeed later."""

    seen: str
    remedy: Step
    retryable: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A rule said no; nothing was written."""

    rule: str
    seen: str
    remedy: Step
    retryable: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    """The document that follows, what the answer must say again on a replay, and what was touched."""

    document: Document
    answer: Mapping[str, JsonValue]
    entity: str | None


def call(tool: str, arguments: Mapping[str, JsonValue], fill: tuple[str, ...], say: str) -> Step:
    """Name a tool call that the manager makes next."""
    return Step(who="manager", tool=tool, arguments=dict(arguments), fill=fill, say=say)


def person(say: str) -> Step:
    """Name what only a person can do next."""
    return Step(who="person", say=say)
