"""A report as evidence: read from the workspace, bounded, never more than its cases say."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, get_args

import pytest

from flow_mcp.domain.report_words import REASONS
from flow_mcp.evidence import reports
from flow_mcp.evidence.report_file import Reason
from flow_mcp.evidence.reports import ReportReading, find_case, read_report

Read = Callable[[str | bytes], ReportReading]

_RELATIVE = ".flow/reports/report.xml"


def test_a_report_is_read_whole(read: Read) -> None:
    reading = read(
        '<testsuite name="s"><testcase classname="c" name="a"/><testcase classname="c" name="b"><failure/></testcase>'
        '<testcase classname="c" name="d"><skipped/></testcase></testsuite>'
    )
    assert reading == ReportReading(
        readable=True,
        reason="",
        detail="",
        passed=1,
        failed=1,
        skipped=1,
        cases={"s :: c :: a": "passed", "s :: c :: b": "failed", "s :: c :: d": "skipped"},
    )
    assert find_case(reading, "c.b") == "failed"
    assert find_case(reading, "nowhere") == "absent"


@pytest.mark.parametrize(
    ("inner", "passes"),
    [
        ('<testcase name="a"/>', True),
        ('<testcase name="a"/><testcase name="b"><skipped/></testcase>', True),
        ('<testcase name="a"/><testcase name="b"><failure/></testcase>', False),
        ('<testcase name="a"><skipped/></testcase>', False),
        ("", False),
        ('<testcase name="a"/><testcase/>', False),
    ],
)
def test_a_report_passes_with_a_passed_case_and_no_failed_one(read: Read, inner: str, passes: bool) -> None:  # noqa: FBT001 - a table's column
    assert read(f"<testsuite>{inner}</testsuite>").passes() == passes


def test_an_untrusted_report_says_why_and_what_it_claims(read: Read) -> None:
    reading = read('<testsuite errors="1"><testcase name="a"/></testsuite>')
    assert (reading.readable, reading.reason, reading.passed) == (False, "counters-disagree", 1)
    assert find_case(reading, "a") == "passed"


def test_an_unreadable_report_claims_nothing(read: Read) -> None:
    reading = read('<testsuite><testcase name="a"/>')
    assert reading == ReportReading(
        readable=False,
        reason="not-xml",
        detail="line 1, column 32: no element found",
        passed=0,
        failed=0,
        skipped=0,
        cases={},
    )


def test_the_workspaces_own_path_is_no_part_of_a_name(read: Read, tmp_path: Path) -> None:
    reading = read(f'<testsuite name="{tmp_path}/t"><testcase name="{tmp_path}/a.test.mjs"/></testsuite>')
    assert list(reading.cases) == ["t :: a.test.mjs"]


def test_a_workspace_reached_by_a_link_is_cut_out_under_both_names(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / ".flow/reports").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)
    (real / _RELATIVE).write_text(f'<testsuite><testcase classname="{real}/a" name="{link}/b"/></testsuite>')
    assert list(read_report(link, _RELATIVE, 0).cases) == ["a :: b"]


def test_a_path_elsewhere_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"below \.flow/reports/"):
        read_report(tmp_path, "report.xml", 0)


def test_a_report_that_grows_while_it_is_read_is_still_bounded(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "REPORT_BYTES_MAX", 20)
    assert read('<testsuite><testcase name="a"/></testsuite>').reason == "too-large"


def test_a_disk_that_fails_is_told_in_the_systems_words(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int, _size: int) -> NoReturn:
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(os, "read", fail)
    reading = read("<testsuite/>")
    assert (reading.reason, reading.detail) == ("not-accessible", "Input/output error")


def test_every_reason_has_a_sentence() -> None:
    assert set(REASONS) == set(get_args(Reason))


_PEAK = """
import resource, sys
from pathlib import Path
from flow_mcp.evidence.reports import read_report
def peak(name):
    reading = read_report(Path(sys.argv[1]), f".flow/reports/{name}.xml", 0)
    return reading.reason, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
_, before = peak("small")
reason, after = peak("large")
print(reason or "read", after - before)
"""

_CASE = b'<testsuite><testcase name="a"/>'
_LARGE: dict[str, tuple[str, bytes]] = {
    "60 MB of output": ("read", _CASE + b"<system-out>" + b"x" * (60 << 20) + b"</system-out></testsuite>"),
    "an attribute of 20 MB": ("over-limits", _CASE + b'<testcase name="' + b"x" * (20 << 20) + b'"/></testsuite>'),
    "a comment of 20 MB": ("over-limits", b"<!--" + b"x" * (20 << 20) + b"-->" + _CASE + b"</testsuite>"),
    "many names of elements": (
        "over-limits",
        _CASE + b"".join(b"<a%d/>" % i for i in range(1_000_000)) + b"</testsuite>",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
@pytest.mark.parametrize("kind", sorted(_LARGE))
def test_memory_stays_flat_whatever_the_file_holds(tmp_path: Path, report_path: Path, kind: str) -> None:
    reason, content = _LARGE[kind]
    report_path.with_name("small.xml").write_bytes(_CASE + b"</testsuite>")
    report_path.with_name("large.xml").write_bytes(content)
    done = subprocess.run([sys.executable, "-c", _PEAK, tmp_path], capture_output=True, text=True, check=True)
    seen, growth_mib = done.stdout.split()
    assert seen == reason
    assert int(growth_mib) <= 24
