"""Which folder is the workspace, and the id of its worktree."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flow_mcp.workspace.folders import PlantedLink
from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.root import Unusable, find_root, worktree_id
from tests.workspace.rig import Repo


def test_the_root_is_the_nearest_folder_with_git_at_or_above(repo: Repo) -> None:
    assert find_root(repo.root) == repo.root
    assert find_root(repo.root / "src" / "deep" / "er") == repo.root
    nested = Repo(repo.root / "src" / "nested").started()
    assert find_root(nested.root) == nested.root


def test_a_linked_worktree_is_a_root_of_its_own(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked" / "deep").mkdir()
    assert find_root(tmp_path / "linked" / "deep") == tmp_path / "linked"


def test_without_git_the_root_is_where_one_starts(plain: Repo) -> None:
    assert find_root(plain.root / "src") == plain.root / "src"


def test_links_on_the_way_are_resolved(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(repo.root / "src")
    assert find_root(tmp_path / "alias") == repo.root


def test_the_file_system_as_a_whole_is_refused() -> None:
    with pytest.raises(Unusable, match="the whole file system"):
        find_root(Path("/"))


def test_what_is_no_folder_is_refused(repo: Repo) -> None:
    for path in (repo.root / "README", repo.root / "gone"):
        with pytest.raises(Unusable, match="is not a folder"):
            find_root(path)


def test_the_home_folder_is_refused_by_variable_by_link_and_when_its_git_would_make_it_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "alias"))
    with pytest.raises(Unusable, match="the home folder"):
        find_root(home)
    assert find_root(home / "project") == home / "project"
    Repo(home).started()
    with pytest.raises(Unusable, match="the home folder"):
        find_root(home / "project")


def test_the_accounts_own_home_is_refused_when_the_variable_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwd = pytest.importorskip("pwd")
    entry = list(pwd.getpwuid(os.getuid()))
    entry[5] = str(tmp_path)
    monkeypatch.setenv("HOME", "")
    assert find_root(tmp_path) == tmp_path
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: pwd.struct_passwd(entry))
    with pytest.raises(Unusable, match="the home folder"):
        find_root(tmp_path)


def test_an_account_without_an_entry_has_no_home_to_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")

    def unknown(_uid: int) -> object:
        raise KeyError

    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert find_root(tmp_path) == tmp_path


def test_a_root_that_cannot_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", deny)
    with pytest.raises(Unusable, match="cannot be listed: Permission denied"):
        find_root(tmp_path)


def test_the_id_of_a_worktree_is_made_once_private_and_random(tmp_path: Path) -> None:
    first, second = worktree_id(tmp_path / "one"), worktree_id(tmp_path / "two")
    assert first == worktree_id(tmp_path / "one")
    assert first != second
    assert len(first) == 32
    assert int(first, 16) >= 0
    file = tmp_path / "one" / "worktree"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["worktree"]


def test_an_id_that_is_known_is_kept_again_unless_another_was_made_meanwhile(tmp_path: Path) -> None:
    known = worktree_id(tmp_path / ".flow")
    (tmp_path / ".flow" / "worktree").unlink()
    assert worktree_id(tmp_path / ".flow", known) == worktree_id(tmp_path / ".flow") == known
    assert worktree_id(tmp_path / ".flow", "f" * 32) == known


def test_processes_that_ask_at_once_get_one_id(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from flow_mcp.workspace.root import worktree_id; sys.stdin.readline();"
        "print(worktree_id(pathlib.Path(sys.argv[1])))"
    )
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "private")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in asking:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = {process.communicate()[0] for process in asking}
    assert len(answers) == 1
    assert len(answers.pop()) == 33


@pytest.mark.parametrize("text", ["", "xyz", "0" * 31, "0" * 33, "A" * 32, "0" * 32 + "\n\n", " " + "0" * 32, "ü" * 16])
def test_a_file_that_holds_anything_else_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "worktree"
    file.write_text(text)
    with pytest.raises(Unusable, match="does not hold the id"):
        worktree_id(tmp_path)
    assert file.read_text() == text


def test_an_id_without_its_newline_is_taken(tmp_path: Path) -> None:
    (tmp_path / "worktree").write_text("ab" * 16)
    assert worktree_id(tmp_path) == "ab" * 16


def test_planted_links_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("ab" * 16)
    for name, plant in (
        ("link", lambda path: path.symlink_to(tmp_path / "elsewhere")),
        ("dangling", lambda path: path.symlink_to(tmp_path / "nowhere")),
        ("pipe", os.mkfifo),
        ("folder", Path.mkdir),
        ("large", lambda path: path.write_text("a" * 1000)),
    ):
        private = tmp_path / name
        private.mkdir()
        plant(private / "worktree")
        with pytest.raises(PlantedLink):
            worktree_id(private)
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "alias").symlink_to(tmp_path / "link")
    with pytest.raises(PlantedLink):
        worktree_id(tmp_path / "alias")
    with pytest.raises(PlantedLink):
        worktree_id(tmp_path / "elsewhere")


def test_an_id_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Inaccessible, match="No space left"):
        worktree_id(tmp_path)
    assert list(tmp_path.iterdir()) == []
