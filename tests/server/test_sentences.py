"""What the answer of a check says in a sentence."""

import pytest

from flow_mcp.domain.history import observations
from flow_mcp.server.views import observed_sentence
from tests.fabricated import CANCELLED, CRASHED, GREEN, RED, Result
from tests.histories import check_of, running

A = check_of("a").run


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (GREEN, "passes (focused)."),
        (RED, "does not pass (focused)."),
        (CANCELLED, "was cancelled (focused)."),
        (Result(code=None, ended="timed-out", ineligible="timed-out"), "did not end in time (focused)."),
        (
            Result(code=None, ended="runner-lost", ineligible="runner-lost"),
            "has no end: its runner was lost (focused).",
        ),
        (Result(code=None, ended="not-run", ineligible="not-run"), "was not run (focused)."),
        (Result(ineligible="source-drift"), "does not count: the workspace changed while it ran (focused)."),
        (
            CRASHED,
            "does not pass (focused): it ended as if it had been called wrongly (exit code 2, no readable report).",
        ),
    ],
)
def test_how_a_check_ended_is_said_in_plain_words(result: Result, words: str) -> None:
    world = running()
    world.check("focused", A, result)
    assert observed_sentence(world.document, observations(world.document)[-1]) == f"{A} {words}"


def test_a_command_that_could_not_start_says_what_was_not_found() -> None:
    world = running()
    world.check("baseline", result=Result(code=127, reason="missing"))
    said = observed_sentence(world.document, observations(world.document)[-1])
    assert said.startswith("pytest -q on the approved source could not start (exit code 127): a program")


def test_a_proof_is_told_by_what_it_showed() -> None:
    world = running()
    world.prove("a", Result(code=2, outcome="usage"))
    said = observed_sentence(world.document, observations(world.document)[-1])
    assert said.startswith(f"{A} on the approved source: ended there as if it had been called wrongly (exit code 2)")
