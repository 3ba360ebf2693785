"""House rules that a wrong line breaks with a sentence."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "flow_mcp"
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# A room may import those in later rows and itself; rooms of one row do not know each other.
ORDER: tuple[frozenset[str], ...] = (
    frozenset({"__main__"}),
    frozenset({"cli"}),
    frozenset({"guarantees"}),
    frozenset({"promises"}),
    frozenset({"server", "demo"}),
    frozenset({"engine"}),
    frozenset({"settings"}),
    frozenset({"store", "workspace", "evidence", "runner", "audit"}),
    frozenset({"domain"}),
    frozenset({"__init__"}),
)
KNOWN = {("settings", "workspace")}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def is_room(name: str) -> bool:
    return any(name in rooms for rooms in ORDER)


def rank(name: str) -> int:
    return next(row for row, rooms in enumerate(ORDER) if name in rooms)


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_what_lies_below_it(path: Path) -> None:
    here = room(path)
    for name in imported(ast.parse(path.read_text())):
        parts = name.split(".")
        if len(parts) == 1 or parts[0] != "flow_mcp" or not is_room(parts[1]):
            continue
        there = parts[1]
        allowed = there == here or rank(here) < rank(there) or (here, there) in KNOWN
        assert allowed, f"{path.relative_to(ROOT)} may not import {name}: {here} lies below or beside {there}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "domain").rglob("*.py")), ids=lambda path: path.name)
def test_the_kernel_imports_nothing_but_the_standard_library_and_pydantic(path: Path) -> None:
    for name in imported(ast.parse(path.read_text())):
        top = name.split(".")[0]
        forbidden = {
            "asyncio",
            "logging",
            "os",
            "pathlib",
            "time",
            "datetime",
            "random",
            "secrets",
            "socket",
            "subprocess",
        }
        assert top not in forbidden, f"the kernel has no {top}: facts are arguments"
        parser = top in {"tree_sitter", "tree_sitter_bash"}
        outside = {"mcp", "yaml", "rich", "typer", "pathspec", "junitparser", "platformdirs"}
        assert top not in outside, f"the kernel does not know {top}"
        assert not parser or path.parts[-2:] == ("shell", "grammar.py")


@pytest.mark.parametrize("path", sorted((PACKAGE / "domain").rglob("*.py")), ids=lambda path: path.name)
def test_functions_of_the_kernel_have_no_default_arguments(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
            assert not defaults, f"{path.name}:{node.lineno} {node.name} has a default argument"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_and_no_function_outgrows_its_room(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MODULE_LINES_MAX, f"{path.relative_to(ROOT)} has over {MODULE_LINES_MAX} lines: split it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= FUNCTION_LINES_MAX, f"{path.name}:{node.lineno} {node.name} has {lines} lines"


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_nothing_is_left_for_later_in_the_code() -> None:
    words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")
    for path in tracked():
        if path.suffix in {".py", ".sh", ".md", ".mjs"}:
            found = words.search(path.read_text())
            assert found is None, f"{path.relative_to(ROOT)} says {found}"


def test_the_tree_names_no_machine_and_no_registry() -> None:
    machine = re.compile(r"(^|[^A-Za-z0-9_.])/(work|farm|ro" + r"ot)/|/tm" + r"p/(claude|hosts)")
    registry = re.compile(r"py" + r"pi\.org|files\.pythonhosted|registry\.npmjs|registry\.yarnpkg|deb\.debian\.org")
    for path in tracked():
        if path.stat().st_size > 4_000_000 or "evidence/cases" in path.as_posix():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        for pattern in (machine, registry):
            found = pattern.search(text)
            assert found is None, f"{path.relative_to(ROOT)} names {found}"


def test_every_noqa_and_ignored_type_has_its_reason_or_its_code() -> None:
    for path in modules():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if "# noqa" in line:
                assert re.search(r"# noqa: [A-Z0-9, ]+ - \S", line), f"{path.name}:{number} gives no reason"


HEADINGS = ["Status", "Context", "Options", "Decision", "Consequences"]


@pytest.mark.parametrize("path", sorted((ROOT / "adr").glob("*.md")), ids=lambda path: path.name)
def test_a_decision_record_has_its_parts(path: Path) -> None:
    text = path.read_text()
    number = int(path.name[:4])
    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name)
    assert text.startswith(f"# {number}. ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    status = re.search(r"## Status\n\n(.+)\n", text)
    assert status is not None
    assert re.fullmatch(r"Accepted|Proposed|Superseded by \d+", status[1])


def test_decision_records_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_changelog_has_the_version_on_top() -> None:
    from flow_mcp import __version__  # noqa: PLC0415 - the version under test

    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None
    assert first[1] == __version__
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_the_readme_names_only_make_targets_and_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in re.findall(r"`make ([a-z-]+)`", text):
        assert name in targets, f"README names make {name}"
    for name in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / name).exists(), f"README links to {name}"


@pytest.mark.parametrize("path", sorted((ROOT / "flow_mcp").rglob("*.py")), ids=lambda path: path.name)
def test_no_pattern_has_an_optional_or_counted_group_that_gives_nothing_back(path: Path) -> None:
    """Before Python 3.11.5 such a group takes what it only began to match."""
    assert re.search(r"\)(?:\?|\{[0-9,]+\})\+", path.read_text(encoding="utf-8")) is None
