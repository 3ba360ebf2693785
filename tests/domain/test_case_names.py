"""Ids of cases, and the names by which people and plans call them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_mcp.domain.case_names import SEPARATOR, CaseOutcome, case_id, outcome_of, worst

_OUTCOMES: tuple[CaseOutcome, ...] = ("passed", "skipped", "failed")
_PART = st.text(st.sampled_from([*" :>.\\u{}[]a", "\t", "\u2028", "\u202e", "\x7f", "é", "🙂"]), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (("s", "c", "n"), "s :: c :: n"),
        (("", "c", "n"), "c :: n"),
        (("s", "", "n"), "s :: n"),
        (("", "", "n"), "n"),
        (("s", "c", " n "), r"s :: c :: \u{20}n\u{20}"),
        (("s", "c", "a::b"), "s :: c :: a::b"),
        (("s", "c", "a :: b"), r"s :: c :: a \u{3a}: b"),
        (("s ::", "c", "::n"), r"s \u{3a}: :: c :: \u{3a}:n"),
        (("s", "c", "tab\there"), r"s :: c :: tab\u{9}here"),
        (("s", "c", r"a\u{9}"), r"s :: c :: a\u{5c}u{9}"),
        (("s", "c", r"test[\xfc\n]"), r"s :: c :: test[\xfc\n]"),
        (("s", "c", "日🙂"), "s :: c :: 日🙂"),
        (("s", "c", "\u202ex"), r"s :: c :: \u{202e}x"),
    ],
)
def test_an_id_is_one_printable_line(parts: tuple[str, str, str], written: str) -> None:
    assert case_id(*parts) == written


@given(_PART, _PART, _PART)
def test_the_parts_of_an_id_can_be_read_back(suite: str, class_name: str, name: str) -> None:
    written = case_id(suite, class_name, name)
    assert written.isprintable()
    parts = [re.sub(r"\\u\{([0-9a-f]+)\}", lambda m: chr(int(m[1], 16)), part) for part in written.split(SEPARATOR)]
    assert parts == [suite, class_name, name]


@given(_PART, _PART, _PART)
def test_every_case_is_found_by_its_id_and_by_each_of_its_names(suite: str, class_name: str, name: str) -> None:
    cases: dict[str, CaseOutcome] = {case_id(suite, class_name, name): "skipped"}
    written = next(iter(cases))
    spellings = [written, name, f"{class_name}.{name}", f"{class_name}::{name}", f"{suite} > {name}"]
    assert {outcome_of(cases, one) for one in spellings} == {"skipped"}


_CASES: dict[str, CaseOutcome] = {
    "outer > inner :: test :: works": "passed",
    "pytest :: tests.sub.test_x.TestA :: test_b[a::b-c/d]": "passed",
    "pytest :: tests.sub.test_x :: test_b": "skipped",
    "pytest :: other.test_y :: test_b": "failed",
    r"jest :: \u{20}same :: \u{20}same": "passed",
    "prove :: 1 - first": "passed",
    "mod.C :: deep": "skipped",
    "alone": "passed",
}


@pytest.mark.parametrize(
    ("wanted", "outcome"),
    [
        ("works", "passed"),
        ("test.works", "passed"),
        ("test::works", "passed"),
        ("inner > works", "passed"),
        ("outer > inner > works", "passed"),
        ("outer > works", "absent"),
        ("ner > works", "absent"),
        ("outer > inner.works", "absent"),
        ("orks", "absent"),
        ("tests/sub/test_x.py::TestA::test_b[a::b-c/d]", "passed"),
        ("test_x.py::TestA::test_b[a::b-c/d]", "absent"),
        ("tests/sub/test_x.py::test_b", "skipped"),
        ("tests/sub/test_x.py::test_b[1]", "absent"),
        ("tests.sub.test_x.test_b", "skipped"),
        ("tests.sub.test_x::TestA::test_b[a::b-c/d]", "passed"),
        ("test_b", "failed"),
        (" same", "passed"),
        (r"\u{20}same", "passed"),
        ("same", "absent"),
        (r"jest :: \u{20}same :: \u{20}same", "passed"),
        ("prove > 1 - first", "passed"),
        ("mod.C.deep", "skipped"),
        ("mod.py::C::deep", "skipped"),
        ("alone", "passed"),
        (".alone", "absent"),
        ("::alone", "absent"),
        (" > alone", "absent"),
        ("", "absent"),
        ("tests/sub/test_x.py", "absent"),
        ("tests.sub.test_xtest_b", "absent"),
        (r"\u{110000}", "absent"),
    ],
)
def test_a_case_is_found_by_the_names_that_the_contract_lists(wanted: str, outcome: str) -> None:
    assert outcome_of(_CASES, wanted) == outcome


def test_an_exact_id_is_that_case_alone() -> None:
    cases: dict[str, CaseOutcome] = {"test_b": "passed", "s :: c :: test_b": "failed"}
    assert outcome_of(cases, "test_b") == "passed"
    assert outcome_of(cases, "c.test_b") == "failed"


def test_a_short_name_takes_the_worst_of_those_who_bear_it() -> None:
    for first in _OUTCOMES:
        for second in _OUTCOMES:
            assert outcome_of({"a :: x": first, "b :: x": second}, "x") == worst(first, second)


def test_failed_is_worse_than_skipped_and_skipped_than_passed() -> None:
    order = [[worst(first, second) for second in _OUTCOMES] for first in _OUTCOMES]
    assert order == [["passed", "skipped", "failed"], ["skipped", "skipped", "failed"], ["failed"] * 3]
