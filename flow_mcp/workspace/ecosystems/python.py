"""Gates of Python projects: pytest, unittest with and without a report writer, Django's own runner."""

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase

from flow_mcp.workspace.ecosystems.suggestion import Suggestion, reporting, reportless, up
from flow_mcp.workspace.ecosystems.tree import Tree, joined

PROJECT_FILES = (
    *("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("tox.ini", "requirements.txt", "Pipfile", "manage.py"),
)
TEST_FILES_READ_MAX = 8

_CONFIGURED = (
    ("pyproject.toml", re.compile(r"(?m)^\s*\[tool\.pytest(?:\.ini_options)?\]")),
    ("tox.ini", re.compile(r"(?m)^\[pytest\]")),
    ("setup.cfg", re.compile(r"(?m)^\[tool:pytest\]")),
)
_NAMING = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "Pipfile", "noxfile.py", "environment.yml")
_PYTEST = re.compile(r"(?im)(?:^|[\s\"'\[,=])pytest(?:-[\w-]+)?(?=$|[\s\"'\]<>=!~;,\[])")
_XMLRUNNER = re.compile(r"(?im)(?:^|[\s\"'\[,=])(?:unittest-xml-reporting|xmlrunner)(?=$|[\s\"'\]<>=!~;,\[])")
_LOCKS = (
    ("uv.lock", "uv run python"),
    ("poetry.lock", "poetry run python"),
    ("pdm.lock", "pdm run python"),
    ("Pipfile", "pipenv run python"),
)
_NO_WRITER = (
    "Plain unittest writes no JUnit report; unittest-xml-reporting among the dependencies, or pytest, would write one."
)


def suggest_python(tree: Tree, folder: str) -> Iterator[Suggestion]:
    """Propose what runs the Python tests of a folder, where it has any."""
    own = _own_paths(tree, folder)
    tests = [path for path in own if _is_test(path)]
    if not tests and not _configured(tree, folder):
        return
    sign = _pytest_sign(tree, folder, own, tests)
    if sign is not None:
        yield _pytest(tree, folder, sign, tests)
    elif tree.has(folder, "manage.py"):
        because = "Django's own test runner writes no JUnit report; pytest-django would write one."
        python, notes = _python(tree, folder, "django")
        yield reportless("django", folder, f"{python} manage.py test", because, "manage.py", *notes)
    else:
        yield from _unittest(tree, folder, tests)


def _own_paths(tree: Tree, folder: str) -> list[str]:
    """Give the files below a folder that belong to no project further down."""
    inner = [place for place in tree.projects(PROJECT_FILES) if place != folder]
    below = tuple(f"{place.removeprefix(folder).removeprefix('/')}/" for place in inner if tree.holds(folder, place))
    return [path for path in tree.paths(folder) if not path.startswith(below)]


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return fnmatchcase(name, "test_*.py") or fnmatchcase(name, "*_test.py")


def _configured(tree: Tree, folder: str) -> str | None:
    """Give the file that configures pytest here."""
    own = tree.has(folder, "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py")
    if own is not None:
        return own
    found = (name for name, mark in _CONFIGURED if mark.search(tree.text(joined(folder, name))))
    return next(found, None)


def _pytest_sign(tree: Tree, folder: str, paths: list[str], tests: list[str]) -> str | None:
    """Say what shows that the tests are pytest's; None where they are not."""
    conftest = (path for path in paths if path.rpartition("/")[2] == "conftest.py")
    configured = _configured(tree, folder) or next(conftest, None)
    if configured is not None:
        return configured
    named = next((path for path in _requirements(tree, folder) if _PYTEST.search(tree.text(path))), None)
    if named is not None:
        return f"{named} names it"
    texts = [(path, tree.text(joined(folder, path))) for path in tests[:TEST_FILES_READ_MAX]]
    using = next((path for path, text in texts if re.search(r"\bpytest\b", text)), None)
    if using is None and any("unittest" in text for _, text in texts):
        return None
    return f"{using} uses it" if using is not None else f"{tests[0]} is no unittest module"


def _requirements(tree: Tree, folder: str) -> Iterator[str]:
    """Give the files that may name what the project depends on, those at the top too."""
    for place in dict.fromkeys((folder, "")):
        names = sorted(tree.files.get(place, frozenset()))
        yield from (joined(place, name) for name in names if name in _NAMING or _is_requirements(name))
        inner = joined(place, "requirements")
        yield from (joined(inner, name) for name in sorted(tree.files.get(inner, ())) if name.endswith(".txt"))


def _is_requirements(name: str) -> bool:
    return "requirements" in name and name.endswith((".txt", ".in"))


def _pytest(tree: Tree, folder: str, sign: str, tests: list[str]) -> Suggestion:
    python, notes = _python(tree, folder, "pytest")
    empty = () if tests else ("No test file is there yet: pytest ends with an error until there is one.",)
    return reporting("pytest", folder, f"{python} -m pytest --junitxml={{report}}", sign, *notes, *empty)


def _unittest(tree: Tree, folder: str, tests: list[str]) -> Iterator[Suggestion]:
    found = [path for path in tests if fnmatchcase(path.rpartition("/")[2], "test*.py")]
    if not found:
        return
    start, seen = _discovery(tree, folder, found), f"{found[0]} is a unittest module"
    if any(_XMLRUNNER.search(tree.text(path)) for path in _requirements(tree, folder)):
        python, notes = _python(tree, folder, "xmlrunner")
        # Without a suffix of its own the runner puts the time into each case's name.
        run = f"{python} -m xmlrunner {start} --outsuffix tests --output-file {{report}}"
        yield reporting("unittest", folder, run, seen, *notes)
        return
    python, notes = _python(tree, folder, "unittest")
    yield reportless("unittest", folder, f"{python} -m unittest {start}", _NO_WRITER, seen, *notes)


def _discovery(tree: Tree, folder: str, tests: list[str]) -> str:
    """Say where discovery starts: in the one folder that holds all tests, else at the top."""
    tops = {path.partition("/")[0] if "/" in path else "" for path in tests}
    top = tops.pop()
    if tops or not top:
        return "discover"
    packaged = tree.has(joined(folder, top), "__init__.py")
    return f"discover -s {shlex.quote(top)}" + (" -t ." if packaged else "")


def _python(tree: Tree, folder: str, module: str) -> tuple[str, tuple[str, ...]]:
    """Give the project's own interpreter, and what to know of it."""
    bare: str | None = None
    for place in dict.fromkeys((folder, "")):
        for name in (".venv", "venv"):
            environment = joined(place, name)
            if "pyvenv.cfg" not in tree.names(environment):
                continue
            if _has_module(tree, environment, module):
                way = up(folder) if place != folder else ""
                return f"{way}{name}/bin/python", ()
            bare = bare or environment
    lock = next((start for name, start in _LOCKS if tree.has(folder, name) or tree.has("", name)), None)
    missing = () if bare is None else (f"{bare} holds no {module}: install it there.",)
    if lock is not None:
        return lock, missing
    none = f"No virtual environment with {module} was seen: this takes the python3 that is on PATH."
    return "python3", missing or (() if module == "unittest" else (none,))


def _has_module(tree: Tree, environment: str, module: str) -> bool:
    if module == "unittest":
        return True
    libraries = (name for name in tree.names(f"{environment}/lib") if name.startswith("python3"))
    return any(module in tree.names(f"{environment}/lib/{name}/site-packages") for name in libraries)
