import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.engine import shelf as shelf_module
from flow_mcp.engine.shelf import KEPT_MAX, Shelf
from flow_mcp.store import marks
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Manifest, take_manifest
from flow_mcp.workspace.sources import load_manifest, store_copy


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.txt").write_text("a\n")
    return tmp_path / "repo"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which manifests were parsed."""
    digests: list[str] = []
    real = load_manifest

    def load(private: Path, digest: str) -> Manifest:
        digests.append(digest)
        return real(private, digest)

    monkeypatch.setattr(shelf_module, "load_manifest", load)
    return digests


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mark counts at once, as if the files were old."""
    monkeypatch.setattr(marks, "SETTLED_NS", -(10**18))


def stored(root: Path, private: Path, text: str = "a\n") -> Manifest:
    (root / "a.txt").write_text(text)
    manifest = take_manifest(root, Records("plans", frozenset()), ())
    store_copy(root, manifest, private)
    return manifest


@pytest.mark.usefixtures("settled")
def test_a_manifest_is_parsed_once_while_its_copy_is_untouched(root: Path, private: Path, reads: list[str]) -> None:
    manifest, shelf = stored(root, private), Shelf()
    first = shelf.manifest(private, manifest.digest)
    assert first == manifest
    assert shelf.manifest(private, manifest.digest) is first
    assert reads == [manifest.digest]


def test_a_copy_of_a_moment_ago_is_read_again(root: Path, private: Path, reads: list[str]) -> None:
    manifest, shelf = stored(root, private), Shelf()
    for _ in range(2):
        assert shelf.manifest(private, manifest.digest) == manifest
    assert len(reads) == 2


def gone(path: Path) -> None:
    path.unlink()


def without_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def edited(path: Path) -> None:
    path.write_text("{}")


def linked(path: Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to("aside")


def in_a_linked_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("aside"))
    path.parent.symlink_to("aside")


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("damage", [gone, without_folder, edited, linked, in_a_linked_folder])
def test_a_copy_that_went_or_was_damaged_is_not_at_hand(
    root: Path, private: Path, damage: Callable[[Path], None]
) -> None:
    manifest, shelf = stored(root, private), Shelf()
    assert shelf.manifest(private, manifest.digest) == manifest
    damage(private / "sources" / f"{manifest.digest.removeprefix('sha256:')}.json")
    assert shelf.manifest(private, manifest.digest) is None


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:0", "../../etc", "a\0b", "sha256:" + "0" * 64])
def test_what_names_no_copy_is_not_at_hand(private: Path, digest: str) -> None:
    assert Shelf().manifest(private, digest) is None


@pytest.mark.usefixtures("settled")
def test_only_the_manifests_that_were_asked_for_last_stay_in_memory(
    root: Path, private: Path, reads: list[str]
) -> None:
    shelf = Shelf()
    digests = [stored(root, private, f"{number}\n").digest for number in range(KEPT_MAX + 1)]
    for digest in (*digests, *digests[1:]):
        assert shelf.manifest(private, digest) is not None
    assert reads == digests
    assert shelf.manifest(private, digests[0]) is not None
    assert reads[len(digests) :] == [digests[0]]
