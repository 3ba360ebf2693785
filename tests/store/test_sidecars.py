import os
from pathlib import Path

import pytest

from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.model import Document, Listing
from flow_mcp.store import sidecars
from tests.store.records import LONG, LONG_DIGEST, draft, relisted, with_sidecar

LINES = {LONG_DIGEST: LONG}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "plans"
    path.mkdir()
    return path


@pytest.fixture
def document() -> Document:
    return with_sidecar()


def file_of(folder: Path, document: Document) -> Path:
    (name,) = sidecars.names(document)
    return folder / name


def test_a_long_list_is_read_back_from_a_file_named_by_its_digest(folder: Path, document: Document) -> None:
    assert sidecars.load(folder, document) == {}
    sidecars.save(folder, document, LINES)
    assert file_of(folder, document).name == f"p.{LONG_DIGEST.removeprefix('sha256:')[:32]}.lines"
    assert sidecars.load(folder, document) == LINES


def test_a_short_list_stands_in_the_document_and_needs_no_file(folder: Path) -> None:
    document = relisted(draft(), Listing(digest=digest_json(["a"]), count=1, lines=("a",)))
    assert sidecars.names(document) == ()
    sidecars.save(folder, document, {document.listings[0].digest: ("a",)})
    assert list(folder.iterdir()) == []
    assert sidecars.load(folder, document) == {document.listings[0].digest: ("a",)}


def test_a_list_in_the_document_under_another_digest_is_left_out(folder: Path) -> None:
    document = relisted(draft(), Listing(digest=LONG_DIGEST, count=1, lines=("a",)))
    assert sidecars.load(folder, document) == {}


def test_a_file_that_is_right_is_not_written_again_and_one_that_is_wrong_is(folder: Path, document: Document) -> None:
    sidecars.save(folder, document, LINES)
    path = file_of(folder, document)
    first = path.stat().st_ino
    sidecars.save(folder, document, LINES)
    assert path.stat().st_ino == first
    path.write_text("other lines\n")
    assert sidecars.load(folder, document) == {}
    sidecars.save(folder, document, LINES)
    assert sidecars.load(folder, document) == LINES


def test_a_list_that_was_lost_stays_lost_and_hinders_nothing(folder: Path, document: Document) -> None:
    sidecars.save(folder, document, {})
    assert list(folder.iterdir()) == []


def test_a_checkout_that_changed_the_line_endings_loses_nothing(folder: Path, document: Document) -> None:
    sidecars.save(folder, document, LINES)
    path = file_of(folder, document)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert sidecars.load(folder, document) == LINES


def test_only_line_feeds_part_lines(folder: Path) -> None:
    odd = tuple(f"case {number} \u00a0\u3000" for number in range(2_001))
    digest = digest_json(list(odd))
    document = relisted(draft(), Listing(digest=digest, count=len(odd)))
    sidecars.save(folder, document, {digest: odd})
    assert sidecars.load(folder, document) == {digest: odd}


@pytest.mark.parametrize("kind", ["link", "folder", "too-large", "hard-link"])
def test_whatever_else_stands_at_its_place_is_not_the_list(
    folder: Path, document: Document, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sidecars.save(folder, document, LINES)
    path, aside = file_of(folder, document), tmp_path / "aside"
    if kind == "too-large":
        monkeypatch.setattr(sidecars, "BYTES_MAX", 100)
    elif kind == "hard-link":
        os.link(path, aside)
    elif kind == "link":
        path.rename(aside)
        path.symlink_to(aside)
    else:
        path.unlink()
        path.mkdir()
    assert sidecars.load(folder, document) == {}


@pytest.mark.parametrize("digest", ["../../etc/passwd", "sha256:", "sha256:" + "A" * 64, "sha256:" + "0" * 65])
def test_a_digest_that_is_none_names_no_file(folder: Path, digest: str) -> None:
    document = relisted(draft(), Listing(digest=digest, count=3_000))
    assert sidecars.names(document) == ()
    assert sidecars.load(folder, document) == {}
    sidecars.save(folder, document, {digest: LONG})
    assert list(folder.iterdir()) == []
