"""Gates of JavaScript projects: vitest, jest, mocha, node's own runner, else the script that npm calls a test."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from flow_mcp.domain.shell import selectors, swallowing_faults
from flow_mcp.workspace.ecosystems.suggestion import Suggestion, own_report, reporting, reportless, with_own_report
from flow_mcp.workspace.ecosystems.tree import Tree, at, joined

_DEPENDENCY_TABLES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_MANAGERS = (
    ("pnpm-lock.yaml", "pnpm exec ", "pnpm test"),
    ("yarn.lock", "yarn ", "yarn test"),
    ("bun.lock", "bunx ", "bun run test"),
    ("bun.lockb", "bunx ", "bun run test"),
    ("package-lock.json", "npx ", "npm test"),
)
_TEST_NAMES = ("*.test.js", "*.test.mjs", "*.test.cjs", "test-*.js", "test-*.mjs", "*_test.js", "*-test.js")
_UNSET = "no test specified"
_CALL = re.compile(r"\s*(?P<runner>vitest|jest|mocha|node)(?P<rest>(?:\s[^\n]*)?)")
_COMPOUND = re.compile(r"[&|;<>()$`{}]|\.flow")
_NODE_REPORT = (
    "--test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination={report}"
)
_NODE_AGE = "Node's junit reporter came with Node 21 and late releases of 20 and 18."
_SHOWN_CHARACTERS_MAX = 80


@dataclass(frozen=True, slots=True)
class _Package:
    """What a ``package.json`` says of its tests.

    Attributes:
        folder: where it lies.
        names: its dependencies of every kind, and "jest" where it configures that.
        script: the test script, or nothing.
        files: the names beside it.
        start: what a tool is started with.
        test: how the test script is started.
    """

    folder: str
    names: frozenset[str]
    script: str
    files: frozenset[str]
    start: str
    test: str

    @property
    def runner(self) -> str:
        """The known runner that the script calls first, or nothing."""
        called = _CALL.fullmatch(self.script)
        return "" if called is None else called["runner"]

    @property
    def shown(self) -> str:
        """What the script is, for a person."""
        return f"the test script is {self.script[:_SHOWN_CHARACTERS_MAX]!r}"

    def uses(self, runner: str) -> bool:
        """Say whether the project depends on a runner, configures it, or calls it."""
        configured = any(fnmatchcase(name, f"{runner}.config.*") for name in self.files)
        return runner in self.names or configured or self.runner == runner

    def call(self, runner: str) -> str:
        """Give the script's own call of a runner, with its options, where a gate may be so; else a bare call."""
        called = _CALL.fullmatch(self.script)
        if called is None or called["runner"] != runner or _COMPOUND.search(self.script):
            return runner
        line = f"{runner}{called['rest']}".rstrip()
        return runner if selectors(line) or swallowing_faults(line) else line


def suggest_javascript(tree: Tree, folder: str) -> Iterator[Suggestion]:
    """Propose what runs the JavaScript tests of a folder that has a ``package.json``."""
    table = tree.table(joined(folder, "package.json"))
    if not table:
        return
    package = _package(tree, folder, table)
    found = tuple(_runners(tree, package))[:1]
    yield from found
    if package.script and not (found and package.runner == found[0].kind):
        yield _script(package)


def _package(tree: Tree, folder: str, table: Mapping[str, object]) -> _Package:
    names = {name for kind in _DEPENDENCY_TABLES for name in _names(at(table, kind))}
    script = at(table, "scripts", "test")
    start, test = _manager(tree, folder)
    return _Package(
        folder=folder,
        names=frozenset(names | ({"jest"} if "jest" in table else set())),
        script=" ".join(script.split()) if isinstance(script, str) and _UNSET not in script else "",
        files=tree.files.get(folder, frozenset()),
        start=start,
        test=test,
    )


def _names(table: object) -> tuple[str, ...]:
    return tuple(str(name) for name in table) if isinstance(table, Mapping) else ()


def _manager(tree: Tree, folder: str) -> tuple[str, str]:
    """Say how a tool and how the test script are started, by the nearest lock file."""
    parts = folder.split("/") if folder else []
    for depth in range(len(parts), -1, -1):
        for lock, start, test in _MANAGERS:
            if tree.has("/".join(parts[:depth]), lock):
                return start, test
    return "npx ", "npm test"


def _runners(tree: Tree, package: _Package) -> Iterator[Suggestion]:
    if package.uses("vitest"):
        call = re.sub(r"^vitest(?! run\b)(?: (?:watch|dev)\b)?", "vitest run", package.call("vitest"))
        run = f"{package.start}{call} --reporter=default --reporter=junit --outputFile.junit={{report}}"
        yield reporting("vitest", package.folder, run, "vitest is used")
    if package.uses("jest"):
        yield _jest(package)
    if "mocha-junit-reporter" in package.names:
        run = f"MOCHA_FILE={{report}} {package.start}{package.call('mocha')} --reporter mocha-junit-reporter"
        yield reporting("mocha", package.folder, run, "mocha-junit-reporter is a dependency")
    yield from _node(tree, package)


def _jest(package: _Package) -> Suggestion:
    call = re.sub(r" --watch(?:All)?(?!\S)", "", package.call("jest"))
    if "jest-junit" in package.names:
        run = f"JEST_JUNIT_OUTPUT_FILE={{report}} {package.start}{call} --reporters=default --reporters=jest-junit"
        return reporting("jest", package.folder, run, "jest and jest-junit are used")
    because = "Jest writes a JUnit report only with jest-junit, which is not among the dependencies."
    return reportless("jest", package.folder, package.start + call, because, "jest is used")


def _node(tree: Tree, package: _Package) -> Iterator[Suggestion]:
    if package.runner == "node" and re.search(r"\s--test(?!\S)", package.script):
        rest = package.call("node").removeprefix("node") or " --test"
        yield reporting("node", package.folder, f"node {_NODE_REPORT}{rest}", package.shown, _NODE_AGE)
        return
    test = next((path for path in tree.paths(package.folder) if _is_test(path)), None)
    if test is not None and not package.script:
        seen = f"{test}, and no other runner"
        yield reporting("node", package.folder, f"node {_NODE_REPORT} --test", seen, _NODE_AGE)


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    in_folder = path.startswith("test/") and name.endswith((".js", ".mjs", ".cjs"))
    return in_folder or any(fnmatchcase(name, pattern) for pattern in _TEST_NAMES)


def _script(package: _Package) -> Suggestion:
    """Propose the test script as it is; it has a report where it names one that Flow reads."""
    report = own_report(package.folder, package.script)
    if report is not None:
        return with_own_report("npm", package.folder, package.test, report, package.shown)
    because = "The test script names no JUnit report below .flow/reports/."
    note = "Let the script's runner write one there: most runners have a junit reporter."
    return reportless("npm", package.folder, package.test, because, package.shown, note)
