"""Read JUnit XML as a stream of expat events: bounded in time and memory, no text kept.

The rules follow what real runners write. A case counts where it stands directly in a suite or in the root.
Only its direct children decide: a failure that is marked as expected is a skip; then failure or error, also of
a try that was repeated and failed; then skipped, or a status that says so; else it passed. A failure outside
every case, a counter that claims one which no case shows, and a case without a name make the whole report
untrusted: something happened that the cases do not tell. So does an element that is one of these in another
spelling, by its namespace or its letters: the whole is no report that is understood.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, get_args
from xml.parsers import expat

from flow_mcp.domain.case_names import CHAIN, CaseOutcome, case_id, worst
from flow_mcp.evidence.report_file import refuse

DEPTH_MAX = 128
ELEMENTS_MAX = 3_000_000
CASES_MAX = 500_000
TAGS_MAX = 4_096
ATTRIBUTES_MAX = 256
NAME_CHARS_MAX = 64 * 1024
NAMES_BYTES_MAX = 32 * 1024 * 1024
# Expat scans an unfinished token anew at every chunk; this bounds both that and its buffer.
TOKEN_BYTES_MAX = 4 * 1024 * 1024

Doubt = Literal["suite-error", "counters-disagree", "nameless"]
_DOUBTS: tuple[Doubt, ...] = get_args(Doubt)

_SUITES = frozenset({"testsuites", "testsuite"})
_FAILURES = frozenset({"failure", "error"})
# Surefire and its like: a try that failed once more after the case failed, or before it passed.
_FAILED_AGAIN = frozenset({"rerunFailure", "rerunError"})
_RETRIES = frozenset({"flakyFailure", "flakyError"})
_SKIPS = frozenset({"skipped", "ignored", "disabled"})
_NOT_RUN = _SKIPS | {"notrun", "suppressed", "pending"}
_KNOWN = _SUITES | _FAILURES | _FAILED_AGAIN | _RETRIES | _SKIPS | {"testcase"}
_KNOWN_ANYHOW = frozenset(tag.lower() for tag in _KNOWN)
# Catch2 and node write a case that may fail as skipped beside the failure itself.
_MAY_FAIL_TYPE, _MAY_FAIL_MESSAGE = "todo", "TEST_CASE tagged with !"

# What a declaration may say, and what expat is told where it does not know the word. UTF-7 and its like could
# smuggle markup past a person's eyes: they are not here.
_ENCODINGS: Mapping[str, str | None] = {
    "": None,
    "utf-8": None,
    "utf8": "utf-8",
    "utf-16": None,
    "us-ascii": None,
    "ascii": "us-ascii",
    "iso-8859-1": None,
    "latin1": "iso-8859-1",
    "latin-1": "iso-8859-1",
    "iso-8859-15": None,
    "windows-1252": None,
}
_DECLARATION_BYTES_MAX = 1024


@dataclass(frozen=True)
class Parsed:
    """What the cases of a whole report say.

    Attributes:
        passed: distinct cases that passed, by suite element, class and name.
        failed: distinct cases that failed.
        skipped: distinct cases that were skipped.
        cases: outcome by case id; the worst, where several cases bear one id.
        doubt: why the report cannot be trusted, if it cannot.
    """

    passed: int
    failed: int
    skipped: int
    cases: Mapping[str, CaseOutcome]
    doubt: Doubt | None


@dataclass
class _Suite:
    chain: str
    file: str
    claims_failure: bool
    shows_failure: bool = False
    cases: dict[str, CaseOutcome] = field(default_factory=dict)


@dataclass
class _Case:
    id: str
    skipped: bool
    failed: bool = False
    may_fail: bool = False

    def outcome(self) -> CaseOutcome:
        if self.may_fail:
            return "skipped"
        if self.failed:
            return "failed"
        return "skipped" if self.skipped else "passed"


def parse(chunks: Iterable[bytes], own_folders: tuple[str, ...]) -> Parsed:
    """Read a report.

    Args:
        chunks: the file's bytes, in pieces of any size.
        own_folders: paths, each with its final slash, that are cut out of names, so that a case
            keeps its id when the workspace stands elsewhere.

    Raises:
        UnreadableReport: where the bytes are no JUnit report, or more than the limits allow.
    """
    tags: dict[str, str] = {}
    listener = _Listener(own_folders, tags)
    try:
        _feed(chunks, listener, tags)
    except expat.ExpatError as error:
        where = f"line {error.lineno}, column {error.offset + 1}"
        refuse("not-xml", f"{where}: {expat.ErrorString(error.code)}")
    return listener.result()


def _feed(chunks: Iterable[bytes], listener: "_Listener", tags: dict[str, str]) -> None:
    rest = iter(chunks)
    first = next(rest, b"")
    parser = expat.ParserCreate(_ENCODINGS.get(_declared_encoding(first)), None, tags)
    parser.XmlDeclHandler = _refuse_encoding
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = listener.start
    parser.EndElementHandler = listener.end
    fed_bytes = 0
    for chunk in chain([first], rest):
        parser.Parse(chunk, False)  # noqa: FBT003 - expat takes it by position only
        fed_bytes += len(chunk)
        if fed_bytes - parser.CurrentByteIndex > TOKEN_BYTES_MAX:
            refuse("over-limits", "one tag, comment or attribute is longer than 4 MiB")
    parser.Parse(b"", True)  # noqa: FBT003 - expat takes it by position only


class _Declared(Exception):  # noqa: N818 - it ends the look at the declaration, and is no error
    """The declaration names an encoding; raised before any codec is asked."""


def _declared_encoding(first: bytes) -> str:
    probe = expat.ParserCreate()
    probe.XmlDeclHandler = _tell_encoding
    try:
        probe.Parse(first[:_DECLARATION_BYTES_MAX], False)  # noqa: FBT003 - expat takes it by position only
    except _Declared as told:
        return str(told).lower()
    except expat.ExpatError:
        pass  # the real parser says it
    return ""


def _tell_encoding(_version: str, encoding: str | None, _alone: int) -> None:
    raise _Declared(encoding or "")


def _refuse_encoding(_version: str, encoding: str | None, _alone: int) -> None:
    if (encoding or "").lower() not in _ENCODINGS:
        refuse("encoding", "")


def _refuse_doctype(_name: str, _system: str | None, _public: str | None, _inside: int) -> None:
    refuse("doctype", "")


class _Listener:
    """Follows the elements, and keeps only what the cases say."""

    def __init__(self, own_folders: tuple[str, ...], tags: dict[str, str]) -> None:
        self._own_folders = own_folders
        self._tags = tags
        self._depth = 0
        self._elements = 0
        self._suites: list[_Suite] = []
        self._case: _Case | None = None
        self._cases_seen = 0
        self._names_bytes = 0
        self._claims_tests = False
        self._doubts: set[Doubt] = set()
        self._totals: Counter[CaseOutcome] = Counter()
        self._cases: dict[str, CaseOutcome] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take the start of an element."""
        self._depth += 1
        self._elements += 1
        self._expect_bounded(attributes)
        is_in_suite = self._case is None and self._depth == len(self._suites) + 1
        is_in_case = self._case is not None and self._depth == len(self._suites) + 2
        if (is_in_suite or is_in_case) and tag not in _KNOWN and _bare(tag) in _KNOWN_ANYHOW:
            refuse("not-junit", "an element of a report in another spelling")
        if tag in _SUITES or tag == "testcase":
            self._expect_place(tag, is_in_suite=is_in_suite)
            self._open(tag, attributes)
        elif self._depth == 1:
            refuse("not-junit", "")
        elif is_in_suite and tag in _FAILURES:
            self._doubts.add("suite-error")
            self._suites[-1].shows_failure = True
        elif self._case is not None and is_in_case:
            self._mark(self._case, tag, attributes)

    def end(self, _tag: str) -> None:
        """Take the end of an element."""
        if self._case is not None and self._depth == len(self._suites) + 1:
            self._close_case(self._case)
        elif self._depth == len(self._suites):
            self._close_suite()
        self._depth -= 1

    def result(self) -> Parsed:
        """Give what was read, once the root has ended."""
        if self._claims_tests and not self._cases_seen:
            self._doubts.add("counters-disagree")
        doubt = next((one for one in _DOUBTS if one in self._doubts), None)
        return Parsed(self._totals["passed"], self._totals["failed"], self._totals["skipped"], self._cases, doubt)

    def _expect_bounded(self, attributes: dict[str, str]) -> None:
        if self._depth > DEPTH_MAX:
            refuse("over-limits", f"more than {DEPTH_MAX} elements inside each other")
        if self._elements > ELEMENTS_MAX:
            refuse("over-limits", f"more than {ELEMENTS_MAX} elements")
        if len(attributes) > ATTRIBUTES_MAX or len(self._tags) > TAGS_MAX:
            refuse("over-limits", "more kinds of elements or attributes than any test runner writes")

    def _expect_place(self, tag: str, *, is_in_suite: bool) -> None:
        if self._depth == 1 and tag == "testcase":
            refuse("not-junit", "")
        if not is_in_suite:
            refuse("misplaced-case", "")

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase":
            self._case = self._new_case(attributes)
        else:
            self._suites.append(self._new_suite(tag, attributes))

    def _new_suite(self, tag: str, attributes: dict[str, str]) -> _Suite:
        outer = self._suites[-1] if self._suites else _Suite("", "", claims_failure=False)
        name = self._name(attributes, "name") if tag == "testsuite" else ""
        failures = any(_is_positive(attributes.get(counter)) for counter in ("failures", "errors"))
        self._claims_tests = self._claims_tests or failures or _is_positive(attributes.get("tests"))
        suite_chain = CHAIN.join(part for part in (outer.chain, name) if part)
        if len(suite_chain) > NAME_CHARS_MAX:
            refuse("over-limits", "a name longer than 64 Ki characters")
        return _Suite(suite_chain, self._name(attributes, "file") or outer.file, claims_failure=failures)

    def _new_case(self, attributes: dict[str, str]) -> _Case:
        self._cases_seen += 1
        if self._cases_seen > CASES_MAX:
            refuse("over-limits", f"more than {CASES_MAX} cases")
        suite = self._suites[-1]
        name = self._name(attributes, "name")
        is_skipped = any(attributes.get(key, "").lower() in _NOT_RUN for key in ("status", "result"))
        if not name.strip():
            return _Case("", skipped=is_skipped)
        where = suite.chain or self._name(attributes, "file") or suite.file
        key = case_id(where, self._name(attributes, "classname"), name)
        self._names_bytes += len(key.encode())
        if self._names_bytes > NAMES_BYTES_MAX:
            refuse("over-limits", "more than 32 MiB of case names")
        return _Case(key, skipped=is_skipped)

    def _name(self, attributes: dict[str, str], key: str) -> str:
        found = attributes.get(key, "")
        if len(found) > NAME_CHARS_MAX:
            refuse("over-limits", "a name longer than 64 Ki characters")
        for folder in self._own_folders:
            found = found.replace(folder, "")
        return found

    def _mark(self, case: _Case, tag: str, attributes: dict[str, str]) -> None:
        if tag in _FAILURES or tag in _FAILED_AGAIN:
            case.failed = True
        if tag in _FAILURES or tag in _FAILED_AGAIN or tag in _RETRIES:
            self._suites[-1].shows_failure = True
        if tag in _SKIPS:
            case.skipped = True
            message = attributes.get("message", "")
            may_fail = attributes.get("type") == _MAY_FAIL_TYPE or message.startswith(_MAY_FAIL_MESSAGE)
            case.may_fail = case.may_fail or may_fail

    def _close_case(self, case: _Case) -> None:
        self._case = None
        outcome = case.outcome()
        if case.id:
            cases = self._suites[-1].cases
            cases[case.id] = worst(cases.get(case.id, outcome), outcome)
            return
        self._doubts.add("nameless")
        if outcome == "failed":
            self._totals["failed"] += 1

    def _close_suite(self) -> None:
        suite = self._suites.pop()
        if suite.claims_failure and not suite.shows_failure:
            self._doubts.add("counters-disagree")
        if self._suites and suite.shows_failure:
            self._suites[-1].shows_failure = True
        self._totals.update(suite.cases.values())
        for key, outcome in suite.cases.items():
            self._cases[key] = worst(self._cases.get(key, outcome), outcome)


def _bare(tag: str) -> str:
    return tag.rpartition(":")[2].lower()


def _is_positive(counter: str | None) -> bool:
    # Not int(): Python refuses thousands of digits, and "3.0", "1e0" or "-1" claim something too, in any script.
    number = (counter or "").strip().lower()
    is_hexadecimal = number.startswith("0x") and bool(number[2:].strip("0"))
    return is_hexadecimal or any(unicodedata.digit(char, 0) for char in number)
