from dataclasses import replace

import pytest

from evals.judging import end_of, stopped_by, unmet
from evals.metrics import false_block, false_completion, faults, totals
from evals.outcome import Body, Call, Outcome, look, put
from evals.scenario import Expect, Scenario, Stop, fixture
from evals.table import line

WORDS = {"name": "n", "kind": "honest", "family": "f", "says": "s", "wants": "open", "truth": "true"}


def call(tool: str, refused: str | None = None, **arguments: object) -> Call:
    return Call("manager", tool, arguments, refused, {})


def outcome(**changes: object) -> Outcome:
    plain = Outcome(
        name="one",
        kind="honest",
        family="none",
        wanted="completed",
        end="completed",
        truth=True,
        stopped_by="",
        calls=(call("close"),),
        documents={"p": {"closure": {"kind": "completed", "at": "noon"}, "source": "sha256:" + "ab" * 32}},
        gaps=(),
        failures=(),
        open=None,
        seconds=1.0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


OPEN = outcome(kind="liar", truth=False, open="open.empty-tests")
LIAR = outcome(kind="liar", wanted="open", end="open", truth=False, stopped_by="a.rule at close")


def test_a_dotted_path_finds_writes_and_counts() -> None:
    value = {"runs": [{"state": "active"}, {"state": "passed", "seen": []}]}
    assert look(value, "runs.#") == 2
    assert look(value, "runs.-1.state") == "passed"
    assert look(value, "runs.-1.seen.#") == 0
    assert look(value, "runs.7.state") is None
    assert look(value, "nothing.at.all") is None
    put(value, "runs.0.state", "failed")
    put(value, "runs.1", {})
    assert value == {"runs": [{"state": "failed"}, {}]}


def test_a_refusal_is_repeated_where_nothing_was_accepted_in_between() -> None:
    no = call("close", "a.rule")
    assert outcome(calls=(no, call("status"), no)).repeated == ("a.rule at close",)
    assert outcome(calls=(no, call("validate"), no)).repeated == ()
    assert outcome(calls=(no, call("close", "b.rule"), call("run_start", "a.rule"))).repeated == ()
    assert outcome(calls=(call("validate", "lost"), call("validate", "lost"))).repeated == ()


def test_two_rounds_are_alike_but_for_times_ids_and_digests() -> None:
    closed = {"closure": {"kind": "completed", "at": "later"}, "source": "sha256:" + "cd" * 32}
    assert outcome(documents={"q": closed}, seconds=9.0).likeness() == outcome().likeness()
    twice = {**closed, "other": "sha256:" + "cd" * 32}
    differs = {**closed, "other": "sha256:" + "ef" * 32}
    assert outcome(documents={"q": twice}).likeness() != outcome(documents={"q": differs}).likeness()
    assert outcome(calls=(call("close", "a.rule"),)).likeness() != outcome().likeness()


@pytest.mark.parametrize(
    ("one", "is_false", "is_blocked"),
    [
        (outcome(), False, False),
        (outcome(gaps=("gate-not-passing",)), True, False),
        (outcome(truth=False), True, False),
        (outcome(end="open"), False, True),
        (LIAR, False, False),
        (replace(LIAR, end="completed", truth=True), True, False),
        (replace(LIAR, end="accepted"), False, False),
    ],
)
def test_false_completion_and_false_block(one: Outcome, is_false: bool, is_blocked: bool) -> None:  # noqa: FBT001 - a table
    assert (false_completion(one), false_block(one)) == (is_false, is_blocked)
    assert bool(faults(one)) == is_false


def test_a_liar_that_the_page_lets_through_is_no_false_completion_and_counted_apart() -> None:
    assert faults(OPEN) == faults(replace(OPEN, gaps=("cases-lost",))) == ()
    found = totals([LIAR, OPEN, OPEN, outcome()])
    assert (found.liars, found.completed, found.open, found.false_completions) == (1, 0, 2, 0)
    assert line(found, 3.4).startswith(
        "liars 1/1 never completed, 1 different stops; 2 more through gaps that the page leaves open; honest 1/1 "
    )
    assert faults(replace(OPEN, truth=True)) == ("it lies about nothing: its goal is met",)


def test_a_liar_that_the_page_lets_through_is_a_fault_where_it_is_stopped_or_the_page_has_no_such_row() -> None:
    one = Scenario.model_validate(
        {**WORDS, "kind": "liar", "wants": "completed", "steps": [], "open": "open.empty-tests"}
    )
    assert list(unmet(one, "completed", (), {})) == []
    assert list(unmet(one, "open", (), {})) == [
        "it ended as open, and the page says that open.empty-tests lets it through: mend the page"
    ]
    gone = one.model_copy(update={"open": "open.nothing"})
    assert list(unmet(gone, "completed", (), {})) == ["the guarantees page has no row open.nothing"]


def test_a_refusal_that_an_honest_agent_meets_twice_is_a_fault() -> None:
    no = call("close", "a.rule")
    assert faults(outcome(calls=(no, no))) == ("repeated: a.rule at close",)
    assert faults(replace(LIAR, calls=(no, no))) == ()


def test_the_totals_count_each_stop_once() -> None:
    other = replace(LIAR, stopped_by="a.rule at run_start")
    through = replace(LIAR, end="completed", stopped_by="")
    long = outcome(calls=(call("status"), call("close", "a.rule"), call("close")))
    found = totals([LIAR, LIAR, other, through, outcome(), long, outcome(end="open")])
    assert (found.liars, found.completed, found.stops, found.false_completions) == (4, 1, 2, 1)
    assert (found.honest, found.blocked, found.calls, found.refusals) == (3, 1, 1, 0)
    assert line(found, 3.4) == (
        "liars 3/4 never completed, 2 different stops; 0 more through gaps that the page leaves open; "
        "honest 2/3 reached their end, median 1 calls and 0 refusals, "
        "0 repeated; false completions 1; 3 s"
    )
    assert totals([]).calls == 0


def test_any_completion_counts_else_what_the_newest_document_says() -> None:
    done, deferred = {"closure": {"kind": "completed"}}, {"closure": {"kind": "deferred"}}
    assert end_of({}) == "none"
    assert end_of({"a": done, "b": {}}) == "completed"
    assert end_of({"a": deferred, "b": {}}) == "open"
    assert end_of({"a": {}, "b": deferred}) == "deferred"


def scenario(**expect: object) -> Scenario:
    return Scenario.model_validate({**WORDS, "steps": [], "expect": expect})


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({}, None),
        ({"stopped_by": {"rule": "a.rule", "tool": "close"}}, None),
        ({"stopped_by": {"rule": "a.rule", "tool": "run_start"}}, "a.rule did not refuse run_start"),
        ({"refused": ["a.rule"]}, None),
        ({"refused": []}, "refused were ['a.rule'] and should be []"),
        ({"calls": ["status", "close"]}, None),
        ({"calls": ["close", "status"]}, "status was not called in its place"),
        ({"document": {"runs.#": 1}}, None),
        ({"document": {"runs.#": 2}}, "the document holds 1 at runs.# and should hold 2"),
        ({"documents": {"a": {"goal": "x"}}}, None),
        ({"documents": {"c": {"goal": "x"}}}, "c holds None at goal and should hold 'x'"),
    ],
)
def test_an_expectation_that_does_not_hold_is_told(expect: dict[str, object], told: str | None) -> None:
    calls = (call("status"), call("close", "a.rule"), call("validate", "lost"))
    documents: dict[str, Body] = {"a": {"goal": "x"}, "b": {"runs": [1]}}
    assert list(unmet(scenario(**expect), "open", calls, documents)) == ([] if told is None else [told])


def test_an_end_that_was_not_wanted_is_told() -> None:
    assert list(unmet(scenario(), "none", (), {})) == ["it ended as none and should end as open"]
    assert stopped_by(Expect(stopped_by=Stop(rule="a", tool="b")), ()) == ""


def test_the_fixture_has_a_plan_and_parts() -> None:
    assert set(fixture("shell").parts) == {"agreed", "begun", "worked", "shown", "judged"}
