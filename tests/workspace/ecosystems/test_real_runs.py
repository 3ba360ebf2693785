"""The proposed gate, run for real in a small project, and its report read as Flow reads it."""

import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import _pytest
import pytest

from flow_mcp.evidence.reports import ReportReading, read_report
from tests.workspace.ecosystems.projects import PYTEST_TEST, UNITTEST, package, suggested, write

RUN_S = 120
ADD = "def add(a, b):\n    return a + b\n"
WRITER = """\
import sys
import app
good = app.add(1, 2) == 3
with open(".flow/reports/make.xml", "w") as file:
    file.write('<testsuite><testcase classname="a" name="adds">' + ("" if good else "<failure/>"))
    file.write("</testcase></testsuite>")
sys.exit(not good)
"""


def ran(root: Path, path: str = "") -> tuple[int, ReportReading | None]:
    """Run the first proposal as Flow's runner does: bash with pipefail, at the top, with a folder for reports."""
    first = suggested(root)[0]
    (root / ".flow" / "reports").mkdir(parents=True, exist_ok=True)
    words = ["bash", "-o", "pipefail", "-c", first.run]
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"]}
    started_ns = time.time_ns() - 10**9
    done = subprocess.run(words, cwd=root, check=False, capture_output=True, timeout=RUN_S, env=environment)
    reading = None if first.report is None else read_report(root, first.report, started_ns)
    assert done.returncode in {0, 1, 2, 8}, done.stderr.decode() + done.stdout.decode()
    return done.returncode, reading


def passes(root: Path, path: str = "") -> bool:
    code, reading = ran(root, path)
    assert reading is not None
    assert reading.passes() == (code == 0), reading
    return code == 0


def virtual(root: Path) -> None:
    """Make a virtual environment that borrows everything but pytest's own folder from this one."""
    venv.create(root / ".venv", symlinks=True)
    (own,) = (root / ".venv" / "lib").glob("python3*/site-packages")
    shutil.copytree(Path(pytest.__file__).parent, own / "pytest")
    (own / "borrowed.pth").write_text(f"{Path(_pytest.__file__).parents[1]}\n")


def test_pytest_runs_in_the_virtual_environment_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": ADD, "tests/test_a.py": "import app\n\n\n" + PYTEST_TEST, "pytest.ini": "[pytest]\n"})
    virtual(tmp_path)
    assert suggested(tmp_path)[0].run.startswith(".venv/bin/python -m pytest")
    assert passes(tmp_path)
    write(tmp_path, {"tests/test_b.py": "def test_two():\n    assert False\n"})
    assert not passes(tmp_path)


def test_pytest_of_a_folder_writes_the_report_at_the_top(tmp_path: Path) -> None:
    write(tmp_path, {"api/pytest.ini": "[pytest]\n", "api/tests/test_a.py": PYTEST_TEST})
    virtual(tmp_path)
    assert passes(tmp_path)


def test_unittest_runs_without_a_report_and_fails_where_a_test_does(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": ADD, "tests/test_a.py": "import app\n" + UNITTEST})
    venv.create(tmp_path / ".venv", symlinks=True)
    assert suggested(tmp_path)[0].run == ".venv/bin/python -m unittest discover -s tests"
    assert ran(tmp_path) == (0, None)
    write(tmp_path, {"tests/test_b.py": UNITTEST.replace("True)", "False)"), "tests/__init__.py": ""})
    assert suggested(tmp_path)[0].run.endswith("-s tests -t .")
    assert ran(tmp_path) == (1, None)


def node() -> str:
    """Give the folder of a node with a junit reporter."""
    tool = Path(__file__).resolve().parents[3] / "tools" / "node.sh"
    done = subprocess.run([tool], check=False, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        pytest.skip("node is not to be had on this machine")
    return done.stdout.strip()


@pytest.mark.parametrize("script", ["", "node --test", "node --no-warnings --test"])
def test_node_runs_its_own_tests(script: str, tmp_path: Path) -> None:
    test = "const test = require('node:test');\nconst assert = require('node:assert');\n"
    write(tmp_path, {"package.json": package(script), "test/a.test.js": test + "test('one', () => assert.ok(1));\n"})
    path = node()
    assert passes(tmp_path, path)
    write(tmp_path, {"test/b.test.js": test + "test('two', () => assert.ok(0));\n"})
    assert not passes(tmp_path, path)


def test_make_writes_the_report_that_its_makefile_names(tmp_path: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make on this machine")
    makefile = f"test:\n\t{sys.executable} check.py # .flow/reports/make.xml\n"
    write(tmp_path, {"Makefile": makefile, "app.py": ADD, "check.py": WRITER})
    assert passes(tmp_path)
    write(tmp_path, {"app.py": ADD.replace("+", "- 2 *")})
    assert not passes(tmp_path)


@pytest.mark.parametrize("folder", ["", "native/"])
def test_ctest_builds_and_reports(folder: str, tmp_path: Path) -> None:
    if not all(shutil.which(tool) for tool in ("cmake", "ctest", "cc", "make")):
        pytest.skip("there is no CMake or no C compiler on this machine")
    project = "cmake_minimum_required(VERSION 3.21)\nproject(p C)\nenable_testing()\nadd_executable(a a.c)\n"
    files = {"CMakeLists.txt": f"{project}add_test(NAME one COMMAND a)\n", "a.c": "int main(void) { return 0; }\n"}
    write(tmp_path, {f"{folder}{name}": text for name, text in files.items()})
    assert passes(tmp_path)
    write(tmp_path, {f"{folder}a.c": "int main(void) { return 1; }\n"})
    assert not passes(tmp_path)
