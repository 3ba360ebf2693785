"""Small real projects, one a way to run tests, and what is proposed for each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.workspace.ecosystems.suggestion import REPORT, Suggestion
from flow_mcp.workspace.ecosystems.survey import survey

Files = Mapping[str, str]

PYTEST_TEST = "def test_one():\n    assert True\n"
UNITTEST = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_one(self):\n        self.assertTrue(True)\n"
NODE_REPORT = (
    "--test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit "
    f"--test-reporter-destination={REPORT}"
)


def package(test: str = "", *dependencies: str, **more: object) -> str:
    scripts = {"scripts": {"test": test}} if test else {}
    return json.dumps({"name": "p", **scripts, "devDependencies": dict.fromkeys(dependencies, "*"), **more})


def environment(name: str, *modules: str) -> Files:
    """Give the files of a virtual environment, as far as a look from outside can tell."""
    inside = {f"{name}/lib/python3.12/site-packages/{module}/__init__.py": "" for module in modules}
    return {f"{name}/pyvenv.cfg": "home = x\n", **inside}


@dataclass(frozen=True)
class Case:
    """A project, and the first gate that is proposed for it."""

    name: str
    files: Files
    run: str
    report: str | None = REPORT


TESTS = {"tests/test_a.py": PYTEST_TEST}
NEXTEST = '[store]\ndir = ".flow/reports/nextest"\n[profile.ci.junit]\npath = "gate.xml"\n'
GO = {"go.mod": "module m\n", "a_test.go": "package m\n"}
CARGO = {"Cargo.toml": '[package]\nname = "m"\n', "src/lib.rs": ""}

CASES = (
    # pytest, by each sign of it and by each way to start it
    Case("ini", {"pytest.ini": "[pytest]\n", **TESTS}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("tool-table", {"pyproject.toml": "[tool.pytest]\n", **TESTS}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("tox", {"tox.ini": "[tox]\n[pytest]\n", **TESTS}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("cfg", {"setup.cfg": "[tool:pytest]\n", **TESTS}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("conftest", {"tests/conftest.py": "", "tests/test_a.py": UNITTEST}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("dependency", {"requirements-dev.txt": "pytest>=8\n", "tests/test_a.py": UNITTEST},
         f"python3 -m pytest --junitxml={REPORT}"),
    Case("requirements-folder", {"requirements/dev.txt": "pytest-cov\n", "tests/test_a.py": UNITTEST},
         f"python3 -m pytest --junitxml={REPORT}"),
    Case("import", {"tests/test_a.py": "import pytest\nimport unittest\n"}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("bare-functions", TESTS, f"python3 -m pytest --junitxml={REPORT}"),
    Case("broken-toml", {"pyproject.toml": "[tool.pytest.ini_options]\n = = [\n", **TESTS},
         f"python3 -m pytest --junitxml={REPORT}"),
    Case("no-test-yet", {"pytest.ini": ""}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("venv", {**TESTS, **environment(".venv", "pytest")}, f".venv/bin/python -m pytest --junitxml={REPORT}"),
    Case("other-venv", {**TESTS, **environment("venv", "pytest")}, f"venv/bin/python -m pytest --junitxml={REPORT}"),
    Case("bare-venv", {**TESTS, **environment(".venv")}, f"python3 -m pytest --junitxml={REPORT}"),
    Case("uv", {**TESTS, "uv.lock": ""}, f"uv run python -m pytest --junitxml={REPORT}"),
    Case("poetry", {**TESTS, "poetry.lock": ""}, f"poetry run python -m pytest --junitxml={REPORT}"),
    Case("pdm", {**TESTS, "pdm.lock": ""}, f"pdm run python -m pytest --junitxml={REPORT}"),
    Case("pipenv", {**TESTS, "Pipfile": ""}, f"pipenv run python -m pytest --junitxml={REPORT}"),
    # unittest
    Case("unittest", {"tests/test_a.py": UNITTEST}, "python3 -m unittest discover -s tests", None),
    Case("unittest-package", {"tests/__init__.py": "", "tests/test_a.py": UNITTEST},
         "python3 -m unittest discover -s tests -t .", None),
    Case("unittest-top", {"test_a.py": UNITTEST}, "python3 -m unittest discover", None),
    Case("unittest-venv", {"test_a.py": UNITTEST, **environment(".venv")},
         ".venv/bin/python -m unittest discover", None),
    Case("unittest-scattered", {"a/test_a.py": UNITTEST, "b/test_b.py": UNITTEST},
         "python3 -m unittest discover", None),
    Case("xmlrunner", {"tests/test_a.py": UNITTEST, "requirements.txt": "unittest-xml-reporting\n"},
         f"python3 -m xmlrunner discover -s tests --outsuffix tests --output-file {REPORT}"),
    Case("django", {"manage.py": "", "app/test_a.py": UNITTEST}, "python3 manage.py test", None),
    # JavaScript
    Case("vitest", {"package.json": package("", "vitest")},
         f"npx vitest run --reporter=default --reporter=junit --outputFile.junit={REPORT}"),
    Case("vitest-script", {"package.json": package("vitest --coverage"), "pnpm-lock.yaml": ""},
         f"pnpm exec vitest run --coverage --reporter=default --reporter=junit --outputFile.junit={REPORT}"),
    Case("vitest-narrow", {"package.json": package("vitest run a.test.ts"), "yarn.lock": ""},
         f"yarn vitest run --reporter=default --reporter=junit --outputFile.junit={REPORT}"),
    Case("vitest-watch", {"package.json": package("vitest watch"), "bun.lock": ""},
         f"bunx vitest run --reporter=default --reporter=junit --outputFile.junit={REPORT}"),
    Case("vitest-configured", {"package.json": package(), "vitest.config.ts": "", "package-lock.json": "{}"},
         f"npx vitest run --reporter=default --reporter=junit --outputFile.junit={REPORT}"),
    Case("jest-junit", {"package.json": package("jest --ci --watchAll", "jest", "jest-junit")},
         f"JEST_JUNIT_OUTPUT_FILE={REPORT} npx jest --ci --reporters=default --reporters=jest-junit"),
    Case("jest", {"package.json": package("", jest={})}, "npx jest", None),
    Case("jest-compound", {"package.json": package("jest && echo done", "jest")}, "npx jest", None),
    Case("mocha", {"package.json": package("mocha --recursive", "mocha", "mocha-junit-reporter")},
         f"MOCHA_FILE={REPORT} npx mocha --recursive --reporter mocha-junit-reporter"),
    Case("node", {"package.json": package("node --import tsx --test 'test/**/*.test.ts'")},
         f"node {NODE_REPORT} --import tsx --test 'test/**/*.test.ts'"),
    Case("node-narrow", {"package.json": package("node --test test/a.test.js")}, f"node {NODE_REPORT} --test"),
    Case("node-no-script", {"package.json": package('echo "Error: no test specified" && exit 1'), "test/a.js": ""},
         f"node {NODE_REPORT} --test"),
    Case("npm", {"package.json": package("tap")}, "npm test", None),
    Case("npm-node-program", {"package.json": package("node run-tests.js")}, "npm test", None),
    Case("npm-report", {"package.json": package("./run --out .flow/reports/all.xml")}, "npm test",
         ".flow/reports/all.xml"),
    # compiled
    Case("go", GO, "go test ./...", None),
    Case("go-tool", {**GO, "go.mod": "module m\n\ntool gotest.tools/gotestsum\n"},
         f"go tool gotestsum --junitfile {REPORT} -- ./..."),
    Case("gotestsum", {**GO, ".github/workflows/ci.yml": "run: gotestsum\n"},
         f"gotestsum --junitfile {REPORT} -- ./..."),
    Case("cargo", CARGO, "cargo test", None),
    Case("cargo-workspace", {"Cargo.toml": "[workspace]\n", "a/Cargo.toml": ""}, "cargo test --workspace", None),
    Case("nextest", {**CARGO, ".config/nextest.toml": NEXTEST}, "cargo nextest run --profile ci",
         ".flow/reports/nextest/ci/gate.xml"),
    Case("nextest-elsewhere", {**CARGO, ".config/nextest.toml": '[profile.ci.junit]\npath = "j.xml"\n'},
         "cargo nextest run", None),
    Case("nextest-named", {**CARGO, "justfile": "test:\n  cargo nextest run\n"}, "cargo nextest run", None),
    Case("nextest-broken", {**CARGO, ".config/nextest.toml": "[profile]\nci = 1\n"}, "cargo nextest run", None),
    Case("make", {"Makefile": "check: all\n\ttrue\n"}, "make check", None),
    Case("make-report", {"GNUmakefile": "test:\n\t./run.sh .flow/reports/make.xml\n"}, "make test",
         ".flow/reports/make.xml"),
    Case("ctest", {"CMakeLists.txt": "enable_testing()\n"},
         "cmake -S . -B build && cmake --build build && "
         f"ctest --test-dir build --no-tests=error --output-junit ../{REPORT}"),
    # in a folder of the repository
    Case("folder", {"api/pyproject.toml": "[tool.pytest]\n", "api/tests/test_a.py": PYTEST_TEST,
                    **environment(".venv", "pytest")},
         f"cd api && ../.venv/bin/python -m pytest --junitxml=../{REPORT}"),
    Case("own-venv", {"my api/pytest.ini": "", **environment("my api/.venv", "pytest")},
         f"cd 'my api' && .venv/bin/python -m pytest --junitxml=../{REPORT}"),
    Case("deep", {"js/a/package.json": package("", "vitest"), "js/yarn.lock": ""},
         f"cd js/a && yarn vitest run --reporter=default --reporter=junit --outputFile.junit=../../{REPORT}"),
    Case("deep-report", {"js/package.json": package("./run ../.flow/reports/js.xml")}, "cd js && npm test",
         ".flow/reports/js.xml"),
    Case("wrong-way", {"js/package.json": package("./run .flow/reports/js.xml")}, "cd js && npm test", None),
    Case("deep-ctest", {"c/CMakeLists.txt": "include(CTest)\n"},
         "cd c && cmake -S . -B build && cmake --build build && "
         f"ctest --test-dir build --no-tests=error --output-junit ../../{REPORT}"),
)  # fmt: skip


def write(root: Path, files: Files) -> Path:
    """Write a project, with an ignore file that names what tools make."""
    for name, text in {".gitignore": ".venv/\nvenv/\nnode_modules/\ntarget/\nbuild/\n.flow/\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def suggested(root: Path, start: str = "") -> tuple[Suggestion, ...]:
    return survey(root, start).suggestions
