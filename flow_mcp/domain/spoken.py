"""What an observation showed, in plain words: for refusals, next steps and the answers of checks."""

from flow_mcp.domain.cases import NOT_APART
from flow_mcp.domain.decision import Facts
from flow_mcp.domain.history import latest
from flow_mcp.domain.model import Document, Observation, ProofFacts, Reviewer
from flow_mcp.domain.naming import few
from flow_mcp.domain.plan import Platform

NOT_STARTED = frozenset({126, 127})
"""The shell's own exit codes for a program that is not there or may not be run."""

MISUSED = frozenset({2, 4, 64})
"""Exit codes by which programs customarily say that they were called wrongly; make says 2 of any failure."""

TAKEN_OVER = (
    "only test files (tests/, test_*.py, *.test.js, *_test.go, test.sh and the like) and protected files are taken "
    "over into the approved source"
)

DEFER = 'call close with {"kind": "deferred", "summary": "…"} and save a new plan'
"""How a plan that turned out wrong ends: a frozen one is not mended."""

_UNSEEN = {
    "cancelled": "It was cancelled: observe it again.",
    "runner-lost": "Its runner was lost: observe it again.",
}

_NO_END = {
    "cancelled": "was cancelled there before it showed anything",
    "timed-out": "did not end in time there, which shows nothing",
    "signalled": "was ended by a signal there, which shows nothing",
    "runner-lost": "lost its runner there before it showed anything",
}


def unseen_end(seen: Observation) -> str | None:
    """Say that the end of a check was not seen, so that it is only asked again; None where it was seen."""
    return _UNSEEN.get(seen.ended)


def reviewer_words(reviewer: Reviewer) -> str:
    """Say how it is known who judged; of a person, through which channel they did."""
    if reviewer.by == "person":
        return f"person ({reviewer.channel})"
    return "attested" if reviewer.attested else "unattested"


def moved_since(since: str, facts: Facts) -> str:
    """Say that the source moved since it was asked about, and name what differs."""
    paths = () if facts.source is None else facts.source.since_judged
    if paths is None:
        return f"The source moved {since}. What it was then is not kept on this machine, so no path can be named."
    return f"The source moved {since}{': ' if paths else ''}{few(paths)}."


def misused(seen: Observation) -> bool:
    """Say whether a command ended as if it had been called wrongly, and no report says otherwise."""
    readable = seen.report is not None and seen.report.reason is None
    return seen.ended == "exited" and seen.exit_code in MISUSED and not readable


def not_started(seen: Observation) -> bool:
    """Say whether a program that the command names was not found, or may not be run."""
    return seen.ended == "exited" and seen.exit_code in NOT_STARTED


def doubts(document: Document, platform: Platform, *commands: str) -> str:
    """Name the way out of a frozen plan where a command, as it was last seen, may never have come to judge anything.

    Gives a sentence to go behind another one, or nothing.
    """
    for command in dict.fromkeys(commands):
        seen = latest(document, command, platform)
        if seen is None or not (not_started(seen) or misused(seen)):
            continue
        where = " on the approved source" if seen.scope == "baseline" else ""
        how = "could not start" if not_started(seen) else "ended as if it had been called wrongly"
        return (
            f" {command!r}{where} {how} (exit code {seen.exit_code}). If the command or the plan's inputs are wrong, "
            f"no work mends that: {DEFER}."
        )
    return ""


def proof_sentence(seen: Observation) -> str:
    """Say what a proof run showed, or why it shows nothing; to go behind the name of the command or the proof."""
    fault = not_shown(seen)
    if fault is not None:
        return fault
    if seen.proof is not None and seen.proof.outcome == "uncollected":
        return (
            f"ends with an error without the change (exit code {seen.exit_code}), which counts: a test file is new or "
            "changed since the approval"
        )
    return "fails without the change, as a proof must"


def not_shown(seen: Observation) -> str | None:
    """Say why a proof run shows nothing; None where it failed as it must (row review.proof-shown)."""
    facts = seen.proof
    if facts is None:
        return "was not tried on the approved source with today's test files"
    if seen.ineligible in NOT_APART:
        return f"was not tried in a copy that stands apart ({seen.ineligible})"
    if seen.ended != "exited":
        return _NO_END.get(seen.ended, f"ended there as {seen.ended}, which shows nothing")
    return _not_red(facts, f"(exit code {seen.exit_code})")


def _not_red(facts: ProofFacts, code: str) -> str | None:
    told = {
        "passed": "passes without the change too, so it does not show that the change matters",
        "usage": f"ended there as if it had been called wrongly {code}: often a file that it names is not there; "
        + TAKEN_OVER,
        "missing-tool": f"could not start there {code}: a program that it names was not found; ignored folders are "
        f"there as inputs only, and {TAKEN_OVER}",
        "timed-out": _NO_END["timed-out"],
        "no-result": f"ended there without a result {code}: no test was executed, the case was not in the report, or "
        "the report could not be read",
    }
    return _uncounted(facts, code) if facts.outcome == "uncollected" else told.get(facts.outcome)


def _uncounted(facts: ProofFacts, code: str) -> str | None:
    """Say why an error in place of a failing test does not count; None where it does."""
    ended = f"ended there with an error {code} before it could be told from a failing test"
    if not facts.tests_changed:
        return f"{ended}, and no test file is new or changed since the approval; a JUnit report tells them apart"
    if facts.control not in {"ended", "passed-with-change"}:
        return f"{ended}, and with the approved tests it did not end by itself either ({facts.control or 'not asked'})"
    return None
