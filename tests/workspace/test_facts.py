"""What the kernel is told of the source."""

import os
from pathlib import Path

import pytest

from flow_mcp.workspace.facts import Gathered, Globs, gather
from flow_mcp.workspace.git import open_repository
from flow_mcp.workspace.tree import tree_of
from tests.workspace.rig import PLANS, Repo


def _gathered(repo: Repo, *, artifacts: tuple[str, ...] = (), targets: tuple[str, ...] = ("src/**",)) -> Gathered:
    return gather(repo.root, PLANS, Globs(("tests/",), targets, (), artifacts))


@pytest.fixture
def tested(repo: Repo) -> Repo:
    repo.write("tests/test_app.py", "assert 1\n")
    repo.write("tests/data.txt", "data\n")
    repo.write("tests/conftest.py", "")
    repo.commit()
    return repo


def test_a_committed_tree_is_clean_and_named_by_its_commit(tested: Repo) -> None:
    seen = _gathered(tested)
    assert seen.clean
    assert seen.commit == tested.git("rev-parse", "HEAD")
    assert seen.manifest == tested.manifest()
    assert seen.protected_dirty == seen.protected_unmerged == seen.targets_dirty == ()


def test_protected_files_and_test_configuration_stand_with_their_digests(tested: Repo) -> None:
    (tested.root / "tests" / "link").symlink_to("data.txt")
    seen = _gathered(tested)
    entries = tested.entries()
    assert dict(seen.protected) == {
        path: entries[path].digest
        for path in ("tests/conftest.py", "tests/data.txt", "tests/link", "tests/test_app.py")
    }
    assert dict(seen.test_configuration) == {"tests/conftest.py": entries["tests/conftest.py"].digest}


def test_protected_files_that_changed_came_or_went_are_dirty(tested: Repo) -> None:
    tested.write("tests/test_app.py", "assert 0\n")
    tested.write("tests/test_new.py")
    (tested.root / "tests" / "data.txt").unlink()
    (tested.root / "tests" / "conftest.py").chmod(0o755)
    seen = _gathered(tested)
    assert seen.protected_dirty == ("tests/conftest.py", "tests/data.txt", "tests/test_app.py", "tests/test_new.py")
    assert not seen.clean
    assert "tests/data.txt" not in seen.protected


def test_a_deletion_that_is_only_staged_is_dirty_against_head(tested: Repo) -> None:
    tested.git("rm", "-q", "tests/data.txt")
    assert _gathered(tested).protected_dirty == ("tests/data.txt",)


def test_a_change_that_git_is_told_to_overlook_is_dirty(tested: Repo) -> None:
    tested.git("update-index", "--assume-unchanged", "tests/test_app.py")
    tested.write("tests/test_app.py", "assert 2\n")
    assert _gathered(tested).protected_dirty == ("tests/test_app.py",)


def test_targets_that_differ_from_head_are_named(tested: Repo) -> None:
    tested.write("src/app.py", "print(2)\n")
    tested.write("src/new.py")
    tested.write("aside.py")
    assert _gathered(tested).targets_dirty == ("src/app.py", "src/new.py")


def test_protected_files_changed_on_a_branch_are_unmerged_though_they_are_committed(tested: Repo) -> None:
    tested.git("checkout", "-q", "-b", "feature")
    tested.write("tests/test_app.py", "assert 0\n")
    tested.write("tests/test_new.py")
    tested.git("rm", "-q", "tests/data.txt")
    tested.commit()
    seen = _gathered(tested)
    assert seen.protected_dirty == ()
    assert seen.protected_unmerged == ("tests/data.txt", "tests/test_app.py", "tests/test_new.py")


def test_without_a_default_branch_nothing_is_unmerged(tested: Repo) -> None:
    tested.git("branch", "-m", "main", "trunk")
    assert _gathered(tested).protected_unmerged == ()


def test_before_the_first_commit_and_without_git_all_files_differ(tmp_path: Path, plain: Repo) -> None:
    unborn = Repo(tmp_path / "unborn").started()
    for repo in (unborn, plain):
        repo.write("tests/test_app.py")
        seen = _gathered(repo)
        assert (seen.commit, seen.clean) == (None, False)
        assert seen.protected_dirty == ("tests/test_app.py",)


def test_flows_own_folders_and_artifacts_do_not_make_a_tree_unclean(tested: Repo) -> None:
    tested.write("out/made")
    tested.write("plans/goal.json", "{}")
    tested.commit()
    tested.write("out/made", "made anew\n")
    tested.write("plans/goal.json", "[]")
    tested.write(".flow/lock")
    assert _gathered(tested, artifacts=("out/**",)).clean
    assert not _gathered(tested).clean


def test_executables_links_pipes_and_kinds_are_compared(tested: Repo) -> None:
    tested.write("src/run").chmod(0o755)
    (tested.root / "src" / "link").symlink_to("run")
    tested.commit()
    assert _gathered(tested).clean
    (tested.root / "src" / "link").unlink()
    tested.write("src/link", "run")
    assert _gathered(tested).targets_dirty == ("src/link",)
    (tested.root / "src" / "link").unlink()

    os.mkfifo(tested.root / "src" / "link")
    assert _gathered(tested).targets_dirty == ("src/link",)


def test_a_repository_with_sha256_objects_is_compared_too(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new").started("--object-format=sha256")
    repo.write("src/app.py")
    repo.commit()
    assert _gathered(repo).clean
    repo.write("src/app.py", "other\n")
    assert _gathered(repo).targets_dirty == ("src/app.py",)


def test_a_submodule_is_clean_at_the_commit_that_is_meant_and_not_elsewhere(tested: Repo, tmp_path: Path) -> None:
    library = Repo(tmp_path / "library").started()
    library.write("lib.py", "lib = 1\n")
    library.commit()
    tested.git("submodule", "--quiet", "add", str(library.root), "src/library")
    tested.commit()
    assert _gathered(tested).clean
    inner = Repo(tested.root / "src" / "library")
    inner.write("lib.py", "lib = 2\n")
    assert _gathered(tested).targets_dirty == ("src/library/lib.py",)
    inner.commit()
    assert _gathered(tested).targets_dirty == ("src/library/lib.py",)
    tested.commit()
    assert _gathered(tested).clean
    tested.git("clone", "-q", str(tested.root), str(tmp_path / "clone"))
    assert _gathered(Repo(tmp_path / "clone")).clean


def test_a_submodule_behind_a_link_is_not_read(tested: Repo, tmp_path: Path) -> None:
    inner = Repo(tested.root / "vendor" / "nested").started()
    inner.write("inner.py")
    inner.commit()
    commit = tested.commit()
    repository = open_repository(tested.root)
    assert repository is not None
    assert "vendor/nested/inner.py" in (tree_of(repository, commit) or {})
    (tested.root / "vendor").rename(tmp_path / "moved")
    (tested.root / "vendor").symlink_to(tmp_path / "moved")
    found = tree_of(repository, commit) or {}
    assert not found["vendor/nested"].boundary
    assert "vendor/nested/inner.py" not in found


def test_an_empty_tree_without_a_commit_is_not_clean(tmp_path: Path) -> None:
    assert not _gathered(Repo(tmp_path / "empty")).clean
    assert not _gathered(Repo(tmp_path / "unborn").started()).clean


def test_an_untracked_nested_repository_makes_a_tree_unclean(tested: Repo) -> None:
    Repo(tested.root / "src" / "nested").started()
    assert _gathered(tested).targets_dirty == ("src/nested",)


def test_ignored_files_and_folders_beside_source_are_named(tested: Repo, plain: Repo) -> None:
    for repo in (tested, plain):
        repo.write(".gitignore", "*.log\n.venv/\nconftest.py\nplans/\n")
        for path in (
            "x.log",
            "src/y.log",
            ".venv/bin/python",
            "src/conftest.py",
            "cache/.gitignore",
            "plans/goal.json",
        ):
            repo.write(path, "*\n")
        repo.write(".flow/lock")
        repo.write(".flow/.gitignore", "*\n")
        (repo.root / "hollow").mkdir()
        seen = _gathered(repo)
        present = set(seen.ignored_present)
        assert {"x.log", "src/y.log", ".venv/"} <= present
        assert present - {"x.log", "src/y.log", ".venv/"} <= {"cache/", "plans/", "cache/.gitignore"}
        assert seen.ignored_count == len(present)
        assert "src/conftest.py" in {entry.path for entry in seen.manifest.entries}


def test_twenty_ignored_names_are_given_and_the_rest_is_counted(tested: Repo) -> None:
    tested.write(".gitignore", "*.log\n")
    for number in range(25):
        tested.write(f"n{number:02}.log")
    seen = _gathered(tested)
    assert seen.ignored_present == tuple(f"n{number:02}.log" for number in range(20))
    assert seen.ignored_count == 25


def test_ignored_names_of_nested_repositories_stand_under_their_folder(tested: Repo) -> None:
    nested = Repo(tested.root / "nested").started()
    nested.write(".gitignore", "*.log\n")
    nested.write("two\nlines.log")
    assert _gathered(tested).ignored_present == ("nested/two\\x0alines.log",)
