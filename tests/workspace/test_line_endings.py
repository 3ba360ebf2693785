"""Line endings as the tree's attributes normalise them: always what git itself would put into a commit."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flow_mcp.workspace import attributes as attributes_module
from flow_mcp.workspace import contents as contents_module
from flow_mcp.workspace import look as look_module
from flow_mcp.workspace.facts import Globs, gather
from flow_mcp.workspace.line_endings import Pairs, plain_form
from flow_mcp.workspace.source import Memory, SourceEntry, Unstable, normalised_entries, seal, take_manifest
from tests.workspace.rig import PLANS, Repo

GLOBS = Globs(("tests/",), ("src/**",), (), ())
CRLF = "one\r\ntwo\r\n"

ATTRIBUTES = [
    "* text",
    "* text=auto",
    "* -text",
    "* !text",
    "* text=input",
    "* text=nonsense",
    "* eol=lf",
    "* eol=crlf",
    "* eol=nonsense",
    "* -text eol=crlf",
    "* text=auto eol=crlf",
    "* crlf",
    "* -crlf",
    "* crlf=input",
    "* crlf=auto",
    "* -crlf text",
    "* binary",
    "* text\n* binary",
    "* binary\n* text",
    "* binary text",
    "* text binary",
    "* text\n*.txt -text",
    "*.txt -text\n* text",
    "* text\nsrc/*.txt !text",
    "* text=auto\n*.txt !text crlf",
    "[attr]lines text=auto\n* lines",
    "[attr]lines text eol=lf\n* -lines",
    "[attr]lines text\n* !lines",
    "[attr]binary text\n* binary",
    "[attr]one two\n[attr]two text\n* one",
    "[attr]one one text\n* one",
    "[attr]lines -text\n[attr]lines text\n* lines",
    "[attr]- text\n* text",
    "[attr] text\n* crlf",
    "!*.txt text",
    "# * text",
    "   * \t text   ",
    "*.txt\ttext\r",
    "\ufeff* text",
    "* text -not/valid",
    "* text=auto=more",
    '"src/a.txt" text',
    '"src/\\141.txt" text',
    '"src/a\\".txt" text',
    '"src/\\a.txt" text',
    '"src/a.txt text',
    "src text",
    "src/ text",
    "src/** text",
    "/src/*.txt text",
    "/a.txt text",
    "a.txt text",
    "**/a.txt text",
    "src/a.tx[s-u] text",
    "src/a.tx? text",
    "* " + "x" * 2050 + " text",
]
BYTES = [
    b"one\r\ntwo\r\n",
    b"one\r\ntwo\n",
    b"one\r\ntwo\r",
    b"one\rtwo\r\n",
    b"one\r\n\0\r\n",
    b"\x01\r\n",
    b"\x01" + b"x" * 127 + b"\r\n",
    b"\x01" + b"x" * 128 + b"\r\n",
    b"\x7f" + b"x" * 100 + b"\r\n",
    b"\b\t\x1b\x0c" * 40 + b"\r\n",
    b"one\r\n\x1a",
    b"\x1aone\r\n",
    b"caf\xe9\r\n",
    b"\r\n",
    b"\r\r\n",
    b"plain\n",
    b"",
]


def _ours(repo: Repo, path: str) -> str:
    """The id that git would give to the bytes that the digest is of."""
    entry = repo.entries()[path]
    data = (repo.root / path).read_bytes()
    data = data.replace(b"\r\n", b"\n") if entry.raw else data
    assert entry.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _gits(repo: Repo, path: str) -> str:
    return repo.git("hash-object", f"--path={path}", "--stdin", stdin=(repo.root / path).read_bytes())


@pytest.fixture
def empty(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "empty").started()


@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_an_attributes_file_means_what_it_means_to_git(empty: Repo, attributes: str) -> None:
    empty.write(".gitattributes", attributes + "\n")
    empty.write("src/a.txt", CRLF)
    assert _ours(empty, "src/a.txt") == _gits(empty, "src/a.txt")


@pytest.mark.parametrize("treatment", ["text", "text=auto"])
def test_bytes_are_a_text_where_git_takes_them_for_one(empty: Repo, treatment: str) -> None:
    empty.write(".gitattributes", f"* {treatment}\n")
    for number, data in enumerate(BYTES):
        (empty.root / f"f{number}").write_bytes(data)
        assert _ours(empty, f"f{number}") == _gits(empty, f"f{number}"), data


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=12).map(lambda data: data.replace(b"x", b"\r\n").replace(b"y", b"\r")), st.integers(1, 4))
def test_any_bytes_have_one_plain_form_however_they_are_cut(data: bytes, size: int) -> None:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    pairs = Pairs()
    for piece in pieces:
        pairs.update(piece)
    expected = data.replace(b"\r\n", b"\n")
    assert pairs.count == data.count(b"\r\n")
    plain = plain_form(pieces, len(data) - pairs.count, "sha1")
    assert plain.digest == f"sha256:{hashlib.sha256(expected).hexdigest()}"
    assert plain == plain_form([data], len(data) - pairs.count, "sha1")


def test_the_nearest_attributes_file_speaks_first_and_only_the_top_one_names_macros(empty: Repo) -> None:
    empty.write(".gitattributes", "* text\n[attr]lines text\n[attr]off -text\n")
    empty.write("src/.gitattributes", "*.bin -text\n[attr]more text\n*.more more\n*.off off\n*.lines lines\n")
    empty.write("src/deep/.gitattributes", "special.bin text\n")
    paths = ("top", "src/a.bin", "src/b.txt", "src/x.more", "src/x.off", "src/x.lines")
    for path in (*paths, "src/deep/special.bin", "src/deep/other.bin"):
        empty.write(path, CRLF)
        assert _ours(empty, path) == _gits(empty, path), path


def test_macros_below_the_top_are_none_even_where_the_top_has_no_attributes(empty: Repo) -> None:
    empty.write("src/.gitattributes", "[attr]more text\n*.more more\n")
    empty.write("src/x.more", CRLF)
    assert _ours(empty, "src/x.more") == _gits(empty, "src/x.more")
    assert empty.entries()["src/x.more"].raw == ""


def test_a_nested_repository_does_not_hear_the_one_around_it(empty: Repo) -> None:
    empty.write(".gitattributes", "* text\n")
    nested = Repo(empty.root / "nested").started()
    nested.write("a.txt", CRLF)
    assert empty.entries()["nested/a.txt"].raw == ""
    nested.write(".gitattributes", "[attr]lines text\n* lines\n")
    assert empty.entries()["nested/a.txt"].raw != ""


def test_what_only_this_machine_says_of_line_endings_is_not_heard(repo: Repo, tmp_path: Path) -> None:
    repo.write("src/app.py", CRLF)
    before = repo.digest()
    (tmp_path / "attributes").write_text("* text\n")
    repo.git("config", "core.attributesFile", str(tmp_path / "attributes"))
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "core.eol", "crlf")
    repo.write(".git/info/attributes", "* text\n")
    assert repo.digest() == before
    assert repo.entries()["src/app.py"].raw == ""


def test_attributes_that_are_ignored_a_link_or_too_large_are_not_heard(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("src/app.py", CRLF)
    repo.write("src/.gitignore", ".gitattributes\n")
    repo.write("src/.gitattributes", "* text\n")
    assert repo.entries()["src/app.py"].raw == ""
    (tmp_path / "attributes").write_text("* text\n")
    (repo.root / ".gitattributes").symlink_to(tmp_path / "attributes")
    assert repo.entries()["src/app.py"].raw == ""
    (repo.root / ".gitattributes").unlink()
    repo.write(".gitattributes", "* text\n")
    assert repo.entries()["src/app.py"].raw != ""
    for module in ("attributes", "look", "normalising"):
        monkeypatch.setattr(f"flow_mcp.workspace.{module}.FILE_BYTES_MAX", 5)
    assert repo.entries()["src/app.py"].raw == ""


def test_checkouts_for_two_platforms_have_the_same_digest_and_are_clean(repo: Repo, tmp_path: Path) -> None:
    repo.write(".gitattributes", "* text=auto\n*.bin binary\n*.sh eol=lf\n")
    repo.write("src/run.sh", "echo\n").chmod(0o755)
    repo.write("data.bin", CRLF)
    repo.commit()
    digests = set()
    for name, endings in (("unix", "lf"), ("windows", "crlf")):
        repo.git("-c", f"core.eol={endings}", "clone", "-q", f"--config=core.eol={endings}", ".", str(tmp_path / name))
        clone = Repo(tmp_path / name)
        assert (b"\r\n" in (clone.root / "README").read_bytes()) == (endings == "crlf")
        digests.add(clone.digest())
        assert gather(clone.root, PLANS, GLOBS).clean
    assert digests == {repo.digest()}


def test_a_file_whose_crlf_was_committed_is_clean_as_it_lies_and_as_it_would_be_normalised(repo: Repo) -> None:
    repo.write("src/app.py", CRLF)
    repo.commit()
    assert gather(repo.root, PLANS, GLOBS).clean
    repo.write(".gitattributes", "* text=auto\n")
    repo.git("add", ".gitattributes")
    repo.git("commit", "-q", "-m", "attributes")
    assert repo.entries()["src/app.py"].raw != ""
    assert gather(repo.root, PLANS, GLOBS).clean
    repo.commit("--renormalize", ".")
    assert repo.git("cat-file", "-p", "HEAD:src/app.py") == "one\ntwo"
    assert gather(repo.root, PLANS, GLOBS).clean
    repo.write("src/app.py", "one\r\nthree\r\n")
    assert gather(repo.root, PLANS, GLOBS).targets_dirty == ("src/app.py",)


def test_crlf_that_no_attribute_normalises_is_a_change(repo: Repo) -> None:
    before = repo.digest()
    repo.write("README", "read me\r\n")
    assert repo.digest() != before
    assert gather(repo.root, PLANS, Globs((), ("README",), (), ())).targets_dirty == ("README",)


def test_a_file_of_several_pieces_is_normalised_across_their_ends(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(".gitattributes", "* text=auto\n")
    repo.write("large", "0123456789\r\n" * 1000)
    whole = repo.entries()["large"]
    repo.write("large", "0123456789\n" * 1000)
    assert repo.entries()["large"] == whole
    monkeypatch.setattr(contents_module, "_CHUNK_BYTES", 11)
    repo.write("large", "0123456789\r\n" * 1000)
    assert repo.entries()["large"] == whole


@pytest.mark.parametrize("becomes", ["gone", "another", "a folder"])
def test_attributes_that_change_under_the_look_are_told(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    repo.write("sub/.gitattributes", "* text\n")
    repo.write("sub/a.txt", CRLF)
    real = contents_module.small_file

    def swapped(name: bytes, folder: int, bytes_max: int) -> bytes | None:
        (repo.root / "sub/.gitattributes").unlink()
        if becomes == "another":
            repo.write("sub/.gitattributes", "* -text\n")
        if becomes == "a folder":
            (repo.root / "sub/.gitattributes").mkdir()
        return real(name, folder, bytes_max)

    monkeypatch.setattr("flow_mcp.workspace.look.small_file", swapped)
    with pytest.raises(Unstable, match="gitattributes"):
        repo.digest()


def test_a_look_that_failed_over_attributes_hides_nothing_from_the_next(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory(None, clock=lambda: 2**62)
    repo.write(".gitattributes", "* text\n")
    repo.write("src/app.py", CRLF)
    for _ in range(2):
        take_manifest(repo.root, PLANS, (), memory)
    repo.write(".gitattributes", "* text=auto\n")
    repo.write("src/app.py", CRLF + "more\r\n")
    with monkeypatch.context() as patched:
        patched.setattr(look_module, "small_file", lambda *_: None)
        with pytest.raises(Unstable):
            take_manifest(repo.root, PLANS, (), memory)
    assert take_manifest(repo.root, PLANS, (), memory) == repo.manifest()


def test_entries_of_a_commit_are_normalised_as_those_of_the_working_tree(repo: Repo) -> None:
    repo.write(".gitattributes", "* text=auto\n*.bin binary\nsrc/raw -text\n")
    nested = Repo(repo.root / "nested").started()
    for path, text in {"a.txt": CRLF, "b.bin": CRLF, "src/raw": CRLF, "src/c": "x\r\n\0", "lf": "x\n"}.items():
        repo.write(path, text)
        nested.write(path, text)
    (repo.root / "link").symlink_to("a.txt")
    manifest = repo.manifest()
    asked: list[str] = []

    def read(entry: SourceEntry) -> Iterator[bytes]:
        asked.append(entry.path)
        data = (repo.root / entry.path).read_bytes()
        return iter([data[:4], data[4:]] if len(data) > 4 else [data])

    def as_they_lie(entries: Sequence[SourceEntry]) -> list[SourceEntry]:
        return [SourceEntry(entry.path, entry.kind, entry.executable, entry.stored) for entry in entries]

    found = normalised_entries(as_they_lie(manifest.entries), read)
    assert [(entry, entry.raw) for entry in found] == [(entry, entry.raw) for entry in manifest.entries]
    assert seal(found) == manifest
    assert "nested/a.txt" not in asked
    large = SourceEntry(".gitattributes", "file", executable=False, digest="")
    assert normalised_entries([large], lambda _: [b"* text\n" * 100_000] * 1_000_000) == [large]
    (repo.root / ".gitattributes").unlink()
    plain = as_they_lie(repo.manifest().entries)
    assert normalised_entries(plain, read) == plain


def test_a_change_of_attributes_reaches_files_that_were_not_read_again(repo: Repo) -> None:
    memory = Memory(None, clock=lambda: 2**62)
    repo.write("src/app.py", CRLF)
    repo.write(".gitattributes", "* text\n")
    seen = {take_manifest(repo.root, PLANS, (), memory).digest}
    for text in ("*.py -text\n", "*.py text\n", "", "* crlf\n"):
        repo.write(".gitattributes", text)
        warm = take_manifest(repo.root, PLANS, (), memory)
        assert warm == repo.manifest()
        assert [entry.raw for entry in warm.entries] == [entry.raw for entry in repo.manifest().entries]
        seen.add(warm.digest)
    (repo.root / ".gitattributes").unlink()
    assert take_manifest(repo.root, PLANS, (), memory) == repo.manifest()
    assert len(seen) == 5


def test_an_edit_beside_attributes_that_stay_reads_them_once(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []

    def parse(data: bytes) -> attributes_module.Spoken:
        parsed.append(data)
        return attributes_module.parse(data)

    monkeypatch.setattr(look_module, "parse", parse)
    memory = Memory(None, clock=lambda: 2**62)
    repo.write(".gitattributes", "* text\n")
    for text in (CRLF, CRLF * 2, CRLF * 3):
        repo.write("src/app.py", text)
        take_manifest(repo.root, PLANS, (), memory)
    assert parsed == [b"* text\n"]


def test_an_attributes_file_above_its_bound_says_nothing() -> None:
    large = b"* text\n" + b"#" * attributes_module.FILE_BYTES_MAX
    assert attributes_module.parse(large).lines == ()
    assert len(attributes_module.parse(large[: attributes_module.FILE_BYTES_MAX]).lines) == 1


def test_names_that_are_no_text_have_attributes_too(empty: Repo) -> None:
    (Path(os.fsdecode(os.fsencode(empty.root) + b"/caf\xe9"))).write_bytes(CRLF.encode())
    empty.write(".gitattributes", "caf? text\n")
    assert empty.entries()["caf\\xe9"].raw != ""
    empty.write(".gitattributes", '"caf\\351" text\n')
    assert empty.entries()["caf\\xe9"].raw != ""


def test_a_folder_of_attributes_that_vanishes_under_the_look_is_told(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("sub/.gitattributes", "* text\n")
    repo.write("sub/a.txt", CRLF)
    real = look_module._Look._bytes

    def moved(self: look_module._Look, raw: bytes, path: str, digest: str) -> bytes:
        (repo.root / "sub").rename(repo.root / "other")
        return real(self, raw, path, digest)

    monkeypatch.setattr(look_module._Look, "_bytes", moved)
    with pytest.raises(Unstable, match="gitattributes"):
        repo.digest()
