"""What the doctor says of the project itself: gate, inputs, ignore rules, history, what would be frozen."""

from collections.abc import Iterator
from pathlib import Path

from flow_mcp.cli.finding import Finding
from flow_mcp.cli.reading import Records, read_plan
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.ecosystems.sentences import (
    Told,
    counted,
    frozen_words,
    of_folders,
    of_history,
    of_suggestions,
    of_tests,
)
from flow_mcp.workspace.ecosystems.source import look_at_source
from flow_mcp.workspace.ecosystems.survey import survey
from flow_mcp.workspace.records import Records as OwnRecords
from flow_mcp.workspace.root import folder_in


def project_findings(held: Records, start: Path) -> Iterator[Finding]:
    """Look at the project; what cannot be read is a problem that hides nothing else."""
    here = folder_in(held.root, start)
    if here:
        seen = f"you stand in {here}/; the workspace is the whole repository around it"
        yield Finding("ok", "folder", seen, "A command for this folder begins with cd.")
    for look in (_files, _source):
        try:
            yield from look(held, here)
        except BrokenWorld as error:
            yield Finding("problem", "source", error.seen, error.remedy)


def own_records(held: Records) -> OwnRecords:
    """Say which files of the plans folder are records, and so no part of the source.

    Raises:
        BrokenWorld: where the folder cannot be read.
    """
    return OwnRecords(held.settings.plans, frozenset(held.plans.names()))


def _files(held: Records, here: str) -> Iterator[Finding]:
    found = survey(held.root, here)
    yield _finding(of_suggestions(found))
    yield from (_finding(told) for told in of_folders(found, _lent(held)))
    yield from (Finding("advice", "project", note) for note in found.notes)


def _lent(held: Records) -> tuple[str, ...]:
    """Give the inputs of the plan in force; of one that cannot be read the doctor tells by itself."""
    try:
        found = read_plan(held, None)
    except BrokenWorld:
        return ()
    plan = None if isinstance(found, Refused) else found.document.plan
    return () if plan is None else plan.inputs


def _source(held: Records, _here: str) -> Iterator[Finding]:
    state = look_at_source(held.root, own_records(held))
    yield Finding("ok", "source", counted(state.files, "file"))
    yield Finding("ok", "protected", frozen_words(state))
    yield from (_finding(told) for told in (*of_history(state), *of_tests(state)))


def _finding(told: Told) -> Finding:
    return Finding("advice" if told.remedy else "ok", told.what, told.seen, told.remedy)
