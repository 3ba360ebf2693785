import os
from pathlib import Path

import pytest

from flow_mcp.domain.shell import selectors, swallowing_faults
from flow_mcp.workspace.ecosystems.survey import SUGGESTIONS_MAX, survey
from tests.workspace.ecosystems.projects import (
    CASES,
    NODE_REPORT,
    PYTEST_TEST,
    TESTS,
    UNITTEST,
    Case,
    environment,
    package,
    suggested,
    write,
)
from tests.workspace.rig import Repo


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_way_to_run_tests_is_proposed_by_its_own_files(case: Case, tmp_path: Path) -> None:
    first, *others = suggested(write(tmp_path, case.files))
    assert (first.run, first.report) == (case.run, case.report)
    for one in (first, *others):
        assert (one.report is None) == bool(one.no_report_because)
        assert not selectors(one.run)
        assert not swallowing_faults(one.run)
        assert one.seen


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"src/a.py": "", "README.md": ""},
        {"package.json": package(), "src/a.js": ""},
        {"package.json": "[]"},
        {"go.mod": "module m\n", "a.go": ""},
        {"Makefile": "all:\n\ntest := 1\n"},
        {"CMakeLists.txt": "# enable_testing()\nproject(p)\n"},
        {"checks/a_test.py": UNITTEST},
        {"tests/fixtures/package.json": package("jest")},
    ],
)
def test_a_project_without_tests_gets_no_gate(files: dict[str, str], tmp_path: Path) -> None:
    assert suggested(write(tmp_path, files)) == ()


def test_a_script_that_runs_something_else_is_named_beside_the_runner(tmp_path: Path) -> None:
    write(tmp_path, {"package.json": package("npm run lint && vitest run", "vitest")})
    assert [one.kind for one in suggested(tmp_path)] == ["vitest", "npm"]
    write(tmp_path, {"package.json": package("vitest run", "vitest")})
    assert [one.kind for one in suggested(tmp_path)] == ["vitest"]


def test_a_repository_of_several_projects_names_each_folder_and_puts_the_nearest_first(tmp_path: Path) -> None:
    files = {
        "Makefile": "test:\n\ttrue\n",
        "api/pyproject.toml": "[tool.pytest]\n",
        "api/tests/test_a.py": PYTEST_TEST,
        "web/package.json": package("", "vitest"),
        "web/native/Makefile": "test:\n",
        "web/native/CMakeLists.txt": "enable_testing()\n",
    }
    write(tmp_path, files)
    assert [(one.kind, one.folder) for one in suggested(tmp_path)] == [
        ("make", ""),
        ("pytest", "api"),
        ("vitest", "web"),
        ("ctest", "web/native"),
    ]
    assert suggested(tmp_path, "web")[0].kind == "vitest"
    assert suggested(tmp_path, "web/native")[0].kind == "ctest"


def test_members_of_a_cargo_or_cmake_project_are_no_projects_of_their_own(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": "[workspace]\n",
        "a/Cargo.toml": "",
        "CMakeLists.txt": "enable_testing()\n",
        "lib/CMakeLists.txt": "enable_testing()\n",
    }
    assert {one.folder for one in suggested(write(tmp_path, files))} == {""}


def test_a_virtual_environment_without_the_runner_is_told(tmp_path: Path) -> None:
    (first,) = suggested(write(tmp_path, {**TESTS, **environment(".venv")}))
    assert first.notes == (".venv holds no pytest: install it there.",)
    (first,) = suggested(write(tmp_path, {"uv.lock": ""}))
    assert (first.run.split()[0], first.notes) == ("uv", (".venv holds no pytest: install it there.",))


def test_only_so_many_gates_are_named(tmp_path: Path) -> None:
    files = {f"p{number}/pytest.ini": "" for number in range(SUGGESTIONS_MAX + 4)}
    assert len(suggested(write(tmp_path, files))) == SUGGESTIONS_MAX


def test_ignored_dependency_folders_are_inputs_and_others_are_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path).started()
    repo.write(".gitignore", "/.venv/\nnode_modules/\nvendor/\nbuild/\ntarget/\n__pycache__/\n")
    for name in (".venv/pyvenv.cfg", "web/node_modules/a/index.js", "vendor/a.c", "target/x", "__pycache__/a.pyc"):
        repo.write(name)
    repo.write("build/CMakeCache.txt")
    repo.write("sub/.venv/pyvenv.cfg")
    repo.write("other/.venv/.gitignore", "# made by a tool\n*\n")
    repo.write(".pytest_cache/.gitignore", "*\n")
    repo.write(".mypy_cache/x")
    repo.git("add", "-f", "vendor/a.c")
    found = survey(tmp_path, "")
    assert found.inputs == (".venv", "target", "web/node_modules")
    assert found.self_ignored == ("other/.venv",)
    assert found.unignored == (".mypy_cache", "sub/.venv")
    assert [note.split(" is ")[0] for note in found.notes] == ["build", "vendor"]


def test_a_source_folder_with_the_name_of_a_build_is_source(tmp_path: Path) -> None:
    write(tmp_path, {"deps/test_a.py": PYTEST_TEST, "venv/a.py": "", ".gitignore": ""})
    found = survey(tmp_path, "")
    assert (found.unignored, [one.kind for one in found.suggestions]) == ((), ["pytest"])
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "CACHEDIR.TAG").touch()
    assert survey(tmp_path, "").unignored == ("target",)


def test_without_git_ignored_folders_are_inputs_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, environment(".venv", "pytest"))
    assert survey(tmp_path, "").inputs == (".venv",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", "{" * 100_000),
        ("package.json", '{"a": ' * 100_000),
        ("package.json", '{"scripts": ' + "9" * 10_000 + "}"),
        ("package.json", "{'scripts'}"),
        (".config/nextest.toml", "[[["),
        (".config/nextest.toml", "a = " + "[" * 100_000),
    ],
)
def test_a_file_that_is_no_json_or_toml_is_told_and_nothing_is_taken_from_it(
    name: str, text: str, tmp_path: Path
) -> None:
    write(tmp_path, {"Cargo.toml": "", name: text})
    found = survey(tmp_path, "")
    assert [one.run for one in found.suggestions] == ["cargo test"]
    assert found.notes == (
        f"{name} is not well-formed, so nothing was taken from it: mend it, or name the gate yourself.",
    )


def test_a_package_of_50_mb_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "package.json").open("wb") as file:
        file.truncate(50_000_000)
    found = survey(tmp_path, "")
    assert found.suggestions == ()
    assert found.notes[0].startswith("package.json is larger than 1048576 bytes")


def test_no_link_and_no_pipe_is_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"package.json": package("", "vitest"), **environment(".venv", "pytest")})
    root = write(tmp_path / "root", {"test_a.py": PYTEST_TEST})
    (root / "package.json").symlink_to(outside / "package.json")
    (root / ".venv").symlink_to(outside / ".venv")
    (root / "inner").symlink_to(outside)
    os.mkfifo(root / "Makefile")
    (first,) = suggested(root)
    assert first.run.startswith("python3 ")
    assert survey(root, "").inputs == ()


def test_hostile_values_of_a_package_are_taken_for_nothing(tmp_path: Path) -> None:
    values: tuple[object, ...] = (None, 1, [], ["vitest"], {"test": ["vitest"]}, "vitest")
    for value in values:
        write(tmp_path, {"package.json": package(scripts=value, dependencies=value)})
        assert suggested(tmp_path) == ()


@pytest.mark.parametrize("name", ["-rf", "a\nb", "\udcff", "\u202egpj", "a\\b"])
def test_a_folder_whose_name_nobody_can_read_is_passed_over(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "pytest.ini").touch()
    assert suggested(tmp_path) == ()


def test_a_folder_with_a_quote_stays_one_word(tmp_path: Path) -> None:
    (one,) = suggested(write(tmp_path, {"it's; $(rm)/pytest.ini": ""}))
    assert one.run.startswith("""cd 'it'"'"'s; $(rm)' && python3""")
    (other,) = suggested(write(tmp_path / "b", {"a b/package.json": package("x")}))
    assert other.run == "cd 'a b' && npm test"


def test_a_script_that_would_leave_its_bounds_is_not_taken_over(tmp_path: Path) -> None:
    for script in ("node --test > .flow/x", "node --test ; true", "node --test $(evil)", "node --test & sleep"):
        write(tmp_path, {"package.json": package(script)})
        assert suggested(tmp_path)[0].run == f"node {NODE_REPORT} --test"


def test_nested_repositories_and_what_is_ignored_stay_closed(tmp_path: Path) -> None:
    write(tmp_path, {"inner/.git/HEAD": "", "inner/pytest.ini": "", "secret/pytest.ini": "", ".gitignore": "secret/\n"})
    assert suggested(tmp_path) == ()
