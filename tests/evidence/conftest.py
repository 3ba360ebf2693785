"""A workspace in which a report lies where a command would have left it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.evidence.reports import ReportReading, read_report

RELATIVE = ".flow/reports/report.xml"


@pytest.fixture
def report_path(tmp_path: Path) -> Path:
    path = tmp_path / RELATIVE
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def read(tmp_path: Path, report_path: Path) -> Callable[[str | bytes], ReportReading]:
    def written(content: str | bytes) -> ReportReading:
        report_path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_report(tmp_path, RELATIVE, 0)

    return written
