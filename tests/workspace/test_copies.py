"""Private copies by digest, the trees made from them, and copies made anew from commits."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from flow_mcp.workspace import copies as copies_module
from flow_mcp.workspace.copies import (
    Damaged,
    changed_paths,
    checkout_copy,
    disposable,
    has_copy,
    load_manifest,
    overlay_paths,
    rebuild_from_commit,
    store_copy,
)
from flow_mcp.workspace.folders import PlantedLink
from flow_mcp.workspace.listing import Forged
from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.source import Manifest, SourceEntry, Unstable, seal
from tests.workspace.rig import PLANS, Repo


def _folder(repo: Repo, digest: str) -> Path:
    return repo.private / "copies" / digest.removeprefix("sha256:")


def _stored(repo: Repo) -> Manifest:
    manifest = repo.manifest()
    store_copy(repo.root, manifest, repo.private)
    return manifest


def _rich(repo: Repo) -> Manifest:
    """Fill a repository with every kind of thing, and keep a copy of it."""
    repo.write("bin/run", "#!/bin/sh\n").chmod(0o755)
    repo.write("untracked/two\nlines", "odd\n")
    Path(os.fsdecode(os.fsencode(repo.root) + b"/caf\xe9")).write_text("latin")
    (repo.root / "link").symlink_to("src/app.py")
    (repo.root / "dangling").symlink_to("/nowhere/at/all")
    nested = Repo(repo.root / "nested").started()
    nested.write("inner.py")
    repo.write(".gitignore", "*.log\n")
    repo.write("ignored.log")
    (repo.root / "src" / "deep" / "er" / "mod.py").unlink()
    return _stored(repo)


def _contents(tree: Path) -> dict[str, tuple[str, bytes]]:
    found = {}
    for path in tree.rglob("*"):
        name = str(path.relative_to(tree))
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[name] = ("x" if path.stat().st_mode & stat.S_IXUSR else "f", path.read_bytes())
    return found


def test_a_copy_holds_exactly_the_digested_files_for_its_owner_alone(repo: Repo) -> None:
    manifest = _rich(repo)
    folder = _folder(repo, manifest.digest)
    assert set(_contents(folder / "tree")) == {
        os.fsdecode(name)
        for name in (
            b".gitignore",
            b"README",
            b"bin/run",
            b"caf\xe9",
            b"dangling",
            b"link",
            b"nested/inner.py",
            b"src/app.py",
            b"untracked/two\nlines",
        )
    }
    for path in (repo.private, folder.parent, folder, folder / "tree"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert list((repo.private / "tmp").iterdir()) == []


def test_a_copy_is_found_by_its_digest_and_says_what_it_holds(repo: Repo) -> None:
    assert not has_copy(repo.private, repo.digest())
    manifest = _rich(repo)
    assert has_copy(repo.private, manifest.digest)
    assert load_manifest(repo.private, manifest.digest) == manifest
    assert not has_copy(repo.private, "sha256:" + "0" * 64)


def test_looking_for_a_copy_makes_nothing(repo: Repo) -> None:
    assert not has_copy(repo.private, repo.digest())
    assert not repo.private.exists()


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:../../x", "md5:" + "0" * 64, "sha256:" + "A" * 64])
def test_what_is_no_digest_names_no_copy(repo: Repo, digest: str) -> None:
    assert not has_copy(repo.private, digest)
    with pytest.raises(Damaged, match="is not here"):
        load_manifest(repo.private, digest)
    with pytest.raises(Damaged):
        checkout_copy(repo.private, digest, repo.root / "target")


def test_a_tree_made_from_a_copy_is_the_source_again(repo: Repo, tmp_path: Path) -> None:
    manifest = _rich(repo)
    source = _contents(repo.root)
    repo.write("src/app.py", "print('later')\n")
    checkout_copy(repo.private, manifest.digest, tmp_path / "tree")
    made = _contents(tmp_path / "tree")
    assert made == {name: content for name, content in source.items() if name in made}
    assert made["src/app.py"] == ("f", b"print(1)\n")
    assert made["bin/run"][0] == "x"
    assert made["link"] == ("link", b"src/app.py")
    assert "ignored.log" not in made
    (tmp_path / "tree" / "src" / "app.py").write_text("spoilt")
    checkout_copy(repo.private, manifest.digest, tmp_path / "second")
    assert _contents(tmp_path / "second") == made


def test_a_copy_is_kept_once(repo: Repo) -> None:
    manifest = _stored(repo)
    before = _folder(repo, manifest.digest).stat()
    store_copy(repo.root, manifest, repo.private)
    assert _folder(repo, manifest.digest).stat().st_ino == before.st_ino


@pytest.mark.parametrize("change", ["content", "bit", "gone", "folder", "link"])
def test_a_source_that_moved_since_its_manifest_is_not_kept(repo: Repo, change: str) -> None:
    manifest, file = repo.manifest(), repo.root / "src" / "app.py"
    match change:
        case "content":
            file.write_text("print(2)\n")
        case "bit":
            file.chmod(0o755)
        case "gone":
            file.unlink()
        case "folder":
            shutil.rmtree(file.parent)
        case _:
            file.unlink()
            file.symlink_to("/etc/passwd")
    with pytest.raises(Unstable, match=r"src/"):
        store_copy(repo.root, manifest, repo.private)
    assert not has_copy(repo.private, manifest.digest)
    assert list((repo.private / "tmp").iterdir()) == []


def test_pipes_of_the_source_have_no_copy(repo: Repo, tmp_path: Path) -> None:
    (repo.root / "README").unlink()
    os.mkfifo(repo.root / "README")
    manifest = _stored(repo)
    checkout_copy(repo.private, manifest.digest, tmp_path / "tree")
    assert set(_contents(tmp_path / "tree")) == {"src/app.py", "src/deep/er/mod.py"}


def test_a_damaged_copy_is_never_made_into_a_tree(repo: Repo, tmp_path: Path) -> None:
    manifest = _stored(repo)
    (_folder(repo, manifest.digest) / "tree" / "src" / "app.py").write_text("print('forged')\n")
    with pytest.raises(Damaged, match=r"damaged at 'src/app\.py'"):
        checkout_copy(repo.private, manifest.digest, tmp_path / "tree")


@pytest.mark.parametrize("kind", ["cut", "extra", "other", "bad-path", "link", "none", "no-tree", "planted"])
def test_a_copy_with_a_spoilt_manifest_is_none_and_can_be_stored_anew(repo: Repo, tmp_path: Path, kind: str) -> None:
    manifest = _stored(repo)
    folder = _folder(repo, manifest.digest)
    file = folder / "manifest.json"
    text = file.read_text()
    match kind:
        case "cut":
            file.write_text(text[:-5])
        case "extra":
            file.write_text(json.dumps(json.loads(text) | {"more": 1}))
        case "other":
            file.write_text(text.replace('"src/app.py"', '"src/apq.py"'))
        case "bad-path":
            file.write_text(text.replace('"src/app.py"', '"src\\\\app.py"'))
        case "link":
            file.rename(tmp_path / "moved")
            file.symlink_to(tmp_path / "moved")
        case "none":
            file.unlink()
        case "no-tree":
            (folder / "tree").rename(folder / "branch")
        case _:
            folder.rename(tmp_path / "moved")
            folder.symlink_to(tmp_path / "moved")
    assert not has_copy(repo.private, manifest.digest)
    with pytest.raises(Damaged):
        load_manifest(repo.private, manifest.digest)
    store_copy(repo.root, manifest, repo.private)
    assert has_copy(repo.private, manifest.digest)


def test_a_manifest_that_names_paths_outside_writes_nothing_there(repo: Repo, tmp_path: Path) -> None:
    forged = seal([SourceEntry("../outside", "file", executable=False, digest=repo.manifest().entries[0].digest)])
    with pytest.raises(Forged):
        store_copy(repo.root, forged, repo.private)
    folder = _folder(repo, forged.digest)
    (folder / "tree").mkdir(parents=True)
    entries = [[entry.path, entry.kind, entry.executable, entry.digest] for entry in forged.entries]
    (folder / "manifest.json").write_text(
        json.dumps({"version": "ws-fp/4", "digest": forged.digest, "entries": entries})
    )
    with pytest.raises(Forged):
        checkout_copy(repo.private, forged.digest, tmp_path / "tree")
    with pytest.raises(Forged):
        overlay_paths(repo.root, ["../README"], tmp_path / "tree")


def test_a_copy_placed_by_another_process_meanwhile_stands(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = repo.manifest()
    theirs: list[int] = []
    real = copies_module._reproduce

    def slowly(*given: object) -> None:
        real(*given)  # type: ignore[arg-type] # what the caller gave
        monkeypatch.undo()
        store_copy(repo.root, manifest, repo.private)
        theirs.append(_folder(repo, manifest.digest).stat().st_ino)

    monkeypatch.setattr(copies_module, "_reproduce", slowly)
    store_copy(repo.root, manifest, repo.private)
    assert has_copy(repo.private, manifest.digest)
    assert theirs == [_folder(repo, manifest.digest).stat().st_ino]
    assert list((repo.private / "tmp").iterdir()) == []


def test_a_planted_private_folder_is_refused(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    repo.private.symlink_to(tmp_path / "outside")
    with pytest.raises(PlantedLink):
        store_copy(repo.root, repo.manifest(), repo.private)
    with pytest.raises(PlantedLink), disposable(repo.private):
        pass
    assert list((tmp_path / "outside").iterdir()) == []


def test_todays_files_are_laid_over_a_tree_and_those_that_are_gone_are_taken_away(repo: Repo, tmp_path: Path) -> None:
    repo.write("tests/test_old.py", "old\n")
    repo.write("tests/data/x")
    repo.write("tests/tool").chmod(0o755)
    manifest = _stored(repo)
    tree = tmp_path / "tree"
    checkout_copy(repo.private, manifest.digest, tree)
    repo.write("tests/test_old.py", "changed\n")
    repo.write("tests/new/test_new.py", "new\n")
    (repo.root / "tests" / "tool").chmod(0o644)
    (repo.root / "tests" / "data" / "x").unlink()
    (repo.root / "tests" / "link").symlink_to("test_old.py")
    repo.write("src/app.py", "print('not laid over')\n")
    names = ["tests/test_old.py", "tests/new/test_new.py", "tests/data/x", "tests/tool", "tests/link", "never/was"]
    overlay_paths(repo.root, names, tree)
    made = _contents(tree)
    assert made["tests/test_old.py"] == ("f", b"changed\n")
    assert made["tests/new/test_new.py"] == ("f", b"new\n")
    assert made["tests/tool"][0] == "f"
    assert made["tests/link"] == ("link", b"test_old.py")
    assert made["src/app.py"] == ("f", b"print(1)\n")
    assert "tests/data/x" not in made
    assert not (tree / "never").exists()


def test_files_folders_and_links_may_change_places_under_an_overlay(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    tree = tmp_path / "tree"
    (tree / "was-folder" / "deep").mkdir(parents=True)
    (tree / "was-file").write_text("")
    (tree / "was-link").symlink_to(tmp_path / "outside")
    (tree / "pipe").write_text("")
    repo.write("was-folder", "file now")
    repo.write("was-file/inner", "folder now")
    repo.write("was-link/kept", "laid over")
    os.mkfifo(repo.root / "pipe")
    (tree / "was-plain").write_text("")
    (repo.root / "was-plain").symlink_to("README")
    overlay_paths(repo.root, ["was-plain", "was-folder", "was-file/inner", "was-link/kept", "pipe"], tree)
    assert _contents(tree) == {
        "was-folder": ("f", b"file now"),
        "was-plain": ("link", b"README"),
        "was-file/inner": ("f", b"folder now"),
        "was-link/kept": ("f", b"laid over"),
    }
    assert (tmp_path / "outside" / "kept").read_text() == "kept"


def test_a_workspace_folder_that_is_a_link_lends_nothing_to_an_overlay(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (repo.root / "tests").symlink_to(tmp_path / "outside")
    (tmp_path / "tree" / "tests").mkdir(parents=True)
    (tmp_path / "tree" / "tests" / "secret").write_text("approved")
    overlay_paths(repo.root, ["tests/secret"], tmp_path / "tree")
    assert _contents(tmp_path / "tree") == {}


def test_a_disposable_folder_is_removed_with_read_only_files_inside(repo: Repo) -> None:
    with disposable(repo.private) as folder:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "c").write_text("")
        (folder / "a" / "b").chmod(0o500)
        (folder / "a").chmod(0)
    assert list((repo.private / "tmp").iterdir()) == []


def test_changed_paths_are_those_that_differ_came_or_went(repo: Repo) -> None:
    repo.write("gone")
    before = repo.manifest()
    (repo.root / "gone").unlink()
    repo.write("came")
    repo.write("README", "other\n")
    (repo.root / "src" / "app.py").chmod(0o755)
    after = repo.manifest()
    assert changed_paths(before, after) == ("README", "came", "gone", "src/app.py")
    assert changed_paths(after, after) == ()


def test_a_deletion_is_one_change_whether_or_not_it_is_committed(repo: Repo) -> None:
    before = repo.manifest()
    (repo.root / "README").unlink()
    assert changed_paths(before, repo.manifest()) == ("README",)
    repo.commit()
    assert changed_paths(before, repo.manifest()) == ("README",)


# ----- from commits


def _rebuild(repo: Repo, commit: str, digest: str, artifacts: tuple[str, ...] = ()) -> bool:
    return rebuild_from_commit(repo.root, commit, digest, repo.private, PLANS, artifacts)


def test_a_copy_is_made_anew_from_its_commit_whatever_lies_in_the_tree_now(repo: Repo, tmp_path: Path) -> None:
    repo.write("bin/run", "#!/bin/sh\n").chmod(0o755)
    repo.write("empty", "")
    (repo.root / "link").symlink_to("src/app.py")
    repo.write("plans/goal.json", "{}")
    repo.write("out/made", "artifact")
    commit = repo.commit()
    digest, source = repo.digest(["out/**"]), _contents(repo.root)
    repo.write("src/app.py", "print('later')\n")
    (repo.root / "README").unlink()
    repo.commit()
    assert _rebuild(repo, commit, digest, ("out/**",))
    assert _rebuild(repo, commit, digest, ("out/**",))
    checkout_copy(repo.private, digest, tmp_path / "tree")
    made = _contents(tmp_path / "tree")
    assert made == {name: source[name] for name in made}
    assert set(made) == {"README", "bin/run", "empty", "link", "src/app.py", "src/deep/er/mod.py"}


def test_a_commit_of_other_source_leaves_no_copy(repo: Repo) -> None:
    commit = repo.git("rev-parse", "HEAD")
    repo.write("src/app.py", "print(2)\n")
    assert not _rebuild(repo, commit, repo.digest())
    assert not has_copy(repo.private, repo.digest())
    assert not list((repo.private / "tmp").iterdir())


@pytest.mark.parametrize("commit", ["HEAD", "main", "", "--help", "0" * 40, "0" * 39, "0" * 41])
def test_what_is_no_commit_of_the_repository_rebuilds_nothing(repo: Repo, commit: str) -> None:
    assert not _rebuild(repo, commit, repo.digest())


def test_a_folder_without_git_rebuilds_nothing(plain: Repo) -> None:
    assert not _rebuild(plain, "0" * 40, plain.digest())


def test_a_commit_with_a_submodule_is_made_anew_from_both_repositories(repo: Repo, tmp_path: Path) -> None:
    library = Repo(tmp_path / "library").started()
    library.write("lib.py", "lib = 1\n")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    commit, digest = repo.commit(), repo.digest()
    repo.write("vendor/library/lib.py", "lib = 2\n")
    assert _rebuild(repo, commit, digest)
    checkout_copy(repo.private, digest, tmp_path / "tree")
    assert (tmp_path / "tree" / "vendor" / "library" / "lib.py").read_text() == "lib = 1\n"
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    assert not _rebuild(clone, commit, digest)
    assert _rebuild(clone, commit, clone.digest())


def test_objects_that_are_missing_rebuild_nothing(repo: Repo) -> None:
    commit, digest = repo.git("rev-parse", "HEAD"), repo.digest()
    blob = repo.git("rev-parse", "HEAD:src/app.py")
    (repo.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert not _rebuild(repo, commit, digest)
    tree = repo.git("rev-parse", "HEAD:src")
    (repo.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert not _rebuild(repo, commit, digest)


def _commit_of(repo: Repo, *entries: tuple[str, str, bytes]) -> str:
    tree = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(blob) for mode, blob, name in entries)
    made = repo.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=tree)
    return repo.git("commit-tree", "-m", "forged", made)


def test_forged_commits_write_nothing_outside_and_rebuild_nothing(repo: Repo, tmp_path: Path) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"evil")
    away = repo.git("hash-object", "-w", "--stdin", stdin=os.fsencode(tmp_path / "outside"))
    empty, nul = (repo.git("hash-object", "-w", "--stdin", stdin=text) for text in (b"", b"a\0b"))
    long = repo.git("hash-object", "-w", "--stdin", stdin=b"a" * 5000)
    inner = repo.git("hash-object", "-w", "-t", "tree", "--stdin", stdin=b"100644 file\0" + bytes.fromhex(blob))
    (tmp_path / "outside").mkdir()
    for entries in (
        [("100644", blob, b"..")],
        [("40000", inner, b"..")],
        [("100644", blob, b".git")],
        [("40000", inner, b".git")],
    ):
        with pytest.raises(Forged):
            _rebuild(repo, _commit_of(repo, *entries), repo.digest())
    for harmless in (
        [("120000", away, b"link"), ("40000", inner, b"link")],
        [("120000", empty, b"link")],
        [("120000", nul, b"link")],
        [("120000", long, b"link")],
        [("100644", inner, b"tree-as-file")],
    ):
        assert not _rebuild(repo, _commit_of(repo, *harmless), repo.digest())
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_commit_of_too_many_files_rebuilds_nothing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, digest = repo.git("rev-parse", "HEAD"), repo.digest()
    monkeypatch.setattr(copies_module, "FILES_MAX", 2)
    assert not _rebuild(repo, commit, digest)
    monkeypatch.setattr(copies_module, "FILES_MAX", 3)
    assert _rebuild(repo, commit, digest)


def test_a_disk_that_fails_is_told(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(Inaccessible, match="No space left"):
        _stored(repo)
    assert list((repo.private / "tmp").iterdir()) == []
