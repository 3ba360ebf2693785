"""The content store: whole objects by their digest, and nothing through a planted link."""

import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flow_mcp.workspace.folders import PlantedLink
from flow_mcp.workspace.objects import Objects
from flow_mcp.workspace.paths import Inaccessible


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _path(private: Path, digest: str) -> Path:
    digits = digest.removeprefix("sha256:")
    return private / "objects" / digits[:2] / digits[2:]


def _files(private: Path) -> list[Path]:
    return [path for path in (private / "objects").rglob("*") if not path.is_dir()]


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return tmp_path / ".flow"


@pytest.fixture
def objects(private: Path) -> Iterator[Objects]:
    with Objects(private) as made:
        yield made


def test_equal_bytes_are_kept_once_and_given_back_by_their_digest(objects: Objects, private: Path) -> None:
    assert not objects.has(_digest(b"one"))
    assert objects.keep_bytes(b"one") == objects.keep_bytes(b"one") == _digest(b"one")
    assert objects.has(_digest(b"one"))
    assert objects.read(_digest(b"one"), bytes_max=3) == b"one"
    assert objects.is_whole(_digest(b"one"))
    assert _files(private) == [_path(private, _digest(b"one"))]


def test_objects_are_for_their_owner_alone_and_for_reading(objects: Objects, private: Path) -> None:
    place = _path(private, objects.keep_bytes(b"one"))
    assert stat.S_IMODE(place.stat().st_mode) == 0o400
    for folder in (place.parent, private / "objects", private):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_larger_than_a_piece_is_kept_whole(objects: Objects, tmp_path: Path) -> None:
    data = os.urandom(1024 * 1024) * 2 + b"end"
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb", buffering=0) as file:
        assert objects.keep(file.fileno()) == _digest(data)
    assert b"".join(objects.pieces(_digest(data))) == data


def test_what_is_not_kept_has_no_bytes(objects: Objects) -> None:
    missing = _digest(b"missing")
    assert objects.open(missing) is None
    assert objects.read(missing, bytes_max=9) is None
    assert list(objects.pieces(missing)) == []
    assert not objects.is_whole(missing)
    assert not objects.is_whole(_digest(b""))
    objects.discard(missing)


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:../../x", "md5:" + "0" * 64, "sha256:" + "A" * 64])
def test_what_is_no_digest_is_a_broken_program(objects: Objects, digest: str) -> None:
    with pytest.raises(AssertionError):
        objects.has(digest)


def test_an_object_larger_than_asked_for_is_not_read(objects: Objects) -> None:
    digest = objects.keep_bytes(b"four")
    assert objects.read(digest, bytes_max=4) == b"four"
    assert objects.read(digest, bytes_max=3) is None


def _spoilt(place: Path) -> None:
    place.chmod(0o600)
    place.write_bytes(b"two")


def _cut(place: Path) -> None:
    place.unlink()
    place.write_bytes(b"")


def _linked(place: Path) -> None:
    place.unlink()
    place.with_name("other").write_bytes(b"one")
    place.symlink_to("other")


def _folder(place: Path) -> None:
    place.unlink()
    (place / "inner").mkdir(parents=True)


def _pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


@pytest.mark.parametrize("damage", [_spoilt, _cut, _linked, _folder, _pipe])
def test_a_damaged_object_is_never_read_and_can_be_kept_anew(
    objects: Objects, private: Path, damage: Callable[[Path], None]
) -> None:
    digest = objects.keep_bytes(b"one")
    damage(_path(private, digest))
    assert objects.has(digest)
    assert objects.read(digest, bytes_max=9) is None
    assert not objects.is_whole(digest)
    objects.discard(digest)
    assert not objects.has(digest)
    assert objects.keep_bytes(b"one") == digest
    assert objects.read(digest, bytes_max=9) == b"one"


def test_a_feed_that_breaks_leaves_nothing(objects: Objects, private: Path) -> None:
    def broken(take: Callable[[bytes], None]) -> bool:
        take(b"half")
        return False

    def raising(take: Callable[[bytes], None]) -> bool:
        take(b"half")
        raise KeyError

    assert objects.keep_fed(broken) is None
    with pytest.raises(KeyError):
        objects.keep_fed(raising)
    assert _files(private) == []


def test_a_disk_that_is_full_leaves_no_half_object(
    objects: Objects, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def full(descriptor: int, data: bytes) -> int:
        if written:
            raise OSError(28, "No space left on device")
        written.append(1)
        return real(descriptor, data[:2])

    real = os.write
    monkeypatch.setattr("flow_mcp.workspace.writer.os.write", full)
    with pytest.raises(Inaccessible, match="No space left") as refused:
        objects.keep_bytes(b"bytes")
    assert refused.value.remedy == "Free some space, then try again."
    monkeypatch.undo()
    assert _files(private) == []
    assert objects.keep_bytes(b"bytes") == _digest(b"bytes")


FULL_DISK = """
import sys
from pathlib import Path
from flow_mcp.workspace.objects import Objects
from flow_mcp.workspace.paths import Inaccessible

private = Path(sys.argv[1]) / ".flow"
with Objects(private) as objects:
    small = objects.keep_bytes(b"small")
    try:
        objects.keep_bytes(b"x" * 4_000_000)
    except Inaccessible as error:
        print(error.remedy)
    assert objects.read(small, bytes_max=9) == b"small"
    print([path.name for path in (private / "objects").rglob("*") if path.is_file()] == [small[9:]])
    print(len(objects.keep_bytes(b"also small")))
"""


def test_a_disk_that_is_really_full_leaves_no_half_object(tmp_path: Path) -> None:
    mounted = f'mount -t tmpfs -o size=1m none {tmp_path} && exec {sys.executable} -c "$0" {tmp_path}'
    try:
        probe = subprocess.run(
            ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=1m none {tmp_path}"],
            capture_output=True,
            check=False,
        )
    except OSError:
        pytest.skip("no unshare here")
    if probe.returncode != 0:
        pytest.skip("nothing can be mounted here")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mounted, FULL_DISK], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["Free some space, then try again.", "True", "71"], done.stderr


def test_planted_links_in_place_of_the_stores_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    private = tmp_path / ".flow"
    private.mkdir()
    (private / "objects").symlink_to(tmp_path / "outside")
    with pytest.raises(PlantedLink):
        Objects(private)
    (private / "objects").unlink()
    (private / "objects").mkdir()
    digest = _digest(b"one")
    (private / "objects" / digest[7:9]).symlink_to(tmp_path / "outside")
    with Objects(private) as objects:
        with pytest.raises(Inaccessible):
            objects.keep_bytes(b"one")
        with pytest.raises(Inaccessible):
            objects.open(digest)
    assert list((tmp_path / "outside").iterdir()) == []
    assert list((private / "objects").iterdir()) == [private / "objects" / digest[7:9]]


def test_a_store_that_cannot_be_read_is_told(objects: Objects, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = objects.keep_bytes(b"one")

    def closed(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("flow_mcp.workspace.objects.open_file", closed)
    with pytest.raises(Inaccessible, match="Permission denied"):
        objects.read(digest, bytes_max=9)
    assert _path(private, digest).exists()


def test_a_store_uses_one_descriptor_however_many_objects_it_has(objects: Objects) -> None:
    before = sum(1 for _ in Path("/dev/fd").iterdir())
    for number in range(300):
        objects.keep_bytes(b"%d" % number)
    assert sum(1 for _ in Path("/dev/fd").iterdir()) == before
