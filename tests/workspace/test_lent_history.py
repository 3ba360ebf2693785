"""The history that a copy is lent: what git says there, and what does not come along."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace import lent_history as lent_history_module
from flow_mcp.workspace.copies import lay_out
from flow_mcp.workspace.git import GitTrouble, Repository
from flow_mcp.workspace.inputs import lend_inputs
from flow_mcp.workspace.lent_history import lend_history
from flow_mcp.workspace.listing import Forged
from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.source import Manifest
from flow_mcp.workspace.sources import store_copy
from tests.workspace.rig import Repo, plain_environment
from tests.workspace.test_code_execution import ATTACKS


class Lent(Repo):
    """A copy of a repository's source, with the history that it was lent."""

    def __init__(
        self, repo: Repo, folder: Path, commit: str | None = None, *, manifest: Manifest | None = None
    ) -> None:
        super().__init__(folder)
        source = repo.manifest() if manifest is None else manifest
        store_copy(repo.root, source, repo.private)
        (repo.private / ".gitignore").write_text("*\n")
        lay_out(repo.private, source.digest, source, folder)
        self.lent = lend_history(repo.root, commit, folder)


def _says(repo: Repo) -> dict[str, str]:
    """What the tools that ask git for a version and for files would hear."""
    asked = (
        *(("rev-parse", "HEAD"), ("rev-parse", "--abbrev-ref", "HEAD"), ("branch", "--list"), ("tag", "--list", "-n1")),
        *(("describe", "--tags", "--always", "--dirty"), ("ls-files", "-s"), ("log", "--format=%H %D")),
        *(("status", "--porcelain"), ("for-each-ref",), ("rev-parse", "--show-object-format")),
        *(("diff", "--stat", "HEAD"), ("rev-list", "--count", "HEAD"), ("rev-parse", "--show-toplevel")),
    )
    said = {" ".join(each): repo.git(*each) for each in asked}
    assert said.pop("rev-parse --show-toplevel") == str(repo.root.resolve()).strip()
    return said


def _history(repo: Repo) -> None:
    repo.git("tag", "light")
    repo.git("tag", "-a", "v1.0", "-m", "one")
    repo.git("branch", "other")
    repo.write("src/app.py", "print(2)\n")
    repo.write(".gitignore", "/.flow/\n*.log\n")
    repo.write("ignored.log")
    repo.commit("src", ".gitignore")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")


def test_git_says_in_a_copy_of_a_clean_tree_what_it_says_in_the_workspace(repo: Repo, tmp_path: Path) -> None:
    _history(repo)
    (repo.root / "link").symlink_to("README")
    repo.write("bin/run").chmod(0o755)
    repo.git("add", "link", "bin")
    repo.git("commit", "-qm", "more")
    copy = Lent(repo, tmp_path / "copy")
    assert copy.lent
    copy.git("diff-index", "--quiet", "HEAD")  # ends well only where the index knows the files without another look
    assert _says(copy) == _says(repo)
    assert _says(copy)["status --porcelain"] == ""
    assert _says(copy)["describe --tags --always --dirty"].startswith("v1.0-2-g")


def test_packed_references_and_objects_are_lent_too(repo: Repo, tmp_path: Path) -> None:
    _history(repo)
    repo.git("gc", "-q")
    assert _says(Lent(repo, tmp_path / "copy")) == _says(repo)


def test_changes_of_the_working_tree_show_in_the_copy_as_they_do_there(repo: Repo, tmp_path: Path) -> None:
    _history(repo)
    repo.write("README", "changed\n")
    repo.write("staged", "one\n")
    repo.git("add", "staged")
    repo.write("staged", "two\n")
    repo.write("untracked")
    (repo.root / "src/deep/er/mod.py").unlink()
    copy = Lent(repo, tmp_path / "copy")
    assert _says(copy) == _says(repo)
    assert set(_says(copy)["status --porcelain"].splitlines()) == {
        *("M README", "AM staged", " D src/deep/er/mod.py", "?? untracked"),
    }


def test_a_merge_that_stopped_half_way_is_half_way_in_the_copy(repo: Repo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.write("README", "side\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("README", "main\n")
    repo.commit()
    with pytest.raises(AssertionError):
        repo.git("merge", "side")
    assert Lent(repo, tmp_path / "copy").git("status", "--porcelain", "--", "README") == "UU README"


def test_a_detached_head_is_one_in_the_copy(repo: Repo, tmp_path: Path) -> None:
    _history(repo)
    repo.git("checkout", "-q", "--detach", "v1.0")
    copy = Lent(repo, tmp_path / "copy")
    names = {"branch --list": ""}  # which name it was reached by is of the reflog
    assert _says(copy) | names == _says(repo) | names
    assert _says(copy)["rev-parse --abbrev-ref HEAD"] == "HEAD"


@pytest.mark.parametrize("hash_name", ["sha1", "sha256"])
def test_a_branch_without_commits_is_one_in_the_copy(tmp_path: Path, hash_name: str) -> None:
    fresh = Repo(tmp_path / "fresh").started(f"--object-format={hash_name}")
    fresh.write("staged")
    fresh.git("add", "staged")
    fresh.write(".gitignore", ".flow\n")
    copy = Lent(fresh, tmp_path / "copy")
    for asked in (("status", "--porcelain", "-b"), ("ls-files", "-s"), ("rev-parse", "--show-object-format")):
        assert copy.git(*asked) == fresh.git(*asked)
    assert copy.git("status", "--porcelain", "-b") == "## No commits yet on main\nA  staged\n?? .gitignore"


def test_a_branch_without_commits_and_without_files_is_one_too(tmp_path: Path) -> None:
    fresh = Repo(tmp_path / "fresh").started()
    copy = Lent(fresh, tmp_path / "copy")
    assert copy.lent
    assert copy.git("status", "--porcelain", "-b") == "## No commits yet on main"


def test_a_repository_of_longer_ids_is_one_in_the_copy(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo").started("--object-format=sha256")
    repo.write("README")
    repo.write("src/app.py")
    repo.commit()
    _history(repo)
    copy = Lent(repo, tmp_path / "copy")
    assert _says(copy) == _says(repo)
    copy.write("new")
    assert len(copy.commit()) == 64


def test_a_worktree_lends_its_own_head_and_the_objects_of_its_repository(repo: Repo, tmp_path: Path) -> None:
    _history(repo)
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"), "other")
    tree = Repo(tmp_path / "tree")
    copy = Lent(tree, tmp_path / "copy")
    names = {"branch --list": ""}  # where else a branch is checked out is of the repository
    assert _says(copy) | names == _says(tree) | names
    assert _says(copy)["rev-parse --abbrev-ref HEAD"] == "other"


def test_a_shallow_clone_ends_where_it_ends_in_the_workspace(repo: Repo, tmp_path: Path) -> None:
    _history(repo)
    repo.git("clone", "-q", "--depth=1", f"file://{repo.root}", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    copy = Lent(clone, tmp_path / "copy")
    assert _says(copy)["rev-list --count HEAD"] == "1"
    assert _says(copy) == _says(clone)


def test_a_file_of_shallow_commits_that_git_did_not_write_is_not_lent(repo: Repo, tmp_path: Path) -> None:
    repo.write(".git/shallow", "../../etc/passwd\n")
    shutil.copytree(repo.root, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    with suppress(BrokenWorld):
        lend_history(repo.root, None, tmp_path / "copy")
    assert not (tmp_path / "copy" / ".git" / "shallow").exists()
    shutil.rmtree(tmp_path / "copy" / ".git", ignore_errors=True)
    (repo.root / ".git" / "shallow").unlink()
    (repo.root / ".git" / "shallow").symlink_to("/etc/passwd")
    (repo.root / ".git" / "info" / "exclude").unlink()
    (repo.root / ".git" / "info" / "exclude").mkdir()
    with suppress(BrokenWorld):
        lend_history(repo.root, None, tmp_path / "copy")
    assert not (tmp_path / "copy" / ".git" / "shallow").exists()


def test_where_there_is_no_repository_or_no_git_nothing_is_lent(
    repo: Repo, plain: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copy").mkdir()
    assert not lend_history(plain.root, None, tmp_path / "copy")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not lend_history(repo.root, None, tmp_path / "copy")
    assert list((tmp_path / "copy").iterdir()) == []


@pytest.mark.parametrize("broken", ["HEAD", "index", "objects"])
def test_a_broken_repository_lends_nothing(repo: Repo, tmp_path: Path, broken: str) -> None:
    path = repo.root / ".git" / broken
    shutil.rmtree(path) if path.is_dir() else path.write_text("broken")
    (tmp_path / "copy").mkdir()
    assert not lend_history(repo.root, None, tmp_path / "copy")
    assert list((tmp_path / "copy").iterdir()) == []


def test_a_branch_whose_commit_cannot_be_listed_is_lent_as_a_commit(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Repository.answer

    def answer(self: Repository, *arguments: str) -> bytes | None:
        return None if arguments[0] == "for-each-ref" else real(self, *arguments)

    monkeypatch.setattr(Repository, "answer", answer)
    copy = Lent(repo, tmp_path / "copy")
    assert copy.git("rev-parse", "HEAD") == repo.git("rev-parse", "HEAD")
    assert copy.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


def test_a_repository_whose_folder_no_list_of_stores_can_name_lends_nothing(tmp_path: Path) -> None:
    odd = Repo(tmp_path / "two\nlines").started()
    odd.write("README")
    odd.commit()
    assert not Lent(odd, tmp_path / "copy").lent


def test_a_repository_with_a_strange_name_lends_its_objects(tmp_path: Path) -> None:
    for name in ('"quoted" #1', " spaces ", os.fsdecode(b"caf\xe9"), "back\\slash"):
        odd = Repo(tmp_path / name).started()
        odd.write("README")
        odd.commit()
        assert _says(Lent(odd, tmp_path / f"copy of {name}")) == _says(odd)


# ----- what does not come along


@pytest.mark.parametrize("name", [name for name in ATTACKS if not ATTACKS[name].on_terminal])
@pytest.mark.parametrize("approved", [False, True])
def test_what_the_workspaces_configuration_would_run_is_run_neither_in_lending_nor_in_the_copy(
    repo: Repo, tmp_path: Path, name: str, *, approved: bool
) -> None:
    mark = tmp_path / "executed"
    command = repo.root.with_name("evil.sh")
    command.write_text(f"#!/bin/sh\necho run >> {mark}\n")
    command.chmod(0o755)
    ATTACKS[name].plant(repo, str(command))
    os.utime(repo.root / "src/deep/er/mod.py", ns=(1, 1))
    commit = repo.git("rev-parse", "HEAD") if approved else None
    mark.unlink(missing_ok=True)
    shutil.copytree(repo.root, tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns(".git", ".flow"))
    with suppress(BrokenWorld):
        lend_history(repo.root, commit, tmp_path / "copy")
    assert not mark.exists()
    for asked in ("status", "diff", "log", "add -A", "commit -qm more", "fetch origin", "st", "checkout -- src/app.py"):
        subprocess.run(
            ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *asked.split(" ")],
            cwd=tmp_path / "copy",
            env=plain_environment() | {"GIT_CEILING_DIRECTORIES": str(tmp_path)},
            capture_output=True,
            check=False,
        )
    assert not mark.exists()


def test_only_how_files_lie_there_comes_along_from_the_configuration(repo: Repo, tmp_path: Path) -> None:
    for key, value in (("filemode", "false"), ("autocrlf", "input"), ("eol", "evil"), ("pager", "evil")):
        repo.git("config", f"core.{key}", value)
    repo.git("config", "user.name", "Somebody")
    (repo.root / "README").chmod(0o755)
    repo.write(".gitignore", ".flow\n.gitignore\n")
    copy = Lent(repo, tmp_path / "copy")
    settings = set(copy.git("config", "--local", "--list").splitlines())
    assert settings == {
        *("core.repositoryformatversion=0", "core.bare=false", "core.filemode=false", "core.autocrlf=input"),
    }
    assert copy.git("status", "--porcelain") == ""


def test_marks_that_make_git_look_away_do_not_come_along(repo: Repo, tmp_path: Path) -> None:
    repo.git("update-index", "--assume-unchanged", "README")
    repo.git("update-index", "--skip-worktree", "src/app.py")
    repo.write("README", "changed\n")
    repo.write("src/app.py", "changed\n")
    repo.write(".gitignore", ".flow\n.gitignore\n")
    assert repo.git("status", "--porcelain") == ""
    assert Lent(repo, tmp_path / "copy").git("status", "--porcelain").split() == ["M", "README", "M", "src/app.py"]


def test_extensions_of_the_index_do_not_come_along(repo: Repo, tmp_path: Path) -> None:
    repo.git("update-index", "--split-index", "--untracked-cache")
    copy = Lent(repo, tmp_path / "copy")
    data = (copy.root / ".git" / "index").read_bytes()
    assert b"UNTR" not in data
    assert not list((copy.root / ".git").glob("sharedindex.*"))
    assert copy.git("status", "--porcelain") == ""


def test_files_that_the_copy_leaves_out_on_purpose_are_not_told_as_deleted(repo: Repo, tmp_path: Path) -> None:
    repo.write("plans/goal.json", "{}")
    repo.write(".gitignore", ".flow\n")
    repo.commit()
    for commit in (None, repo.git("rev-parse", "HEAD")):
        copy = Lent(repo, tmp_path / f"copy{commit}", commit)
        assert not (copy.root / "plans").exists()
        assert copy.git("status", "--porcelain") == ""
        assert "plans/goal.json" in copy.git("ls-files")


def test_a_sparse_checkout_is_one_in_the_copy(repo: Repo, tmp_path: Path) -> None:
    repo.write("other/one.py")
    repo.write(".gitignore", ".flow\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")
    assert not (repo.root / "other").exists()
    copy = Lent(repo, tmp_path / "copy")
    assert not (copy.root / "other").exists()
    assert copy.git("status", "--porcelain") == ""
    assert copy.git("ls-files") == repo.git("ls-files")


def test_what_the_workspace_excludes_its_git_does_not_see_in_the_copy(repo: Repo, tmp_path: Path) -> None:
    repo.write(".git/info/exclude", "/notes\n/.flow")
    repo.write("notes")
    copy = Lent(repo, tmp_path / "copy")
    assert (copy.root / "notes").exists()
    copy.write(".flow/reports/r.xml")
    assert copy.git("status", "--porcelain") == ""
    assert copy.git("status", "--porcelain", "--ignored").splitlines() == ["!! .flow/", "!! notes"]


def test_inputs_that_are_links_are_hidden_where_they_are_named(repo: Repo, tmp_path: Path) -> None:
    repo.write(".gitignore", "node_modules/\nodd*/\n.flow/\n")
    repo.commit()
    for name in ("node_modules", "odd [x] *?\\ ", "odd\nlines"):
        repo.write(f"{name}/pyvenv.cfg")
    copy = tmp_path / "copy"
    Lent(repo, copy)
    shutil.rmtree(copy / ".git")
    lent = lend_inputs(repo.root, ("node_modules", "odd*"), copy, is_current=True)
    assert len(lent.shared) == 3
    assert lend_history(repo.root, None, copy, lent.shared)
    assert Repo(copy).git("status", "--porcelain") == '?? "odd\\nlines"'


def test_what_a_command_does_to_the_history_stays_in_the_copy(repo: Repo, tmp_path: Path) -> None:
    _history(repo)
    before, objects = _says(repo), sorted((repo.root / ".git").rglob("*"))
    copy = Lent(repo, tmp_path / "copy")
    copy.write("new")
    commit = copy.commit()
    copy.git("branch", "made")
    copy.git("tag", "-d", "v1.0")
    copy.git("branch", "-D", "other")
    copy.git("config", "core.fsmonitor", "evil")
    copy.git("reset", "-q", "--hard", "light")
    copy.git("gc", "-q", "--prune=now")
    assert _says(repo) == before
    assert sorted((repo.root / ".git").rglob("*")) == objects
    with pytest.raises(AssertionError):
        repo.git("cat-file", "-e", commit)


# ----- a commit of its own


def test_an_approved_commit_is_head_with_its_own_index(repo: Repo, tmp_path: Path) -> None:
    repo.write("bin/run").chmod(0o755)
    repo.write(".gitignore", ".flow\n")
    commit, manifest = repo.commit(), repo.manifest()
    tracked = repo.git("ls-files", "-s")
    store_copy(repo.root, manifest, repo.private)
    repo.write("README", "later\n")
    repo.write("later")
    repo.commit()
    repo.git("rm", "-q", "--cached", "src/app.py")
    copy = Lent(repo, tmp_path / "copy", commit, manifest=manifest)
    assert copy.git("rev-parse", "HEAD") == commit
    assert copy.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert copy.git("ls-files", "-s") == tracked
    assert copy.git("status", "--porcelain") == ""
    copy.write("README", "of the proof\n")
    assert copy.git("status", "--porcelain") == "M README"


def test_a_commit_with_a_submodule_is_tracked_in_the_copy(repo: Repo, tmp_path: Path) -> None:
    library = Repo(tmp_path / "library").started()
    library.write("lib.py")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    repo.write(".gitignore", ".flow\n")
    for commit in (repo.commit(), None):
        copy = Lent(repo, tmp_path / f"copy{commit}", commit)
        assert copy.lent
        assert copy.git("ls-files", "-s", "vendor").startswith("160000 ")
        assert copy.git("status", "--porcelain", "--ignore-submodules=all") == ""


@pytest.mark.parametrize("commit", ["0" * 40, "HEAD", "main", "", "--help", "ref: refs/heads/main\n", "0" * 41])
def test_what_is_no_commit_of_the_repository_lends_nothing(repo: Repo, tmp_path: Path, commit: str) -> None:
    assert not Lent(repo, tmp_path / "copy", commit).lent
    assert not (tmp_path / "copy" / ".git").exists()


def test_an_index_that_git_refuses_to_write_lends_nothing(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Repository, "fed", lambda *_: False)
    assert not Lent(repo, tmp_path / "copy").lent
    assert not (tmp_path / "copy" / ".git").exists()


def test_a_look_at_the_files_that_takes_too_long_is_left_to_who_asks(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Repository.answer

    def answer(self: Repository, *arguments: str) -> bytes | None:
        if arguments[0] == "update-index":
            (self.folder / ".git" / "index.lock").write_text("")
            trouble = GitTrouble("too long", "wait")
            raise trouble
        return real(self, *arguments)

    monkeypatch.setattr(Repository, "answer", answer)
    repo.write(".gitignore", ".flow\n.gitignore\n")
    copy = Lent(repo, tmp_path / "copy")
    assert copy.lent
    assert copy.git("status", "--porcelain") == ""
    assert copy.commit()


# ----- planted things


def test_a_source_that_lists_a_path_of_git_can_not_be_had(repo: Repo) -> None:
    repo.write("xgit/config", "evil")
    repo.git("add", "xgit/config")
    repo.forge_index(b"xgit/config", b".git/config")
    with pytest.raises(Forged):
        repo.manifest()


def test_an_index_with_a_path_outside_puts_nothing_there(repo: Repo, tmp_path: Path) -> None:
    repo.write("xx/outside", "evil")
    repo.git("add", "xx/outside")
    shutil.copytree(repo.root, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    repo.forge_index(b"xx/outside", b"../outside")
    lend_history(repo.root, None, tmp_path / "copy")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kind", ["link", "folder", "file"])
def test_a_git_that_is_there_already_is_not_written_into(repo: Repo, tmp_path: Path, kind: str) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "outside").mkdir()
    place = tmp_path / "copy" / ".git"
    match kind:
        case "link":
            place.symlink_to(tmp_path / "outside")
        case "folder":
            place.mkdir()
        case _:
            place.write_text("gitdir: elsewhere")
    with pytest.raises(Inaccessible, match="File exists"):
        lend_history(repo.root, None, tmp_path / "copy")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_side_file_larger_than_flow_reads_is_not_lent(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(".git/info/exclude", "/notes\n" * 10)
    monkeypatch.setattr(lent_history_module, "SIDE_FILE_BYTES_MAX", 20)
    copy = Lent(repo, tmp_path / "copy")
    assert "notes" not in (copy.root / ".git" / "info" / "exclude").read_text()
