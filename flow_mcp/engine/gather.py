"""Facts about the workspace, gathered before the lock is taken and bound to what they were gathered for."""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from flow_mcp.domain.decision import HiddenPath, OutwardLink, SourceFacts
from flow_mcp.domain.history import active_run, approval, attempts, judged_source, run_beside
from flow_mcp.domain.model import Approval, Document, Run
from flow_mcp.domain.plan import Plan
from flow_mcp.engine.shelf import Shelf
from flow_mcp.workspace import facts as workspace_facts
from flow_mcp.workspace.facts import Globs
from flow_mcp.workspace.leading import leading_out
from flow_mcp.workspace.memory import Memory
from flow_mcp.workspace.overlap import is_literal
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED, GLOBS_MAX, TEST_CONFIGURATION, matches, safe_glob
from flow_mcp.workspace.pins import pin
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Manifest
from flow_mcp.workspace.sources import changed_paths, rebuild_from_commit, store_copy


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where the source is, and where its plans and private facts are.

    Attributes:
        root: the workspace root.
        plans: the plans folder, relative to it.
        started_in: the folder below the root in which Flow was started, with forward slashes; empty for the root.
        shelf: what is known of the private copies.
        memory: what is known of the source.
    """

    root: Path
    plans: str
    started_in: str = ""
    shelf: Shelf = field(default_factory=Shelf, compare=False, repr=False)
    memory: Memory = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Remember nothing of the source yet."""
        object.__setattr__(self, "memory", Memory(self.private))

    @property
    def private(self) -> Path:
        """The machine-private folder."""
        return self.root / ".flow"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The source as it was seen at one moment, for one plan."""

    facts: SourceFacts
    seen: workspace_facts.Gathered

    @property
    def manifest(self) -> Manifest:
        """What the source is made of."""
        return self.seen.manifest


def gather(space: Workspace, records: Records, document: Document, plan: Plan, *, anew: bool) -> Gathered:
    """Look at the source the way a plan asks: its frozen files, artifacts, inputs and targets.

    ``anew`` reads every file, whatever is remembered of it: the last word on a source rests on no hint. What is
    remembered afterwards is what was read then, so that the next look does not contradict it.
    """
    if anew:
        space.memory.forget()
    refused: list[HiddenPath] = []
    globs = Globs(
        protected=usable(DEFAULT_PROTECTED if plan.protected is None else plan.protected, refused),
        targets=usable([target for feature in plan.features for target in feature.targets], refused),
        inputs=usable(plan.inputs, refused),
        artifacts=usable(plan.artifacts, refused),
    )
    seen = workspace_facts.gather(space.root, records, globs, space.memory)
    changed = _changed(space, document, seen.manifest)
    source = SourceFacts(
        digest=seen.manifest.digest,
        commit=seen.commit if seen.clean else None,
        protected={**seen.protected, **_inherited(plan, seen.manifest)},
        verifiers=seen.verifiers,
        protected_dirty=seen.protected_dirty if (space.root / ".git").exists() else (),
        targets_dirty=seen.targets_dirty if seen.commit is not None else (),
        test_configuration=_in_force(
            _new_configuration(space, document, seen.test_configuration), _frozen(space, document, globs, seen)
        ),
        changed=changed,
        outside=_outside(space, document, seen.manifest, changed),
        hidden=(*refused, *seen.hidden),
        outward=_outward(space, document, seen.manifest),
        since_judged=_since_judged(space, document, seen.manifest),
    )
    return Gathered(source, seen)


def _inherited(plan: Plan, now: Manifest) -> dict[str, str]:
    """Look at the files that inherited plans froze too, whatever this plan protects."""
    paths = {line.partition(" ")[2] for owed in plan.inherits for line in owed.protected}
    present = now.present()
    return {path: present[path].digest for path in sorted(paths & present.keys())}


def usable(globs: Sequence[str], refused: list[HiddenPath]) -> tuple[str, ...]:
    """Leave out the globs that cannot be matched, and say why: a plan with one of them is not saved."""
    found: list[str] = []
    for glob in globs[:GLOBS_MAX]:
        try:
            found.append(safe_glob(glob))
        except ValueError as error:
            refused.append(HiddenPath(glob, glob, str(error), present=False))
    if len(globs) > GLOBS_MAX:
        many = globs[GLOBS_MAX]
        refused.append(HiddenPath(many, many, f"a list has {GLOBS_MAX} globs at most", present=False))
    return tuple(found)


def _kept(space: Workspace, digest: str) -> Manifest | None:
    return space.shelf.manifest(space.private, digest)


def first_start(space: Workspace, document: Document, run: Run) -> tuple[Run, Manifest] | None:
    """Give the first run of a feature whose start is kept, and that source (row attest.changed-paths).

    A reset leaves the work in the tree: the change of a run is the whole one of its feature.
    """
    found = ((one, _kept(space, one.started_source)) for one in attempts(document, run))
    return next(((one, kept) for one, kept in found if kept is not None), None)


def outside_targets(
    space: Workspace, document: Document, run: Run, now: Manifest, changed: Collection[str]
) -> frozenset[str]:
    """Give the changed paths that no target of the run's feature names.

    What a feature that ran between two attempts of this one may change is its own, unless this attempt changed it.
    """
    outside = frozenset(changed) - targeted(document, {run.feature_id}, changed)
    theirs, start = run_beside(document, run), _kept(space, run.started_source)
    if not theirs or start is None:
        return outside
    return outside - (targeted(document, theirs, outside) - frozenset(changed_paths(start, now)))


def targeted(document: Document, features: AbstractSet[str], paths: Collection[str]) -> frozenset[str]:
    """Give those of some paths that a target of some features names."""
    plan = document.plan
    meant = () if plan is None else (one for one in plan.features if one.id in features)
    targets = [anchored(glob) for glob in usable([target for one in meant for target in one.targets], [])]
    return matches(targets, paths) if targets else frozenset()


def _changed(space: Workspace, document: Document, now: Manifest) -> tuple[str, ...]:
    run = active_run(document)
    start = None if run is None else first_start(space, document, run)
    return () if start is None else changed_paths(start[1], now)


def _outward(space: Workspace, document: Document, now: Manifest) -> tuple[OutwardLink, ...]:
    """Name the links that lead out since the approval; where the approved source is lost, every one counts as new."""
    given = approval(document)
    return () if given is None else leading_out(space.root, now, _kept(space, given.source))


def _since_judged(space: Workspace, document: Document, now: Manifest) -> tuple[str, ...] | None:
    judged = judged_source(document)
    if judged in {None, now.digest}:
        return ()
    kept = _kept(space, judged)
    return None if kept is None else changed_paths(kept, now)


def _outside(space: Workspace, document: Document, now: Manifest, changed: tuple[str, ...]) -> tuple[str, ...]:
    run = active_run(document)
    found = frozenset[str]() if run is None else outside_targets(space, document, run, now, changed)
    return tuple(path for path in changed if path in found)


def anchored(target: str) -> str:
    """Take a target without a wildcard for the one path that it spells, and not for every file of its name."""
    return f"/{target}" if is_literal(target) and not target.startswith("/") else target


def _new_configuration(space: Workspace, document: Document, now: Mapping[str, str]) -> dict[str, str]:
    """Keep the test configuration that the approved source does not have as it is now."""
    given = approval(document)
    approved = None if given is None else _kept(space, given.source)
    if approved is None:
        return {} if given is None else dict(now)
    known = {path: entry.digest for path, entry in approved.present().items()}
    gone = {path: "" for path in matches(TEST_CONFIGURATION, known) if path not in now}
    return {path: digest for path, digest in now.items() if known.get(path) != digest} | gone


def _frozen(space: Workspace, document: Document, globs: Globs, seen: workspace_facts.Gathered) -> set[str]:
    """Name the protected files, those of the approved source that are gone among them."""
    given = approval(document)
    approved = None if given is None else _kept(space, given.source)
    gone = frozenset[str]() if approved is None else matches(globs.protected, approved.present())
    return {*seen.protected, *gone}


def _in_force(configuration: Mapping[str, str], frozen: AbstractSet[str]) -> dict[str, str]:
    """Keep the configuration that steers a frozen test: what lies in its folder or in one above it."""
    folders = {path.rpartition("/")[0] for path in frozen}
    above = {
        "/".join(parts[:depth])
        for parts in (folder.split("/") for folder in folders)
        for depth in range(len(parts) + 1)
    }
    return {path: digest for path, digest in configuration.items() if path.rpartition("/")[0] in above}


def keep_copy(space: Workspace, manifest: Manifest, *, pinned: bool) -> None:
    """Keep a private copy of the source as it is; ``pinned`` holds it even while no document names it."""
    store_copy(space.root, manifest, space.private)
    if pinned:
        pin(space.private, manifest.digest)


@dataclass(frozen=True, slots=True)
class AtHand:
    """Which private facts of a document are there.

    Attributes:
        copy: the approved source.
        start: the manifest of the source that the active run started from.
    """

    copy: bool
    start: bool


def at_hand(space: Workspace, records: Records, document: Document, now: Manifest | None) -> AtHand:
    """Say which private facts are there; rebuild them from the tree or the approved commit where that is possible."""
    given, run = document.approvals[-1] if document.approvals else None, active_run(document)
    copy = given is None or _has(space, given.source, now) or _rebuilt(space, records, document, given)
    return AtHand(copy, start=run is None or _has(space, run.started_source, now))


def _has(space: Workspace, digest: str, now: Manifest | None) -> bool:
    if _kept(space, digest) is not None:
        return True
    if now is None or now.digest != digest:
        return False
    store_copy(space.root, now, space.private)
    return True


def _rebuilt(space: Workspace, records: Records, document: Document, given: Approval) -> bool:
    plan, commit = document.plan, given.commit
    artifacts = () if plan is None else plan.artifacts
    if commit is None:
        return False
    return rebuild_from_commit(space.root, commit, given.source, space.private, records, artifacts)
