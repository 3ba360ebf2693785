import errno
import os
from pathlib import Path

import pytest

from flow_mcp.store import marks
from flow_mcp.store.files import Inaccessible, PlantedLink
from flow_mcp.store.marks import SETTLED_NS, Mark


def mark_of(path: Path) -> Mark:
    return marks.marks(path.parent, (path.suffix,))[path.name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plans" / "a.json"
    path.parent.mkdir()
    path.write_text("{}")
    return path


def test_only_names_that_end_so_are_marked(file: Path) -> None:
    file.with_suffix(".md").write_text("page")
    assert list(marks.marks(file.parent, (".json", ".lines"))) == ["a.json"]


def test_an_absent_folder_marks_nothing(tmp_path: Path) -> None:
    assert marks.marks(tmp_path / "plans", (".json",)) == {}


def test_a_planted_link_in_place_of_the_folder_is_refused(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file.parent)
    with pytest.raises(PlantedLink):
        marks.marks(link, (".json",))


def test_a_folder_that_cannot_be_listed_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(Inaccessible, match="plans/ cannot be read"):
        marks.marks(file.parent, (".json",))


def test_a_name_that_went_meanwhile_has_no_mark(file: Path) -> None:
    with os.scandir(file.parent) as found:
        entries = list(found)
    file.unlink()
    assert [marks._mark(entry) for entry in entries] == [None]


def test_an_edit_that_keeps_size_and_time_leaves_another_mark(file: Path) -> None:
    before, info = mark_of(file), file.stat()
    while mark_of(file) == before:  # until the file system's clock has moved
        file.write_text("[]")
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    after = mark_of(file)
    assert (after.inode, after.size_bytes, after.modified_ns) == (before.inode, before.size_bytes, before.modified_ns)


def test_a_file_put_in_its_place_a_second_name_and_another_mode_leave_another_mark(file: Path) -> None:
    before = mark_of(file)
    file.with_name("b.json").write_text("{}")
    file.with_name("b.json").replace(file)
    assert mark_of(file).inode != before.inode
    os.link(file, file.with_name("other"))
    assert mark_of(file).names == 2
    file.chmod(0o600)
    assert mark_of(file).mode != before.mode


def test_a_mark_proves_something_only_once_the_clock_has_moved_well_past_it(file: Path) -> None:
    mark = mark_of(file)
    assert not mark.is_settled(mark.changed_ns + SETTLED_NS)
    assert mark.is_settled(mark.changed_ns + SETTLED_NS + 1)
    assert not mark._replace(modified_ns=mark.changed_ns * 2).is_settled(mark.changed_ns + SETTLED_NS + 1)
