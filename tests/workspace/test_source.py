"""What moves the digest and what does not: every way that a change was ever hidden from a fingerprint."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace import contents as contents_module
from flow_mcp.workspace.listing import Forged, list_source
from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.source import Displaced, Manifest, SourceEntry, Unstable, seal, take_manifest
from tests.workspace.rig import PLANS, Repo


def _submodule(repo: Repo, tmp_path: Path) -> Path:
    inner = Repo(tmp_path / "library").started()
    inner.write("lib.py", "lib = 1\n")
    inner.commit()
    repo.git("submodule", "--quiet", "add", str(inner.root), "vendor/library")
    repo.commit()
    return repo.root / "vendor" / "library"


def test_a_digest_is_sha256_with_64_digits_and_is_the_same_when_nothing_changed(repo: Repo) -> None:
    first = repo.digest()
    assert first == repo.digest()
    assert first.startswith("sha256:")
    assert len(first) == 7 + 64


def test_the_digest_of_a_known_tree_never_changes(tmp_path: Path) -> None:
    tree = Repo(tmp_path / "known")
    tree.write("a.txt", "alpha\n")
    tree.write("bin/run", "#!/bin/sh\n").chmod(0o755)
    (tree.root / "link").symlink_to("a.txt")
    assert tree.digest() == "sha256:1c93acb21313d2e849de562eeb697d451fbed2f0374a0c42c96bfd5a0deb2875"


def test_permissions_other_than_the_owners_executable_bit_leave_the_digest(repo: Repo) -> None:
    before = repo.digest()
    (repo.root / "src/app.py").chmod(0o600)
    assert repo.digest() == before
    (repo.root / "src/app.py").chmod(0o655)
    assert repo.digest() == before


def test_a_file_that_became_a_folder_has_the_same_digest_before_and_after_the_commit(repo: Repo) -> None:
    (repo.root / "README").unlink()
    repo.write("README/inside")
    before = repo.digest()
    assert repo.entries()["README"].kind == "dir"
    repo.commit()
    assert repo.digest() == before


def test_a_clone_and_a_linked_worktree_have_the_digest_of_the_original(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    assert Repo(tmp_path / "clone").digest() == repo.digest()
    assert Repo(tmp_path / "linked").digest() == repo.digest()


def test_a_file_with_a_newline_in_its_name_moves_the_digest(repo: Repo) -> None:
    repo.write("two\nlines", "1\n")
    before = repo.digest()
    repo.write("two\nlines", "2\n")
    assert "two\\x0alines" in repo.paths()
    assert repo.digest() != before


def test_a_name_that_is_not_utf8_moves_the_digest_and_is_named_printably(repo: Repo) -> None:
    file = Path(os.fsdecode(os.fsencode(repo.root) + b"/caf\xe9"))
    file.write_text("1")
    before = repo.digest()
    file.write_text("2")
    assert "caf\\xe9" in repo.paths()
    assert repo.digest() != before


def test_names_that_look_alike_when_escaped_stay_apart(repo: Repo) -> None:
    repo.write("a\nb", "1")
    repo.write("a\\x0ab", "2")
    assert repo.paths().count("a\\x0ab") == 1
    assert repo.paths().count("a\\\\x0ab") == 1


def test_a_deleted_file_moves_the_digest_and_is_named_as_missing(repo: Repo) -> None:
    before = repo.digest()
    (repo.root / "src/app.py").unlink()
    assert repo.digest() != before
    assert repo.entries()["src/app.py"].kind == "missing"


def test_a_link_is_its_text_and_what_it_points_to_is_not_read(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("1")
    (repo.root / "link").symlink_to(tmp_path / "outside")
    before = repo.digest()
    (tmp_path / "outside").write_text("2")
    assert repo.digest() == before


def test_a_file_and_a_link_with_the_same_text_differ_in_digest_and_entry(repo: Repo) -> None:
    link = repo.root / "README2"
    link.symlink_to("README")
    as_link = repo.manifest()
    link.unlink()
    link.write_text("README")
    as_file = repo.manifest()
    assert as_link.digest != as_file.digest
    assert as_link.present()["README2"].digest != as_file.present()["README2"].digest


def test_a_folder_replaced_by_a_link_is_not_entered(repo: Repo, tmp_path: Path) -> None:
    (repo.root / "src").rename(tmp_path / "moved")
    (repo.root / "src").symlink_to(tmp_path / "moved")
    entries = repo.entries()
    assert entries["src"].kind == "link"
    assert entries["src/app.py"].kind == "missing"


def test_the_content_of_an_untracked_nested_repository_moves_the_digest(repo: Repo) -> None:
    nested = Repo(repo.root / "nested").started()
    nested.write("inner.py", "1\n")
    first = repo.digest()
    nested.write("inner.py", "2\n")
    second = repo.digest()
    nested.commit()
    assert first != second
    assert repo.digest() == second
    assert repo.entries()["nested"].kind == "nested"


def test_a_nested_repository_differs_from_a_folder_with_the_same_files(repo: Repo) -> None:
    repo.write("nested/inner.py")
    as_folder = repo.digest()
    Repo(repo.root / "nested").started()
    assert repo.digest() != as_folder


def test_a_repository_in_place_of_a_tracked_file_is_refused_until_git_knows_of_it(repo: Repo) -> None:
    (repo.root / "README").unlink()
    Repo(repo.root / "README").started().write("evil.py")
    assert "README/evil.py" not in list_source(repo.root)  # git does not say that it is there
    with pytest.raises(Displaced, match="'README' is tracked as a file"):
        repo.digest()
    repo.git("rm", "-q", "--cached", "README")
    assert repo.entries()["README"].kind == "nested"
    assert repo.entries()["README/evil.py"].kind == "file"


def test_a_dirty_submodule_moves_the_digest_each_time_it_changes(repo: Repo, tmp_path: Path) -> None:
    submodule = _submodule(repo, tmp_path)
    clean = repo.digest()
    (submodule / "lib.py").write_text("lib = 2\n")
    dirty = repo.digest()
    (submodule / "lib.py").write_text("lib = 3\n")
    assert len({clean, dirty, repo.digest()}) == 3


def test_files_put_into_a_submodule_that_was_never_fetched_move_the_digest(repo: Repo, tmp_path: Path) -> None:
    _submodule(repo, tmp_path)
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    before = clone.digest()
    assert clone.entries()["vendor/library"].kind == "dir"
    clone.write("vendor/library/evil.py")
    assert clone.digest() != before


def test_a_tracked_file_replaced_by_a_pipe_moves_the_digest_and_nobody_waits_for_it(repo: Repo) -> None:
    before = repo.digest()
    (repo.root / "README").unlink()
    os.mkfifo(repo.root / "README")
    assert repo.digest() != before
    assert repo.entries()["README"].kind == "special"


def test_a_pipe_and_a_socket_in_place_of_a_file_are_two_things(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo.root / "README").unlink()
    os.mkfifo(repo.root / "README")
    as_pipe = repo.digest()
    (repo.root / "README").unlink()
    monkeypatch.chdir(repo.root)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("README")
        assert repo.digest() != as_pipe


def test_files_left_out_by_a_sparse_checkout_are_missing_and_the_rest_still_counts(repo: Repo) -> None:
    whole = repo.digest()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")
    repo.git("sparse-checkout", "set", "--no-cone", "/README")
    sparse = repo.digest()
    assert sparse != whole
    assert repo.entries()["src/app.py"].kind == "missing"
    repo.write("README", "other\n")
    assert repo.digest() != sparse


def test_a_sparse_index_hides_nothing(repo: Repo) -> None:
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src/deep")
    assert repo.entries()["src/deep/er/mod.py"].kind == "file"
    before = repo.digest()
    repo.write("src/deep/er/mod.py", "x = 2\n")
    assert repo.digest() != before


def test_a_change_right_after_the_commit_moves_the_digest(repo: Repo) -> None:
    repo.write("README", "aaaa\n")
    repo.commit()
    before = repo.digest()
    repo.write("README", "bbbb\n")
    assert repo.digest() != before


def test_split_indexes_untracked_caches_and_conflicts_hide_nothing(repo: Repo) -> None:
    repo.git("config", "core.untrackedCache", "true")
    repo.git("update-index", "--split-index", "--untracked-cache")
    before = repo.digest()
    repo.write("src/new.py")
    assert repo.digest() != before
    repo.git("checkout", "-q", "-b", "other")
    repo.write("README", "one\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("README", "two\n")
    repo.commit()
    with pytest.raises(AssertionError):
        repo.git("merge", "-q", "other")
    assert repo.paths().count("README") == 1


def test_flows_own_folders_and_the_artifacts_are_outside_of_the_digest(repo: Repo) -> None:
    before = repo.digest(["out/**"])
    repo.write("plans/goal.json", "{}")
    repo.write(".flow/lock")
    repo.write("out/result.bin")
    assert repo.digest(["out/**"]) == before
    assert repo.digest() != before


def test_folders_that_only_look_like_flows_own_are_source(repo: Repo) -> None:
    before = repo.digest()
    repo.write("plans.py")
    first = repo.digest()
    repo.write("src/plans/x.py")
    second = repo.digest()
    repo.write("src/.flow/x.py")
    assert len({before, first, second, repo.digest()}) == 4


def test_a_new_folder_that_ignores_itself_stays_unseen(repo: Repo) -> None:
    before = repo.digest()
    repo.write("cache/.gitignore", "*\n")
    repo.write("cache/evil.py")
    assert repo.digest() == before  # the known gap: a digest of source alone cannot see it, a run in a copy does


def test_a_repository_with_sha256_objects_is_read_alike(tmp_path: Path) -> None:
    made = [Repo(tmp_path / name).started(f"--object-format={name}") for name in ("sha1", "sha256")]
    for repo in made:
        repo.write("a.py")
        repo.commit()
    assert made[0].digest() == made[1].digest()


def test_an_index_that_names_a_path_outside_is_refused(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    repo.write("xx/secret.txt")
    repo.git("add", "xx/secret.txt")
    repo.forge_index(b"xx/secret.txt", b"../secret.txt")
    with pytest.raises(Forged, match=r"\.\./secret\.txt"):
        repo.digest()


def _digest_often(repo: Repo) -> None:
    for _ in range(100):
        repo.digest()


def test_a_file_that_is_written_all_the_time_is_called_unstable(repo: Repo) -> None:
    file = repo.root / "busy.log"
    file.write_bytes(b"x" * 20_000_000)
    program = "import os, sys\nfd = os.open(sys.argv[1], os.O_WRONLY)\nos.write(1, b'x')\n"
    program += "while True: os.pwrite(fd, os.urandom(16), 0)"
    with subprocess.Popen([sys.executable, "-I", "-c", program, str(file)], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.read(1) == b"x"
            with pytest.raises(Unstable, match=r"busy\.log"):
                _digest_often(repo)
        finally:
            writer.kill()


def test_a_file_that_changes_once_under_the_reading_is_read_again(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.read
    grown: list[Path] = []

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if data == b"read me\n" and not grown:
            grown.append(repo.write("README", "read me again\n"))
        return data

    monkeypatch.setattr(os, "read", read)
    seen = repo.digest()
    monkeypatch.undo()
    assert grown
    assert seen == repo.digest()


def test_a_file_that_becomes_a_pipe_a_link_or_nothing_between_two_looks_is_seen_as_what_it_became(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open
    readme, kinds = repo.root / "README", []

    def as_pipe() -> None:
        os.mkfifo(readme)

    def as_link() -> None:
        readme.symlink_to("src/app.py")

    for become in (as_pipe, as_link, lambda: None):
        done: list[bool] = []

        def swap(path: object, *rest: object, become: object = become, done: list[bool] = done, **more: object) -> int:
            if path == b"README" and not done:
                done.append(True)
                readme.unlink()
                become()  # type: ignore[operator] # one of the three above
            return real(path, *rest, **more)  # type: ignore[arg-type] # what the caller gave

        monkeypatch.setattr(os, "open", swap)
        kinds.append(repo.entries()["README"].kind)
        monkeypatch.undo()
        readme.unlink(missing_ok=True)
        readme.write_text("read me\n")
    assert kinds == ["special", "link", "missing"]


def test_a_link_that_becomes_a_file_between_two_looks_is_read_as_one(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = repo.root / "link"
    link.symlink_to("README")
    real = os.readlink

    def swap(path: bytes, *, dir_fd: int | None = None) -> bytes:
        if path == b"link":
            link.unlink()
            link.write_text("now a file")
        return real(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", swap)
    assert repo.entries()["link"].kind == "file"


def test_a_file_that_cannot_be_read_is_told_by_name(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def deny(path: object, *rest: object, **more: object) -> int:
        if path == b"app.py":
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest, **more)  # type: ignore[arg-type] # what the caller gave

    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(Inaccessible, match=r"src/app\.py.*Permission denied"):
        repo.digest()


def test_a_file_that_gives_fewer_bytes_than_its_size_is_read_again(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.read
    cut: list[bytes] = []

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if data == b"read me\n" and not cut:
            cut.append(data)
            return b"read"
        return data

    monkeypatch.setattr(os, "read", read)
    seen = repo.digest()
    monkeypatch.undo()
    assert cut
    assert seen == repo.digest()


def test_a_large_file_is_hashed_in_pieces(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("large", "0123456789" * 1000)
    whole = repo.digest()
    monkeypatch.setattr(contents_module, "_CHUNK_BYTES", 7)
    assert repo.digest() == whole


def test_entries_come_in_the_order_of_their_bytes_and_executables_are_marked(repo: Repo) -> None:
    repo.write("src-x/run").chmod(stat.S_IRWXU)
    manifest = repo.manifest()
    assert [entry.path for entry in manifest.entries] == ["README", "src-x/run", "src/app.py", "src/deep/er/mod.py"]
    assert [entry.executable for entry in manifest.entries] == [False, True, False, False]


def test_a_digest_cannot_be_kept_while_bytes_move_from_a_name_to_a_content() -> None:
    def one(path: str, digest: str) -> Manifest:
        return seal([SourceEntry(path, "file", executable=False, digest=digest)])

    assert one("ab", "c").digest != one("a", "bc").digest
    assert one("a", "1:b").digest != one("a1", ":b").digest


def test_every_failure_of_the_source_is_a_broken_world(tmp_path: Path) -> None:
    with pytest.raises(BrokenWorld, match="No such file"):
        take_manifest(tmp_path / "gone", PLANS, ())
