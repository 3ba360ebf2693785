"""What a first plan tends to miss, said once when it is saved; nothing of it refuses.

Each sentence names the next step; the most useful comes first, and there are eight at most.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from flow_mcp.domain.decision import Refused
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Gate, Plan
from flow_mcp.engine.gather import Gathered, anchored, usable
from flow_mcp.server.known_targets import of_unknown_targets
from flow_mcp.workspace.ecosystems.sentences import (
    Told,
    counted,
    gate_words,
    listed,
    of_folders,
    of_history,
    of_tests,
)
from flow_mcp.workspace.ecosystems.source import SourceState, history_of, outer_repository
from flow_mcp.workspace.ecosystems.survey import NOTHING, Survey, survey
from flow_mcp.workspace.patterns import TEST_FILES, matches

SENTENCES_MAX = 8
GATES_MAX = 3

WEIGHTY_MAX = 3
_WEIGHTY = ("gate", "inputs")
_ABOUT_GATE = ("plan.questions-answered", "plan.commands-whole", "plan.gate-whole")
_ABOUT_FOLDERS = "plan.artifacts-narrow"


def advise(root: Path, document: Document, seen: Gathered | None) -> list[str]:
    """Give sentences on the gate, inputs, ignore rules, frozen files and uncommitted changes of a saved draft."""
    plan = document.plan
    if plan is None or seen is None:
        return []
    return [told.sentence for told in islice(_all(root, plan, seen), SENTENCES_MAX)]


def weightiest(root: Path, document: Document, seen: Gathered | None) -> list[str]:
    """Give what most likely makes a plan unworkable, for whoever is about to answer: it is frozen by a yes."""
    plan = document.plan
    if plan is None or seen is None:
        return []
    try:
        found = survey(root, "")
    except BrokenWorld:  # the answer does not wait for what cannot be looked at
        found = NOTHING
    told = [*of_unknown_targets(root, plan, seen.manifest.present()), *of_folders(found, plan.inputs)]
    return [one.sentence for one in told if one.what in _WEIGHTY][:WEIGHTY_MAX]


def advise_refused(root: Path, refused: Refused, gate: Gate | None) -> list[str]:
    """Give what the project itself offers to a draft that was refused; nothing where the refusal says it all."""
    try:
        found = survey(root, "") if refused.rule in (*_ABOUT_GATE, _ABOUT_FOLDERS) else NOTHING
    except BrokenWorld:  # the refusal is the answer; this would only have helped
        return []
    if refused.rule == _ABOUT_FOLDERS:
        return [told.sentence for told in of_folders(found, found.inputs)]
    others = [one for one in found.suggestions if gate is None or one.run != gate.run]
    return [f"The project's own files propose {gate_words(one)}." for one in others[:GATES_MAX]]


def _all(root: Path, plan: Plan, seen: Gathered) -> Iterator[Told]:
    try:
        found = survey(root, "")
    except BrokenWorld as error:  # the draft is saved: what cannot be looked at is advice too
        found = NOTHING
        yield Told("project", error.seen, error.remedy)
    state = state_of(root, seen)
    yield from of_unknown_targets(root, plan, seen.manifest.present())
    yield from _of_gate(plan, found)
    yield from of_folders(found, plan.inputs)
    yield from of_tests(state)
    yield from of_history(state)
    yield from _of_targets(plan, seen)
    yield from _of_strays(root, plan, seen)
    for note in found.notes:
        yield Told("project", note, "")


def state_of(root: Path, seen: Gathered) -> SourceState:
    """Say how the source stands, from the look that a request took anyway."""
    return SourceState(
        history=history_of(root, has_commit=seen.seen.commit is not None, is_clean=seen.seen.clean),
        outer=outer_repository(root),
        files=len(seen.manifest.present()),
        frozen=tuple(sorted(seen.facts.protected)),
        frozen_changed=seen.facts.protected_dirty,
        has_tests=bool(matches(TEST_FILES, seen.manifest.present())),
    )


def _of_gate(plan: Plan, found: Survey) -> Iterator[Told]:
    """Name a suite of the project that no command of the plan runs, and a report that the gate could have."""
    first, gate = next(iter(found.suggestions), None), plan.gate
    if first is None or gate is None or gate.run == first.run:
        return
    commands = " ".join(command.run for command in plan.commands())
    if not any(_names(commands, one.kind, one.run) for one in found.suggestions):
        seen = f"The project has {gate_words(first)}, and no command of the plan runs it."
        yield Told("gate", seen, "Take it as the gate, or as a check.")
    elif gate.report is None and first.report is not None:
        seen = f"The gate has no report, and the project has {gate_words(first)}."
        yield Told("gate", seen, "With a report no person has to approve that there is none.")


def _names(commands: str, kind: str, run: str) -> bool:
    return run in commands or re.search(rf"(?<![\w-]){kind}(?![\w-])", commands) is not None


def _of_targets(plan: Plan, seen: Gathered) -> Iterator[Told]:
    """Say what is frozen, which frozen paths the features may change, and which targets already differ from HEAD."""
    frozen = seen.facts.protected
    if frozen:
        named = {target for feature in plan.features for target in feature.targets} & set(frozen)
        files = counted(len(frozen), "test and configuration file")
        allowed = f"(now: {listed(sorted(named))})" if named else "(now: none does)"
        told = f"Approval freezes {files}, first {listed(sorted(frozen))}."
        yield Told(
            "protected", told, f"A feature may change one only if its targets name that path literally {allowed}."
        )
    dirty = seen.seen.targets_dirty
    if dirty and seen.seen.commit is not None:
        told = f"Targets hold {counted(len(dirty), 'path')} with uncommitted changes: {listed(dirty)}."
        yield Told("targets", told, "Commit or put them aside, so that the run shows its own changes alone.")


def _of_strays(root: Path, plan: Plan, seen: Gathered) -> Iterator[Told]:
    """Say which targets name nothing, in a folder that is not there."""
    targets = dict.fromkeys(target for feature in plan.features for target in feature.targets)
    lost = [target for target in targets if _is_stray(root, target, seen)]
    if lost:
        folders = listed(list(dict.fromkeys(f"{_folder(target)}/" for target in lost)))
        told = f"Targets name nothing that is there, in folders that are not there either: {listed(lost)} ({folders})."
        yield Told("targets", told, "That is right where the work makes them; else write them as from the top.")


def _folder(target: str) -> str:
    """Give the folder before the first wildcard of a target; empty at the top."""
    fixed = re.split(r"[*?\[]", target.strip("/"), maxsplit=1)[0]
    return fixed.rpartition("/")[0]


def _is_stray(root: Path, target: str, seen: Gathered) -> bool:
    folder = _folder(target)
    if not folder or target.startswith("!") or not usable([target], []) or (root / folder).is_dir():
        return False
    return not matches([anchored(target)], seen.manifest.present())
