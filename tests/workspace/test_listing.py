"""Which paths are source, and what a listing refuses."""

import os
from pathlib import Path

import pytest

from flow_mcp.workspace import listing as listing_module
from flow_mcp.workspace.folders import remove_tree
from flow_mcp.workspace.git import GitTrouble
from flow_mcp.workspace.listing import FILES_MAX, Listed, TooManyFiles, check_path, list_source
from flow_mcp.workspace.paths import TooDeep
from tests.workspace.rig import Repo

IGNORES = (
    "# a comment\n\n*.log\n!keep.log\nbuild/\n/only-top\ndocs/*.txt\n**/cache\na/**/z\nlogs/**\n!logs/keep\n\\#odd\n"
)
TREE = (
    "a.log",
    "keep.log",
    "build/x",
    "src/build/y",
    "only-top",
    "src/only-top",
    "docs/a.txt",
    "docs/deep/a.txt",
    "src/cache/c",
    "a/b/c/z",
    "a/z",
    "logs/drop",
    "logs/keep",
    "#odd",
    "src/.gitignore",
    "src/sub/kept.log",
    "src/sub/x.tmp",
    "src/sub/.gitignore",
    "src/sub/again.tmp",
)


def _grow(repo: Repo) -> Repo:
    for path in TREE:
        repo.write(path)
    repo.write(".gitignore", IGNORES)
    repo.write("src/.gitignore", "*.tmp\n!kept.log\n")
    repo.write("src/sub/.gitignore", "!again.tmp\n")
    (repo.root / "linked").symlink_to("src")
    (repo.root / "dangling.log").symlink_to("nowhere")
    (repo.root / "empty").mkdir()
    os.mkfifo(repo.root / "pipe")
    return repo


def test_a_folder_without_git_has_the_listing_and_the_digest_that_git_would_give(tmp_path: Path) -> None:
    with_git, without = _grow(Repo(tmp_path / "with").started()), _grow(Repo(tmp_path / "without"))
    assert without.paths() == with_git.paths()
    assert without.digest() == with_git.digest()
    assert "logs/keep" in without.paths()
    assert "src/sub/x.tmp" not in without.paths()


def test_a_machine_without_git_gives_the_same_digest_for_an_ordinary_tree(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _grow(repo)
    before = repo.digest()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert repo.digest() == before


def test_repositories_nested_in_a_folder_without_git_are_listed_by_git(plain: Repo) -> None:
    nested = Repo(plain.root / "nested").started()
    nested.write(".gitignore", "*.log\n")
    nested.write("kept.log")
    nested.commit("kept.log")
    plain.write(".gitignore", "*.py\n")
    nested.write("inner.py")
    assert plain.paths() == [
        ".gitignore",
        "README",
        "nested",
        "nested/.gitignore",
        "nested/inner.py",
        "nested/kept.log",
    ]


def test_a_folder_that_only_has_something_named_git_is_no_repository(plain: Repo) -> None:
    plain.write("fixture/.git/description")
    plain.write("fixture/inner.py")
    assert "fixture/inner.py" in plain.paths()
    assert "fixture" not in plain.paths()


def test_a_file_named_git_marks_a_repository_that_git_must_be_able_to_read(plain: Repo) -> None:
    plain.write("nested/.git", "nonsense")
    with pytest.raises(GitTrouble, match="nested"):
        plain.digest()


@pytest.mark.parametrize("kind", ["garbage", "pipe", "folder", "gone"])
def test_nothing_named_git_hides_the_files_beside_it(repo: Repo, kind: str) -> None:
    repo.write("x/evil.py")
    place = repo.root / "x" / ".git"
    match kind:
        case "garbage":
            place.write_text("garbage")
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
        case _:
            place.write_text("gitdir: /nonexistent\n")
    assert "x/evil.py" in repo.paths()


def test_a_repository_borrowed_from_elsewhere_hides_no_files(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other").started()
    other.write("evil.py", "x\n")
    other.commit()
    repo.write("x/evil.py")
    (repo.root / "x" / ".git").symlink_to(other.root / ".git")
    before = repo.digest()
    repo.write("x/evil.py", "y\n")
    assert repo.digest() != before


def test_a_submodule_whose_repository_is_broken_is_refused(repo: Repo) -> None:
    nested = Repo(repo.root / "nested").started()
    nested.commit()
    repo.git("add", "nested")
    (nested.root / ".git" / "HEAD").unlink()
    with pytest.raises(GitTrouble, match="nested"):
        repo.digest()


def test_a_submodule_behind_a_link_is_not_entered(repo: Repo, tmp_path: Path) -> None:
    nested = Repo(repo.root / "vendor" / "nested").started()
    nested.write("inner.py")
    nested.commit()
    repo.git("add", "vendor/nested")
    (repo.root / "vendor").rename(tmp_path / "moved")
    (repo.root / "vendor").symlink_to(tmp_path / "moved")
    entries = repo.entries()
    assert entries["vendor"].kind == "link"
    assert entries["vendor/nested"].kind == "missing"
    assert "vendor/nested/inner.py" not in entries


def test_a_folder_too_deep_for_git_to_open_is_not_passed_over(repo: Repo) -> None:
    here = os.open(repo.root, os.O_RDONLY)
    for _ in range(22):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("evil.py", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    try:
        with pytest.raises(GitTrouble, match=r"passes over a folder.*could not open directory") as caught:
            repo.digest()
        assert len(str(caught.value)) < 1000
    finally:
        remove_tree(repo.root / ("d" * 200))  # pytest cannot


@pytest.mark.skipif(os.geteuid() == 0, reason="root opens every folder")
def test_a_folder_closed_to_this_user_is_not_passed_over(repo: Repo) -> None:
    repo.write("closed/evil.py")
    (repo.root / "closed").chmod(0)
    with pytest.raises(GitTrouble, match=r"passes over a folder.*Permission denied"):
        repo.digest()


def test_files_beside_a_sparse_index_and_names_that_only_look_like_gits_are_listed(repo: Repo) -> None:
    repo.write("other/one.py")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src/deep")
    repo.write("other/evil.py")
    repo.write("other/n/evil.py")
    repo.write(".GIT/evil.py")
    repo.write("git~1/evil.py")
    assert {"other/evil.py", "other/n/evil.py", ".GIT/evil.py", "git~1/evil.py"} <= set(repo.paths())


def test_two_hundred_thousand_paths_are_taken_and_one_more_is_refused(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "large").started()
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"")
    lines = [f"100644 {blob} 0\tf{number}" for number in range(FILES_MAX)]
    repo.git("update-index", "--index-info", stdin="\n".join(lines).encode())
    assert len(list_source(repo.root)) == FILES_MAX
    repo.write("one-more")
    with pytest.raises(TooManyFiles, match="more than 200000 files"):
        list_source(repo.root)


def test_an_endless_number_of_folders_is_refused_too(plain: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_module, "FILES_MAX", 6)
    for number in range(4):
        (plain.root / f"d{number}").mkdir()
    assert len(list_source(plain.root)) == 2
    (plain.root / "d5").mkdir()
    with pytest.raises(TooManyFiles, match="more than 6"):
        list_source(plain.root)


def test_a_path_of_128_folders_is_taken_and_one_more_is_refused(plain: Repo) -> None:
    deep = "/".join(["d"] * 127)
    plain.write(f"{deep}/file")
    assert f"{deep}/file" in plain.paths()
    plain.write(f"{deep}/d/d/file")
    with pytest.raises(TooDeep, match="deeper than 128"):
        plain.paths()


def test_an_index_with_a_path_that_is_too_deep_is_refused(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"")
    path = "/".join(["d"] * 129)
    repo.git("update-index", "--index-info", stdin=f"100644 {blob} 0\t{path}\n".encode())
    with pytest.raises(TooDeep):
        repo.digest()


def test_eight_nested_repositories_are_entered_and_nine_are_refused(repo: Repo) -> None:
    folder = repo.root
    for depth in range(9):
        folder = Repo(folder / "n").started().root
        if depth == 7:
            (folder / "file").write_text("x")
            assert "/".join(["n"] * 8) + "/file" in repo.paths()
    with pytest.raises(TooDeep):
        repo.paths()


@pytest.mark.parametrize("path", [b"../x", b"a/../x", b"/x", b"a//b", b"./x", b".git/config", b"a/.git", b""])
def test_a_path_that_no_git_command_would_store_is_refused(path: bytes) -> None:
    with pytest.raises(listing_module.Forged):
        check_path(path)


@pytest.mark.parametrize("turn", [1, -1])
def test_what_is_said_twice_of_a_path_counts_in_either_order(
    plain: Repo, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    said = [Listed(b"a", tracked=True, boundary=False), Listed(b"a", tracked=False, boundary=True)]
    monkeypatch.setattr(listing_module, "_repository", lambda _place: iter(said[::turn]))
    assert list_source(plain.root) == {"a": Listed(b"a", tracked=True, boundary=True)}


def test_a_folder_that_vanishes_while_it_is_walked_is_passed_over(plain: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.write("gone/file")
    real = listing_module._entries

    def entries(base: bytes, folder: int) -> list[tuple[bytes, bool]]:
        found = real(base, folder)
        (plain.root / "gone" / "file").unlink(missing_ok=True)
        if (plain.root / "gone").exists():
            (plain.root / "gone").rmdir()
        return found

    monkeypatch.setattr(listing_module, "_entries", entries)
    assert plain.paths() == ["README", "src/app.py"]
