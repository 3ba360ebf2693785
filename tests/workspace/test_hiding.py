"""What artifacts, inputs and targets of a plan would leave out of the source."""

import pytest

from flow_mcp.domain.decision import HiddenPath
from flow_mcp.workspace.facts import Globs, gather
from flow_mcp.workspace.hiding import HIDDEN_PER_GLOB_MAX
from flow_mcp.workspace.records import Records
from tests.workspace.rig import PLANS, Repo


def _hidden(
    repo: Repo,
    *,
    artifacts: tuple[str, ...] = (),
    inputs: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    protected: tuple[str, ...] = (),
) -> set[tuple[str, str, str]]:
    found = gather(repo.root, PLANS, Globs(protected, targets, inputs, artifacts)).hidden
    return {(hidden.glob, hidden.path, hidden.why) for hidden in found}


@pytest.mark.parametrize("field", ["artifacts", "inputs"])
def test_an_artifact_or_input_that_matches_a_tracked_file_is_named(repo: Repo, field: str) -> None:
    assert ("src/*.py", "src/app.py", "it is tracked") in _hidden(repo, **{field: ("build/", "src/*.py")})


@pytest.mark.parametrize("field", ["artifacts", "inputs"])
def test_an_artifact_or_input_that_matches_a_protected_file_is_named_though_it_is_new(repo: Repo, field: str) -> None:
    repo.write("tests/test_new.py")
    found = _hidden(repo, protected=("tests/",), **{field: ("tests/*_new.py",)})
    assert ("tests/*_new.py", "tests/test_new.py", "it is a protected file") in found


@pytest.mark.parametrize(
    "glob", ["conftest.py", "**/sitecustomize.py", "*.ini", "tests/*.py", ".gitignore", "flow.yaml"]
)
def test_an_artifact_that_could_hide_what_steers_the_tests_is_named_before_there_is_any(repo: Repo, glob: str) -> None:
    repo.write("tests/test_new.py")
    whys = {why for _, _, why in _hidden(repo, protected=("tests/",), artifacts=(glob,))}
    assert "a file of this name would steer the tests or Flow" in whys


def test_generated_folders_beside_the_tests_may_be_artifacts(repo: Repo) -> None:
    assert _hidden(repo, protected=("tests/",), artifacts=("out/**", "coverage.xml", "src/gen/*.js")) == set()


@pytest.mark.parametrize(
    ("glob", "why"),
    [
        (".flow", "it is private"),
        ("./.flow", "it is private"),
        (".git/hooks", "it is private"),
        ("plans", "it is private"),
        ("newsrc", "the ignore rules do not name it"),
    ],
)
def test_an_input_is_an_ignored_folder_and_none_of_flows_or_gits(repo: Repo, glob: str, why: str) -> None:
    assert why in {told for _, _, told in _hidden(repo, inputs=(glob,))}


@pytest.mark.parametrize("given", ["build", "./build", "build/./plans", "build/plans/old/"])
def test_an_input_that_meets_a_plans_folder_of_another_name_is_private(repo: Repo, given: str) -> None:
    globs = Globs((), (), (given,), ())
    whys = {hidden.why for hidden in gather(repo.root, Records("build/plans", frozenset()), globs).hidden}
    assert "it is private" in whys


def test_an_input_that_is_an_untracked_file_which_no_rule_ignores_is_source(repo: Repo) -> None:
    repo.write("settings.env")
    found = _hidden(repo, inputs=("settings.env",))
    assert found == {("settings.env", "settings.env", "it is source: the ignore rules do not name it")}
    repo.write(".gitignore", "*.env\n")
    assert _hidden(repo, inputs=("settings.env",)) == set()


def test_a_tracked_file_counts_though_it_is_ignored(repo: Repo) -> None:
    repo.write(".gitignore", "build/\n")
    repo.write("build/kept")
    repo.commit("build/kept")
    assert _hidden(repo, inputs=("build",)) == {("build", "build/kept", "it is tracked")}


def test_generated_and_ignored_folders_hide_nothing(repo: Repo) -> None:
    repo.write(".gitignore", ".venv/\nnode_modules/\n")
    repo.write(".venv/bin/python")
    repo.write("node_modules/x/index.js")
    repo.write("out/made")
    found = _hidden(
        repo,
        artifacts=("out/**", "report.xml"),
        inputs=(".venv", "node_modules"),
        targets=("src/app.py", "README", "docs/new.md"),
        protected=("tests/",),
    )
    assert found == set()


def test_a_take_back_is_heeded(repo: Repo) -> None:
    assert _hidden(repo, artifacts=("src/*", "!src/app.py", "!src/deep")) == set()


def test_an_artifact_that_could_hold_a_target_is_named(repo: Repo) -> None:
    found = _hidden(repo, artifacts=("src/generated/**", "*_gen.go", "out/**"), targets=("src/**", "new.py"))
    assert found == {
        ("src/generated/**", "src/**", "it overlaps this target"),
        ("*_gen.go", "src/**", "it overlaps this target"),
    }


def test_an_input_below_a_targets_folder_is_fine_and_a_target_inside_an_input_is_named(repo: Repo) -> None:
    repo.write(".gitignore", "node_modules/\n")
    targets = ("packages/a/**", "node_modules/x/fix.js")
    found = _hidden(repo, inputs=("packages/a/node_modules", "node_modules"), targets=targets)
    assert ("node_modules", "node_modules/x/fix.js", "this target lies in it") in found
    assert not any(glob == "packages/a/node_modules" for glob, _, _ in found)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("build/out.py", "build/out.py"),
        ("build/", "build"),
        ("build/**", "build"),
        ("src/x.log", "src/x.log"),
        ("made", "made"),
    ],
)
def test_a_target_that_the_ignore_rules_leave_out_is_named(repo: Repo, target: str, path: str) -> None:
    repo.write(".gitignore", "build/\n*.log\nmade/\n")
    (repo.root / "made").mkdir()
    assert _hidden(repo, targets=(target,)) == {(target, path, "the ignore rules leave it out of the source")}


@pytest.mark.parametrize("target", ["src/app.py", "build", "**", "*.log", "!build/x", "kept.log", "keep/new.log"])
def test_a_target_that_can_be_source_is_not_named(repo: Repo, target: str) -> None:
    repo.write(".gitignore", "build/\n*.log\n")
    repo.write("kept.log")
    repo.write("keep/.gitignore", "!new.log\n")
    repo.commit("kept.log")
    assert _hidden(repo, targets=(target,)) == set()


def test_without_git_every_file_counts_as_source(plain: Repo) -> None:
    why = "without git every file that is not ignored is source"
    assert _hidden(plain, artifacts=("src/**",)) == {("src/**", "src/app.py", why)}


def test_flows_own_folders_are_not_hidden_by_anything(repo: Repo) -> None:
    repo.write("plans/goal.json", "{}")
    repo.commit()
    assert _hidden(repo, artifacts=("plans/**",)) == set()


def test_each_glob_names_ten_paths_at_most(repo: Repo) -> None:
    for number in range(HIDDEN_PER_GLOB_MAX + 5):
        repo.write(f"many/{number}")
    repo.commit()
    assert len(_hidden(repo, artifacts=("many/**",))) == HIDDEN_PER_GLOB_MAX


def test_what_is_hidden_is_told_to_the_kernel_in_its_own_words(repo: Repo) -> None:
    found = gather(repo.root, PLANS, Globs((), (), (), ("README",))).hidden
    assert found == (HiddenPath("README", "README", "it is tracked", present=True),)


@pytest.mark.parametrize("field", ["artifacts", "inputs", "targets", "protected"])
def test_a_glob_that_is_refused_is_refused_in_every_field(repo: Repo, field: str) -> None:
    with pytest.raises(ValueError, match="leave the workspace"):
        _hidden(repo, **{field: ("../x",)})
