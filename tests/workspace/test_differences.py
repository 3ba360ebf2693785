"""What a reviewer is shown of two sources: everything that changed, the dangerous first, within bounds."""

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.differences import (
    READ_BYTES_MAX,
    TEXT_BYTES_MAX,
    TEXT_LINES_MAX,
    Bounds,
    Difference,
    Differences,
    Reads,
    changed_between,
    changes,
    differences,
)
from flow_mcp.workspace.paths import raw_path
from flow_mcp.workspace.source import Manifest, SourceEntry, seal
from tests.workspace.rig import Repo

PLENTY = Bounds(10_000_000, 1_000_000, 1 << 30, with_moves=True, measure=len)
TIGHT = replace(PLENTY, characters_max=4_000, line_characters_max=200, with_moves=False)

Contents = dict[str, bytes]


def file(path: str, data: bytes, *, executable: bool = False, raw: bytes | None = None) -> tuple[SourceEntry, bytes]:
    """Give an entry and its bytes as they lie there; ``raw`` where they differ from the digested ones."""
    entry = SourceEntry(path, "file", executable, digest_bytes(data), "" if raw is None else digest_bytes(raw))
    return entry, data if raw is None else raw


class Store:
    """Bytes by their digest, as the content store keeps them."""

    def __init__(self) -> None:
        self.kept: Contents = {}
        self.read: list[str] = []

    def manifest(self, *files: tuple[SourceEntry, bytes]) -> Manifest:
        self.kept |= {entry.stored: data for entry, data in files}
        return seal(entry for entry, _ in files)

    def texts(self, files: Mapping[str, bytes]) -> Manifest:
        return self.manifest(*(file(path, data) for path, data in files.items()))

    def get(self, entry: SourceEntry) -> bytes | None:
        self.read.append(entry.path)
        return self.kept.get(entry.stored)

    def compare(
        self,
        before: Manifest,
        after: Manifest,
        bounds: Bounds = PLENTY,
        *,
        frozen: Collection[str] = (),
        outside: Collection[str] = (),
    ) -> Differences:
        return differences(changes(before, after, frozen, outside), Reads(self.get, self.get), bounds)


def compared(before: Mapping[str, bytes], after: Mapping[str, bytes], bounds: Bounds = PLENTY) -> Differences:
    store = Store()
    return store.compare(store.texts(before), store.texts(after), bounds)


def only(found: Differences) -> Difference:
    assert found.left_out.paths == 0
    (difference,) = found.shown
    return difference


def paths(found: Differences) -> list[str]:
    return [each.change.path for each in found.shown]


def test_each_path_says_what_happened_and_how_many_lines() -> None:
    before = {"gone.py": b"1\n2\n", "kept.py": b"same\n", "edited.py": b"a\nb\n"}
    after = {"come.py": b"new\n", "kept.py": b"same\n", "edited.py": b"a\nc\nd\n"}
    found = compared(before, after)
    told = {each.change.path: (each.change.what, each.added, each.removed) for each in found.shown}
    assert told == {"come.py": ("added", 1, 0), "edited.py": ("changed", 2, 1), "gone.py": ("removed", 0, 2)}
    assert found.shown[1].text == "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"


def test_what_is_equal_never_shows_and_is_never_read() -> None:
    store = Store()
    source = store.texts({"a": b"a", "b": b"b"})
    assert store.compare(source, source) == Differences((), compared({}, {}).left_out)
    assert changed_between(source, source) == ()
    assert store.read == []


def test_the_executable_bit_alone_is_a_change_that_reads_nothing() -> None:
    store = Store()
    plain, runs = store.manifest(file("run", b"x\n")), store.manifest(file("run", b"x\n", executable=True))
    told = only(store.compare(plain, runs))
    assert (told.change.what, told.notes, told.text) == ("mode changed", ("It can be executed now.",), "")
    assert (told.added, told.removed) == (0, 0)
    assert only(store.compare(runs, plain)).notes == ("It cannot be executed any more.",)
    assert store.read == []


def test_a_new_program_and_one_that_went_say_so() -> None:
    store = Store()
    nothing, runs = seal(()), store.manifest(file("run", b"x\n", executable=True))
    assert only(store.compare(nothing, runs)).notes == ("It can be executed.",)
    assert only(store.compare(runs, nothing)).notes == ("It could be executed.",)


def test_a_file_that_became_a_link_shows_both() -> None:
    store = Store()
    link = SourceEntry("settings", "link", executable=False, digest=digest_bytes(b"link\0../secret"))
    before, after = store.manifest(file("settings", b"a = 1\n")), store.manifest((link, b"../secret"))
    told = only(store.compare(before, after))
    assert told.change.what == "kind changed"
    assert told.notes == ("It was a file and is a link.",)
    assert told.text == "@@ -1 +0,0 @@\n-a = 1\n@@ -0,0 +1 @@\n+../secret\n"
    assert only(store.compare(after, before)).text.endswith("+a = 1\n")


def test_links_show_where_they_lead() -> None:
    store = Store()
    one, other = (
        store.manifest((SourceEntry("l", "link", executable=False, digest=digest_bytes(b"link\0" + to)), to))
        for to in (b"a.txt", b"b.txt")
    )
    told = only(store.compare(one, other))
    assert (told.change.what, told.text) == ("changed", "@@ -1 +1 @@\n-a.txt\n+b.txt\n")
    assert only(store.compare(seal(()), one)).notes == ("It is a link.",)


def test_pipes_and_nested_repositories_are_told_in_words() -> None:
    store = Store()
    pipe, socket = (SourceEntry("p", "special", executable=False, digest=digest_bytes(kind)) for kind in (b"1", b"2"))
    nested = SourceEntry("sub", "nested", executable=False, digest="")
    told = {
        each.change.path: (each.change.what, each.notes, each.text)
        for each in store.compare(seal((pipe, nested)), seal((socket,))).shown
    }
    assert told["p"] == ("changed", ("It is a pipe, socket or device of another type.",), "")
    assert told["sub"] == ("removed", ("It was a nested repository.",), "")
    assert store.read == []


def test_from_empty_to_something_and_a_missing_newline_at_the_end() -> None:
    assert only(compared({"a": b""}, {"a": b"x\n"})).text == "@@ -0,0 +1 @@\n+x\n"
    assert "\\ No newline at end of file" in only(compared({"a": b"x\n"}, {"a": b"x"})).text


def test_an_empty_file_that_came_has_no_lines_and_still_shows() -> None:
    told = only(compared({}, {"__init__.py": b""}))
    assert (told.change.what, told.added, told.text) == ("added", 0, "")


def test_binary_files_show_their_sizes_and_digests() -> None:
    told = only(compared({"a.png": b"\x89\0old"}, {"a.png": b"\x89\0newer"}))
    assert (told.added, told.removed, told.text) == (None, None, "")
    assert "Binary: 5 bytes before, 7 bytes after." in told.notes[0]
    assert digest_bytes(b"\x89\0newer") in told.notes[0]
    added = only(compared({}, {"a.png": b"\0"})).notes[0]
    assert ("before" in added, "Binary: 1 bytes after." in added) == (False, True)


@pytest.mark.parametrize("data", [b"x" * (10 * 1024 * 1024), b"\n" * (TEXT_LINES_MAX + 1)], ids=["line", "lines"])
def test_what_is_too_large_says_so_with_sizes_and_digests(data: bytes) -> None:
    told = only(compared({"big.txt": b"small\n"}, {"big.txt": data}))
    assert told.notes[0].startswith(f"Too large to show: 6 bytes before, {len(data):,} bytes after.")
    assert digest_bytes(data) in told.notes[0]
    assert told.text == ""


def test_a_long_line_is_cut_and_says_how_much_is_left() -> None:
    told = only(compared({}, {"min.js": b"x" * TEXT_BYTES_MAX}, TIGHT))
    assert told.text.splitlines()[1] == "+" + "x" * 199 + f"… ({TEXT_BYTES_MAX + 1 - 200:,} more characters)"
    assert told.lines_left_out == 0


def test_a_file_that_is_no_utf_8_and_one_that_steers_a_screen_are_shown_with_escapes() -> None:
    told = only(compared({"a": b"caf\xe9\n"}, {"a": b"\x1b[1A\x1b[2K# fine \xe2\x80\xae\n"}))
    assert told.text == "@@ -1 +1 @@\n-caf<0xE9>\n+<U+001B>[1A<U+001B>[2K# fine <U+202E>\n"


def test_line_endings_that_git_normalises_do_not_show_as_changes() -> None:
    store = Store()
    before = store.manifest(file("a", b"one\ntwo\n", raw=b"one\r\ntwo\r\n"))
    after = store.manifest(file("a", b"one\n2\n"))
    assert only(store.compare(before, after)).text == "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert store.compare(before, store.manifest(file("a", b"one\ntwo\n"))).shown == ()
    plain = only(compared({"a": b"one\r\n"}, {"a": b"one\n"}))
    assert plain.text == "@@ -1 +1 @@\n-one<U+000D>\n+one\n"


def test_a_moved_file_is_hinted_at_and_its_lines_are_there_on_demand() -> None:
    before, after = {"tests/test_a.py": b"1\n", "n": b""}, {"old/a.py": b"1\n", "m": b""}
    moved, went = (
        next(each for each in compared(before, after, TIGHT).shown if each.change.path == path)
        for path in ("old/a.py", "tests/test_a.py")
    )
    assert moved.notes == ("It has the same bytes as the removed tests/test_a.py, so it may have been moved.",)
    assert went.notes == ("It has the same bytes as the added old/a.py, so it may have been moved.",)
    assert (moved.text, moved.added, moved.lines_left_out) == ("", 1, 0)
    whole = compared(before, after)
    assert [each.text for each in whole.shown if each.change.path == "old/a.py"] == ["@@ -0,0 +1 @@\n+1\n"]
    assert [each.change.twin for each in whole.shown if each.change.path in "mn"] == [None, None]


def test_tests_and_frozen_files_come_first_then_what_is_outside_then_the_rest() -> None:
    store = Store()
    names = ("a.py", "b.lock", "golden/x", "tests/test_z.py", "z.py", "conftest.py")
    before, after = store.texts({}), store.texts(dict.fromkeys(names, b"x\n"))
    found = store.compare(before, after, frozen={"golden/x"}, outside={"b.lock", "conftest.py"})
    assert paths(found) == ["conftest.py", "golden/x", "tests/test_z.py", "b.lock", "a.py", "z.py"]
    assert [each.change.is_test for each in found.shown] == [True, True, True, False, False, False]
    assert [each.change.is_outside for each in found.shown] == [True, False, False, True, False, False]


def test_the_order_is_that_of_the_paths_bytes() -> None:
    found = compared({}, dict.fromkeys(("\\xff", "é", "a", "Z", "a\\x0ab"), b"x\n"))
    assert paths(found) == sorted(paths(found), key=raw_path)


def test_a_weakened_test_is_not_hidden_behind_a_long_generated_file() -> None:
    long = b"".join(b"generated %d\n" % number for number in range(50_000))
    after = {"a_generated.py": long, "tests/fixtures/big.json": long, "tests/test_x.py": b"assert True\n"}
    found = compared({"tests/test_x.py": b"assert f() == 1\n"}, after, TIGHT)
    assert paths(found) == ["tests/fixtures/big.json", "tests/test_x.py", "a_generated.py"]
    assert found.shown[1].text == "@@ -1 +1 @@\n-assert f() == 1\n+assert True\n"
    assert sum(each.lines_left_out > 40_000 for each in found.shown) == 2
    assert size(found) <= TIGHT.characters_max


def size(found: Differences) -> int:
    shown = sum(len(each.change.path) + len(each.text) + sum(map(len, each.notes)) for each in found.shown)
    return shown + sum(map(len, found.left_out.names))


def test_what_one_file_alone_needs_it_gets() -> None:
    lines = b"".join(b"%05d\n" % number for number in range(500))
    told = compared({}, {"a.py": lines}, TIGHT).shown[0]
    assert len(told.text) > 0.9 * TIGHT.characters_max - 250
    assert told.text.count("\n") + told.lines_left_out == 501


def test_paths_without_room_are_counted_and_named_as_far_as_names_have_room() -> None:
    many = {f"src/{number:04}.py": b"1\n2\n" for number in range(1000)}
    found = compared({}, many, TIGHT)
    left = found.left_out
    assert len(found.shown) + left.paths == 1000
    assert left.lines == 3 * left.paths
    assert left.names[0] == f"src/{len(found.shown):04}.py"
    assert (0 < len(left.names) < left.paths, left.uncounted) == (True, 0)
    assert size(found) <= TIGHT.characters_max


def test_what_was_not_read_is_named_and_not_counted() -> None:
    store = Store()
    after = store.texts({f"{number:03}.txt": b"x" * 10_000 for number in range(100)})
    found = store.compare(store.texts({}), after, replace(PLENTY, read_bytes_max=50_000))
    assert len(store.read) == len(found.shown) == 4
    assert (found.left_out.paths, found.left_out.uncounted, found.left_out.lines) == (96, 96, 0)


def test_bytes_that_are_not_kept_are_said_and_the_rest_is_shown() -> None:
    store = Store()
    before, after = store.texts({"a": b"1\n", "b": b"1\n"}), store.texts({"a": b"2\n", "b": b"3\n"})
    del store.kept[digest_bytes(b"3\n")]
    kept, lost = store.compare(before, after).shown
    assert kept.text
    assert lost.text == ""
    assert lost.notes[0] == f"After: its bytes are not kept here, or are more than {READ_BYTES_MAX:,}."
    assert digest_bytes(b"3\n") in lost.notes[1]
    del store.kept[digest_bytes(b"1\n")]
    assert [note.partition(":")[0] for note in store.compare(before, after).shown[1].notes] == [
        "Before",
        "After",
        "Digests",
    ]


def test_a_world_that_is_broken_at_one_path_is_said_there() -> None:
    def broken(entry: SourceEntry) -> bytes:
        seen = f"{entry.path} cannot be read."
        raise BrokenWorld(seen, "Mend the disk.")

    store = Store()
    changed = changes(store.texts({}), store.texts({"a": b"1"}), (), ())
    (told,) = differences(changed, Reads(broken, broken), PLENTY).shown
    assert told.notes[0] == "After: a cannot be read. Mend the disk."


def test_many_rewritten_files_end_soon_and_are_whole() -> None:
    old = {f"{number}.txt": b"x\ny\n" * 2_000 for number in range(60)}
    new = dict.fromkeys(old, b"y\nx\nx\n" * 1_400)
    began_s = time.process_time()
    found = compared(old, new)
    assert time.process_time() - began_s < 30
    assert all(each.lines_left_out == 0 and each.text for each in found.shown)


def test_the_measure_decides_what_fits() -> None:
    text = {"a.py": b'"\n' * 3_000}
    twice = replace(TIGHT, measure=lambda told: 2 * len(told))
    assert len(compared({}, text, twice).shown[0].text) < 0.6 * len(compared({}, text, TIGHT).shown[0].text)


def test_real_files_with_hostile_names_and_kinds_are_told_apart(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo").started()
    repo.write("app.py", "one\n")
    repo.write("to_link", "text\n")
    repo.write("run.sh", "#!/bin/sh\n")
    before = repo.manifest()
    kept = {entry.stored: (repo.root / entry.path).read_bytes() for entry in before.entries if entry.kind == "file"}
    repo.write("app.py", "two\n")
    (repo.root / "to_link").unlink()
    (repo.root / "to_link").symlink_to("app.py")
    (repo.root / "run.sh").chmod(0o755)
    repo.write("evil\n+++ b/\x1b[31mname", "x\n")
    after = repo.manifest()

    def now(entry: SourceEntry) -> bytes:
        place = repo.root / os.fsdecode(raw_path(entry.path))
        return os.fsencode(place.readlink()) if entry.kind == "link" else place.read_bytes()

    found = differences(changes(before, after, (), ()), Reads(lambda one: kept.get(one.stored), now), PLENTY)
    told = {each.change.path: (each.change.what, each.text) for each in found.shown}
    assert told == {
        "app.py": ("changed", "@@ -1 +1 @@\n-one\n+two\n"),
        "evil\\x0a+++ b/\\x1b[31mname": ("added", "@@ -0,0 +1 @@\n+x\n"),
        "run.sh": ("mode changed", ""),
        "to_link": ("kind changed", "@@ -1 +0,0 @@\n-text\n@@ -0,0 +1 @@\n+app.py\n"),
    }
