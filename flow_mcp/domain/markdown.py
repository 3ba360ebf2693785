"""The page of a goal for people: what was planned, seen, judged and how it ended. Nothing reads it back."""

import re
from collections.abc import Iterator, Mapping

from flow_mcp.domain.cases import kept_cases
from flow_mcp.domain.history import approval, current_run, observations, passes, unstable
from flow_mcp.domain.model import Document, Observation, Review, Run
from flow_mcp.domain.plan import Feature, Plan
from flow_mcp.domain.report_words import why_unread
from flow_mcp.domain.setbacks import sentences
from flow_mcp.domain.spoken import reviewer_words
from flow_mcp.domain.view import status

OBSERVATIONS_SHOWN = 60
_PROVED = {"failed": "fails", "uncollected": "does not load", "passed": "passes"}
CELL_CHARACTERS = 160

# What Markdown or HTML would act on: everything from a document is shown as the text that it is.
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
# Direction marks and zero-width characters could make a reader see another text than the bytes.
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def page(document: Document, lines: Mapping[str, tuple[str, ...]]) -> str:
    """Write the page; ``lines`` holds the listings of its sidecars."""
    return "\n".join(_lines(document, lines)) + "\n"


def plain(text: str) -> str:
    """Show a text of a document as itself: no markup of it acts, no character of it hides."""
    quiet = _ACTIVE.sub(r"\\\1", text)
    return _UNSEEN.sub(lambda found: f"(U+{ord(found[0]):04X})", quiet)


def _cell(text: str) -> str:
    return plain(" ".join(text.split()))[:CELL_CHARACTERS]


def _code(text: str) -> str:
    """Show bytes in a table as code; a backtick in them lengthens the fence."""
    shown = _UNSEEN.sub(lambda found: f"(U+{ord(found[0]):04X})", " ".join(text.split())).replace("|", "\\|")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def _lines(document: Document, lines: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    plan = document.plan
    title, *rest = document.goal.split("\n")
    yield f"# {_cell(title)}"
    yield ""
    if rest:
        yield from (*(f"> {plain(line)}" for line in rest), "")
    yield f"Plan `{document.plan_id}`, revision {document.revision}: **{status(document)}**."
    yield ""
    for sentence in sentences(document):
        yield from (f"**{sentence}**", "")
    if plan is not None:
        yield from _plan(document, plan)
        yield from _features(document, plan)
    yield from _evidence(document, lines)
    yield from _reviews(document)
    yield from _closure(document)
    yield "_Written by Flow from the document beside it; edits here change nothing._"


def _whom(by: str) -> str:
    return "a person" if by == "person" else "the caller"


def _plan(document: Document, plan: Plan) -> Iterator[str]:
    yield plain(plan.summary)
    yield ""
    for entry in plan.requirements:
        yield f"- {entry.id}: {_cell(entry.text)}"
    for text in plan.decisions:
        yield f"- Decided: {_cell(text)}"
    given = approval(document)
    if given is None:
        yield "- Not approved."
    else:
        yield f"- Approved by {_whom(given.by)} ({given.channel}), revision {given.revision}."
        if given.targets_dirty:
            yield f"- Targets that differed from HEAD then: {', '.join(_code(path) for path in given.targets_dirty)}"
        if given.unfrozen:
            yield f"- Verifiers that are not frozen: {', '.join(_code(path) for path in given.unfrozen)}"
    if plan.gate is not None:
        report = plan.gate.report or f"no report, because {plan.gate.no_report_because}"
        yield f"- Gate: {_code(plan.gate.run)} ({_cell(report)})"
    for external in plan.external_evidence or ():
        yield f"- On {external.platform}: {_code(external.command.run)} for {external.requirement}"
    for owed in plan.inherits:
        yield f"- Takes over what `{owed.plan_id}` owes."
    for waiver in document.allowances:
        yield f"- Waived by a person ({waiver.channel}): {waiver.kind} {_code(waiver.value)}, {_cell(waiver.because)}"
    yield ""


def _features(document: Document, plan: Plan) -> Iterator[str]:
    yield "```mermaid"
    yield "graph LR"
    names = {feature.id: f"f{number}" for number, feature in enumerate(plan.features)}
    for feature in plan.features:
        yield f'  {names[feature.id]}["{_label(feature)}"]'
        yield from (f"  {names[need]} --> {names[feature.id]}" for need in feature.depends_on if need in names)
    yield "```"
    yield ""
    yield "| feature | state | attempt | may change | checks |"
    yield "| --- | --- | --- | --- | --- |"
    for feature in plan.features:
        yield _feature_row(feature, current_run(document, feature.id))
    yield ""


def _label(feature: Feature) -> str:
    return re.sub(r"[^\w .,:/()-]", " ", f"{feature.id}: {feature.title}")[:80]


def _feature_row(feature: Feature, run: Run | None) -> str:
    state, attempt = ("none", "") if run is None else (run.state, str(run.attempt))
    targets = ", ".join(_code(target) for target in feature.targets)
    checks = ", ".join(_code(check.run) for check in feature.checks) or "the gate"
    return f"| {_cell(feature.id)}: {_cell(feature.title)} | {state} | {attempt} | {targets} | {checks} |"


def _evidence(document: Document, lines: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    seen = observations(document)
    if not seen:
        return
    yield "## Evidence"
    yield ""
    yield "| seen | scope | command | result | cases | source |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in seen[-OBSERVATIONS_SHOWN:]:
        yield _observation_row(document, one)
    yield ""
    if len(seen) > OBSERVATIONS_SHOWN:
        yield f"{len(seen) - OBSERVATIONS_SHOWN} earlier observations are in the document."
    kept = kept_cases(document, lines)
    total = 0 if kept is None else len({case for cases in kept.values() for case in cases})
    yield f"Cases that must keep passing: {'unknown, a listing is missing' if kept is None else total}."
    flaky = unstable(document)
    if flaky:
        yield f"Unstable, passed and failed on one source: {', '.join(_code(run) for run in flaky)}."
    yield ""


def _observation_row(document: Document, seen: Observation) -> str:
    plan, report = document.plan, seen.report
    verdict = "passes" if plan is not None and passes(plan, seen) else "does not pass"
    if seen.proof is not None:
        verdict = f"{_PROVED.get(seen.proof.outcome, seen.proof.outcome)} without the change"
    code = "" if seen.exit_code is None else f", exit {seen.exit_code}"
    why = "" if seen.ineligible is None else f", {seen.ineligible}"
    cases = ""
    if report is not None:
        totals = f"{report.passed} passed, {report.failed} failed, {report.skipped} skipped"
        cases = totals if report.reason is None else f"the report {why_unread(report)}"
    short = seen.source.removeprefix("sha256:")[:12]
    return f"| {seen.id} | {seen.scope} | {_code(seen.command)} | {verdict}{code}{why} | {_cell(cases)} | `{short}` |"


def _reviews(document: Document) -> Iterator[str]:
    judged = [(run, run.review) for run in document.runs if run.review is not None]
    if not judged:
        return
    yield "## Reviews"
    yield ""
    for run, review in judged:
        yield from _review(run, review)
    yield ""


def _review(run: Run, review: Review) -> Iterator[str]:
    result = review.result
    if result is None:
        yield f"- `{run.id}` ({review.kind}): no answer{' before the reset' if run.superseded else ' yet'}."
        return
    known = reviewer_words(result.reviewer)
    by = known if result.reviewer.by == "person" else f"{_cell(result.reviewer.name)} ({known})"
    yield f"- `{run.id}` ({review.kind}): **{result.verdict}** by {by}. {_cell(result.summary)}"
    for finding in result.findings:
        evidence = "" if finding.evidence is None else f" ({_cell(finding.evidence)})"
        yield f"  - {finding.severity} `{finding.id}`: {_cell(finding.summary)}{evidence}"


def _closure(document: Document) -> Iterator[str]:
    closure = document.closure
    if closure is None:
        return
    yield "## Closure"
    yield ""
    yield f"**{closure.kind}** at revision {closure.revision}, by {_whom(closure.by)}."
    yield ""
    yield plain(closure.summary)
    yield ""
    yield from (f"- {_cell(note)}" for note in closure.notes)
    yield from (f"- Waived: {_cell(waiver)}" for waiver in closure.waivers)
    yield from (f"- Stood open: `{name}`" for name in closure.open_rules)
    yield ""
