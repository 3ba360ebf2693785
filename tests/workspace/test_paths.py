"""Strict path text, printable names for any bytes, and folders opened without following a link."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_mcp.workspace import paths as paths_module
from flow_mcp.workspace.paths import (
    Descent,
    Inaccessible,
    TooDeep,
    open_folder,
    printable,
    raw_path,
    safe_relative,
    told,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("/etc/passwd", "is absolute"),
        ("~/x", "is absolute"),
        ("C:/x", "is absolute"),
        ("c:x", "is absolute"),
        ("..", "leave the workspace"),
        ("a/../../b", "leave the workspace"),
        ("a/..", "leave the workspace"),
        ("a\x00b", "NUL"),
        ("a\nb", "control character"),
        ("a\x7fb", "control character"),
        ("a\x85b", "control character"),
        ("a\u2028b", "control character"),
        ("gpj\u202eexe", "control character"),
        ("a\\b", "backslash"),
        (".", "the workspace itself"),
        ("./", "the workspace itself"),
        ("\udc80", "not valid Unicode"),
        ("a" * 4097, "longer than 4096 bytes"),
        ("é" * 2049, "longer than 4096 bytes"),
    ],
)
def test_a_path_that_is_not_plainly_inside_is_refused_in_plain_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        safe_relative(text)
    assert len(str(caught.value)) < 700
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a", "a"),
        ("a/b.py", "a/b.py"),
        ("a//b/", "a/b"),
        ("./a/./b", "a/b"),
        ("...", "..."),
        ("a..b/..c", "a..b/..c"),
        (" spaced name ", " spaced name "),
        ("ünï/文", "ünï/文"),
        ("ab:c", "ab:c"),
        ("a" * 4096, "a" * 4096),
    ],
)
def test_a_path_inside_comes_back_in_its_plain_form(text: str, plain: str) -> None:
    assert safe_relative(text) == plain


@given(st.binary(min_size=1, max_size=40))
def test_any_bytes_have_one_printable_name_that_gives_them_back(raw: bytes) -> None:
    name = printable(raw)
    assert raw_path(name) == raw
    assert "\n" not in name
    name.encode("utf-8")


@given(st.text(st.characters(categories=("Cc", "Cf", "Zl", "Zp")), min_size=1, max_size=5))
def test_no_character_without_a_look_of_its_own_is_shown(text: str) -> None:
    shown = printable(text.encode())
    assert raw_path(shown) == text.encode()
    assert all(mark not in shown for mark in "\x00\n\x1b\x7f\x85\u2028\u202e\u200b\ufeff")


def test_ordinary_names_are_shown_as_they_are() -> None:
    assert printable("src/ünï 文/[a].py".encode()) == "src/ünï 文/[a].py"
    assert printable(b"a\\b\n\xff") == "a\\\\b\\x0a\\xff"


@pytest.mark.parametrize("text", ["a\\", "a\\n", "a\\x0", "a\\xZZ", "a\\x0A"])
def test_a_stored_name_that_was_never_made_here_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="backslash"):
        raw_path(text)


def test_a_descent_finds_folders_in_any_order_and_closes_what_it_opened(tmp_path: Path) -> None:
    for path in ("a/b/c", "a/x", "z"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "here").write_text(path)
    before = len(list(Path("/dev/fd").iterdir()))
    with Descent(tmp_path) as descent:
        for path in ("a/b/c", "a/x", "a/b/c", "z", "a"):
            folder = descent.folder(path.encode())
            assert folder is not None
            assert os.fstat(folder).st_ino == (tmp_path / path).stat().st_ino
        assert descent.folder(b"a/none/deeper") is None
        assert descent.folder(b"z/here") is None
        assert descent.folder(b"") is not None
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_descent_never_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(tmp_path / "outside")
    with Descent(top) as descent:
        assert descent.folder(b"link") is None
        assert descent.folder(b"link/deep") is None
        os.close(os.dup(descent.made(b"link/new")))
    assert not (tmp_path / "outside" / "new").exists()
    assert (top / "link" / "new").is_dir()


def test_a_descent_that_makes_folders_removes_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("in the way")
    with Descent(tmp_path) as descent:
        descent.made(b"a/b/c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_a_descent_goes_128_folders_deep_and_no_further(tmp_path: Path) -> None:
    with Descent(tmp_path) as descent:
        descent.made(b"/".join([b"d"] * 128))
        with pytest.raises(TooDeep, match="deeper than 128 folders"):
            descent.folder(b"/".join([b"d"] * 129))


def test_a_refusal_of_the_system_comes_through_a_descent(tmp_path: Path) -> None:
    with Descent(tmp_path) as descent, pytest.raises(OSError, match="File name too long"):
        descent.folder(b"x" * 300)


def test_a_top_that_is_a_link_or_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(Inaccessible, match="link"):
        open_folder(tmp_path / "link")
    with pytest.raises(Inaccessible, match="No such file"):
        open_folder(tmp_path / "gone")


def test_a_platform_without_descriptors_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths_module, "_BY_DESCRIPTOR", False)
    with pytest.raises(Inaccessible, match="cannot open files relative to a folder") as caught:
        open_folder(tmp_path)
    assert "Linux or macOS" in caught.value.remedy


def test_a_full_disk_asks_for_space_and_anything_else_for_the_right(tmp_path: Path) -> None:
    with pytest.raises(Inaccessible) as full, told(tmp_path):
        raise OSError(28, "No space left on device")
    assert "Free some space" in full.value.remedy
    with pytest.raises(Inaccessible) as denied, told(tmp_path):
        raise PermissionError(13, "Permission denied", b"na\xffme")
    assert "(na\\xffme): Permission denied" in denied.value.seen
