"""The packet of a review as a person reads it: what was asked, what must be answered, what changed, what was seen."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from flow_mcp.cli.answer import Block, Facts, Raw, Words
from flow_mcp.cli.diff import coloured
from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Document, Observation, Review
from flow_mcp.domain.plan import Feature, Finding
from flow_mcp.engine.core import State
from flow_mcp.server.views import Body, observed_sentence

COMMAND_CHARACTERS: Final = 32
"""So much of a command is shown in the line of its observation; the checks above show it whole."""


def judging_page(state: State, review: Review, feature: Feature | None, packet: Body) -> Iterator[Block]:
    """Lay out the packet of a pending assignment for a narrow terminal; the differences begin at column 0."""
    yield Words(str(packet["summary"]), "strong")
    yield Facts(tuple(_about(state.document, review, feature, packet)))
    yield from (Words(f"\n{sentence}", "bad") for sentence in packet.get("taken_back", ()))
    yield from _to_answer(packet)
    yield from _changed("Changed since the feature's first run started", packet["differences"])
    if "differences_since_approval" in packet:
        yield from _changed("Changed since the approval", packet["differences_since_approval"])
    yield Words("\nObserved by Flow itself, on exactly this source:", "strong")
    by_id = {seen.id: seen for seen in observations(state.document)}
    for name in review.observations:
        if name in by_id:
            yield Words(f"- {_observed(state.document, by_id[name])}")
    yield from _beside(state, review, packet)


def _about(
    document: Document, review: Review, feature: Feature | None, packet: Body
) -> Iterator[tuple[str, tuple[str, ...]]]:
    given = packet["assignment"]
    yield "plan", (f"{document.plan_id}, revision {document.revision}",)
    yield "judge", (f"{given['run_id']}, its {review.kind} review", f"assignment {review.id}")
    yield "goal", tuple(document.goal.split("\n"))
    if document.plan is not None and document.plan.requirements:
        yield "asked", tuple(f"{entry.id}: {_line(entry.text)}" for entry in document.plan.requirements)
    if feature is not None:
        yield "feature", (f"{feature.id}: {feature.title}", *((_line(feature.summary),) if feature.summary else ()))
        yield "targets", feature.targets
    yield "checks", tuple(packet["checks"])
    yield "done", tuple(review.summary.split("\n"))
    if review.risks:
        yield "risks", tuple(f"- {_line(risk)}" for risk in review.risks)


def _line(text: str) -> str:
    return " ".join(text.split())


def _to_answer(packet: Body) -> Iterator[Block]:
    prior: Sequence[Mapping[str, Any]] = packet["prior_findings"]
    if prior:
        yield Words("\nFindings that this review answers; a failed one repeats what is not settled:", "strong")
    for one in prior:
        finding = Finding.model_validate(one)
        evidence = f" (seen: {_line(finding.evidence)})" if finding.evidence else ""
        yield Words(f"- {finding.id}, {finding.severity}: {_line(finding.summary)}{evidence}")


def _changed(title: str, found: Body) -> Iterator[Block]:
    yield Words(f"\n{title}:", "strong")
    for one in found.get("files", ()):
        counts = [f"+{one['added']} -{one['removed']}"] if "added" in one else []
        yield Words("\n" + ", ".join([f"{one['path']}: {one['what']}", *counts, *one.get("marks", ())]), "strong")
        yield from (Words(note) for note in one.get("notes", ()))
        yield from _diff(one.get("diff", ""))
        if "lines_left_out" in one:
            yield Words(f"{one['lines_left_out']} lines are left out; `flow-mcp diff` prints them.", "bad")
    if "say" in found:
        yield Words(str(found["say"]))
    if "left_out" in found:
        names = ", ".join(found["left_out"]["names"])
        yield Words(f"\n{found['left_out']['paths']} paths are left out; `flow-mcp diff` prints them: {names}", "bad")


def _diff(text: str) -> Iterator[Block]:
    if text and sys.stderr is not None and sys.stderr.isatty():
        yield from coloured(text)
    elif text:
        yield Raw(text)


def _observed(document: Document, seen: Observation) -> str:
    """Say in a line what one observation came to, in words."""
    told = observed_sentence(document, seen).replace(seen.command, _short(document, seen.command))
    report = seen.report
    counts = (
        () if report is None else ((report.passed, "passed"), (report.failed, "failed"), (report.skipped, "skipped"))
    )
    some = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{told.removesuffix('.')}: {some}" if some else told


def _short(document: Document, run: str) -> str:
    """Name the gate, and show of another long command its end, which tells it from the others."""
    gate = None if document.plan is None else document.plan.gate
    if gate is not None and gate.run == run:
        return "the gate"
    return run if len(run) <= COMMAND_CHARACTERS else f"…{run[1 - COMMAND_CHARACTERS :]}"


def _beside(state: State, review: Review, packet: Body) -> Iterator[Block]:
    """Say what else a judge should know, where there is any of it."""
    if review.outside_targets:
        yield Words(f"Outside the targets: {', '.join(packet['assignment']['outside_targets'])}", "bad")
    if packet["unstable"]:
        yield Words(f"Passed and failed on the same source: {', '.join(packet['unstable'])}", "bad")
    if packet["unanswered_reviews"]:
        yield Words(f"Reset before they were answered: {', '.join(packet['unanswered_reviews'])}", "bad")
    if state.facts.digest not in {"", review.source}:
        yield Words("The workspace moved since the assignment: a pass is refused until the run is shown anew.", "bad")
    yield Words(f"source {review.source}", "faint")
