"""Say how a command ended: a case failed, tests could not be collected, or it never came to judge anything.

Row ``review.proof-shown`` needs the difference. The report tells it best. Where none does, the exit code is read
by what the test runner is known to mean by it; a code that a runner uses for several things takes the strictest
meaning, so that doubt never makes a proof. A plan that wants the finer answer declares a report.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Literal, NamedTuple

from flow_mcp.domain.case_names import SEPARATOR
from flow_mcp.evidence.reports import ReportReading

FailureKind = Literal["passed", "case-failed", "collection", "usage", "missing-tool", "ended-without-result"]

# From the strictest to the most telling.
_STRICTNESS: tuple[FailureKind, ...] = (
    "missing-tool",
    "usage",
    "ended-without-result",
    "collection",
    "case-failed",
)


class Tool(NamedTuple):
    """What the exit codes of one kind of program mean.

    Attributes:
        words: the words of a command line that name it.
        codes: meaning by exit code.
        otherwise: meaning of every other code but 0.
    """

    words: frozenset[str]
    codes: Mapping[int, FailureKind]
    otherwise: FailureKind


def _tool(words: str, codes: Mapping[int, FailureKind], otherwise: FailureKind) -> Tool:
    return Tool(frozenset(words.split()), codes, otherwise)


RUNNERS: tuple[Tool, ...] = (
    # 2 is a collection error, or an interrupt; 3 an internal error; 4 also a conftest.py that fails; 5 no tests.
    _tool(
        "pytest py.test",
        {
            1: "case-failed",
            2: "collection",
            3: "ended-without-result",
            4: "usage",
            5: "ended-without-result",
        },
        "ended-without-result",
    ),
    # 1 is a failed case or a module that cannot be imported; 5 no tests, from Python 3.12 on.
    _tool("unittest xmlrunner nose2", {1: "collection", 2: "usage", 5: "ended-without-result"}, "ended-without-result"),
    # Robot counts failures up to 250; the codes above are its own troubles.
    _tool(
        "robot",
        {
            251: "usage",
            252: "usage",
            253: "ended-without-result",
            254: "ended-without-result",
            255: "ended-without-result",
        },
        "case-failed",
    ),
    # PHPUnit: 1 is a failed assertion, 2 an exception, which a missing class is too.
    _tool("phpunit", {1: "case-failed", 2: "collection"}, "ended-without-result"),
    # nextest documents its codes one by one; 94 to 96 are misuse, 101 a failed build.
    _tool(
        "nextest cargo-nextest",
        {100: "case-failed", 101: "collection", 94: "usage", 95: "usage", 96: "usage"},
        "ended-without-result",
    ),
    # Bazel: 1 is a failed build, 3 a failed test, 4 no tests.
    _tool(
        "bazel bazelisk",
        {1: "collection", 2: "usage", 3: "case-failed", 4: "ended-without-result"},
        "ended-without-result",
    ),
    # ctest counts a program that was not built among the failed ones.
    _tool("ctest", {8: "collection"}, "ended-without-result"),
    # Checkers of source: 1 is a finding.
    _tool("ruff mypy eslint flake8 pyright", {1: "case-failed", 2: "usage"}, "ended-without-result"),
    # One code for a failed case and for source that does not load or compile.
    _tool("jest vitest mocha ava playwright cypress karma --test tap", {}, "collection"),
    _tool("go gotestsum gradle gradlew mvn mvnw dotnet sbt swift mix tsc", {}, "collection"),
    _tool("rspec minitest bats prove behave tox nox", {}, "collection"),
)
"""Programs that judge. The first one named in a simple command speaks for it."""

LAUNCHERS: tuple[Tool, ...] = (
    # 2 is a script that is not there, or argparse's word for misuse.
    _tool("python", {2: "usage"}, "collection"),
    _tool("node", {9: "usage"}, "collection"),
    # 101 is a failed build as well as a failed test; 1 is misuse.
    _tool("cargo", {1: "usage"}, "collection"),
    _tool("npm npx pnpm pnpx yarn bun bunx deno make gmake ninja just task rake", {}, "collection"),
)
"""Programs that start others; asked where a simple command names no judge."""

UNKNOWN = _tool("", {2: "usage", 64: "usage"}, "collection")
"""Any other command: a script of the project's own. 2 and 64 are the customary codes for misuse; any other code may
as well mean that the script or what it needs is not there."""

# The shell's own words, which env, nohup and npm repeat.
_SHELL_CODES = frozenset({126, 127})
# What the timeout program answers, and from where on a shell tells of a signal.
_TIMEOUT_CODE, _SIGNAL_CODES_FROM = 124, 129

_VERSION = re.compile(r"(?<=python)[0-9.]+$|\.(?:exe|cmd|bat)$")
_SOURCE_NAME = re.compile(r"\S+\.(?:py|[cm]?[jt]sx?)")
_PYTEST_INTERNAL = ["pytest", "internal"]
_UNITTEST_IMPORT = "unittest.loader._FailedTest"


def classify(run: str, exit_code: int | None, ended: str, reading: ReportReading | None) -> FailureKind:
    """Say how a command ended.

    Args:
        run: the command's bytes.
        exit_code: None unless the command ended by itself.
        ended: how the process ended: exited, signalled, timed-out or cancelled.
        reading: what its report says; None where the command declares none.
    """
    if ended not in {"exited", "signalled"}:
        return "ended-without-result"
    if exit_code in _SHELL_CODES:
        return "missing-tool"
    shown = _shown_by(reading, run) if reading is not None else None
    if shown is not None:
        return shown
    if exit_code is None:
        return "ended-without-result"
    if exit_code == 0:
        return "passed" if reading is None or reading.passes() else "ended-without-result"
    meant = _meant_by(run, exit_code)
    # A report was promised and shows no failed case: the code alone is not believed.
    return "ended-without-result" if meant == "case-failed" and reading is not None else meant


def _shown_by(reading: ReportReading, run: str) -> FailureKind | None:
    """Give what the failed cases of a report tell; None where there are none and nothing was cut off."""
    kinds = {_kind_of_case(key, run) for key, outcome in reading.cases.items() if outcome == "failed"}
    is_cut_off = reading.reason == "nameless"
    return max(kinds, key=_STRICTNESS.index, default="ended-without-result" if is_cut_off else None)


def _kind_of_case(case: str, run: str) -> FailureKind:
    """Tell a failed case from the ones that runners write for what they could not load."""
    parts = case.split(SEPARATOR)
    if parts[-2:] == _PYTEST_INTERNAL:
        return "ended-without-result"
    # Pytest gives every real case a class, and a module that it could not collect none.
    is_module = len(parts) < len(("suite", "class", "name")) and "pytest" in parts[0] + run
    is_import = _UNITTEST_IMPORT in parts
    # Node, jest and vitest name what they could not load by its file.
    is_file = _SOURCE_NAME.fullmatch(parts[-1]) is not None
    return "collection" if is_module or is_import or is_file else "case-failed"


def _meant_by(run: str, exit_code: int) -> FailureKind:
    """Give the strictest meaning that a known tool of the command gives to its exit code."""
    meanings = [_meaning(tool, exit_code) for tool in _tools(run)]
    return min(meanings or [_meaning(UNKNOWN, exit_code)], key=_STRICTNESS.index)


def _meaning(tool: Tool, exit_code: int) -> FailureKind:
    is_cut_off = exit_code == _TIMEOUT_CODE or exit_code >= _SIGNAL_CODES_FROM
    return tool.codes.get(exit_code, "ended-without-result" if is_cut_off else tool.otherwise)


def _tools(run: str) -> list[Tool]:
    found = (_tool_of(words) for words in _simple_commands(run))
    return [tool for tool in found if tool is not None]


def _tool_of(words: list[str]) -> Tool | None:
    for table in (RUNNERS, LAUNCHERS):
        for word in words:
            known = next((tool for tool in table if word in tool.words), None)
            if known is not None:
                return known
    return None


def _simple_commands(run: str) -> list[list[str]]:
    """Split a command line at && and |, and reduce every word to a program's bare name."""
    lexer = shlex.shlex(run, posix=True, punctuation_chars="&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word and set(word) <= {"&", "|"}:
                commands.append([])
            else:
                commands[-1].append(_VERSION.sub("", word.rpartition("/")[2]))
    except ValueError:
        return []  # an open quote, which no approved command has
    return commands
