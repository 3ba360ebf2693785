import errno
import os
import secrets
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store import files
from flow_mcp.store.files import (
    Inaccessible,
    Oversized,
    PlantedLink,
    Unwritable,
    list_names,
    open_kept,
    prepare_folder,
    prepare_private,
    read_bytes,
    sweep_stale,
    write_atomic,
)

LEFTOVER = ".plan.json.0123456789abcdef.tmp"


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    folder = tmp_path / "plans"
    folder.mkdir()
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())


def failing(code: int) -> Callable[..., int]:
    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def failing_for_folders(code: int) -> Callable[[int], None]:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        real(descriptor)

    return fsync


def test_the_private_folder_is_for_its_user_alone_and_ignored_by_git(tmp_path: Path) -> None:
    prepare_private(tmp_path / ".flow")
    assert stat.S_IMODE((tmp_path / ".flow").stat().st_mode) == 0o700
    assert (tmp_path / ".flow" / ".gitignore").read_bytes() == b"*\n"


def test_git_does_not_see_the_private_folder(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, env=environment, check=True)
    prepare_private(tmp_path / ".flow")
    write_atomic(tmp_path / ".flow", "lock", b"")
    seen = subprocess.run(
        ["git", "status", "--porcelain"], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    assert seen.stdout == b""


def test_preparing_a_private_folder_again_leaves_its_files_and_tightens_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / ".flow"
    folder.mkdir(mode=0o755)
    (folder / ".gitignore").write_bytes(b"mine\n")
    prepare_private(folder)
    prepare_private(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / ".gitignore").read_bytes() == b"mine\n"
    assert names_in(folder) == [".gitignore"]


def test_a_private_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_private(tmp_path / ".flow")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PlantedLink, match="belongs to another user"):
        prepare_private(tmp_path / ".flow")


def test_an_ignore_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".flow").mkdir()
    (tmp_path / ".flow" / ".gitignore").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlantedLink, match=r"\.flow/\.gitignore is a link where a regular file belongs"):
        prepare_private(tmp_path / ".flow")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("prepare", [prepare_private, prepare_folder])
def test_no_folder_is_prepared_where_a_link_or_a_file_stands(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_bytes(b"kept")
    for name, kind in [("link", "link"), ("dangling", "link"), ("file", "file")]:
        with pytest.raises(PlantedLink, match=f"{name} is a {kind} where a folder belongs"):
            prepare(tmp_path / name)
    assert names_in(tmp_path / "real") == []
    assert (tmp_path / "file").read_bytes() == b"kept"
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_is_prepared_once_and_then_left_alone(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "plans")
    (tmp_path / "plans").chmod(0o750)
    prepare_folder(tmp_path / "plans")
    assert stat.S_IMODE((tmp_path / "plans").stat().st_mode) == 0o750


def test_a_folder_below_an_absent_one_is_not_prepared(tmp_path: Path) -> None:
    with pytest.raises(Unwritable, match=r"plans/ cannot be written: its folder is gone"):
        prepare_folder(tmp_path / "gone" / "plans")


def test_a_workspace_may_itself_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "real")
    prepare_private(tmp_path / "work" / ".flow")
    assert (tmp_path / "real" / ".flow").is_dir()


def test_what_was_written_is_read(plans: Path) -> None:
    write_atomic(plans, "plan.json", b"old")
    write_atomic(plans, "plan.json", b"new")
    assert read_bytes(plans, "plan.json", 3) == b"new"
    assert names_in(plans) == ["plan.json"]


def test_a_written_document_has_the_mode_of_the_users_other_files(plans: Path) -> None:
    (plans / "other").write_bytes(b"")
    write_atomic(plans, "plan.json", b"{}")
    assert (plans / "plan.json").stat().st_mode == (plans / "other").stat().st_mode


def test_an_absent_file_and_an_absent_folder_read_as_none(plans: Path) -> None:
    assert read_bytes(plans, "plan.json", 10) is None
    assert read_bytes(plans / "gone", "plan.json", 10) is None
    assert list_names(plans / "gone", ".json") == []


def test_a_file_of_the_size_limit_is_read_and_one_byte_more_is_refused_by_name(plans: Path) -> None:
    write_atomic(plans, "plan.json", b"1234")
    assert read_bytes(plans, "plan.json", 4) == b"1234"
    with pytest.raises(Oversized, match=r"plans/plan\.json holds more than 3 bytes"):
        read_bytes(plans, "plan.json", 3)


def test_a_folder_swapped_for_a_link_is_refused_by_every_function(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "plan.json").write_bytes(b"secret")
    (tmp_path / "elsewhere" / LEFTOVER).write_bytes(b"")
    plans = tmp_path / "plans"
    plans.symlink_to(tmp_path / "elsewhere")
    calls: list[Callable[[], object]] = [
        lambda: read_bytes(plans, "plan.json", 100),
        lambda: write_atomic(plans, "plan.json", b"new"),
        lambda: sweep_stale(plans, -10),
        lambda: list_names(plans, ".json"),
        lambda: open_kept(plans, "lock"),
    ]
    for call in calls:
        with pytest.raises(PlantedLink, match="plans is a link where a folder belongs"):
            call()
    assert (tmp_path / "elsewhere" / "plan.json").read_bytes() == b"secret"
    assert names_in(tmp_path / "elsewhere") == [LEFTOVER, "plan.json"]


def plant_link(place: Path) -> None:
    (place.parent / "secret").write_bytes(b"secret")
    place.symlink_to(place.parent / "secret")


def plant_hard_link(place: Path) -> None:
    (place.parent / "secret").write_bytes(b"secret")
    place.hardlink_to(place.parent / "secret")


def plant_pipe(place: Path) -> None:
    os.mkfifo(place)


def plant_folder(place: Path) -> None:
    place.mkdir()


def plant_socket(place: Path) -> None:
    # The name of a socket is bound relative to its folder, since such names are short.
    here = Path.cwd()
    os.chdir(place.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.chdir(here)


PLANTS = [
    (plant_link, "is a link where"),
    (plant_hard_link, "has 2 names"),
    (plant_pipe, "is a device, pipe or socket where"),
    (plant_socket, "is a device, pipe or socket where"),
    (plant_folder, "is a folder where"),
]


@pytest.mark.parametrize(("plant", "words"), PLANTS)
def test_a_planted_thing_in_a_documents_place_is_neither_read_nor_replaced(
    plans: Path, plant: Callable[[Path], None], words: str
) -> None:
    plant(plans / "plan.json")
    before = names_in(plans), (plans / "plan.json").lstat()
    with pytest.raises(PlantedLink, match=words):
        read_bytes(plans, "plan.json", 100)
    with pytest.raises(PlantedLink, match=words):
        write_atomic(plans, "plan.json", b"new")
    after = names_in(plans), (plans / "plan.json").lstat()
    assert after[0] == before[0]
    assert os.path.samestat(after[1], before[1])
    if (plans / "secret").exists():
        assert (plans / "secret").read_bytes() == b"secret"


def test_a_link_put_in_place_between_the_look_and_the_opening_is_not_followed(
    plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_link(plans / "plan.json")
    monkeypatch.setattr(files, "_refuse_foreign", lambda *_: None)
    monkeypatch.setattr(files, "_refuse_other_than_file", lambda *_: None)
    with pytest.raises(Inaccessible):
        read_bytes(plans, "plan.json", 100)
    with pytest.raises(Unwritable):
        open_kept(plans, "plan.json")


def replace_by_pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def add_hard_link(place: Path) -> None:
    (place.parent / "second").hardlink_to(place)


@pytest.mark.parametrize(("swap", "words"), [(replace_by_pipe, "pipe or socket"), (add_hard_link, "has 2 names")])
def test_a_file_swapped_between_the_look_and_the_opening_is_refused(
    plans: Path, monkeypatch: pytest.MonkeyPatch, swap: Callable[[Path], None], words: str
) -> None:
    (plans / "plan.json").write_bytes(b"{}")
    real = os.open

    def swapping_open(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if Path(path).name == "plan.json":
            swap(plans / "plan.json")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping_open)
    with pytest.raises(PlantedLink, match=words):
        read_bytes(plans, "plan.json", 100)


def test_a_temporary_name_that_is_taken_by_a_link_is_not_followed(plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _: "0123456789abcdef")
    (plans / "secret").write_bytes(b"secret")
    (plans / LEFTOVER).symlink_to(plans / "secret")
    with pytest.raises(Unwritable, match="File exists"):
        write_atomic(plans, "plan.json", b"new")
    assert (plans / "secret").read_bytes() == b"secret"
    assert read_bytes(plans, "plan.json", 10) is None


@pytest.mark.parametrize("name", ["", ".", "..", "../plan.json", "a/b", "a\\b", "c:plan", "a\0b"])
def test_a_path_where_a_name_belongs_is_a_broken_program(plans: Path, name: str) -> None:
    with pytest.raises(AssertionError, match="not one plain file name"):
        read_bytes(plans, name, 10)
    with pytest.raises(AssertionError, match="not one plain file name"):
        write_atomic(plans, name, b"")
    with pytest.raises(AssertionError, match="not one plain file name"):
        open_kept(plans, name)


SENTENCES = [
    (errno.ENOSPC, "the disk is full", "Free some space"),
    (errno.EDQUOT, "share of the disk is full", "Free some space"),
    (errno.EROFS, "read-only", "mount it writable"),
    (errno.EACCES, "permission is denied", "Give this user the right"),
    (errno.EPERM, "not permitted", "Give this user the right"),
    (errno.EIO, "the disk reports an error", "Check the disk"),
    (errno.EMFILE, "the system says 'Too many open files'", "Remove the cause"),
]


@pytest.mark.parametrize("words", SENTENCES)
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_write_that_the_system_refuses_leaves_the_old_bytes_and_no_temporary_file(
    plans: Path, monkeypatch: pytest.MonkeyPatch, call: str, words: tuple[int, str, str]
) -> None:
    code, seen, remedy = words
    write_atomic(plans, "plan.json", b"old")
    with monkeypatch.context() as broken:
        broken.setattr(os, call, failing(code))
        with pytest.raises(Unwritable) as caught:
            write_atomic(plans, "plan.json", b"new")
    assert caught.value.seen.startswith("plans/plan.json cannot be written: ")
    assert seen in caught.value.seen
    assert remedy in caught.value.remedy
    assert names_in(plans) == ["plan.json"]
    assert read_bytes(plans, "plan.json", 10) == b"old"


def test_a_disk_that_fills_up_half_way_leaves_the_old_bytes(plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomic(plans, "plan.json", b"old")
    real, room = os.write, [3, 2]

    def filling(descriptor: int, data: memoryview) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[: room.pop()])

    monkeypatch.setattr(os, "write", filling)
    with pytest.raises(Unwritable, match="the disk is full"):
        write_atomic(plans, "plan.json", b"new bytes")
    assert names_in(plans) == ["plan.json"]
    assert read_bytes(plans, "plan.json", 10) == b"old"


def test_a_system_that_takes_one_byte_at_a_time_gets_them_all(plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:1]))
    write_atomic(plans, "plan.json", b"every byte")
    assert read_bytes(plans, "plan.json", 10) == b"every byte"


def test_a_system_that_takes_nothing_is_an_error_not_an_endless_loop(
    plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda *_: 0)
    with pytest.raises(Unwritable, match="the disk reports an error"):
        write_atomic(plans, "plan.json", b"new")
    assert names_in(plans) == []


def test_an_interrupt_during_a_write_leaves_no_temporary_file(plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(plans, "plan.json", b"new")
    assert names_in(plans) == []


def test_a_write_that_the_disk_does_not_confirm_says_that_its_bytes_are_there(
    plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing_for_folders(errno.EIO))
    with pytest.raises(Unwritable, match="is in place, but the disk does not confirm"):
        write_atomic(plans, "plan.json", b"new")
    assert read_bytes(plans, "plan.json", 10) == b"new"


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_confirm_folders_is_written_all_the_same(
    plans: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(os, "fsync", failing_for_folders(code))
    write_atomic(plans, "plan.json", b"new")
    assert read_bytes(plans, "plan.json", 10) == b"new"


def test_bytes_and_both_names_are_settled_on_the_disk_in_this_order(
    plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        told.append("fsync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "fsync file")
        real_fsync(descriptor)

    def replace(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        told.append(f"replace {target}")
        real_replace(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_atomic(plans, "plan.json", b"new")
    assert told == ["fsync file", "replace plan.json", "fsync folder"]


def test_a_new_folder_is_settled_on_the_disk_through_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[os.stat_result] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: settled.append(os.fstat(descriptor)))
    prepare_folder(tmp_path / "plans")
    prepare_folder(tmp_path / "plans")
    assert len(settled) == 1
    assert os.path.samestat(settled[0], tmp_path.stat())


def test_no_call_leaves_a_descriptor_open(plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptors = Path("/dev/fd")
    before = names_in(descriptors)
    prepare_private(plans / ".flow")
    write_atomic(plans, "plan.json", b"old")
    read_bytes(plans, "plan.json", 10)
    list_names(plans, ".json")
    sweep_stale(plans, 0)
    with pytest.raises(Oversized):
        read_bytes(plans, "plan.json", 1)
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    with pytest.raises(Unwritable):
        write_atomic(plans, "plan.json", b"new")
    assert names_in(descriptors) == before


def test_an_absent_folder_is_not_written_to_nor_swept(plans: Path) -> None:
    with pytest.raises(Unwritable, match="its folder is gone"):
        write_atomic(plans / "gone", "plan.json", b"")
    with pytest.raises(Unwritable, match="its folder is gone"):
        sweep_stale(plans / "gone", 0)


def test_a_refused_read_says_why(plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (plans / "plan.json").write_bytes(b"{}")
    monkeypatch.setattr(os, "open", failing(errno.EACCES))
    with pytest.raises(Inaccessible, match=r"plans/plan\.json cannot be read: permission is denied"):
        read_bytes(plans, "plan.json", 10)
    with pytest.raises(Inaccessible, match=r"plans/ cannot be read: permission is denied"):
        list_names(plans, ".json")


def test_the_sweep_removes_only_old_temporary_files_of_its_own(plans: Path) -> None:
    kept = ["plan.json", ".plan.json.tmp", "plan.json.0123456789abcdef.tmp", ".plan.json.0123.tmp"]
    for name in [*kept, LEFTOVER, ".young.0123456789abcdef.tmp"]:
        (plans / name).write_bytes(b"")
        os.utime(plans / name, (0, 0))
    os.utime(plans / ".young.0123456789abcdef.tmp")
    (plans / ".link.0123456789abcdef.tmp").symlink_to(plans / "plan.json")
    (plans / ".folder.0123456789abcdef.tmp").mkdir()
    for name in [".link.0123456789abcdef.tmp", ".folder.0123456789abcdef.tmp"]:
        os.utime(plans / name, (0, 0), follow_symlinks=False)
    assert sweep_stale(plans, 3600) == 1
    assert sweep_stale(plans, 3600) == 0
    left = [*kept, ".young.0123456789abcdef.tmp", ".link.0123456789abcdef.tmp", ".folder.0123456789abcdef.tmp"]
    assert names_in(plans) == sorted(left)


def test_the_sweep_leaves_another_users_files(plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (plans / LEFTOVER).write_bytes(b"")
    os.utime(plans / LEFTOVER, (0, 0))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert sweep_stale(plans, 3600) == 0
    assert names_in(plans) == [LEFTOVER]


def test_the_sweep_takes_what_a_killed_writer_left(plans: Path) -> None:
    script = (
        "import os, pathlib, signal, sys\n"
        "from flow_mcp.store.files import write_atomic\n"
        "os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomic(pathlib.Path(sys.argv[1]), 'plan.json', b'new')\n"
    )
    # A program that is killed cannot hand in what of the code it ran.
    environment = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    killed = subprocess.run([sys.executable, "-c", script, plans], check=False, env=environment)
    assert killed.returncode == -9
    assert len(names_in(plans)) == 1
    assert list_names(plans, ".tmp") == []
    assert sweep_stale(plans, 3600) == 0
    assert sweep_stale(plans, -60) == 1
    assert names_in(plans) == []


def test_names_are_listed_in_order_without_hidden_and_unshowable_ones(plans: Path) -> None:
    for name in ["b.json", "a.json", "caf\u00e9.json", ".hidden.json", ".json", "a.md", "line\nbreak.json"]:
        (plans / name).write_bytes(b"")
    with suppress(OSError):  # some file systems have no such name
        Path(os.fsdecode(os.fsencode(plans) + b"/\xff.json")).write_bytes(b"")
    assert list_names(plans, ".json") == ["a.json", "b.json", "caf\u00e9.json"]


def test_a_kept_file_is_made_once_for_its_user_alone_and_not_emptied(plans: Path) -> None:
    first = open_kept(plans, "lock")
    os.write(first, b"kept")
    second = open_kept(plans, "lock")
    try:
        assert os.path.samestat(os.fstat(first), os.fstat(second))
        assert stat.S_IMODE(os.fstat(first).st_mode) == 0o600
        assert os.read(second, 10) == b"kept"
        assert not os.get_inheritable(first)
    finally:
        os.close(first)
        os.close(second)


@pytest.mark.parametrize("plant", [plant_link, plant_pipe, plant_folder])
def test_a_planted_thing_in_a_kept_files_place_is_refused(plans: Path, plant: Callable[[Path], None]) -> None:
    plant(plans / "lock")
    with pytest.raises(PlantedLink, match=r"plans/lock is a .* where a regular file belongs"):
        open_kept(plans, "lock")


def test_a_pipe_put_in_a_kept_files_place_at_the_last_moment_is_refused_and_closed(
    plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open
    opened: list[int] = []

    def planting_open(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "lock":
            plant_pipe(plans / "lock")
        opened.append(real(path, flags, mode, dir_fd=dir_fd))
        return opened[-1]

    monkeypatch.setattr(os, "open", planting_open)
    with pytest.raises(PlantedLink, match="pipe"):
        open_kept(plans, "lock")
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


READER = """
import pathlib, sys
from flow_mcp.store.files import read_bytes
folder = pathlib.Path(sys.argv[1])
print("first", read_bytes(folder, "plan.json", 1 << 20)[0], flush=True)
changed = False
while (data := read_bytes(folder, "plan.json", 1 << 20)) != b"end":
    assert data is not None and len(data) == 100_000 and len(set(data)) == 1, (data or b"absent")[:80]
    if data[0] and not changed:
        changed = True
        print("changed", flush=True)
"""


def test_readers_during_200_replaces_see_whole_documents_only(plans: Path) -> None:
    write_atomic(plans, "plan.json", b"\0" * 100_000)
    command = [sys.executable, "-c", READER, str(plans)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [reader.stdout for reader in readers if reader.stdout]
    assert [output.readline() for output in outputs] == ["first 0\n"] * 2
    for number in range(200):
        write_atomic(plans, "plan.json", bytes([number]) * 100_000)
    assert [output.readline() for output in outputs] == ["changed\n"] * 2
    write_atomic(plans, "plan.json", b"end")
    for reader in readers:
        reader.communicate()
    assert [reader.returncode for reader in readers] == [0, 0]


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BY_DESCRIPTOR", False)


@pytest.mark.usefixtures("windows")
def test_where_folders_cannot_be_opened_documents_are_read_and_links_refused(plans: Path) -> None:
    (plans / "plan.json").write_bytes(b"{}")
    assert read_bytes(plans, "plan.json", 10) == b"{}"
    assert read_bytes(plans, "gone.json", 10) is None
    assert read_bytes(plans / "gone", "plan.json", 10) is None
    assert list_names(plans, ".json") == ["plan.json"]
    (plans.parent / "link").symlink_to(plans)
    plant_link(plans / "link.json")
    with pytest.raises(PlantedLink):
        read_bytes(plans.parent / "link", "plan.json", 10)
    with pytest.raises(PlantedLink):
        read_bytes(plans, "link.json", 10)


@pytest.mark.usefixtures("windows")
def test_where_folders_cannot_be_opened_nothing_is_written(plans: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: write_atomic(plans, "plan.json", b""),
        lambda: prepare_private(plans.parent / ".flow"),
        lambda: prepare_folder(plans.parent / "more"),
        lambda: sweep_stale(plans, 0),
        lambda: open_kept(plans, "lock"),
    ]
    for call in calls:
        with pytest.raises(Unwritable, match="Windows") as caught:
            call()
        assert "WSL" in caught.value.remedy
    assert names_in(plans) == []
    assert names_in(plans.parent) == ["plans"]


def test_every_error_of_this_module_is_a_broken_world() -> None:
    assert all(issubclass(kind, BrokenWorld) for kind in (PlantedLink, Unwritable, Inaccessible, Oversized))
