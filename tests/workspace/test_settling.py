"""A used copy is read in full before it is used again, and holds nothing that a new one would not."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.workspace.copies import lay_out
from flow_mcp.workspace.objects import Objects
from flow_mcp.workspace.source import Manifest
from flow_mcp.workspace.sources import store_copy
from tests.workspace.rig import Repo

Spoil = Callable[[Path], object]


def filled(repo: Repo) -> Manifest:
    """Keep a source with every kind of thing."""
    repo.write("bin/run", "#!/bin/sh\n").chmod(0o755)
    repo.write("src/deep/er/other.py", "other\n")
    repo.write(".gitattributes", "*.txt text\n")
    repo.write("ends.txt", "one\r\ntwo\r\n")
    (repo.root / "link").symlink_to("src/app.py")
    Path(os.fsdecode(os.fsencode(repo.root) + b"/caf\xe9")).write_text("latin")
    manifest = repo.manifest()
    store_copy(repo.root, manifest, repo.private)
    return manifest


def shape(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Give mode and content of everything below a folder."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(path.readlink())
        else:
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(folder))] = (status.st_mode, content)
    return found


def same_times(path: Path, text: str) -> None:
    """Change a file so that size and time of the last write stay what they were."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cleared(path: Path) -> Path:
    """Remove what is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    return path


def second_name(folder: Path) -> None:
    (folder / "second").unlink(missing_ok=True)
    os.link(folder / "src" / "app.py", folder.parent / f"{folder.name}.second")


SPOILS: dict[str, Spoil] = {
    "nothing": lambda folder: folder,
    "a changed file": lambda folder: (folder / "src/app.py").write_text("else"),
    "a changed file of the same size and time": lambda folder: same_times(
        folder / "src/app.py", "X" * len((folder / "src/app.py").read_text())
    ),
    "a removed file": lambda folder: (folder / "src/app.py").unlink(),
    "a removed folder": lambda folder: shutil.rmtree(folder / "src"),
    "an added file": lambda folder: (folder / "src/conftest.py").write_text(""),
    "an added folder": lambda folder: (folder / "new/deep").mkdir(parents=True),
    "a private folder": lambda folder: (folder / ".flow").mkdir(),
    "a history": lambda folder: (folder / ".git").mkdir(),
    "a link in place of a file": lambda folder: cleared(folder / "src/app.py").symlink_to("/etc/passwd"),
    "a link in place of a folder": lambda folder: cleared(folder / "src").symlink_to("/etc"),
    "a file in place of a folder": lambda folder: cleared(folder / "src").write_text(""),
    "a folder in place of a file": lambda folder: (cleared(folder / "bin/run") / "inside").mkdir(parents=True),
    "a pipe in place of a file": lambda folder: os.mkfifo(cleared(folder / "bin/run")),
    "another link": lambda folder: cleared(folder / "link").symlink_to("elsewhere"),
    "an executable bit": lambda folder: (folder / "src/app.py").chmod(0o755),
    "a file that others may write": lambda folder: (folder / "src/app.py").chmod(0o666),
    "a closed file": lambda folder: (folder / "src/app.py").chmod(0),
    "a closed folder": lambda folder: (folder / "src").chmod(0),
    "a second name": second_name,
}


@pytest.mark.parametrize("what", SPOILS)
def test_a_copy_made_from_a_used_one_is_what_a_new_one_is(repo: Repo, tmp_path: Path, what: str) -> None:
    manifest = filled(repo)
    new, used, again = (made(tmp_path / name) for name in ("new", "used", "again"))
    lay_out(repo.private, manifest.digest, manifest, new)
    first = lay_out(repo.private, manifest.digest, manifest, used)
    SPOILS[what](used)
    second = lay_out(repo.private, manifest.digest, manifest, again, used=used)
    assert shape(again) == shape(new)
    assert second.marks.keys() == first.marks.keys()
    assert (again / "src/app.py").stat().st_nlink == 1


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_another_source_is_laid_out_from_a_used_copy(repo: Repo, tmp_path: Path) -> None:
    before = filled(repo)
    repo.write("src/app.py", "changed\n")
    repo.write("src/added.py", "added\n")
    (repo.root / "bin/run").unlink()
    after = repo.manifest()
    store_copy(repo.root, after, repo.private)
    used, new, again = (made(tmp_path / name) for name in ("used", "new", "again"))
    lay_out(repo.private, before.digest, before, used)
    lay_out(repo.private, after.digest, after, new)
    lay_out(repo.private, after.digest, after, again, used=used)
    assert shape(again) == shape(new)


def test_what_is_the_same_is_moved_and_not_written_again(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = filled(repo)
    used, again = made(tmp_path / "used"), made(tmp_path / "again")
    lay_out(repo.private, manifest.digest, manifest, used)
    os.utime(used / "src/app.py", (1_000_000_000, 1_000_000_000))
    inode = (used / "src/app.py").stat().st_ino
    opened: list[str] = []
    real = Objects.open

    def noted(objects: Objects, digest: str) -> int | None:
        opened.append(digest)
        return real(objects, digest)

    monkeypatch.setattr(Objects, "open", noted)
    lay_out(repo.private, manifest.digest, manifest, again, used=used)
    assert (again / "src/app.py").stat().st_ino == inode
    assert (again / "src/app.py").stat().st_mtime > 1_500_000_000
    assert opened == [entry.stored for entry in manifest.entries if entry.raw]


def test_whoever_holds_a_folder_of_the_used_copy_holds_nothing_of_the_next(repo: Repo, tmp_path: Path) -> None:
    manifest = filled(repo)
    used, again = made(tmp_path / "used"), made(tmp_path / "again")
    lay_out(repo.private, manifest.digest, manifest, used)
    held = os.open(used / "src", os.O_RDONLY)
    try:
        lay_out(repo.private, manifest.digest, manifest, again, used=used)
        late = os.open("late.py", os.O_WRONLY | os.O_CREAT, dir_fd=held)
        os.close(late)
    finally:
        os.close(held)
    assert not (again / "src" / "late.py").exists()


def test_a_file_with_attributes_of_its_own_is_written_anew(repo: Repo, tmp_path: Path) -> None:
    manifest = filled(repo)
    used, again = made(tmp_path / "used"), made(tmp_path / "again")
    lay_out(repo.private, manifest.digest, manifest, used)
    try:
        os.setxattr(used / "src/app.py", "user.note", b"odd")
    except (AttributeError, OSError):
        pytest.skip("this file system keeps no attributes")
    lay_out(repo.private, manifest.digest, manifest, again, used=used)
    assert os.listxattr(again / "src/app.py") == []


def test_a_used_copy_that_is_gone_is_none(repo: Repo, tmp_path: Path) -> None:
    manifest = filled(repo)
    lay_out(repo.private, manifest.digest, manifest, made(tmp_path / "again"), used=tmp_path / "gone")
    assert (tmp_path / "again" / "src/app.py").exists()
