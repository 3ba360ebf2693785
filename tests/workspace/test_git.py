"""Git's answers: where the history stands, and what happens when git is gone, slow, loud or planted."""

import io
import os
import shutil
from pathlib import Path

import pytest

from flow_mcp.workspace import git as git_module
from flow_mcp.workspace.git import Blobs, GitFacts, GitTrouble, Repository, find_git, git_facts, open_repository
from flow_mcp.workspace.git_names import ASKED_AHEAD_MAX
from flow_mcp.workspace.source import Memory, take_manifest
from tests.workspace.rig import PLANS, Repo


def _facts(repo: Repo) -> GitFacts:
    return git_facts(open_repository(repo.root))


def _cloned(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    return Repo(tmp_path / "clone")


def test_head_is_the_full_commit_id(repo: Repo) -> None:
    assert _facts(repo).head == repo.git("rev-parse", "HEAD")


def test_there_is_no_head_without_git_without_a_repository_and_before_the_first_commit(
    repo: Repo, plain: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = GitFacts(None, None)
    assert _facts(plain) == nothing
    assert _facts(Repo(tmp_path / "unborn").started()) == nothing
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _facts(repo) == nothing


def test_the_merge_base_on_the_default_branch_itself_is_head(repo: Repo) -> None:
    facts = _facts(repo)
    assert facts.merge_base == facts.head


def test_the_merge_base_of_a_branch_is_where_it_left_main(repo: Repo) -> None:
    left = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "-q", "-b", "feature")
    repo.commit()
    assert _facts(repo).merge_base == left


def test_a_branch_named_master_is_a_default_branch_too(repo: Repo) -> None:
    left = repo.git("rev-parse", "HEAD")
    repo.git("branch", "-m", "main", "master")
    repo.git("checkout", "-q", "-b", "feature")
    repo.commit()
    assert _facts(repo).merge_base == left


def test_the_remotes_default_branch_stands_before_a_local_one(repo: Repo, tmp_path: Path) -> None:
    clone = _cloned(repo, tmp_path)
    left = clone.git("rev-parse", "origin/main")
    clone.commit()
    assert _facts(clone).merge_base == left


def test_an_upstream_that_the_branch_is_to_be_merged_into_stands_first(repo: Repo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "-b", "develop")
    repo.commit()
    repo.git("checkout", "-q", "main")
    clone = _cloned(repo, tmp_path)
    clone.git("checkout", "-q", "-b", "feature", "--track", "origin/develop")
    clone.commit()
    assert _facts(clone).merge_base == clone.git("rev-parse", "origin/develop")


def test_an_upstream_of_the_branchs_own_name_is_only_where_it_is_pushed(repo: Repo, tmp_path: Path) -> None:
    clone = _cloned(repo, tmp_path)
    clone.git("checkout", "-q", "-b", "feature")
    clone.commit()
    clone.git("push", "-q", "-u", "origin", "feature")
    assert _facts(clone).merge_base == clone.git("rev-parse", "origin/main")


def test_there_is_no_merge_base_where_no_default_branch_is_known(repo: Repo) -> None:
    repo.git("branch", "-m", "main", "trunk")
    assert _facts(repo) == GitFacts(repo.git("rev-parse", "HEAD"), None)


def test_a_branch_without_a_common_commit_is_passed_over(repo: Repo, tmp_path: Path) -> None:
    clone = _cloned(repo, tmp_path)
    unrelated = clone.git("commit-tree", "-m", "unrelated", "HEAD^{tree}")
    clone.git("update-ref", "refs/remotes/origin/HEAD", unrelated)
    clone.git("update-ref", "refs/remotes/origin/main", unrelated)
    clone.commit()
    assert _facts(clone).merge_base == clone.git("rev-parse", "main")


def test_a_detached_head_has_a_merge_base_too(repo: Repo) -> None:
    left = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "-q", "--detach")
    repo.commit()
    assert _facts(repo).merge_base == left


def test_grafts_replacements_and_planted_commit_graphs_do_not_change_the_history(repo: Repo) -> None:
    left = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "-q", "-b", "feature")
    head = repo.commit()
    other = repo.git("commit-tree", "-m", "unrelated", "HEAD^{tree}")
    repo.git("replace", head, other)
    repo.write(".git/info/grafts", f"{head} {other}\n")
    assert _facts(repo) == GitFacts(head, left)


def test_variables_that_steer_git_do_not_reach_it(repo: Repo, plain: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    head = repo.git("rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(plain.root))
    monkeypatch.setenv("GIT_WORK_TREE", str(plain.root))
    monkeypatch.setenv("GIT_INDEX_FILE", str(plain.root / "index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")
    assert _facts(repo).head == head
    assert "src/app.py" in repo.paths()


def test_a_bare_repository_planted_around_a_broken_one_is_not_taken_for_it(repo: Repo, tmp_path: Path) -> None:
    planted = Repo(tmp_path / "planted").started("--bare")
    (repo.root / ".git" / "HEAD").unlink()
    shutil.copytree(planted.root, repo.root, dirs_exist_ok=True)
    assert _facts(repo) == GitFacts(None, None)
    with pytest.raises(GitTrouble, match="not a git repository"):
        repo.digest()


def test_an_empty_home_is_enough(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("config", "core.excludesFile", "~/ignore")
    monkeypatch.setenv("HOME", "")
    assert _facts(repo).head == repo.git("rev-parse", "HEAD")
    monkeypatch.delenv("HOME")
    assert "src/app.py" in repo.paths()


def test_a_git_planted_in_the_workspace_or_a_relative_folder_is_not_run(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("bin/git", f"#!/bin/sh\ntouch {tmp_path}/executed\n").chmod(0o755)
    nested = Repo(repo.root / "nested").started()
    nested.write("bin/git", f"#!/bin/sh\ntouch {tmp_path}/executed\n").chmod(0o755)
    (tmp_path / "aside").symlink_to(repo.root / "bin")
    monkeypatch.chdir(repo.root)
    real = os.environ["PATH"]
    planted = [repo.root / "bin", nested.root / "bin", tmp_path / "aside", "bin", ".", ""]
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, planted), real]))
    repo.digest()
    assert not (tmp_path / "executed").exists()
    assert find_git(repo.root) == shutil.which("git", path=real)
    monkeypatch.setenv("PATH", str(repo.root / "bin"))
    assert find_git(repo.root) is None
    (tmp_path / "elsewhere").mkdir()
    (repo.root / "bin" / "git").rename(tmp_path / "elsewhere" / "git")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(["elsewhere", "."]))
    assert find_git(repo.root) is None


def test_a_git_that_waits_for_a_pipe_is_ended(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "CALL_TIMEOUT_S", 1)
    os.mkfifo(repo.root / ".gitignore")
    with pytest.raises(GitTrouble, match=r"ls-files takes more than 1 s.*pipe"):
        repo.digest()


def test_a_git_that_floods_is_ended(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "OUTPUT_BYTES_MAX", 20)
    with pytest.raises(GitTrouble, match="ls-files writes more than 20 bytes"):
        repo.digest()
    with pytest.raises(GitTrouble, match="rev-parse writes more than 20 bytes"):
        _facts(repo)


def test_a_git_that_floods_a_file_is_ended_by_the_system_where_it_can(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        repo.write(f"{number:0200}")
    monkeypatch.setattr(git_module, "OUTPUT_BYTES_MAX", 10_000)
    with pytest.raises(GitTrouble, match="ls-files writes more than 10000 bytes"):
        repo.digest()


def test_more_repositories_than_are_asked_ahead_are_listed(repo: Repo) -> None:
    for number in range(ASKED_AHEAD_MAX + 2):
        Repo(repo.root / f"nested{number}").started().write("inner.py")
    memory = Memory(None, clock=lambda: 2**62)
    for text in ("1", "2"):
        repo.write(f"nested{ASKED_AHEAD_MAX + 1}/inner.py", text)
        assert take_manifest(repo.root, PLANS, (), memory) == repo.manifest()


def _read_all(repository: Repository, object_ids: list[str]) -> None:
    pieces: list[bytes] = []
    with repository.blobs(object_ids) as blobs:
        for _ in object_ids:
            blobs.copy_next(pieces.append, bytes_max=10)


def test_a_batch_that_takes_too_long_is_ended(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "BATCH_TIMEOUT_S", 0)
    repository = open_repository(repo.root)
    assert repository is not None
    with pytest.raises(GitTrouble, match="cat-file takes more than 0 s"):
        _read_all(repository, ["0" * 40] * 100_000)


@pytest.mark.parametrize(
    ("stream", "whole"),
    [
        (b"0 blob 3\nabc\n", True),
        (b"0 blob 3\nabc", False),
        (b"0 blob 3\nab", False),
        (b"0 blob 11\nabcdefghijk\n", False),
        (b"0 tree 3\nabc\n", False),
        (b"0 missing\n", False),
        (b"", False),
    ],
)
def test_an_object_counts_only_when_it_is_a_whole_blob_within_its_bound(stream: bytes, whole: bool) -> None:  # noqa: FBT001 - an expected value
    pieces: list[bytes] = []
    assert Blobs(io.BytesIO(stream)).copy_next(pieces.append, bytes_max=10) is whole
    assert not whole or pieces == [b"abc"]


def test_a_broken_repository_is_told_with_gits_own_words(repo: Repo) -> None:
    repo.write(".git/config", "[core\n")
    with pytest.raises(GitTrouble, match=r"ls-files fails.*bad config line 1") as caught:
        repo.digest()
    assert "\n" not in caught.value.seen


def test_a_tree_that_git_does_not_have_is_none(repo: Repo) -> None:
    repository = open_repository(repo.root)
    assert repository is not None
    assert repository.tree("0" * 40) is None
    found = repository.tree("HEAD")
    assert found is not None
    assert found[b"README"] == ("100644", repo.git("rev-parse", "HEAD:README"))
