"""Gates of projects in Go and Rust, and of those that make or CMake builds."""

import re
from collections.abc import Iterator, Mapping

from flow_mcp.workspace.ecosystems.suggestion import (
    REPORT,
    Suggestion,
    own_report,
    reporting,
    reportless,
    up,
    with_own_report,
)
from flow_mcp.workspace.ecosystems.tree import Tree, at, joined

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")

_NEXTEST = ".config/nextest.toml"
_NEXTEST_STORE = "target/nextest"
_TOOL_FILES = (*MAKEFILES, "justfile", "Taskfile.yml", ".gitlab-ci.yml")
_TARGET = re.compile(r"(?m)^(test|check)\s*::?(?!=)")
_TESTED = re.compile(r"(?im)^[^#\n]*\b(?:enable_testing\s*\(|include\s*\(\s*CTest\b)")
_CTEST_AGE = "ctest writes JUnit reports since CMake 3.21."


def suggest_go(tree: Tree, folder: str) -> Iterator[Suggestion]:
    """Propose what runs the tests of a Go module."""
    module = tree.text(joined(folder, "go.mod"))
    if not module or not any(path.endswith("_test.go") for path in tree.paths(folder)):
        return
    if re.search(r"(?m)^\s*(?:tool\s+)?gotest\.tools/gotestsum\s*$", module):
        yield reporting(
            "go", folder, "go tool gotestsum --junitfile {report} -- ./...", "go.mod has the tool gotestsum"
        )
    elif _mentioned(tree, folder, "gotestsum"):
        seen = "go.mod, and gotestsum in the project's own scripts"
        yield reporting("go", folder, "gotestsum --junitfile {report} -- ./...", seen)
    else:
        because = "go test writes no JUnit report; gotestsum, which this project does not name, would write one."
        yield reportless("go", folder, "go test ./...", because, "go.mod")


def suggest_cargo(tree: Tree, folder: str) -> Iterator[Suggestion]:
    """Propose what runs the tests of a Cargo workspace or package that lies in no other."""
    if tree.has(folder, "Cargo.toml") is None or _above(tree, folder, "Cargo.toml"):
        return
    whole = " --workspace" if "workspace" in tree.table(joined(folder, "Cargo.toml")) else ""
    settings = tree.table(joined(folder, _NEXTEST))
    profile, report = _nextest_report(folder, settings)
    if report is not None:
        run = f"cargo nextest run{whole} --profile {profile}"
        yield with_own_report("cargo", folder, run, report, f"the profile {profile} of {_NEXTEST}")
    elif settings or _mentioned(tree, folder, "nextest"):
        because = "nextest writes its JUnit report below target/, where Flow does not read."
        note = (
            f'In {_NEXTEST}, [store] with dir = "{up(folder)}.flow/reports/nextest" and [profile.ci.junit] with '
            'path = "gate.xml" put it where Flow reads.'
        )
        yield reportless("cargo", folder, f"cargo nextest run{whole}", because, "Cargo.toml, and nextest is used", note)
    else:
        because = "cargo test writes no JUnit report; cargo-nextest, which this project does not name, would write one."
        yield reportless("cargo", folder, f"cargo test{whole}", because, "Cargo.toml")


def _nextest_report(folder: str, settings: Mapping[str, object]) -> tuple[str, str | None]:
    """Give the profile of nextest that writes where Flow reads, and its report from the top of the workspace."""
    store, profiles = at(settings, "store", "dir") or _NEXTEST_STORE, at(settings, "profile")
    for name in profiles if isinstance(profiles, Mapping) else ():
        path = at(profiles, str(name), "junit", "path")
        if isinstance(path, str) and re.fullmatch(r"[\w-]+", str(name)):
            report = own_report(folder, f"{store}/{name}/{path}")
            if report is not None:
                return str(name), report
    return "", None


def suggest_make(tree: Tree, folder: str) -> Iterator[Suggestion]:
    """Propose the ``test`` or ``check`` target of a makefile that no other one above it may call."""
    name = tree.has(folder, *MAKEFILES)
    if name is None or _above(tree, folder, *MAKEFILES):
        return
    text = tree.text(joined(folder, name))
    targets = _TARGET.findall(text)
    if not targets:
        return
    target = "test" if "test" in targets else "check"
    report, seen = own_report(folder, text), f"the target {target} of {name}"
    if report is not None:
        yield with_own_report("make", folder, f"make {target}", report, seen)
        return
    because = f"The makefile names no JUnit report below .flow/reports/, so make {target} writes none that Flow reads."
    note = f"Let the target write one to {up(folder)}{REPORT}, and it can have a report."
    yield reportless("make", folder, f"make {target}", because, seen, note)


def suggest_ctest(tree: Tree, folder: str) -> Iterator[Suggestion]:
    """Propose build and tests of a CMake project that lies in no other."""
    own = tree.has(folder, "CMakeLists.txt")
    if own is None or _above(tree, folder, own) or not _TESTED.search(tree.text(joined(folder, own))):
        return
    # A relative report is put below the build folder, so the way leads out of it again.
    tests = "ctest --test-dir build --no-tests=error --output-junit ../{report}"
    run = f"cmake -S . -B build && cmake --build build && {tests}"
    yield reporting("ctest", folder, run, "CMakeLists.txt switches testing on", _CTEST_AGE)


def _above(tree: Tree, folder: str, *names: str) -> bool:
    """Say whether a folder above this one has a file of one of these names."""
    parts = folder.split("/") if folder else []
    return any(tree.has("/".join(parts[:depth]), *names) for depth in range(len(parts)))


def _mentioned(tree: Tree, folder: str, tool: str) -> bool:
    """Say whether the project's own scripts name a tool."""
    scripts = [joined(place, name) for place in dict.fromkeys((folder, "")) for name in _TOOL_FILES]
    workflows = [path for path in tree.paths("") if path.startswith(".github/workflows/")]
    return any(tool in tree.text(path) for path in (*scripts, *workflows))
