"""How the elements of a report are read, and where reading stops."""

from collections.abc import Iterator

import pytest

from flow_mcp.evidence import report_stream
from flow_mcp.evidence.report_file import UnreadableReport
from flow_mcp.evidence.report_stream import Parsed, parse


def _parse(report: str) -> Parsed:
    return parse([report.encode()], ())


def _totals(report: str) -> tuple[int, int, int]:
    parsed = _parse(report)
    return parsed.passed, parsed.failed, parsed.skipped


def _refusal(report: str | bytes) -> tuple[str, str]:
    with pytest.raises(UnreadableReport) as caught:
        parse([report if isinstance(report, bytes) else report.encode()], ())
    return caught.value.reason, caught.value.detail


def _suite(inner: str, attributes: str = "") -> str:
    return f'<testsuites><testsuite name="s"{attributes}>{inner}</testsuite></testsuites>'


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ('<testcase name="a"/>', "passed"),
        ('<testcase name="a"><system-out>x</system-out></testcase>', "passed"),
        ('<testcase name="a"><failure/></testcase>', "failed"),
        ('<testcase name="a"><error/></testcase>', "failed"),
        ('<testcase name="a"><skipped/></testcase>', "skipped"),
        ('<testcase name="a"><skipped/><error/></testcase>', "failed"),
        ('<testcase name="a"><failure/><skipped type="todo"/></testcase>', "skipped"),
        ('<testcase name="a"><skipped type="todo"/><skipped/><failure/></testcase>', "skipped"),
        ('<testcase name="a"><failure/><skipped message="TEST_CASE tagged with !mayfail"/></testcase>', "skipped"),
        ('<testcase name="a"><failure/><skipped message="not tagged"/></testcase>', "failed"),
        ('<testcase name="a" status="notrun"/>', "skipped"),
        ('<testcase name="a" status="Disabled"/>', "skipped"),
        ('<testcase name="a" status="run" result="suppressed"/>', "skipped"),
        ('<testcase name="a" status="notrun"><failure/></testcase>', "failed"),
        ('<testcase name="a" status="failed"/>', "passed"),
        ('<testcase name="a" status="ignored"/>', "skipped"),
        ('<testcase name="a" result="pending"/>', "skipped"),
        ('<testcase name="a"><ignored/></testcase>', "skipped"),
        ('<testcase name="a"><disabled/></testcase>', "skipped"),
        ('<testcase name="a"><rerunFailure/></testcase>', "failed"),
        ('<testcase name="a"><flakyError/><rerunError/></testcase>', "failed"),
        ('<testcase name="a"><flakyFailure/></testcase>', "passed"),
        ('<testcase name="a"><failure/><rerunFailure/></testcase>', "failed"),
        ('<testcase name="a"><properties><failure/><skipped/></properties></testcase>', "passed"),
        ('<testcase name="a"/><testcase name="a"><failure/></testcase><testcase name="a"/>', "failed"),
        ('<testcase name="a"/><testcase name="a"><skipped/></testcase>', "skipped"),
    ],
)
def test_only_the_direct_children_of_a_case_and_its_status_decide(case: str, outcome: str) -> None:
    parsed = _parse(_suite(case))
    assert parsed.cases == {"s :: a": outcome}
    assert (parsed.passed, parsed.failed, parsed.skipped) == tuple(
        int(outcome == one) for one in ("passed", "failed", "skipped")
    )
    assert parsed.doubt is None


def test_nested_suites_are_chained_and_cases_of_the_root_have_no_suite() -> None:
    report = (
        '<testsuites name="all"><testcase name="top"/><testsuite name="a"><testcase name="x"/><testsuite>'
        '<testsuite name="b"><testcase classname="c" name="x"/></testsuite></testsuite><testcase name="y"/></testsuite>'
        '<testsuites><testsuite name="d"><testcase name="x"/></testsuite></testsuites></testsuites>'
    )
    assert set(_parse(report).cases) == {"top", "a :: x", "a > b :: c :: x", "a :: y", "d :: x"}


def test_the_root_may_be_one_suite() -> None:
    assert _parse('<testsuite name="s"><testcase name="a"/></testsuite>').cases == {"s :: a": "passed"}


def test_a_file_stands_for_a_suite_without_a_name() -> None:
    report = (
        '<testsuites><testsuite file="one.rb"><testcase name="a"/><testcase name="b" file="two.rb"/></testsuite>'
        '<testsuite name="s" file="three.rb"><testcase name="a"/></testsuite></testsuites>'
    )
    assert set(_parse(report).cases) == {"one.rb :: a", "two.rb :: b", "s :: a"}


def test_cases_of_one_name_in_two_suites_of_one_name_are_two_cases_with_the_worst_outcome() -> None:
    report = (
        '<testsuites><testsuite name="s"><testcase name="a"/></testsuite>'
        '<testsuite name="s"><testcase name="a"><failure/></testcase></testsuite></testsuites>'
    )
    parsed = _parse(report)
    assert (parsed.passed, parsed.failed, parsed.cases) == (1, 1, {"s :: a": "failed"})


def test_the_own_folder_is_cut_out_of_names() -> None:
    report = _suite('<testcase classname="/w/s/C" name="/w/s/a.test.mjs: /w/sx"/>')
    assert list(parse([report.encode()], ("/w/s/",)).cases) == ["s :: C :: a.test.mjs: /w/sx"]


# What makes a whole report untrusted.

_OK = '<testcase name="ok"/>'
_BAD = '<testcase name="bad"><failure/></testcase>'
_ODD_NUMBERS = ("0xA", "1e0", "-1", "+2", " 1 ", "\u0661", "\uff11")


@pytest.mark.parametrize(
    ("report", "doubt"),
    [
        (_suite(_OK, ' failures="0" errors="0" tests="5"'), None),
        (_suite(_OK, ' failures="1"'), "counters-disagree"),
        (_suite(_OK, ' errors="00010"'), "counters-disagree"),
        (_suite(_OK, ' errors="' + "9" * 5000 + '"'), "counters-disagree"),
        (_suite(_OK, ' failures="none"'), None),
        (_suite(_OK, ' failures="0.0" errors=""'), None),
        (_suite(_OK, ' failures="0x0" errors="-0"'), None),
        *((_suite(_OK, f' failures="{odd}"'), "counters-disagree") for odd in _ODD_NUMBERS),
        (_suite(_BAD, ' failures="7"'), None),
        (_suite(_OK + '<testsuite name="i">' + _BAD + "</testsuite>", ' failures="1"'), None),
        (f'<testsuites errors="1"><testsuite>{_OK}</testsuite></testsuites>', "counters-disagree"),
        (f"<testsuite><testsuite failures='1'>{_OK}</testsuite>{_BAD}</testsuite>", "counters-disagree"),
        (_suite('<testcase name="f"><flakyError/></testcase>', ' errors="1"'), None),
        (_suite('<testcase name="t"><failure/><skipped type="todo"/></testcase>', ' failures="1"'), None),
        (_suite("", ' tests="3"'), "counters-disagree"),
        (_suite(_OK + '<testsuite name="p" tests="2"/>'), None),
        (_suite(""), None),
        (_suite(_OK + "<error/>"), "suite-error"),
        (_suite(_OK + "<failure/>", ' failures="1"'), "suite-error"),
        (f"<testsuites><error/><testsuite>{_OK}</testsuite></testsuites>", "suite-error"),
        (_suite(_OK + "<properties><error/></properties>"), None),
        (_suite(_OK + "<testcase/>"), "nameless"),
        (_suite(_OK + '<testcase name=" \t"/>'), "nameless"),
        (_suite("<testcase/><error/>", ' failures="1"'), "suite-error"),
        (_suite("<testcase/>", ' failures="1"'), "counters-disagree"),
    ],
)  # fmt: skip
def test_what_the_cases_do_not_tell_makes_a_report_untrusted(report: str, doubt: str | None) -> None:
    assert _parse(report).doubt == doubt


def test_a_nameless_case_counts_only_when_it_failed() -> None:
    assert _totals(_suite("<testcase/><testcase><skipped/></testcase><testcase><error/></testcase>")) == (0, 1, 0)


# What is no report.

_SPELT = "an element of a report in another spelling"


@pytest.mark.parametrize(
    ("report", "reason", "detail"),
    [
        ("", "not-xml", "line 1, column 1: no element found"),
        ("<a", "not-xml", "line 1, column 1: unclosed token"),
        (f"{_suite(_OK)}\n<x/>", "not-xml", "line 2, column 1: junk after document element"),
        ("<html/>", "not-junit", ""),
        ('<testcase name="a"/>', "not-junit", ""),
        ("<!DOCTYPE x><testsuite/>", "doctype", ""),
        (_suite("<system-out><testcase name='a'/></system-out>"), "misplaced-case", ""),
        (_suite("<testcase name='a'><testcase name='b'/></testcase>"), "misplaced-case", ""),
        (_suite("<testcase name='a'><testsuite/></testcase>"), "misplaced-case", ""),
        (_suite("<properties><testsuites/></properties>"), "misplaced-case", ""),
        ('<j:testsuite xmlns:j="urn:j"><j:testcase name="a"/></j:testsuite>', "not-junit", _SPELT),
        (_suite(_OK + '<j:testcase xmlns:j="urn:j" name="b"><failure/></j:testcase>'), "not-junit", _SPELT),
        (_suite('<testcase name="a"><j:failure xmlns:j="urn:j"/></testcase>'), "not-junit", _SPELT),
        (_suite('<testcase name="a"><Failure/></testcase>'), "not-junit", _SPELT),
        (_suite(_OK + "<ERROR/>"), "not-junit", _SPELT),
    ],
)
def test_anything_else_is_refused_with_its_place(report: str, reason: str, detail: str) -> None:
    assert _refusal(report) == (reason, detail)


@pytest.mark.parametrize(
    ("encoding", "codec"),
    [
        ("UTF-8", "utf-8"),
        ("utf8", "utf-8"),
        ("UTF-16", "utf-16"),
        ("ISO-8859-1", "latin-1"),
        ("Latin1", "latin-1"),
        ("latin-1", "latin-1"),
        ("ISO-8859-15", "iso-8859-15"),
        ("windows-1252", "cp1252"),
    ],
)
def test_encodings_that_runners_use_are_read(encoding: str, codec: str) -> None:
    report = f'<?xml version="1.0" encoding="{encoding}"?>' + _suite('<testcase name="é"/>')
    assert list(parse([report.encode(codec)], ()).cases) == ["s :: é"]


@pytest.mark.parametrize("encoding", ["ascii", "US-ASCII"])
def test_ascii_is_read(encoding: str) -> None:
    assert _totals(f"<?xml version='1.0' encoding='{encoding}'?>" + _suite(_OK)) == (1, 0, 0)


@pytest.mark.parametrize("encoding", ["utf-7", "no-such", "utf-32", "rot13", "shift_jis", "unicode_escape"])
@pytest.mark.parametrize("room", [" ", " " * 2000])
def test_every_other_encoding_is_refused(encoding: str, room: str) -> None:
    report = f"<?xml version='1.0'{room}encoding='{encoding}'?>" + _suite(_OK)
    assert _refusal(report) == ("encoding", "")


# Limits: the limit itself is accepted.


def _limit(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    assert getattr(report_stream, name) > value
    monkeypatch.setattr(report_stream, name, value)


@pytest.mark.parametrize(
    ("limit", "value", "accepted", "refused"),
    [
        ("DEPTH_MAX", 3, _suite(_OK), _suite("<testcase name='a'><x/></testcase>")),
        ("ELEMENTS_MAX", 3, _suite(_OK), _suite("<testcase name='a'><x/></testcase>")),
        ("CASES_MAX", 2, _suite(_OK * 2), _suite(_OK * 3)),
        ("ATTRIBUTES_MAX", 2, _suite("<x a='' b=''/>"), _suite("<x a='' b='' c=''/>")),
        ("TAGS_MAX", 5, _suite("<testcase name=''><x/></testcase>"), _suite("<testcase name=''><x y=''/></testcase>")),
        ("NAME_CHARS_MAX", 4, _suite("<testcase name='abcd'/>"), _suite("<testcase name='abcde'/>")),
        ("NAME_CHARS_MAX", 5, _suite("<testsuite name='a'/>"), _suite("<testsuite name='ab'/>")),
        ("NAMES_BYTES_MAX", 14, _suite("<testcase name='é'/>" * 2), _suite("<testcase name='éx'/>" * 2)),
    ],
)  # fmt: skip
def test_a_limit_is_accepted_and_one_more_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, accepted: str, refused: str
) -> None:
    _limit(monkeypatch, limit, value)
    _parse(accepted)
    assert _refusal(refused)[0] == "over-limits"


def test_a_token_that_does_not_end_is_refused_before_it_is_all_read(monkeypatch: pytest.MonkeyPatch) -> None:
    _limit(monkeypatch, "TOKEN_BYTES_MAX", 100)
    given = 0

    def chunks() -> Iterator[bytes]:
        nonlocal given
        yield b"<testsuite><!--"
        for _ in range(1000):
            given += 10
            yield b"x" * 10

    with pytest.raises(UnreadableReport) as caught:
        parse(chunks(), ())
    assert caught.value.reason == "over-limits"
    assert given < 200


def test_text_may_be_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    _limit(monkeypatch, "TOKEN_BYTES_MAX", 100)
    report = _suite(f"<testcase name='a'><system-out><![CDATA[{'<x' * 1000}]]></system-out></testcase>").encode()
    parsed = parse((report[i : i + 50] for i in range(0, len(report), 50)), ())
    assert parsed.passed == 1


def test_no_chunks_are_an_empty_report() -> None:
    with pytest.raises(UnreadableReport):
        parse([], ())


def test_another_spelling_in_output_or_properties_is_nobodys_failure() -> None:
    inner = "<system-out><Failure/><j:error xmlns:j='urn:j'/></system-out><properties><Skipped/></properties>"
    assert _totals(_suite(f'<testcase name="a">{inner}</testcase>')) == (1, 0, 0)


def test_markup_in_text_comments_and_instructions_is_no_element() -> None:
    hidden = '<![CDATA[<testcase name="b"/>]]><!-- <testcase name="c"/> --><?d <testcase name="e"/>?>'
    assert _totals(_suite(hidden + _OK)) == (1, 0, 0)


def test_names_that_differ_in_case_blanks_or_composition_are_different_cases() -> None:
    names = ("a", "A", "a&#32;", "\u00e9", "e\u0301")
    cases = "".join(f'<testcase name="{name}"/>' for name in names[:-1])
    parsed = _parse(_suite(f'{cases}<testcase name="{names[-1]}"><failure/></testcase>'))
    assert (parsed.passed, parsed.failed, len(parsed.cases)) == (4, 1, 5)
