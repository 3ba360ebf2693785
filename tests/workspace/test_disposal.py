"""The folders of copies: lent, cleared after a killed runner, and one kept as a spare."""

import os
import re
import shutil
import stat
import tempfile
import time
from pathlib import Path

import pytest

from flow_mcp.workspace import workplaces
from flow_mcp.workspace.disposal import clear_disposed, disposable, disposed, own_mark, spare
from flow_mcp.workspace.workplaces import Strangers, workplace
from tests.workspace.rig import Repo


@pytest.fixture
def place(repo: Repo) -> Path:
    """Give the folder that copies are lent in."""
    return workplace(repo.root)


def test_a_disposable_folder_is_private_and_removed_with_read_only_files_inside(repo: Repo, place: Path) -> None:
    with disposable(repo.private) as room:
        outer = room.folder.parent
        assert outer.parent == place
        assert outer.name.startswith(own_mark(repo.private) + ".")
        assert stat.S_IMODE(outer.stat().st_mode) == 0o700
        assert (room.folder.name, list(room.folder.iterdir()), room.used) == (repo.root.name, [], None)
        (room.folder / "a" / "b").mkdir(parents=True)
        (room.folder / "a" / "b" / "c").write_text("")
        (room.folder / "a" / "b").chmod(0o500)
        (room.folder / "a").chmod(0)
        assert disposed(repo.private) == [outer]
    assert disposed(repo.private) == []


def test_a_workspace_with_a_strange_name_has_a_plain_one_for_its_copies(tmp_path: Path) -> None:
    strange = Repo(tmp_path / "two words\n").started()
    with disposable(strange.private) as room:
        assert room.folder.name == "copy"


def test_what_a_link_in_a_copy_leads_to_is_not_removed_with_it(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("")
    with disposable(repo.private) as room:
        (room.folder / "link").symlink_to(tmp_path / "outside")
    assert (tmp_path / "outside" / "kept").exists()


def test_what_a_command_writes_beside_or_above_its_copy_steers_no_later_one(repo: Repo, place: Path) -> None:
    with disposable(repo.private) as room:
        (room.folder.parent / "node_modules" / "evil").mkdir(parents=True)
        for above in (room.folder.parent, place, place.parent):
            (above / "pytest.ini").write_text("[pytest]\n")
            (above / "conftest.py").symlink_to("/dev/null")
    with disposable(repo.private) as room:
        assert list(room.folder.parent.iterdir()) == [room.folder]
        assert {"pytest.ini", "conftest.py"}.isdisjoint(path.name for path in place.iterdir())
        assert [path.name for path in place.parent.iterdir()] == ["work"]


@pytest.mark.parametrize("name", ["projects", ".config", "node_modules", ".git", "work.old"])
@pytest.mark.parametrize("where", ["inside", "beside"])
def test_a_folder_that_flow_did_not_make_is_never_removed_and_no_copy_lies_below_it(
    tmp_path: Path, name: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workplaces, "user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    repo, other = Repo(tmp_path / "here").started(), tmp_path / "cache"
    other = (other / "work" if where == "inside" else other) / name / "deep"
    somebodys = Repo(other).started()
    long_ago_s = time.time() - 10 * 24 * 3600
    os.utime(other.parent, (long_ago_s, long_ago_s))
    for one in (repo, somebodys):
        with disposable(one.private) as room:
            assert room.folder.is_relative_to(tmp_path / "temporary")
        clear_disposed(one.private, spared=False)
    assert (somebodys.root / ".git" / "HEAD").exists()


def test_a_workspace_that_is_the_cache_folder_outlives_the_checks_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workplaces, "user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    somebodys, repo = Repo(tmp_path / "cache").started(), Repo(tmp_path / "here").started()
    before = sorted(path.name for path in somebodys.root.iterdir())
    for one in (somebodys, repo):
        with disposable(one.private):
            pass
    assert set(before) <= {path.name for path in somebodys.root.iterdir()}


def test_where_every_place_holds_what_is_somebodys_nothing_is_lent_and_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workplaces, "user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    repo = Repo(tmp_path / "here").started()
    first, second = (place.parent / "mine" for place in workplaces.workplaces(repo.root))
    first.mkdir()
    second.mkdir()
    with pytest.raises(Strangers, match=re.escape(str(first))), disposable(repo.private):
        pass


def test_copies_that_a_killed_runner_left_are_cleared(repo: Repo, place: Path) -> None:
    assert clear_disposed(repo.private, spared=True) == ()
    mine = own_mark(repo.private)
    left, others, old = (place / name for name in (f"{mine}.{'0' * 12}", f"{'1' * 12}.{'2' * 12}", f"{'3' * 12}.spare"))
    for path in (left, others, old):
        (path / "deep").mkdir(parents=True)
        (path / "deep" / "file").write_text("")
    left.chmod(0)
    three_days_ago_s = time.time() - 3 * 24 * 3600
    os.utime(old, (three_days_ago_s, three_days_ago_s))
    assert clear_disposed(repo.private, spared=True) == ()
    assert [path.exists() for path in (left, others, old)] == [False, True, False]
    shutil.rmtree(others)


def test_what_cannot_be_removed_holds_up_nobody_and_is_told(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyError), disposable(repo.private):
        raise KeyError
    assert disposed(repo.private) == []

    def busy(_name: bytes, *, dir_fd: int) -> None:
        raise OSError(16, f"Device or resource busy {dir_fd}")

    with monkeypatch.context() as held:
        held.setattr(os, "rmdir", busy)
        with disposable(repo.private) as room:
            outer = room.folder.parent
        assert clear_disposed(repo.private, spared=True) == (outer,)
    assert disposed(repo.private) == [outer]
    assert clear_disposed(repo.private, spared=True) == ()


def test_a_copy_that_another_process_removes_just_now_holds_up_nobody(
    repo: Repo, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / f"{'4' * 12}.{'5' * 12}").mkdir()
    real = Path.iterdir

    def gone(folder: Path) -> list[Path]:
        found = [*real(folder), folder / f"{'6' * 12}.{'7' * 12}"]
        return found if folder == place else list(real(folder))

    monkeypatch.setattr(Path, "iterdir", gone)
    assert clear_disposed(repo.private, spared=True) == ()
    monkeypatch.undo()
    shutil.rmtree(place / f"{'4' * 12}.{'5' * 12}")


def test_a_spare_is_what_the_next_one_gets_and_pruning_removes(repo: Repo) -> None:
    for name in ("one", "two"):
        with disposable(repo.private) as room:
            (room.folder / name).write_text("")
            spare(repo.private, room.folder)
    clear_disposed(repo.private, spared=True)
    with disposable(repo.private) as room:
        assert list(room.folder.iterdir()) == []
        assert room.used is not None
        assert [path.name for path in room.used.iterdir()] == ["two"]
        with disposable(repo.private) as other:
            assert other.used is None
        spare(repo.private, room.folder)
    assert not room.used.exists()
    assert [path.name.rpartition(".")[2] for path in disposed(repo.private)] == ["spare"]
    clear_disposed(repo.private, spared=False)
    assert disposed(repo.private) == []


@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_what_is_no_folder_is_no_spare(repo: Repo, place: Path, tmp_path: Path, kind: str) -> None:
    planted = place / f"{own_mark_of(repo)}.spare"
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("")
    if kind == "file":
        planted.write_text("")
    else:
        planted.symlink_to(tmp_path / ("outside" if kind == "link" else "nowhere"))
    with disposable(repo.private) as room:
        assert room.used is None
    assert not os.path.lexists(planted)
    assert (tmp_path / "outside" / "kept").exists()


def own_mark_of(repo: Repo) -> str:
    """Name a workspace that Flow may not have worked in yet."""
    repo.private.mkdir(exist_ok=True)
    return own_mark(repo.private)


def test_a_workspace_that_was_copied_with_its_private_folder_is_another_one(repo: Repo, tmp_path: Path) -> None:
    own = own_mark_of(repo)
    shutil.copytree(repo.root, tmp_path / "twin", symlinks=True)
    assert own_mark(repo.private) == own
    assert own_mark(tmp_path / "twin" / ".flow") != own
