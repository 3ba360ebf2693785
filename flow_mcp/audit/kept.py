"""Whether cases got lost, verifiers were changed on the way, and files left out of what was judged."""

from flow_mcp.audit.record import ELSEWHERE, Record, Said, command_of, readable
from flow_mcp.domain.model import Run
from flow_mcp.domain.plan import Platform

Key = tuple[str, Platform]


def _kept(record: Record) -> tuple[dict[Key, set[str]], list[str]]:
    """Give the cases that must not get lost, by command and platform, and the lists that nobody can read."""
    judged = {
        name for _, review, result in record.reviews if result.verdict == "passed" for name in review.observations
    }
    found: list[tuple[str, Platform, str]] = []
    for one in record.seen:
        is_baseline = one.scope == "baseline" and one.ineligible not in ELSEWHERE
        counts = is_baseline or (one.id in judged and one.command in record.listed())
        if counts and one.report is not None and one.report.passing is not None:
            found.append((one.command, one.platform, one.report.passing))
    for owed in record.plan.inherits:
        found += [(_carrier(record, one.run), one.platform, one.listing) for one in owed.kept]
    kept: dict[Key, set[str]] = {}
    for run, platform, listing in found:
        kept.setdefault((run, platform), set()).update(record.lines.get(listing, ()))
    return kept, sorted({listing for _, _, listing in found if listing not in record.lines})


def _carrier(record: Record, run: str) -> str:
    """Give the command that shows an inherited case here: its own, or the gate."""
    own, gate = command_of(record.plan, run), record.plan.gate
    shows = run in record.listed() and own is not None and own.report is not None
    return run if shows or gate is None else gate.run


def cases_unreadable(record: Record) -> Said:
    """Name the lists of cases that are missing."""
    yield from (f"the list {listing} is missing" for listing in _kept(record)[1])


def cases_lost(record: Record) -> Said:
    """Name cases that passed before and are not seen passing on the source that was judged."""
    waived, given_up = record.waived("case"), [one.case for one in record.plan.dropped_cases]
    for (run, platform), cases in _kept(record)[0].items():
        wanted = {one for one in cases - waived if not any(_is_called(one, name) for name in given_up)}
        one = record.last(run, platform)
        known = one is not None and one.source == record.source and readable(one)
        if not known and (platform != record.platform or not wanted):
            continue
        listing = one.report.passing if known and one is not None and one.report is not None else None
        lost = sorted(wanted - set(record.lines.get(listing or "", ())))
        if lost:
            yield f"{len(lost)} case(s) of {run!r} on {platform} were lost: {'; '.join(lost[:5])}"


def _is_called(case: str, name: str) -> bool:
    """Say whether a name, written in any usual way, means a case."""
    *outer, last = case.split(" :: ")
    before = name.removesuffix(last)
    if case == name or not name.endswith(last):
        return case == name
    words = _words(before)
    ways = [_words(" ".join(outer)), *(_words(part) for part in outer)]
    return not words or any(way[-len(words) :] == words for way in ways)


def _words(text: str) -> list[str]:
    for mark in ("::", " > ", "/", "."):
        text = text.replace(mark, " ")
    return [word for word in text.split() if word != "py"]


def verifiers_changed(record: Record) -> Said:
    """Name frozen files that the judged source does not have as they were, as far as that can be known."""
    frozen = _frozen(record)
    allowed = {path for one in record.plan.features for path in one.targets} | record.waived("path")
    changed = {path for path, digests in frozen.items() if len(digests) > 1}
    final, given, now = record.final, record.approval, record.workspace
    if final is not None and given is not None and _starts(record, final[0]) == {given.source}:
        changed |= frozen.keys() & (set(final[1].changed_paths) - set(final[1].modes_changed or ()))
    if now is not None and now.source == record.source:
        changed |= {path for path, digests in frozen.items() if digests != {now.files.get(path)}}
        if frozen and record.plan.protected is None:
            changed |= now.configuration - frozen.keys()
    yield from (f"the verifier {path} is not as it was approved" for path in sorted(changed - allowed))


def _starts(record: Record, run: Run) -> set[str]:
    """Give what a review's paths may have been compared with: the start of its run, or of its feature's first one."""
    first = next(one for one in record.document.runs if one.feature_id == run.feature_id)
    return {run.started_source, first.started_source}


def _frozen(record: Record) -> dict[str, set[str]]:
    given = record.approval
    lines = () if given is None else record.lines.get(given.protected, ())
    frozen: dict[str, set[str]] = {}
    for line in (*lines, *(line for owed in record.plan.inherits for line in owed.protected)):
        digest, _, path = line.partition(" ")
        frozen.setdefault(path, set()).add(digest)
    return frozen


def artifact_hides_source(record: Record) -> Said:
    """Name tracked files that no digest covers, where the source still is the judged one."""
    now = record.workspace
    if now is not None and now.source == record.source:
        yield from (
            f"{path} is tracked and the artifact {glob!r} hides it" for path, glob in sorted(now.hidden.items())
        )
