"""193 reports, most of them written by real test runners, with what each of them proves.

``cases/<number>-<name>/case.json`` holds the expectation: distinct cases by suite element, class and name; the
verdict by exit code, readability, executed cases, failures, nameless cases, failures outside every case, and
counters; and what became of the declared names. Reports that are too large or no plain file are made here.
"""

import json
import os
import random
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import junitparser
import pytest

from flow_mcp.domain.case_names import CaseOutcome, worst
from flow_mcp.evidence.report_file import UnreadableReport
from flow_mcp.evidence.report_stream import parse
from flow_mcp.evidence.reports import find_case, read_report

_CASES = Path(__file__).parent / "cases"
_OK = '<testcase name="ok"/>'
_SUITE = f'<testsuites><testsuite name="s" tests="1">{_OK}</testsuite></testsuites>'

# The corpus has broader words for some reasons.
_WORDS = {
    "missing": {"missing"},
    "stale": {"stale"},
    "link": {"not-regular"},
    "not-regular": {"not-regular"},
    "empty": {"empty"},
    "too-large": {"limit"},
    "over-limits": {"limit"},
    "not-xml": {"malformed"},
    "doctype": {"doctype"},
    "encoding": {"encoding"},
    "not-junit": {"root"},
    "counters-disagree": {"counters"},
    "suite-error": {"suite-error"},
    "nameless": {"nameless"},
}
_READ_BUT_UNTRUSTED = {"counters-disagree", "suite-error", "nameless"}


def _text(make: Callable[[], str]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(make())

    return write


def _suite(*cases: str) -> str:
    return f'<testsuite name="s" failures="0">{"".join(cases)}</testsuite>'


def _many(count: int) -> list[str]:
    return [f'<testcase classname="c{i // 1000}" name="t{i}"/>\n' for i in range(count)]


def _link(target: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.with_name("elsewhere.xml").write_text(_SUITE)
        path.symlink_to(target)

    return make


def _sparse(path: Path) -> None:
    path.write_text(_SUITE)
    os.truncate(path, 1 << 40)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path has little room
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def _entity_bomb() -> str:
    entity = f'<!DOCTYPE r [<!ENTITY a "{"A" * 50_000}">]>'
    return f"{entity}<testsuite>{_OK}<system-out>{'&a;' * 20_000}</system-out></testsuite>"


def _deep_output() -> str:
    tags = "<b>" * 500_000 + "</b>" * 500_000
    return f'<testsuite><testcase name="ok"><system-out>{tags}</system-out></testcase></testsuite>'


def _attributes() -> str:
    attributes = " ".join(f'a{i}=""' for i in range(100_000))
    return f'<testsuite><testcase name="ok" {attributes}/></testsuite>'


_LAST_FAILS = '<testcase classname="c" name="t199999"><failure/></testcase>'
_TWENTY_MB = 20 << 20

_MADE: dict[str, Callable[[Path], None]] = {
    "902-entity-bomb-quadratic": _text(_entity_bomb),
    "941-deep-nesting-5000": _text(lambda: '<testsuite name="d">' * 5000 + _OK + "</testsuite>" * 5000),
    "942-deep-nesting-in-output": _text(_deep_output),
    "943-attribute-20mb": _text(lambda: _suite(_OK, f'<testcase name="big" x="{"A" * _TWENTY_MB}"/>')),
    "944-cases-200k": _text(lambda: _suite(*_many(200_000))),
    "945-cases-200k-last-fails": _text(lambda: _suite(*_many(199_999), _LAST_FAILS)),
    "947-attributes-100k": _text(_attributes),
    "948-comment-20mb": _text(lambda: f"<!--{'A' * _TWENTY_MB}-->{_SUITE}"),
    "950-sparse-huge": _sparse,
    "951-symlink": _link("elsewhere.xml"),
    "952-symlink-dangling": _link("no-such-file.xml"),
    "953-fifo": lambda path: os.mkfifo(path),  # noqa: PLW0108 - Windows has none at import
    "954-directory": Path.mkdir,
    "956-dev-zero-symlink": _link("/dev/zero"),
    "957-unix-socket": _socket,
}


class Case(NamedTuple):
    folder: Path
    exit_code: int
    is_older_than_the_run: bool
    expect: dict[str, object]
    named: dict[str, str]


def _cases() -> Iterator[Case]:
    for folder in sorted(path for path in _CASES.iterdir() if path.is_dir()):
        told = json.loads((folder / "case.json").read_text("utf-8"))
        expect = told["expect"]
        yield Case(folder, told["exit_code"], bool(told.get("report_before_run")), expect, expect["cases"])


_ALL = list(_cases())


def _place(case: Case, path: Path) -> None:
    if case.folder.name in _MADE:
        _MADE[case.folder.name](path)
    elif (case.folder / "report.xml").exists():
        shutil.copyfile(case.folder / "report.xml", path)


def test_the_corpus_is_whole() -> None:
    assert len(_ALL) == 193
    assert {case.folder.name for case in _ALL} >= set(_MADE)


def _params() -> Iterator[object]:
    for case in _ALL:
        name = case.folder.name
        marks = [pytest.mark.long] if name in {"944-cases-200k", "945-cases-200k-last-fails"} else []
        yield pytest.param(case, id=name, marks=marks)


@pytest.mark.parametrize("case", list(_params()))
def test_a_report_proves_what_its_case_says(case: Case, tmp_path: Path, report_path: Path) -> None:
    _place(case, report_path)
    started_ns = report_path.stat().st_mtime_ns + 1 if case.is_older_than_the_run else 0
    reading = read_report(tmp_path, ".flow/reports/report.xml", started_ns)
    verdict = "pass" if case.exit_code == 0 and reading.passes() else "fail"
    assert verdict == case.expect["verdict"]
    totals = (case.expect["passed"], case.expect["failed"], case.expect["skipped"])
    assert (reading.passed, reading.failed, reading.skipped) == (totals if case.expect["readable"] else (0, 0, 0))
    assert {name: find_case(reading, name) for name in case.named} == case.named
    reasons = case.expect.get("reasons") or ()
    assert isinstance(reasons, list | tuple)
    assert not reading.reason or _WORDS[reading.reason] <= set(reasons)
    assert reading.readable == (case.expect["readable"] is True and reading.reason not in _READ_BUT_UNTRUSTED)


def test_the_last_of_20_000_cases_decides(tmp_path: Path, report_path: Path) -> None:
    report_path.write_text(_suite(*_many(20_000), _LAST_FAILS))
    reading = read_report(tmp_path, ".flow/reports/report.xml", 0)
    assert (reading.passed, reading.failed, reading.passes()) == (20_000, 1, False)
    assert find_case(reading, "c::t199999") == "failed"


# An independent reader: right on what it sees, blind in the ways that are listed.

_BLIND = {
    "cases directly under testsuites": {241, 248, 249, 250, 251, 252, 246, 247},
    "status and result of cases that were not run": {311, 332},
    "failures inside properties": {965},
    "failures that were expected": {343},
    "namespaces": {996},
    "cases without a name that did not fail": {24, 36, 981, 982},
    "utf8 as the name of an encoding": {915},
}


def _seen_by_junitparser(path: Path) -> tuple[int, int, int]:
    totals: Counter[CaseOutcome] = Counter()

    def walk(suite: junitparser.TestSuite) -> None:
        cases: dict[tuple[str, str], CaseOutcome] = {}
        own = [element for element in suite._elem if element.tag == "testcase"]
        for element in own:
            case = junitparser.TestCase.fromelem(element)  # type: ignore[no-untyped-call]  # half typed
            results = [type(result) for result in case.result]
            is_failed = {junitparser.Failure, junitparser.Error} & set(results)
            outcome: CaseOutcome = "failed" if is_failed else "skipped" if results else "passed"
            key = (case.classname or "", case.name or "")
            cases[key] = worst(cases.get(key, outcome), outcome)
        totals.update(cases.values())
        for inner in suite.testsuites():  # type: ignore[no-untyped-call]  # half typed
            walk(inner)

    root: object = junitparser.JUnitXml.fromfile(str(path))
    for suite in [root] if isinstance(root, junitparser.TestSuite) else junitparser.JUnitXml.fromfile(str(path)):
        walk(suite)
    return totals["passed"], totals["failed"], totals["skipped"]


def _differs_from_junitparser(case: Case) -> bool:
    expected = (case.expect["passed"], case.expect["failed"], case.expect["skipped"])
    try:
        return _seen_by_junitparser(case.folder / "report.xml") != expected
    except Exception:  # noqa: BLE001 - it raises a dozen kinds, which is why it does not judge
        return True


def test_an_independent_reader_differs_only_where_it_is_known_to_be_blind() -> None:
    readable = [case for case in _ALL if case.expect["readable"] and (case.folder / "report.xml").exists()]
    found = {int(case.folder.name[:3]) for case in readable if _differs_from_junitparser(case)}
    assert found == set().union(*_BLIND.values())


# Damage.

_PASSING = [
    (case.folder / "report.xml").read_bytes()
    for case in _ALL
    if case.expect["verdict"] == "pass" and (case.folder / "report.xml").exists()
]


def _still_passes(content: bytes) -> bool:
    try:
        parsed = parse([content], ())
    except UnreadableReport:
        return False
    return parsed.doubt is None and parsed.passed > 0 and parsed.failed == 0


def test_none_of_2000_cut_reports_passes() -> None:
    chance = random.Random(20_001)  # noqa: S311 - no secret
    for _ in range(2000):
        report = chance.choice(_PASSING)
        end_of_root = report.rindex(b"</testsuite")
        assert not _still_passes(report[: chance.randrange(end_of_root + len(b"</testsuite"))])


def test_changed_bytes_raise_nothing_but_a_refusal() -> None:
    chance = random.Random(20_002)  # noqa: S311 - no secret
    small = [report for report in _PASSING if len(report) < 5000]
    for _ in range(3000):
        report = bytearray(chance.choice(small))
        for _ in range(chance.randrange(1, 4)):
            report[chance.randrange(len(report))] = chance.randrange(256)
        _still_passes(bytes(report))
