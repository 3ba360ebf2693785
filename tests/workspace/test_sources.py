"""Kept sources: their manifests, what is refused to be kept, and sources kept anew from commits."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.workspace import sources as sources_module
from flow_mcp.workspace.copies import lay_out
from flow_mcp.workspace.folders import PlantedLink
from flow_mcp.workspace.listing import Forged
from flow_mcp.workspace.objects import Objects
from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.source import Manifest, SourceEntry, Unstable, seal
from flow_mcp.workspace.sources import (
    Damaged,
    changed_paths,
    discard_copy,
    has_copy,
    load_manifest,
    manifest_path,
    rebuild_from_commit,
    store_copy,
)
from tests.workspace.rig import PLANS, Repo, roomed

Contents = dict[str, tuple[str, bytes]]


def _file(repo: Repo, digest: str) -> Path:
    return repo.private / "sources" / f"{digest.removeprefix('sha256:')}.json"


def _objects(repo: Repo) -> list[Path]:
    return [path for path in (repo.private / "objects").rglob("*") if path.is_file()]


def _stored(repo: Repo) -> Manifest:
    manifest = repo.manifest()
    store_copy(repo.root, manifest, repo.private)
    return manifest


def _rich(repo: Repo) -> Manifest:
    """Fill a repository with every kind of thing, and keep it."""
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


def contents(tree: Path) -> Contents:
    found = {}
    for path in tree.rglob("*"):
        name = str(path.relative_to(tree))
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[name] = ("x" if path.stat().st_mode & stat.S_IXUSR else "f", path.read_bytes())
    return found


def _copied(repo: Repo, digest: str) -> Contents:
    with roomed(repo.private) as folder:
        lay_out(repo.private, digest, load_manifest(repo.private, digest), folder)
        return contents(folder)


def test_a_kept_source_holds_exactly_the_digested_files_for_its_owner_alone(repo: Repo) -> None:
    manifest = _rich(repo)
    names = {
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
    source = contents(repo.root)
    assert _copied(repo, manifest.digest) == {name: source[name] for name in names}
    for folder in (repo.private, repo.private / "sources", repo.private / "objects"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(_file(repo, manifest.digest).stat().st_mode) == 0o600
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o400 for path in _objects(repo))


def test_a_source_is_found_by_its_digest_and_says_what_it_holds(repo: Repo) -> None:
    assert not has_copy(repo.private, repo.digest())
    manifest = _rich(repo)
    assert has_copy(repo.private, manifest.digest)
    assert load_manifest(repo.private, manifest.digest) == manifest
    assert not has_copy(repo.private, "sha256:" + "0" * 64)


def test_a_folder_without_git_and_a_repository_without_commits_are_kept_too(plain: Repo, tmp_path: Path) -> None:
    fresh = Repo(tmp_path / "fresh").started()
    fresh.write("README", "read me\n")
    for each, names in ((plain, {"README", "src/app.py"}), (fresh, {"README"})):
        assert set(_copied(each, _stored(each).digest)) == names


def test_looking_for_a_source_makes_nothing(repo: Repo) -> None:
    assert not has_copy(repo.private, repo.digest())
    discard_copy(repo.private, repo.digest())
    assert not repo.private.exists()


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:../../x", "md5:" + "0" * 64, "sha256:" + "A" * 64])
def test_what_is_no_digest_names_no_source(repo: Repo, digest: str) -> None:
    assert not has_copy(repo.private, digest)
    assert manifest_path(repo.private, digest) is None
    discard_copy(repo.private, digest)
    with pytest.raises(Damaged, match="is not here"):
        load_manifest(repo.private, digest)


def test_what_later_happens_to_the_workspace_does_not_reach_what_is_kept(repo: Repo) -> None:
    digest, source = _rich(repo).digest, contents(repo.root)
    (repo.root / "src" / "app.py").write_text("print('in place')\n")
    assert _copied(repo, digest)["src/app.py"] == source["src/app.py"]


def test_equal_files_of_several_sources_are_kept_once(repo: Repo) -> None:
    _stored(repo)
    repo.write("again", "read me\n")
    repo.write("src/app.py", "print(2)\n")
    _stored(repo)
    assert len(_objects(repo)) == 4


def _written(path: Path) -> tuple[int, int, int]:
    """Tell which file it is and when it was written; who read it, and when, is of no interest."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def test_a_source_is_kept_once_and_counts_as_kept_just_now_when_it_is_kept_again(repo: Repo) -> None:
    manifest = _stored(repo)
    file, objects = _file(repo, manifest.digest), {path: _written(path) for path in _objects(repo)}
    young = _written(file)
    store_copy(repo.root, manifest, repo.private)
    assert _written(file) == young
    os.utime(file, (1, 1))
    store_copy(repo.root, manifest, repo.private)
    assert _written(file)[0] == young[0]
    assert time.time() - file.stat().st_mtime < 60
    assert {path: _written(path) for path in _objects(repo)} == objects


def test_what_is_kept_already_need_not_be_read_again(repo: Repo) -> None:
    digest = _stored(repo).digest
    repo.write("new")
    later = repo.manifest()
    (repo.root / "README").write_text("moved meanwhile\n")
    store_copy(repo.root, later, repo.private)
    assert _copied(repo, later.digest)["README"] == _copied(repo, digest)["README"]


@pytest.mark.parametrize("change", ["content", "gone", "folder", "no-folder", "link", "pipe", "socket", "was-link"])
def test_a_source_that_moved_since_its_manifest_is_not_kept(repo: Repo, change: str) -> None:
    (repo.root / "src" / "link").symlink_to("app.py")
    manifest, file = repo.manifest(), repo.root / "src" / "app.py"
    match change:
        case "content":
            file.write_text("print(2)\n")
        case "gone":
            file.unlink()
        case "folder":
            file.unlink()
            file.mkdir()
        case "no-folder":
            shutil.rmtree(file.parent)
        case "link":
            file.unlink()
            file.symlink_to("/etc/passwd")
        case "pipe":
            file.unlink()
            os.mkfifo(file)
        case "socket":
            file.unlink()
            _bind(file)
        case _:
            (file.parent / "link").unlink()
            (file.parent / "link").write_text("app.py")
    with pytest.raises(Unstable, match=r"src/"):
        store_copy(repo.root, manifest, repo.private)
    assert not has_copy(repo.private, manifest.digest)
    assert not (repo.private / "sources").exists()


def _bind(file: Path) -> None:
    # By a short name, since the path of a socket is bounded.
    code = "import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).bind(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(file.parent), file.name], check=True)


def test_a_file_that_cannot_be_read_is_told(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = repo.manifest()

    def closed(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sources_module, "open_file", closed)
    with pytest.raises(Inaccessible, match="Permission denied"):
        store_copy(repo.root, manifest, repo.private)


def test_pipes_of_the_source_are_not_kept(repo: Repo) -> None:
    (repo.root / "README").unlink()
    os.mkfifo(repo.root / "README")
    assert set(_copied(repo, _stored(repo).digest)) == {"src/app.py", "src/deep/er/mod.py"}


def test_line_endings_are_kept_as_they_lie_there(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt text\n")
    repo.write("a.txt", "one\ntwo\n")
    plain = repo.digest()
    repo.write("a.txt", "one\r\ntwo\r\n")
    manifest = _stored(repo)
    assert manifest.digest == plain
    assert _copied(repo, plain)["a.txt"] == ("f", b"one\r\ntwo\r\n")


def _entries(file: Path) -> list[list[object]]:
    found: list[list[object]] = json.loads(file.read_text())["entries"]
    return found


FORGED: dict[str, Callable[[list[object]], list[object]]] = {
    "bad-digest": lambda each: [*each[:3], "../../outside", ""],
    "no-digest": lambda each: [*each[:3], "", ""],
    "raw": lambda each: [*each[:4], each[3] if each[1] == "link" else ""],
}


def _rewritten(file: Path, entries: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | {"entries": entries}))


@pytest.mark.parametrize("kind", ["cut", "extra", "other", "bad-path", "link", "none", "folder", "binary", *FORGED])
def test_a_source_with_a_spoilt_manifest_is_none_and_can_be_kept_anew(repo: Repo, tmp_path: Path, kind: str) -> None:
    (repo.root / "link").symlink_to("README")
    manifest = _stored(repo)
    file = _file(repo, manifest.digest)
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
        case "folder":
            file.unlink()
            (file / "inner").mkdir(parents=True)
        case "binary":
            file.write_bytes(b"\xff\xfe")
        case _:
            _rewritten(file, [FORGED[kind](each) for each in _entries(file)])
    assert not has_copy(repo.private, manifest.digest)
    with pytest.raises(Damaged):
        load_manifest(repo.private, manifest.digest)
    discard_copy(repo.private, manifest.digest)
    store_copy(repo.root, manifest, repo.private)
    assert has_copy(repo.private, manifest.digest)


def test_a_manifest_of_another_source_under_this_ones_name_is_none(repo: Repo) -> None:
    first = _stored(repo)
    repo.write("README", "other\n")
    second = _stored(repo)
    shutil.copy(_file(repo, first.digest), _file(repo, second.digest))
    with pytest.raises(Damaged, match="another source's manifest"):
        load_manifest(repo.private, second.digest)
    assert has_copy(repo.private, first.digest)


def test_planted_links_in_place_of_private_folders_are_refused(repo: Repo, tmp_path: Path) -> None:
    manifest = _stored(repo)
    (repo.private / "sources").rename(tmp_path / "moved")
    (repo.private / "sources").symlink_to(tmp_path / "moved")
    assert not has_copy(repo.private, manifest.digest)
    discard_copy(repo.private, manifest.digest)
    with pytest.raises(PlantedLink):
        store_copy(repo.root, manifest, repo.private)
    assert len(list((tmp_path / "moved").iterdir())) == 1
    shutil.rmtree(repo.private)
    (tmp_path / "outside").mkdir()
    repo.private.symlink_to(tmp_path / "outside")
    with pytest.raises(PlantedLink):
        store_copy(repo.root, manifest, repo.private)
    assert not has_copy(repo.private, manifest.digest)
    assert list((tmp_path / "outside").iterdir()) == []


KEEPER = """
import os, sys
from pathlib import Path
from flow_mcp.workspace import sources
from tests.workspace.rig import Repo

repo = Repo(Path(sys.argv[1]))
if len(sys.argv) > 2:
    sources.replace_file = lambda *_: os._exit(9)
sys.stdin.readline()
manifest = repo.manifest()
sources.store_copy(repo.root, manifest, repo.private)
"""


def _keeper(repo: Repo, *more: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", KEEPER, str(repo.root), *more]
    return subprocess.Popen(command, stdin=subprocess.PIPE, cwd=Path(__file__).parents[2])


def test_a_killed_process_leaves_no_half_kept_source_and_the_next_one_keeps_it(repo: Repo) -> None:
    with _keeper(repo, "killed before the manifest") as keeper:
        keeper.communicate(b"\n")
    assert keeper.returncode == 9
    assert not has_copy(repo.private, repo.digest())
    assert len(_objects(repo)) == 3
    assert set(_copied(repo, _stored(repo).digest)) == {"README", "src/app.py", "src/deep/er/mod.py"}


def test_two_processes_keep_the_same_source_at_once(repo: Repo) -> None:
    for number in range(60):
        repo.write(f"many/{number}", f"{number}\n")
    with _keeper(repo) as first, _keeper(repo) as second:
        for keeper in (first, second):
            assert keeper.stdin is not None
            keeper.stdin.write(b"\n")
            keeper.stdin.flush()
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(_objects(repo)) == 63
    assert len(_copied(repo, repo.digest())) == 63


def test_a_full_disk_keeps_no_source(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    manifest = repo.manifest()
    monkeypatch.setattr("flow_mcp.workspace.writer.os.write", full)
    with pytest.raises(Inaccessible) as refused:
        store_copy(repo.root, manifest, repo.private)
    monkeypatch.undo()
    assert refused.value.remedy == "Free some space, then try again."
    assert _objects(repo) == []
    assert not has_copy(repo.private, manifest.digest)


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


def test_a_source_is_kept_anew_from_its_commit_whatever_lies_in_the_tree_now(repo: Repo) -> None:
    repo.write("bin/run", "#!/bin/sh\n").chmod(0o755)
    repo.write("empty", "")
    (repo.root / "link").symlink_to("src/app.py")
    repo.write("plans/goal.json", "{}")
    repo.write("out/made", "artifact")
    commit = repo.commit()
    digest, source = repo.digest(["out/**"]), contents(repo.root)
    repo.write("src/app.py", "print('later')\n")
    (repo.root / "README").unlink()
    repo.commit()
    assert _rebuild(repo, commit, digest, ("out/**",))
    assert _rebuild(repo, commit, digest, ("out/**",))
    made = _copied(repo, digest)
    assert made == {name: source[name] for name in made}
    assert set(made) == {"README", "bin/run", "empty", "link", "src/app.py", "src/deep/er/mod.py"}


def test_a_source_whose_line_endings_attributes_normalise_is_kept_anew(repo: Repo) -> None:
    repo.write("a.txt", "one\r\ntwo\r\n")
    repo.write("b.bin", "one\r\n")
    repo.commit()
    repo.write(".gitattributes", "*.txt text\n*.bin -text\n")
    commit = repo.commit(".gitattributes")
    digest = repo.digest()
    assert _rebuild(repo, commit, digest)
    assert _copied(repo, digest)["b.bin"] == ("f", b"one\r\n")


def test_a_commit_of_other_source_is_not_kept(repo: Repo) -> None:
    commit = repo.git("rev-parse", "HEAD")
    repo.write("src/app.py", "print(2)\n")
    assert not _rebuild(repo, commit, repo.digest())
    assert not has_copy(repo.private, repo.digest())
    assert not (repo.private / "sources").exists()


@pytest.mark.parametrize("commit", ["HEAD", "main", "", "--help", "0" * 40, "0" * 39, "0" * 41])
def test_what_is_no_commit_of_the_repository_rebuilds_nothing(repo: Repo, commit: str) -> None:
    assert not _rebuild(repo, commit, repo.digest())


def test_a_folder_without_git_rebuilds_nothing(plain: Repo) -> None:
    assert not _rebuild(plain, "0" * 40, plain.digest())


def test_a_commit_with_a_submodule_is_kept_anew_from_both_repositories(repo: Repo, tmp_path: Path) -> None:
    library = Repo(tmp_path / "library").started()
    library.write("lib.py", "lib = 1\n")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    commit, digest = repo.commit(), repo.digest()
    repo.write("vendor/library/lib.py", "lib = 2\n")
    assert _rebuild(repo, commit, digest)
    assert _copied(repo, digest)["vendor/library/lib.py"] == ("f", b"lib = 1\n")
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    assert not _rebuild(clone, commit, digest)
    assert _rebuild(clone, commit, clone.digest())


def test_objects_of_git_that_are_missing_rebuild_nothing(repo: Repo) -> None:
    commit, digest = repo.git("rev-parse", "HEAD"), repo.digest()
    blob = repo.git("rev-parse", "HEAD:src/app.py")
    (repo.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert not _rebuild(repo, commit, digest)
    tree = repo.git("rev-parse", "HEAD:src")
    (repo.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert not _rebuild(repo, commit, digest)


def test_objects_of_the_store_that_are_missing_or_damaged_are_made_anew_from_the_commit(repo: Repo) -> None:
    commit, digest = repo.git("rev-parse", "HEAD"), _stored(repo).digest
    gone, spoilt, _ = sorted(_objects(repo))
    gone.unlink()
    spoilt.chmod(0o600)
    spoilt.write_bytes(b"evil")
    discard_copy(repo.private, digest)
    assert _rebuild(repo, commit, digest)
    assert len(_copied(repo, digest)) == 3


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
    monkeypatch.setattr(sources_module, "FILES_MAX", 2)
    assert not _rebuild(repo, commit, digest)
    monkeypatch.setattr(sources_module, "FILES_MAX", 3)
    assert _rebuild(repo, commit, digest)


def test_a_manifest_with_objects_of_its_own_choice_is_kept_under_its_own_digest_only(repo: Repo) -> None:
    with Objects(repo.private) as objects:
        evil = objects.keep_bytes(b"evil")
    forged = seal([SourceEntry("src/app.py", "file", executable=False, digest=evil)])
    store_copy(repo.root, forged, repo.private)
    assert forged.digest != repo.digest()
    assert not has_copy(repo.private, repo.digest())


def test_a_source_that_differs_in_line_endings_alone_is_kept_with_todays_bytes(repo: Repo, tmp_path: Path) -> None:
    repo.write(".gitattributes", "*.sh text\n")
    script = repo.write("do.sh", "echo one\r\n")
    with_returns = _stored(repo)
    script.write_bytes(b"echo one\n")
    plain = _stored(repo)
    assert plain.digest == with_returns.digest
    (tmp_path / "copy").mkdir()
    lay_out(repo.private, plain.digest, load_manifest(repo.private, plain.digest), tmp_path / "copy")
    assert (tmp_path / "copy" / "do.sh").read_bytes() == b"echo one\n"
