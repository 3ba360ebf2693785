"""What a proof showed, in plain words."""

import pytest

from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Observation
from flow_mcp.domain.spoken import TAKEN_OVER, not_shown, proof_sentence
from tests.fabricated import CANCELLED, Result
from tests.histories import running


def proved(result: Result) -> Observation:
    world = running()
    world.prove("a", result)
    return observations(world.document)[-1]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Result(code=1, failed=1), "fails without the change, as a proof must"),
        (Result(code=0, outcome="passed"), "passes without the change too, so it does not show"),
        (Result(code=2, outcome="usage"), "ended there as if it had been called wrongly (exit code 2)"),
        (Result(code=2, outcome="usage"), "often a file that it names is not there"),
        (Result(code=2, outcome="usage"), TAKEN_OVER),
        (Result(code=127, outcome="missing-tool"), "could not start there (exit code 127)"),
        (Result(code=5, outcome="no-result"), "ended there without a result (exit code 5)"),
        (Result(code=None, ended="timed-out"), "did not end in time there"),
        (Result(code=None, outcome="timed-out"), "did not end in time there"),
        (Result(code=None, ended="signalled"), "was ended by a signal there"),
        (CANCELLED, "was cancelled"),
        (Result(code=1, outcome="uncollected", control="ended"), "ends with an error without the change (exit code 1)"),
        (Result(code=1, outcome="uncollected", control="ended"), "which counts"),
        (Result(code=1, outcome="uncollected", tests_changed=False), "no test file is new or changed"),
        (Result(code=1, outcome="uncollected", control="usage"), "before it could be told from a failing test"),
    ],
)
def test_each_outcome_of_a_proof_has_its_plain_sentence(result: Result, words: str) -> None:
    assert words in proof_sentence(proved(result))


def test_what_shows_nothing_of_itself_is_told_as_that() -> None:
    seen = proved(Result(code=1, ineligible="path-dependent"))
    assert "a copy that stands apart (path-dependent)" in proof_sentence(seen)


def test_what_is_no_proof_run_was_no_try() -> None:
    world = running()
    world.check("broad")
    seen = observations(world.document)[-1]
    assert proof_sentence(seen) == "was not tried on the approved source with today's test files"


def test_an_end_that_nobody_saw_is_named_as_it_is() -> None:
    seen = proved(Result(code=1)).model_copy(update={"ended": "not-run"})
    assert not_shown(seen) == "ended there as not-run, which shows nothing"
