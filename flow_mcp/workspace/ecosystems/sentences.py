"""What a first run should know, in sentences: what was seen, and the next step. Nothing of it refuses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flow_mcp.workspace.ecosystems.source import SourceState
from flow_mcp.workspace.ecosystems.suggestion import Suggestion
from flow_mcp.workspace.ecosystems.survey import Survey
from flow_mcp.workspace.patterns import matches

NAMES_MAX = 4
_NAME_CHARACTERS_MAX = 80


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that was found.

    Attributes:
        what: its subject in a word or two.
        seen: what was seen, as a sentence.
        remedy: the next step as a sentence; empty where all is well.
    """

    what: str
    seen: str
    remedy: str

    @property
    def sentence(self) -> str:
        """Both in one line."""
        return f"{self.seen} {self.remedy}".rstrip()


def listed(names: Sequence[str]) -> str:
    """Name the first few, and say how many more there are."""
    shown = [name if len(name) <= _NAME_CHARACTERS_MAX else f"{name[:_NAME_CHARACTERS_MAX]}…" for name in names]
    more = len(names) - NAMES_MAX
    return ", ".join(shown[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """Count a noun whose plural ends in s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def gate_words(one: Suggestion) -> str:
    """Write a gate so that it can be copied into a plan."""
    where = f" in {one.folder}/" if one.folder else ""
    report = "without a report" if one.report is None else f"with report {one.report}"
    return f"`{one.run}` {report} ({one.kind}{where})"


def of_suggestions(found: Survey) -> Told:
    """Tell which gate the project speaks for."""
    if not found.suggestions:
        seen = "No test suite was found in the project's files."
        return Told("gate", seen, "Name the command that runs the tests as the gate, or plan the first test.")
    first = found.suggestions[0]
    if first.report is None:
        return Told("gate", f"Found {gate_words(first)}.", f"{first.no_report_because} `no_report_because` says so.")
    return Told("gate", f"Found {gate_words(first)}.", "")


def of_folders(found: Survey, inputs: Sequence[str]) -> Iterator[Told]:
    """Tell which folders commands would miss, and which would count as source."""
    # An input counts from the top: a bare name lends no folder of that name further down.
    lent = matches([f"/{glob.strip('/')}" for glob in inputs], [f"{path}/" for path in found.inputs])
    missed = [path for path in found.inputs if f"{path}/" not in lent]
    if missed:
        seen = f"{listed(missed)}: ignored, and commands run in a copy that lacks ignored folders."
        yield Told("inputs", seen, "List those that the commands read in the plan's `inputs`.")
    if found.self_ignored:
        seen = f"{listed(found.self_ignored)}: ignored only by a file inside, so no command can be lent it."
        yield Told("inputs", seen, "Name it in .gitignore too, then list it in `inputs`.")
    if found.unignored:
        seen = f"{listed(found.unignored)}: not ignored, so all in it counts as source."
        yield Told("ignore rules", seen, "Add it to .gitignore, and take it out of git's index if it is tracked.")
    elif not found.has_ignore_file:
        seen = "There is no .gitignore, so whatever tools leave in the folder will count as source."
        yield Told("ignore rules", seen, "Add one that names caches and folders of dependencies and builds.")


def of_history(state: SourceState) -> Iterator[Told]:
    """Tell what stands in the way of finding the approved source again."""
    remedies = {
        "no-repository": (
            "This folder is no git repository, so there is no commit yet that the approved source can be rebuilt from.",
            "Run `git init`, name caches in .gitignore, and commit.",
        ),
        "no-git": (
            "This is a git repository, but no git program was found outside of it, so no commit can be read.",
            "Install git, or start Flow with a PATH that leads to it.",
        ),
        "no-commit": (
            "There is no commit yet that the approved source can be rebuilt from.",
            "Commit before you ask for approval.",
        ),
        "changed": (
            "The tree differs from HEAD, so the approved source cannot be rebuilt from a commit.",
            "Commit before you ask for approval.",
        ),
        "unknown": (
            "The source is large, so it was not compared with HEAD here.",
            "Let `git status` say what is uncommitted, and commit before you ask for approval.",
        ),
    }
    if state.history in remedies:
        yield Told("history", *remedies[state.history])
    if state.outer is not None:
        seen = f"This repository lies inside the repository {state.outer}; Flow covers only this one."
        yield Told("repository", seen, "Start Flow in the outer one where the goal reaches beyond this folder.")


def of_tests(state: SourceState) -> Iterator[Told]:
    """Tell what would be frozen at approval."""
    if state.frozen_changed:
        count = counted(len(state.frozen_changed), "test or configuration file")
        seen = f"Approval would freeze {count} with uncommitted changes: {listed(state.frozen_changed)}."
        yield Told("protected", seen, "Commit or revert them before you ask for approval.")
    if not state.has_tests and not state.frozen:
        seen = "No test file was found, so nothing would be frozen, and a gate has nothing to run."
        yield Told("tests", seen, "Let the first feature add tests, and name their paths in its targets.")


def frozen_words(state: SourceState) -> str:
    """Say how many files the derived default freezes now, and which come first."""
    if not state.frozen:
        return "Flow's derived default (tests, fixtures, runner configuration, CI files) matches no file yet."
    return (
        f"Flow's derived default freezes {counted(len(state.frozen), 'file')} at approval now: {listed(state.frozen)}."
    )
