"""Ordinary projects run green from a copy: with an environment, modules, builds, processes and ports of their own."""

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.history import passes
from flow_mcp.domain.model import Observation
from flow_mcp.domain.plan import Gate, Proof
from flow_mcp.engine.warm import Warm
from tests.engine.place import Place, feature, git, plan
from tests.engine.threaded import threaded

NODE = Path(__file__).parents[2] / ".venv" / "node" / "bin"
REPORT = ".flow/reports/all.xml"


def project(tmp_path: Path, files: dict[str, str]) -> Place:
    """Commit some files."""
    root = tmp_path / "project"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=start")
    return Place(root)


def observed(place: Place, run: str, *inputs: str) -> tuple[Observation, Observation]:
    """Approve a plan with this gate, start, and observe it on the approved source and on today's."""
    gate = Gate(run=run, report=REPORT)
    only = feature(checks=(), proof=Proof(kind="none", because="It is about the project."), targets=("src/**",))
    place.approved(plan(only, gate=gate, inputs=inputs))
    place.done(c.RunStart())
    return place.observe("baseline", run), place.observe("broad", run)


def assert_green(place: Place, seen: Observation, cases: int) -> None:
    """Hold that a check passed with so many cases, in a copy."""
    wanted = place.document.plan
    assert wanted is not None
    assert passes(wanted, seen), (seen, place.checks.wait(place.document.plan_id, f"check-{seen.started_revision}", 0))
    assert seen.in_place is None
    assert seen.report is not None
    assert seen.report.passed == cases


PYTHON = {
    ".gitignore": ".venv/\n.flow/\n__pycache__/\n",
    "src/app.py": "def double(number):\n    return 2 * number\n",
    "tests/test_app.py": """
import multiprocessing, socket, sys, threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
import app

def test_the_source_is_the_copys_own():
    assert Path(app.__file__).is_relative_to(Path.cwd())

def test_several_processes_share_the_work():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]

def test_a_manager_answers_over_its_socket():
    with multiprocessing.Manager() as manager:
        assert list(manager.list([1, 2])) == [1, 2]

def test_a_loopback_port_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
        with socket.create_connection(server.getsockname()) as client:
            assert client.recv(5) == b"hello"
""",
}


def test_pytest_runs_with_the_environment_in_the_projects_folder(tmp_path: Path) -> None:
    place = project(tmp_path, PYTHON)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place.root / ".venv"], check=True)
    packages = next(path for path in site.getsitepackages() if path.endswith("site-packages"))
    library = next((place.root / ".venv" / "lib").glob("python3*")) / "site-packages"
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py"):
        (library / name).symlink_to(Path(packages) / name)
    for seen in observed(place, f".venv/bin/python -m pytest -q --junitxml={REPORT}", ".venv"):
        assert_green(place, seen, 4)
        assert (seen.inputs, seen.shared_inputs) == ((".venv",), (".venv",))
        assert seen.ineligible is None


def test_npm_runs_with_its_modules(tmp_path: Path) -> None:
    if not (NODE / "node").exists():
        pytest.skip("node was not set up: tools/node.sh does it")
    reporter = f"--test-reporter=junit --test-reporter-destination={REPORT}"
    files = {
        ".gitignore": "node_modules/\n.flow/\n",
        "package.json": f'{{"name": "p", "type": "module", "scripts": {{"test": "node --test {reporter}"}}}}\n',
        "src/sum.js": "import { one } from 'numbers';\nexport const two = one + one;\n",
        "src/sum.test.js": "import { test } from 'node:test';\nimport { two } from './sum.js';\n"
        "test('one and one is two', (t) => t.assert.equal(two, 2));\n",
    }
    place = project(tmp_path, files)
    module = place.root / "node_modules" / "numbers"
    module.mkdir(parents=True)
    (module / "package.json").write_text('{"name": "numbers", "type": "module", "exports": "./index.js"}\n')
    (module / "index.js").write_text("export const one = 1;\n")
    folder = shutil.which("mkdir")
    assert folder is not None
    run = f"mkdir -p .flow/reports && PATH={NODE}:{Path(folder).parent} npm test"
    for seen in observed(place, run, "node_modules"):
        assert_green(place, seen, 1)
        assert seen.shared_inputs == ("node_modules",)


MAKEFILE = """\
build/all.xml: build/sum.o build/main.o
	cc -o build/all build/sum.o build/main.o
	build/all
	cp build/result.xml .flow/reports/all.xml
build/%.o: src/%.c
	@mkdir -p build
	@echo compile $<
	cc -c -o $@ $<
"""
MAIN = """\
#include <stdio.h>
int sum(int, int);
int main(void) {
    FILE *out = fopen("build/result.xml", "w");
    int good = sum(1, 2) == 3;
    fprintf(out, "<testsuite name='c'><testcase classname='c' name='sum'>%s</testcase></testsuite>",
            good ? "" : "<failure/>");
    fclose(out);
    return !good;
}
"""
C = {
    ".gitignore": "build/\n.flow/\n",
    "Makefile": MAKEFILE,
    "src/sum.c": "int sum(int a, int b) { return a + b; }\n",
    "src/main.c": MAIN,
}


def needs(*programs: str) -> None:
    """Skip where a program is not there; the setup of the tests installs it where it may."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def test_make_builds_only_what_changed_since_the_workspaces_own_build(tmp_path: Path) -> None:
    needs("make", "cc")
    place = project(tmp_path, C)
    (place.root / ".flow" / "reports").mkdir(parents=True, exist_ok=True)
    subprocess.run(["make"], cwd=place.root, check=True, capture_output=True)
    built = {path.name: path.read_bytes() for path in (place.root / "build").iterdir()}
    baseline, _ = observed(place, "make", "build")
    assert_green(place, baseline, 1)
    (place.root / "src" / "sum.c").write_text("int sum(int a, int b) { return b + a; }\n")
    seen = place.observe("broad", "make")
    assert_green(place, seen, 1)
    waited = place.checks.wait(place.document.plan_id, f"check-{seen.started_revision}", 0)
    tail = getattr(waited, "tail", "")
    assert "compile src/sum.c" in tail
    assert "compile src/main.c" not in tail
    assert seen.inputs == ("build",)
    assert seen.shared_inputs is None
    assert {path.name: path.read_bytes() for path in (place.root / "build").iterdir()} == built


CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(sum C)
enable_testing()
add_executable(units src/sum.c src/main.c)
add_test(NAME sum COMMAND units WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
"""


def test_cmake_and_ctest_configure_build_and_test_in_the_copy(tmp_path: Path) -> None:
    needs("cmake", "ctest", "cc", "make")
    place = project(tmp_path, {**C, "CMakeLists.txt": CMAKE})
    report = "--output-junit ../.flow/reports/all.xml"
    run = f"mkdir -p .flow/reports && cmake -S . -B build && cmake --build build && ctest --test-dir build {report}"
    for seen in observed(place, run):
        assert_green(place, seen, 1)


def test_a_configured_build_leads_back_and_is_watched_and_not_lent_to_a_baseline(tmp_path: Path) -> None:
    needs("cmake", "ctest", "cc", "make")
    place = project(tmp_path, {**C, "CMakeLists.txt": CMAKE})
    subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=place.root, check=True, capture_output=True)
    report = "--output-junit ../.flow/reports/all.xml"
    run = f"mkdir -p .flow/reports && cmake --build build && ctest --test-dir build {report}"
    baseline, seen = observed(place, run, "build")
    assert (baseline.inputs, baseline.exit_code == 0) == (None, False)
    assert (seen.inputs, seen.shared_inputs, seen.exit_code) == (("build",), ("build",), 0)


def test_a_baseline_builds_nothing_into_what_the_workspace_builds_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("make", "cc")
    monkeypatch.setattr("flow_mcp.workspace.inputs.COPIED_FILES_MAX", 0)
    place = project(tmp_path, C)
    place.checks, _ = threaded(place.engine)
    (place.root / "src" / "sum.c").write_text("int sum(int a, int b) { return a - b; }\n")
    place.git("commit", "--quiet", "--all", "--message=broken")
    gate = Gate(run="make", report=REPORT)
    only = feature(checks=(), proof=Proof(kind="none", because="It is about the build."), targets=("src/**",))
    place.approved(plan(only, gate=gate, inputs=("build",)))
    place.done(c.RunStart())
    (place.root / "src" / "sum.c").write_text("int sum(int a, int b) { return a + b; }\n")
    (place.root / ".flow" / "reports").mkdir(parents=True, exist_ok=True)
    subprocess.run(["make"], cwd=place.root, check=True, capture_output=True)
    built = (place.root / "build" / "sum.o").read_bytes()
    assert place.observe("baseline", "make").exit_code != 0
    assert (place.root / "build" / "sum.o").read_bytes() == built
    seen = place.observe("broad", "make")
    assert (seen.exit_code, seen.shared_inputs) == (0, ("build",))


def test_an_environment_elsewhere_with_the_project_installed_editable_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project(tmp_path, PYTHON)
    library = tmp_path / "outside" / "lib" / "python3.12" / "site-packages"
    library.mkdir(parents=True)
    (library / "_project.pth").write_text("import _project_loader\n")
    (library / "_project_loader.py").write_text(f"import sys\nsys.path.append({str(place.root / 'src')!r})\n")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "outside"))
    run = "mkdir -p .flow/reports && test -d src"
    baseline, seen = observed(place, run)
    assert baseline.ineligible == "path-dependent"
    assert seen.ineligible is None


def test_a_program_of_the_workspace_on_the_path_is_the_copys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = '#!/bin/sh\nmkdir -p .flow/reports\ncp report.xml .flow/reports/all.xml\npwd\nreadlink -f "$0"\n'
    report = "<testsuite name='s'><testcase classname='s' name='one'/></testsuite>\n"
    place = project(tmp_path, {".gitignore": ".flow/\n", "bin/tool": tool, "report.xml": report})
    (place.root / "bin" / "tool").chmod(0o755)
    git(place.root, "commit", "--quiet", "--all", "--message=mode")
    monkeypatch.setenv("PATH", f"{place.root}/bin{os.pathsep}{os.environ['PATH']}")
    warm = Warm()
    place.checks = type(place.checks)(place.engine, warm)
    try:
        _, seen = observed(place, "tool")
        assert_green(place, seen, 1)
        waited = place.checks.wait(place.document.plan_id, f"check-{seen.started_revision}", 0)
        folder, program = getattr(waited, "tail", "").split()
        assert program == f"{folder}/bin/tool"
        assert not program.startswith(f"{place.root}/bin")
    finally:
        warm.close()
