"""How a command ended: by the report first, else by what its runner means by an exit code."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.evidence.failure import LAUNCHERS, RUNNERS, FailureKind, classify
from flow_mcp.evidence.reports import ReportReading, read_report

Read = Callable[[str | bytes], ReportReading]

_RELATIVE = ".flow/reports/report.xml"


# Real pytest and real unittest.

_FILES = {
    "test_ok.py": "def test_ok(): pass\n",
    "test_bad.py": "def test_bad(): assert False\n",
    "test_import.py": "import nothing_of_this_name\n",
    "test_syntax.py": "def (\n",
    "test_none.py": "x = 1\n",
    "test_exit.py": "import pytest\ndef test_a(): pytest.exit('enough')\n",
    "test_fixture.py": "def test_a(no_such_fixture): pass\n",
    "test_crash.py": "import os\ndef test_a(): os.abort()\n",
    "broken/conftest.py": "import nothing_of_this_name\n",
    "broken/test_a.py": "def test_a(): pass\n",
    "unit_ok.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n",
    "unit_bad.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.fail()\n",
}


@pytest.fixture
def project(tmp_path: Path, report_path: Path) -> Path:
    assert report_path.parent.is_dir()
    for name, text in _FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def _end_of(project: Path, *words: str) -> tuple[int | None, str]:
    plain = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-B", "-m", *words], cwd=project, env=plain, capture_output=True, check=False
    )
    return (done.returncode, "exited") if done.returncode >= 0 else (None, "signalled")


_PYTEST = (
    ("test_ok.py", "passed"),
    ("test_bad.py", "case-failed"),
    ("test_fixture.py", "case-failed"),
    ("test_import.py", "collection"),
    ("test_syntax.py", "collection"),
    ("test_import.py test_bad.py", "collection"),
    ("test_none.py", "ended-without-result"),
    ("no_such_file.py", "usage"),
    ("--no-such-option", "usage"),
    ("broken/test_a.py", "usage"),
    ("test_crash.py", "ended-without-result"),
)


@pytest.mark.parametrize(("arguments", "kind"), _PYTEST)
@pytest.mark.parametrize("has_report", [True, False])
def test_real_pytest_is_understood_with_and_without_a_report(
    project: Path,
    arguments: str,
    kind: str,
    has_report: bool,  # noqa: FBT001 - a table's column
) -> None:
    options = ["-p", "no:cacheprovider", *([f"--junitxml={_RELATIVE}"] if has_report else [])]
    exit_code, ended = _end_of(project, "pytest", *options, *arguments.split())
    reading = read_report(project, _RELATIVE, 0) if has_report else None
    assert classify(f"python -m pytest {arguments}", exit_code, ended, reading) == kind


def test_a_failure_beside_a_module_that_cannot_be_collected_is_a_failed_case(project: Path) -> None:
    options = ["-p", "no:cacheprovider", "--continue-on-collection-errors", f"--junitxml={_RELATIVE}"]
    exit_code, ended = _end_of(project, "pytest", *options, "test_import.py", "test_bad.py")
    assert classify("make test", exit_code, ended, read_report(project, _RELATIVE, 0)) == "case-failed"


def test_a_report_tells_an_interrupted_run_from_one_that_could_not_be_collected(project: Path) -> None:
    options = ["-p", "no:cacheprovider", f"--junitxml={_RELATIVE}"]
    exit_code, ended = _end_of(project, "pytest", *options, "test_exit.py")
    reading = read_report(project, _RELATIVE, 0)
    assert (exit_code, reading.reason) == (2, "nameless")
    assert classify("pytest", exit_code, ended, reading) == "ended-without-result"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("unit_ok", "passed"),
        ("unit_bad", "collection"),
        ("test_import", "collection"),
        ("no_such_module", "collection"),
        ("--no-such-option", "usage"),
    ],
)
def test_real_unittest_says_the_same_of_a_failed_case_and_of_an_import(
    project: Path, arguments: str, kind: str
) -> None:
    exit_code, ended = _end_of(project, "unittest", arguments)
    assert classify(f"python3.11 -m unittest {arguments}", exit_code, ended, None) == kind


# Everything else by the table.


@pytest.mark.parametrize(
    ("run", "exit_code", "kind"),
    [
        ("anything", 0, "passed"),
        ("anything", 1, "collection"),
        ("anything", 2, "usage"),
        ("anything", 64, "usage"),
        ("anything", 124, "ended-without-result"),
        ("anything", 126, "missing-tool"),
        ("anything", 127, "missing-tool"),
        ("anything", 128, "collection"),
        ("anything", 129, "ended-without-result"),
        ("anything", 139, "ended-without-result"),
        ("pytest", 1, "case-failed"),
        ("pytest", 3, "ended-without-result"),
        ("pytest", 5, "ended-without-result"),
        ("pytest", 77, "ended-without-result"),
        (".venv/bin/pytest -q", 2, "collection"),
        ("A=1 uv run --with x pytest -k node", 2, "collection"),
        ("timeout 60 python -m pytest", 124, "ended-without-result"),
        ("python3.12 -m unittest", 5, "ended-without-result"),
        ("python check.py", 1, "collection"),
        ("python check.py", 2, "usage"),
        ("node check.js", 1, "collection"),
        ("node check.js", 9, "usage"),
        ("node --test", 1, "collection"),
        ("npx jest", 1, "collection"),
        ("npm test", 1, "collection"),
        ("mocha", 12, "collection"),
        ("go test ./...", 1, "collection"),
        ("cargo test", 101, "collection"),
        ("cargo test --bogus", 1, "usage"),
        ("cargo nextest run", 100, "case-failed"),
        ("cargo nextest run", 101, "collection"),
        ("cargo nextest run", 4, "ended-without-result"),
        ("make check", 2, "collection"),
        ("ctest", 8, "collection"),
        ("ctest", 1, "ended-without-result"),
        ("phpunit.bat", 1, "case-failed"),
        ("vendor/bin/phpunit", 2, "collection"),
        ("vendor/bin/phpunit", 255, "ended-without-result"),
        ("robot t.robot", 3, "case-failed"),
        ("robot t.robot", 252, "usage"),
        ("bazel test //...", 3, "case-failed"),
        ("bazel test //...", 1, "collection"),
        ("mypy .", 1, "case-failed"),
        ("ruff check . && pytest", 1, "case-failed"),
        ("ruff check . && pytest", 2, "usage"),
        ("cd sub&&pytest", 2, "collection"),
        ("npm run build && python check.py", 1, "collection"),
        ("pytest -k '' '&&' x | tee log", 2, "collection"),
        ("pytest # 'quoted'", 2, "collection"),
        ("pytest 'open", 1, "collection"),
    ],
)
def test_an_exit_code_means_what_its_tool_means_by_it(run: str, exit_code: int, kind: str) -> None:
    assert classify(run, exit_code, "exited", None) == kind


@pytest.mark.parametrize("ended", ["timed-out", "cancelled"])
def test_a_command_that_was_ended_showed_nothing(read: Read, ended: str) -> None:
    reading = read('<testsuite><testcase name="a"><failure/></testcase></testsuite>')
    assert classify("pytest", None, ended, reading) == "ended-without-result"


def _case(class_name: str, name: str, inner: str = "<failure/>") -> str:
    return f'<testcase classname="{class_name}" name="{name}">{inner}</testcase>'


@pytest.mark.parametrize(
    ("run", "cases", "kind"),
    [
        ("make test", _case("c", "a"), "case-failed"),
        ("make test", _case("c", "a", ""), "collection"),
        ("python check.py", _case("c", "a", ""), "collection"),
        ("python check.py", "", "collection"),
        ("pytest", _case("", "tests.test_a"), "collection"),
        ("bats t", _case("", "adds"), "case-failed"),
        ("pytest", _case("pytest", "internal"), "ended-without-result"),
        ("make test", _case("unittest.loader._FailedTest", "test_m"), "collection"),
        ("make test", _case("unittest.loader._FailedTest", "test_m") + _case("c", "a"), "case-failed"),
        ("npx jest", _case("test", "src/a.test.mjs"), "collection"),
        ("npx jest", _case("test", "loads a.js"), "case-failed"),
        ("gotestsum", _case("c", "a", "") + "<error/>", "collection"),
    ],
)
def test_the_failed_cases_of_a_report_say_it_best(read: Read, run: str, cases: str, kind: str) -> None:
    reading = read(f'<testsuite name="s">{cases}</testsuite>')
    assert classify(run, 1, "exited", reading) == kind


def test_a_case_that_a_signal_cut_off_but_the_report_shows_failed(read: Read) -> None:
    reading = read(f"<testsuite>{_case('c', 'a')}</testsuite>")
    assert classify("./unit", None, "signalled", reading) == "case-failed"
    assert classify("./unit", None, "signalled", None) == "ended-without-result"


@pytest.mark.parametrize(
    ("cases", "kind"),
    [
        (_case("c", "a", ""), "passed"),
        (_case("c", "a"), "case-failed"),
        (_case("c", "a", "<skipped/>"), "ended-without-result"),
        ("<broken", "ended-without-result"),
    ],
)
def test_exit_0_passes_only_with_the_report_that_was_promised(read: Read, cases: str, kind: FailureKind) -> None:
    assert classify("pytest", 0, "exited", read(f'<testsuite name="s">{cases}</testsuite>')) == kind


def test_a_missing_tool_stays_missing_whatever_a_report_says(read: Read) -> None:
    assert classify("pytest", 127, "exited", read(f"<testsuite>{_case('c', 'a')}</testsuite>")) == "missing-tool"


def test_no_word_names_two_tools() -> None:
    words = [word for table in (RUNNERS, LAUNCHERS) for tool in table for word in tool.words]
    assert sorted(words) == sorted(set(words))
