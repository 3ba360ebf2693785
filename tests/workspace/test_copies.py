"""Disposable copies of kept sources, and what a command left behind in one."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flow_mcp.workspace import copies as copies_module
from flow_mcp.workspace.copies import Copy, Left, lay_out, left_behind, lend_times, merged
from flow_mcp.workspace.keeping import pruning
from flow_mcp.workspace.listing import Forged
from flow_mcp.workspace.objects import Objects, digest_of
from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.source import Manifest, SourceEntry, seal
from flow_mcp.workspace.sources import Damaged, discard_copy, load_manifest, store_copy
from tests.workspace.rig import Repo


def _stored(repo: Repo) -> Manifest:
    manifest = repo.manifest()
    store_copy(repo.root, manifest, repo.private)
    return manifest


def _object(repo: Repo, digest: str) -> Path:
    digits = digest.removeprefix("sha256:")
    return repo.private / "objects" / digits[:2] / digits[2:]


def _spoil(repo: Repo, digest: str) -> None:
    """Flip one bit of an object's first byte."""
    place = _object(repo, digest)
    place.chmod(0o600)
    data = place.read_bytes()
    place.write_bytes(bytes([data[0] ^ 1]) + data[1:])


def _laid(repo: Repo, manifest: Manifest, target: Path) -> Copy:
    target.mkdir(exist_ok=True)
    return lay_out(repo.private, manifest.digest, manifest, target)


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


# ----- laying out


def test_a_copy_is_the_source_with_its_links_bits_and_empty_folders(repo: Repo, tmp_path: Path) -> None:
    repo.write("bin/run", "#!/bin/sh\n").chmod(0o751)
    (repo.root / "link").symlink_to("src/app.py")
    (repo.root / "bin" / "dangling").symlink_to("/nowhere/at/all")
    Path(os.fsdecode(os.fsencode(repo.root) + b"/caf\xe9")).write_text("latin")
    Repo(repo.root / "nested").started().write("inner.py")
    Repo(repo.root / "void").started()
    target = tmp_path / "copy"
    copy = _laid(repo, _stored(repo), target)
    assert copy.folder == target
    assert copy.folders == {b"nested", b"void"}
    assert {os.fsdecode(raw) for raw in copy.marks} == _names(target)
    assert stat.S_IMODE((target / "bin/run").stat().st_mode) == 0o755
    assert stat.S_IMODE((target / "README").stat().st_mode) == 0o644
    assert os.readlink(target / "link") == "src/app.py"  # noqa: PTH115 - the text itself
    assert os.readlink(target / "bin/dangling") == "/nowhere/at/all"  # noqa: PTH115 - the text itself
    assert Path(os.fsdecode(os.fsencode(target) + b"/caf\xe9")).read_text() == "latin"
    assert (target / "void").is_dir()


def test_modes_are_the_same_under_any_mask(repo: Repo, tmp_path: Path) -> None:
    manifest = _stored(repo)
    before = os.umask(0o077)
    try:
        _laid(repo, manifest, tmp_path / "copy")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "copy" / "README").stat().st_mode) == 0o644


def test_a_file_larger_than_a_piece_is_laid_out_whole(repo: Repo, tmp_path: Path) -> None:
    (repo.root / "large").write_bytes(b"0123456789abcde\n" * 100_000)
    _laid(repo, _stored(repo), tmp_path / "copy")
    assert (tmp_path / "copy" / "large").read_bytes() == (repo.root / "large").read_bytes()


def test_a_command_that_writes_into_its_copy_changes_neither_the_store_nor_the_workspace(
    repo: Repo, tmp_path: Path
) -> None:
    manifest = _stored(repo)
    _laid(repo, manifest, tmp_path / "copy")
    script = "echo evil >> README; chmod 600 src/app.py; : > src/app.py"
    subprocess.run(["sh", "-c", script], cwd=tmp_path / "copy", check=True)
    assert repo.digest() == manifest.digest
    assert (repo.root / "README").read_text() == "read me\n"
    _laid(repo, manifest, tmp_path / "second")
    assert (tmp_path / "second" / "README").read_text() == "read me\n"
    assert (tmp_path / "second" / "src" / "app.py").read_text() == "print(1)\n"


def test_a_damaged_object_is_never_laid_out_and_is_kept_anew(repo: Repo, tmp_path: Path) -> None:
    manifest = _stored(repo)
    digest = manifest.present()["src/app.py"].digest
    _spoil(repo, digest)
    with pytest.raises(Damaged, match=r"damaged at 'src/app\.py'") as refused:
        _laid(repo, manifest, tmp_path / "copy")
    assert refused.value.digest == manifest.digest
    assert not _object(repo, digest).exists()
    discard_copy(repo.private, manifest.digest)
    store_copy(repo.root, manifest, repo.private)
    _laid(repo, manifest, tmp_path / "second")
    assert (tmp_path / "second" / "src" / "app.py").read_text() == "print(1)\n"


def test_one_look_takes_away_every_damaged_object_and_no_whole_one(repo: Repo, tmp_path: Path) -> None:
    (repo.root / "link").symlink_to("README")
    present = _stored(repo).present()
    for name in ("README", "src/app.py", "link"):
        _spoil(repo, present[name].digest)
    with pytest.raises(Damaged, match="README"):
        _laid(repo, repo.manifest(), tmp_path / "copy")
    left = {name for name, entry in present.items() if _object(repo, entry.digest).exists()}
    assert left == {"src/deep/er/mod.py"}


@pytest.mark.parametrize("name", ["README", "link"])
def test_a_missing_object_is_damage(repo: Repo, tmp_path: Path, name: str) -> None:
    (repo.root / "link").symlink_to("README")
    manifest = _stored(repo)
    _object(repo, manifest.present()[name].digest).unlink()
    with pytest.raises(Damaged, match=f"damaged at '{name}'"):
        _laid(repo, manifest, tmp_path / "copy")


def test_an_object_that_is_no_marked_target_makes_no_link(repo: Repo, tmp_path: Path) -> None:
    digest = _stored(repo).present()["README"].digest
    forged = seal([SourceEntry("link", "link", executable=False, digest=digest)])
    with pytest.raises(Damaged):
        _laid(repo, forged, tmp_path / "copy")


def test_a_manifest_whose_bytes_as_they_lie_there_are_other_bytes_is_damaged(repo: Repo, tmp_path: Path) -> None:
    with Objects(repo.private) as objects:
        evil, honest = objects.keep_bytes(b"evil\r\n"), objects.keep_bytes(b"print(1)\r\n")
    manifest = _stored(repo)
    entry = manifest.present()["src/app.py"]
    for raw, target in ((honest, "honest"), (evil, "evil")):
        forged = seal([replace(entry, raw=raw)])
        assert forged.digest == seal([entry]).digest
        if raw == honest:
            _laid(repo, forged, tmp_path / target)
            assert (tmp_path / target / "src/app.py").read_bytes() == b"print(1)\r\n"
        else:
            with pytest.raises(Damaged, match=r"src/app\.py"):
                _laid(repo, forged, tmp_path / target)


def test_times_are_lent_by_files_of_the_workspace_that_hold_the_same_bytes(repo: Repo, tmp_path: Path) -> None:
    repo.write("same", "one\n")
    names = ("README", "src/app.py", "src/deep/er/mod.py", "same")
    for number, name in enumerate(names):
        os.utime(repo.root / name, ns=(10**18 + number, 10**18 + number))
    manifest = _stored(repo)
    (repo.root / "README").unlink()
    (repo.root / "README").symlink_to("src/app.py")
    shutil.rmtree(repo.root / "src" / "deep")
    repo.write("same", "two\n")
    os.utime(repo.root / "same", ns=(10**18 + 3, 10**18 + 3))
    copy = lend_times(_laid(repo, manifest, tmp_path / "copy"), manifest, repo.root)
    times = {name: (tmp_path / "copy" / name).stat().st_mtime_ns for name in names}
    assert times["src/app.py"] == 10**18 + 1
    assert [name for name in names if times[name] > 10**18 + 9] == ["README", "src/deep/er/mod.py", "same"]
    assert left_behind(copy, ()) == Left((), 0)


def test_a_file_that_is_touched_while_it_is_compared_lends_no_time(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = _stored(repo)
    real = digest_of

    def touched(descriptor: int) -> str:
        found = real(descriptor)
        os.utime(repo.root / "README", ns=(10**18, 10**18))
        return found

    copy = _laid(repo, manifest, tmp_path / "copy")
    monkeypatch.setattr("flow_mcp.workspace.copies.digest_of", touched)
    lend_times(copy, manifest, repo.root)
    assert (tmp_path / "copy" / "README").stat().st_mtime_ns > 10**18


@pytest.mark.parametrize(
    ("target", "named"),
    [("{root}", True), ("{root}/src", True), ("{root}-other", False), ("src/app.py", False), ("/usr", False)],
)
def test_a_link_of_the_source_that_names_the_workspace_is_told(
    repo: Repo, tmp_path: Path, target: str, *, named: bool
) -> None:
    (repo.root / "link").symlink_to(target.format(root=repo.root))
    assert _laid(repo, _stored(repo), tmp_path / "copy").names_workspace is named


def test_without_a_workspace_to_lend_them_every_file_is_as_new_as_the_copy(repo: Repo, tmp_path: Path) -> None:
    os.utime(repo.root / "README", ns=(10**18, 10**18))
    _laid(repo, _stored(repo), tmp_path / "copy")
    assert (tmp_path / "copy" / "README").stat().st_mtime_ns > 10**18


def test_a_manifest_that_names_paths_outside_writes_nothing_there(repo: Repo, tmp_path: Path) -> None:
    digest = _stored(repo).present()["README"].digest
    for name in ("../outside", ".git/config", "a/../../outside", "/outside"):
        forged = seal([SourceEntry(name, "file", executable=False, digest=digest)])
        with pytest.raises(Forged):
            _laid(repo, forged, tmp_path / "copy")
    assert not (tmp_path / "outside").exists()


def test_a_manifest_whose_link_is_also_a_folder_writes_nothing_through_it(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    with Objects(repo.private) as objects:
        away = objects.keep_bytes(b"link\0" + os.fsencode(tmp_path / "outside"))
        evil = objects.keep_bytes(b"evil")
    forged = seal(
        [
            SourceEntry("lib", "link", executable=False, digest=away),
            SourceEntry("lib/x", "file", executable=False, digest=evil),
        ]
    )
    _laid(repo, forged, tmp_path / "copy")
    assert list((tmp_path / "outside").iterdir()) == []
    assert (tmp_path / "copy" / "lib" / "x").read_bytes() == b"evil"


def test_a_link_in_place_of_the_folder_is_not_written_through(repo: Repo, tmp_path: Path) -> None:
    manifest = _stored(repo)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(Inaccessible):
        _laid(repo, manifest, tmp_path / "link")
    assert list((tmp_path / "real").iterdir()) == []


def test_a_full_disk_is_told_and_blames_no_object(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    manifest = _stored(repo)
    monkeypatch.setattr("flow_mcp.workspace.writer.os.write", full)
    with pytest.raises(Inaccessible) as refused:
        _laid(repo, manifest, tmp_path / "copy")
    monkeypatch.undo()
    assert refused.value.remedy == "Free some space, then try again."
    _laid(repo, manifest, tmp_path / "second")


def test_nobody_prunes_while_a_copy_is_laid_out(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, seen = _stored(repo), []
    real = copies_module._is_copied

    def watched(source: int, target: int, entry: SourceEntry) -> bool:
        with pruning(repo.private) as alone:
            seen.append(alone)
        return real(source, target, entry)

    monkeypatch.setattr(copies_module, "_is_copied", watched)
    _laid(repo, manifest, tmp_path / "copy")
    assert seen == [False] * 3


def test_a_source_is_merged_with_some_paths_of_another(repo: Repo, tmp_path: Path) -> None:
    repo.write("tests/old.py")
    repo.write("tests/kept.py", "approved\n")
    repo.write("tests/was-folder/inner")
    approved = _stored(repo)
    (repo.root / "tests/old.py").unlink()
    shutil.rmtree(repo.root / "tests/was-folder")
    repo.write("tests/was-folder", "file now\n")
    repo.write("tests/new.py", "new\n").chmod(0o755)
    repo.write("tests/kept.py", "today\n")
    repo.write("src/app.py", "today\n")
    now = _stored(repo)
    names = ["tests/old.py", "tests/kept.py", "tests/new.py", "tests/was-folder", "tests/was-folder/inner", "never/was"]
    both = merged(approved, now, names)
    lay_out(repo.private, approved.digest, both, _made(tmp_path / "copy"))
    copy = tmp_path / "copy"
    assert _names(copy) == {
        *("README", "src/app.py", "src/deep/er/mod.py"),
        *("tests/kept.py", "tests/new.py", "tests/was-folder"),
    }
    assert (copy / "tests/kept.py").read_text() == "today\n"
    assert (copy / "src/app.py").read_text() == "print(1)\n"
    assert os.access(copy / "tests/new.py", os.X_OK)
    assert merged(approved, now, ()) == approved


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


# ----- what a command left behind


@pytest.fixture
def copy(repo: Repo, tmp_path: Path) -> Copy:
    repo.write(".gitignore", "*.pyc\n__pycache__/\n/build/\n")
    (repo.root / "link").symlink_to("README")
    return _laid(repo, _stored(repo), tmp_path / "copy")


def test_a_command_that_only_reads_leaves_nothing(copy: Copy) -> None:
    subprocess.run(["sh", "-c", "cat README src/app.py; ls -R; stat link"], cwd=copy.folder, check=True)
    assert left_behind(copy, ()) == Left((), 0)


Change = Callable[[Path], object]
CHANGES: dict[str, Change] = {
    "changed README": lambda folder: (folder / "README").write_text("other\n"),
    "changed src/app.py": lambda folder: (folder / "src/app.py").chmod(0o755),
    "removed src/app.py": lambda folder: (folder / "src/app.py").unlink(),
    "removed src/deep/er/mod.py": lambda folder: shutil.rmtree(folder / "src/deep"),
    "changed link": lambda folder: subprocess.run(["ln", "-sfn", "src", "link"], cwd=folder, check=True),
    "added new": lambda folder: (folder / "new").write_text(""),
    "added src/deep/new": lambda folder: (folder / "src/deep/new").symlink_to("/nowhere"),
    "added out/": lambda folder: shutil.copytree(folder / "src", folder / "out" / "of" / "it"),
    "added src/pipe": lambda folder: os.mkfifo(folder / "src/pipe"),
    r"added two\x0alines": lambda folder: (folder / "two\nlines").write_text(""),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_command_changed_removed_or_added_is_named(copy: Copy, what: str) -> None:
    CHANGES[what](copy.folder)
    assert left_behind(copy, ()) == Left((what,), 0)


def test_a_file_that_was_written_and_given_its_old_time_and_size_is_named(copy: Copy) -> None:
    before = (copy.folder / "README").stat()
    probe = copy.folder.with_name("probe")
    probe.touch()
    while probe.stat().st_ctime_ns <= before.st_ctime_ns:  # the clock of some file systems ticks every few ms
        probe.touch()
    (copy.folder / "README").write_text("evil me\n")
    os.utime(copy.folder / "README", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (copy.folder / "README").stat().st_size == before.st_size
    assert left_behind(copy, ()).paths == ("changed README",)


def test_a_folder_in_place_of_a_file_and_a_file_in_place_of_a_folder_are_named(copy: Copy) -> None:
    (copy.folder / "README").unlink()
    (copy.folder / "README").mkdir()
    shutil.rmtree(copy.folder / "src")
    (copy.folder / "src").symlink_to("/usr")
    assert left_behind(copy, ()).paths == ("changed README", "removed src/app.py", "removed src/deep/er/mod.py")


def test_caches_inputs_reports_and_history_are_not_named(copy: Copy) -> None:
    for name in ("src/__pycache__/x", "build/y", ".flow/reports/r.xml", ".git/HEAD", "env/lib/z", "sub/env/z"):
        (copy.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (copy.folder / name).write_text("")
    (copy.folder / "src/mod.pyc").write_text("")
    (copy.folder / "shared").symlink_to("/usr")
    inputs = ("env/", "shared", "sub/env")
    assert left_behind(copy, inputs) == Left((), 0)
    (copy.folder / "sub" / "beside").write_text("")
    assert left_behind(copy, inputs).paths == ("added sub/beside",)
    assert left_behind(copy, ()).paths == ("added env/", "added shared", "added sub/")


def test_a_history_that_a_command_starts_further_down_is_named(copy: Copy) -> None:
    (copy.folder / "src" / ".git").mkdir()
    assert left_behind(copy, ()).paths == ("added src/.git/",)


def test_folders_of_the_source_without_files_are_not_named(repo: Repo, tmp_path: Path) -> None:
    library = Repo(tmp_path / "library").started()
    library.write("lib.py")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.root), "vendor/deep/library")
    repo.commit()
    shutil.rmtree(repo.root / "vendor/deep/library")
    (repo.root / "vendor/deep/library").mkdir()
    copy = _laid(repo, _stored(repo), tmp_path / "copy")
    assert copy.folders == {b"vendor/deep/library"}
    assert left_behind(copy, ()) == Left((), 0)
    (copy.folder / "vendor/deep/library/new").write_text("")
    assert left_behind(copy, ()).paths == ("added vendor/deep/library/new",)


def test_what_is_named_is_bounded_and_the_rest_counted(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (copy.folder / f"new{number:02}").write_text("")
    found = left_behind(copy, ())
    assert len(found.paths) == 20
    assert found.more == 10
    assert found.paths[0] == "added new00"
    monkeypatch.setattr(copies_module, "LOOKED_AT_MAX", 25)
    assert left_behind(copy, ()).more == 10


def test_a_copy_that_cannot_be_read_is_told(copy: Copy) -> None:
    shutil.rmtree(copy.folder)
    with pytest.raises(Inaccessible):
        left_behind(copy, ())


def test_a_kept_source_is_laid_out_from_its_stored_manifest(repo: Repo, tmp_path: Path) -> None:
    digest = _stored(repo).digest
    _laid(repo, load_manifest(repo.private, digest), tmp_path / "copy")
    assert _names(tmp_path / "copy") == {"README", "src/app.py", "src/deep/er/mod.py"}
