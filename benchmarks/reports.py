"""Measure what hostile and very large reports cost their reader: seconds, and how much its memory grew.

``python benchmarks/reports.py`` reads each report in a process of its own, so that one's peak is not another's. The
floor is the same file read in the same pieces and thrown away.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flow_mcp.evidence.reports import CHUNK_BYTES, read_report

REPORT = ".flow/reports/report.xml"
MB = 1000 * 1000
OK = '<testcase classname="c" name="ok"/>'


def _suite(inner: Iterator[str]) -> Iterator[str]:
    yield '<testsuite name="s" failures="0">'
    yield from inner
    yield "</testsuite>"


def _output(size: int) -> Iterator[str]:
    line = "a line of output that a test printed, as tests do\n"
    yield f"{OK}<system-out><![CDATA["
    for _ in range(size // len(line)):
        yield line
    yield "]]></system-out>"


def _cases(count: int, output: str) -> Iterator[str]:
    for number in range(count):
        yield f'<testcase classname="c{number // 1000}" name="t{number}">{output}</testcase>\n'


def _bomb() -> Iterator[str]:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    yield f'<!DOCTYPE r [<!ENTITY e0 "0123456789">{entities}]><testsuite>{OK}<system-out>&e9;</system-out></testsuite>'


def _long(before: str, size: int, after: str) -> Iterator[str]:
    yield before
    yield "A" * size
    yield after


KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "60 MB, most of it output": lambda: _suite(_output(60 * MB)),
    "60 MB in 300,000 cases": lambda: _suite(_cases(300_000, f"<system-out>{'o' * 135}</system-out>")),
    "200,000 cases": lambda: _suite(_cases(200_000, "")),
    "200,000 cases, the last fails": lambda: _suite(
        iter([*_cases(199_999, ""), '<testcase name="z"><failure/></testcase>'])
    ),
    "entity bomb": _bomb,
    "20 MB attribute": lambda: _suite(_long(f'{OK}<testcase name="b" x="', 20 * MB, '"/>')),
    "20 MB comment": lambda: _suite(_long(f"{OK}<!--", 20 * MB, "-->")),
    "20 MB tag name": lambda: _suite(_long(f"{OK}<", 20 * MB, "/>")),
    "500,000 elements deep in output": lambda: _suite(
        _long(f"{OK}<system-out>", 0, "<b>" * 500_000 + "</b>" * 500_000 + "</system-out>")
    ),
}


def peak_kib() -> int:
    """Give the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def floor_s(path: Path) -> float:
    """Say how long the file's bytes alone take."""
    begun_s = time.perf_counter()
    with path.open("rb") as file:
        while file.read(CHUNK_BYTES):
            pass
    return time.perf_counter() - begun_s


def measure(name: str) -> str:
    """Read one kind of report here, and say what it cost."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, REPORT)
        path.parent.mkdir(parents=True)
        with path.open("w") as file:
            file.writelines(KINDS[name]())
        floor, before_kib, begun_s = floor_s(path), peak_kib(), time.perf_counter()
        reading = read_report(Path(folder), REPORT, 0)
        spent_s, grown_mib = time.perf_counter() - begun_s, (peak_kib() - before_kib) / 1024
        size_mb = path.stat().st_size / MB
    verdict = "passes" if reading.passes() else reading.reason or f"{reading.failed} failed"
    return (
        f"{name} ({size_mb:.1f} MB): {verdict}, {spent_s:.2f} s (bytes alone {floor:.3f} s), {grown_mib:.0f} MiB more"
    )


def main() -> None:
    """Measure every kind, or the one that is named."""
    if len(sys.argv) > 1:
        sys.stdout.write(measure(sys.argv[1]) + "\n")
        return
    for name in KINDS:
        subprocess.run([sys.executable, "-m", "benchmarks.reports", name], check=True)


if __name__ == "__main__":
    main()
