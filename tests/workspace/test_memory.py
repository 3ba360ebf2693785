"""What is remembered of a workspace: believed only where it can be, dropped where it cannot, and never an error."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace import contents as contents_module
from flow_mcp.workspace import memory as memory_module
from flow_mcp.workspace import stat_cache
from flow_mcp.workspace.facts import Globs, gather
from flow_mcp.workspace.git import Repository
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Manifest, Memory, take_manifest
from flow_mcp.workspace.stat_cache import RACY_NS
from tests.workspace.rig import PLANS, Repo

GLOBS = Globs(("tests/",), ("src/**",), (), ())
MINUTE_NS = 60 * 1_000_000_000


class Clock:
    """A clock that is set ahead."""

    def __init__(self, ahead_ns: int) -> None:
        self.ahead_ns = ahead_ns

    def __call__(self) -> int:
        return time.time_ns() + self.ahead_ns


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose bytes are read."""
    found: list[str] = []
    real = contents_module._file

    def noted(name: bytes, *rest: object) -> object:
        found.append(os.fsdecode(name))
        return real(name, *rest)  # type: ignore[arg-type] # what the caller gave

    monkeypatch.setattr(contents_module, "_file", noted)
    return found


def _warm(repo: Repo, private: Path | None = None, ahead_ns: int = 2 * MINUTE_NS) -> Memory:
    memory = Memory(private, Clock(ahead_ns))
    take_manifest(repo.root, PLANS, (), memory)
    return memory


def _cache(repo: Repo) -> Path:
    return repo.private / "cache" / "status"


def _taken(repo: Repo, memory: Memory | None) -> Manifest:
    return take_manifest(repo.root, PLANS, (), memory)


def test_files_that_were_left_alone_for_a_minute_are_not_read_again(repo: Repo, reads: list[str]) -> None:
    memory = _warm(repo)
    assert sorted(reads) == ["README", "app.py", "mod.py"]
    reads.clear()
    assert _taken(repo, memory) is _taken(repo, memory)
    assert reads == []
    repo.write("src/app.py", "print(2)\n")
    assert _taken(repo, memory) == repo.manifest()
    assert reads.count("README") == 1  # by the look without a memory


@pytest.mark.parametrize(("ahead_s", "again"), [(0, True), (50, True), (70, False)])
def test_the_racy_window_is_a_minute(repo: Repo, reads: list[str], ahead_s: int, again: bool) -> None:  # noqa: FBT001 - an expected value
    memory = _warm(repo, ahead_ns=ahead_s * 1_000_000_000)
    reads.clear()
    _taken(repo, memory)
    assert bool(reads) == again


def test_old_times_that_anybody_can_set_do_not_end_the_window(repo: Repo, reads: list[str]) -> None:
    os.utime(repo.root / "README", ns=(1, 1))
    memory = _warm(repo, ahead_ns=0)
    reads.clear()
    _taken(repo, memory)
    assert "README" in reads


def test_without_a_memory_everything_is_read(repo: Repo, reads: list[str]) -> None:
    for _ in range(2):
        reads.clear()
        _taken(repo, None)
        assert len(reads) == 3
        reads.clear()
        gather(repo.root, PLANS, GLOBS)
        assert len(reads) == 3


def test_a_file_that_was_just_written_is_read_until_its_window_has_passed(repo: Repo, reads: list[str]) -> None:
    clock = Clock(0)
    memory = Memory(None, clock)
    _taken(repo, memory)
    first = _taken(repo, memory)
    clock.ahead_ns = 2 * MINUTE_NS
    assert _taken(repo, memory) is first
    reads.clear()
    assert _taken(repo, memory) is first
    assert reads == []


def test_a_young_file_beside_an_old_one_that_moved_is_read_too(repo: Repo) -> None:
    clock = Clock(2 * MINUTE_NS)
    repo.write("src/old.py")
    memory = Memory(None, clock)
    _taken(repo, memory)
    clock.ahead_ns = 0
    repo.write("src/young.py", "1\n")
    assert _taken(repo, memory) == _taken(repo, memory)
    repo.write("src/young.py", "2\n")
    repo.write("src/old.py", "other\n")
    assert _taken(repo, memory) == repo.manifest()


def test_a_file_that_was_edited_is_as_good_as_any_other_once_it_is_old(repo: Repo) -> None:
    memory = _warm(repo)
    repo.write("src/app.py", "print(2)\n")
    _taken(repo, memory)
    seen = memory.seen(PLANS, ())
    assert seen is not None
    assert seen.watch.moved(repo.root) == []
    repo.write("src/app.py", "print(3)\n")
    assert seen.watch.moved(repo.root) == ["src/app.py"]


def test_object_ids_that_were_not_asked_for_before_cost_one_reading(repo: Repo, reads: list[str]) -> None:
    memory = _warm(repo)
    reads.clear()
    assert gather(repo.root, PLANS, GLOBS, memory).clean
    assert len(reads) == 3
    reads.clear()
    assert gather(repo.root, PLANS, GLOBS, memory).clean
    assert gather(repo.root, PLANS, GLOBS, memory).manifest is _taken(repo, memory)
    assert reads == []


def test_a_repository_that_begins_to_use_other_object_ids_is_compared_rightly(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "turning").started()
    memory = Memory(None, Clock(2 * MINUTE_NS))
    for name in ("sha1", "sha256"):
        (repo.root / ".git").rename(tmp_path / f"before-{name}")
        repo.started(f"--object-format={name}")
        repo.write("src/app.py")
        repo.commit()
        assert gather(repo.root, PLANS, GLOBS, memory).clean


def test_looks_that_leave_out_other_things_are_kept_apart(repo: Repo, reads: list[str]) -> None:
    memory = Memory(None, Clock(2 * MINUTE_NS))
    repo.write("plans/goal.json", "{}")
    asked = [
        (records, artifacts) for records in (PLANS, Records("plans", frozenset())) for artifacts in ((), ("src/**",))
    ]
    expected = [take_manifest(repo.root, records, artifacts) for records, artifacts in asked]
    assert len({manifest.digest for manifest in expected}) == 4
    for _ in range(2):
        reads.clear()
        found = [take_manifest(repo.root, records, artifacts, memory) for records, artifacts in asked]
        assert found == expected
    assert reads == []
    for number in range(memory_module.SEEN_MAX + 1):
        take_manifest(repo.root, Records("plans", frozenset({str(number)})), (), memory)
    assert _taken(repo, memory) == expected[0]


def test_names_that_are_no_source_come_and_go_without_a_new_manifest(repo: Repo) -> None:
    memory = Memory(None, Clock(2 * MINUTE_NS))
    globs = Globs(("tests/",), ("src/**",), (), ("out/**",))
    first = gather(repo.root, PLANS, globs, memory)
    repo.write("plans/goal.json", "{}")
    repo.write("out/made")
    second = gather(repo.root, PLANS, globs, memory)
    assert second.manifest is first.manifest
    repo.git("add", "-f", "out/made")
    third = gather(repo.root, PLANS, globs, memory)
    assert third.manifest is first.manifest
    assert [hidden.path for hidden in third.hidden] == ["out/made"]
    assert third == gather(repo.root, PLANS, globs)


def test_another_root_starts_afresh(repo: Repo, plain: Repo) -> None:
    memory = _warm(repo)
    assert _taken(plain, memory) == plain.manifest()
    assert _taken(repo, memory) == repo.manifest()


def test_what_is_known_of_too_many_files_is_forgotten(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "FILES_MAX", 3)
    memory = _warm(repo)
    (repo.root / "README").unlink()
    repo.write("new.py")
    assert _taken(repo, memory) == repo.manifest()


def test_the_next_process_reads_nothing_again(repo: Repo, reads: list[str]) -> None:
    repo.private.mkdir(mode=0o700)
    (repo.root / "link").symlink_to("README")
    repo.write("run.sh").chmod(0o755)
    repo.write("two\nlines", "x\r\n")
    gather(repo.root, PLANS, GLOBS, Memory(repo.private, Clock(2 * MINUTE_NS)))
    assert _cache(repo).stat().st_mode & 0o777 == 0o600
    assert _cache(repo).parent.stat().st_mode & 0o777 == 0o700
    reads.clear()
    memory = Memory(repo.private, Clock(0))
    assert _taken(repo, memory) == repo.manifest()
    assert len(reads) == 5  # of the look without a memory
    reads.clear()
    gather(repo.root, PLANS, GLOBS, memory)
    assert reads == []
    repo.write(".gitattributes", "* text\n")
    assert _taken(repo, memory) == repo.manifest()


def test_the_cache_is_written_when_enough_changed_and_only_then(repo: Repo) -> None:
    repo.private.mkdir()
    memory = _warm(repo, repo.private)
    first = _cache(repo).stat()
    _taken(repo, memory)
    assert _cache(repo).stat().st_ino == first.st_ino
    repo.write("new.py")
    _taken(repo, memory)
    assert _cache(repo).stat().st_ino != first.st_ino


def test_one_file_in_many_is_not_worth_a_writing(repo: Repo) -> None:
    repo.private.mkdir()
    for number in range(100):
        repo.write(f"many/{number}")
    memory = _warm(repo, repo.private)
    first = _cache(repo).stat()
    repo.write("many/7", "other\n")
    assert _taken(repo, memory) == repo.manifest()
    assert _cache(repo).stat().st_ino == first.st_ino


def test_only_what_is_trusted_is_written(repo: Repo, reads: list[str]) -> None:
    repo.private.mkdir()
    times = iter([2 * MINUTE_NS, 0, 2 * MINUTE_NS])
    _taken(repo, Memory(repo.private, lambda: time.time_ns() + next(times)))
    reads.clear()
    _taken(repo, Memory(repo.private))
    assert reads == ["app.py"]


def test_a_workspace_without_a_private_folder_is_given_none(repo: Repo) -> None:
    _warm(repo, repo.private)
    assert not repo.private.exists()


def test_a_cache_that_grew_too_large_is_not_written(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.private.mkdir()
    monkeypatch.setattr(stat_cache, "BYTES_MAX", 100)
    _warm(repo, repo.private)
    assert not _cache(repo).exists()


def _sealed_anew(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Damage a cache and give it the right checksum: as somebody who means it."""

    def damage(path: Path) -> None:
        body = change(path.read_bytes().partition(b"\n")[2])
        path.write_bytes(digest_bytes(body).encode() + b"\n" + body)

    return damage


def _planted(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _linked_folder(path: Path) -> None:
    path.parent.rename(path.parent.parent / "real")
    path.parent.symlink_to("real")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: os.truncate(path, path.stat().st_size - 10),
    "empty": lambda path: os.truncate(path, 0),
    "a byte changed": lambda path: path.write_bytes(path.read_bytes()[:-3] + b"x" + path.read_bytes()[-2:]),
    "no text": lambda path: path.write_bytes(b"\xff" * 1000),
    "another form": _sealed_anew(lambda body: body.replace(b"cache 1", b"cache 2")),
    "another folder": _sealed_anew(lambda body: body.replace(b"repo ", b"open ", 1)),
    "another disk": _sealed_anew(lambda body: body.replace(b"repo ", b"repo 9", 1)),
    "a line of nonsense": _sealed_anew(lambda body: body + b"nonsense\n"),
    "a line without an end": _sealed_anew(lambda body: body.removesuffix(b"\n")),
    "a short digest": _sealed_anew(lambda body: body.replace(b" f ", b" f 0", 1)),
    "an unknown kind": _sealed_anew(lambda body: body.replace(b" f ", b" q ", 1)),
    "a name that is no text": _sealed_anew(lambda body: body.replace(b" README", b" R\xff", 1)),
    "a link": _planted,
    "a folder": _folder,
    "a linked folder": _linked_folder,
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_or_foreign_cache_is_dropped(repo: Repo, reads: list[str], what: str) -> None:
    repo.private.mkdir()
    repo.write("crlf", "x\r\n")
    _warm(repo, repo.private)
    DAMAGES[what](_cache(repo))
    reads.clear()
    memory = Memory(repo.private, Clock(2 * MINUTE_NS))
    warm = _taken(repo, memory)
    assert len(reads) == 4
    assert warm == repo.manifest()


def test_a_cache_of_too_many_files_is_dropped(repo: Repo, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    repo.private.mkdir()
    _warm(repo, repo.private)
    monkeypatch.setattr(stat_cache, "FILES_MAX", 2)
    reads.clear()
    _taken(repo, Memory(repo.private))
    assert len(reads) == 3


def test_a_linked_private_folder_is_neither_read_nor_written(repo: Repo, tmp_path: Path, reads: list[str]) -> None:
    repo.private.mkdir()
    _warm(repo, repo.private)
    repo.private.rename(tmp_path / "elsewhere")
    repo.private.symlink_to(tmp_path / "elsewhere")
    written = (tmp_path / "elsewhere" / "cache" / "status").stat()
    reads.clear()
    memory = _warm(repo, repo.private)
    assert len(reads) == 3
    _taken(repo, memory)
    assert (tmp_path / "elsewhere" / "cache" / "status").stat().st_ino == written.st_ino


def test_a_cache_that_lies_is_found_out_by_a_look_without_it(repo: Repo) -> None:
    repo.private.mkdir()
    _warm(repo, repo.private)
    honest = repo.digest()
    lie = _sealed_anew(lambda body: body.replace(b" f ", b" x ", 1))
    lie(_cache(repo))
    assert take_manifest(repo.root, PLANS, (), Memory(repo.private)).digest != honest
    assert repo.digest() == honest


def test_what_is_forgotten_is_read_again_by_this_process_and_the_next(repo: Repo, reads: list[str]) -> None:
    repo.private.mkdir()
    memory = _warm(repo, repo.private)
    for again in (memory, Memory(repo.private)):
        memory.forget()
        reads.clear()
        _taken(repo, again)
        assert len(reads) == 3
    unsaved = Memory(None)
    unsaved.forget()
    assert _taken(repo, unsaved) == repo.manifest()


def test_a_look_that_fails_leaves_the_memory_as_it_was(repo: Repo, reads: list[str]) -> None:
    memory = _warm(repo)
    before = _taken(repo, memory)
    nested = repo.write("nested/.git", "nonsense")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.git('rev-parse', 'HEAD')},nested")
    with pytest.raises(BrokenWorld):
        _taken(repo, memory)
    assert memory.progress() is None
    nested.unlink()
    repo.git("rm", "-q", "--cached", "nested")
    reads.clear()
    assert _taken(repo, memory) == before
    assert reads == []


def test_files_and_folders_that_go_are_seen_by_a_warm_look(repo: Repo) -> None:
    memory = _warm(repo)
    (repo.root / "src/app.py").unlink()
    assert _taken(repo, memory) == repo.manifest()
    assert _taken(repo, memory) == repo.manifest()
    (repo.root / "src/deep").rename(repo.root / "moved")
    assert _taken(repo, memory) == repo.manifest()
    (repo.root / "moved").rename(repo.root / "src/deep")
    repo.write("src/app.py", "print(1)\n")
    assert _taken(repo, memory) == repo.manifest()


def test_a_folder_that_cannot_be_opened_is_told_by_a_warm_look_too(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = _warm(repo)
    real = os.open

    def deny(path: object, *rest: object, **more: object) -> int:
        if path == b"deep":
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest, **more)  # type: ignore[arg-type] # what the caller gave

    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(BrokenWorld, match=r"src/deep.*Permission denied"):
        _taken(repo, memory)


def test_how_far_a_look_is_can_be_told_while_it_reads(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(None)
    told: list[tuple[int, int] | None] = [memory.progress()]
    real = contents_module._file

    def noted(*given: object) -> object:
        told.append(memory.progress())
        return real(*given)  # type: ignore[arg-type] # what the caller gave

    monkeypatch.setattr(contents_module, "_file", noted)
    _taken(repo, memory)
    assert [*told, memory.progress()] == [None, (0, 3), (1, 3), (2, 3), None]


def test_several_threads_have_one_memory(repo: Repo, reads: list[str]) -> None:
    memory = Memory(None, Clock(2 * MINUTE_NS))
    gather(repo.root, PLANS, GLOBS, memory)
    reads.clear()
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(gather(repo.root, PLANS, GLOBS, memory).manifest))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    assert reads == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The git commands that are run."""
    found: list[str] = []
    real = Repository._process

    def noted(self: Repository, arguments: tuple[str, ...], *rest: object) -> object:
        found.append(arguments[0])
        return real(self, arguments, *rest)  # type: ignore[arg-type] # what the caller gave

    monkeypatch.setattr(Repository, "_process", noted)
    return iter([found])


def test_a_warm_look_at_source_and_history_asks_git_four_times(repo: Repo, asked: Iterator[list[str]]) -> None:
    calls = next(asked)
    repo.git("checkout", "-q", "-b", "feature")
    repo.write("tests/test_app.py")
    repo.commit()
    memory = Memory(None, Clock(2 * MINUTE_NS))
    first = gather(repo.root, PLANS, GLOBS, memory)
    calls.clear()
    assert gather(repo.root, PLANS, GLOBS, memory) == first
    assert sorted(calls) == ["for-each-ref", "ls-files", "ls-files", "rev-parse"]
    assert first.protected_unmerged == ("tests/test_app.py",)
    repo.write("src/app.py", "print(2)\n")
    assert gather(repo.root, PLANS, GLOBS, memory) == gather(repo.root, PLANS, GLOBS)
    repo.commit()
    assert gather(repo.root, PLANS, GLOBS, memory) == gather(repo.root, PLANS, GLOBS)


def test_a_submodule_that_comes_or_goes_is_seen_though_the_commit_stays(repo: Repo, tmp_path: Path) -> None:
    library = Repo(tmp_path / "library").started()
    library.write("lib.py", "lib = 1\n")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.root), "src/library")
    repo.commit()
    memory = Memory(None, Clock(2 * MINUTE_NS))
    for step in ("deinit -f src/library", "update --init", "deinit -f src/library"):
        assert gather(repo.root, PLANS, GLOBS, memory) == gather(repo.root, PLANS, GLOBS)
        assert gather(repo.root, PLANS, GLOBS, memory).clean
        repo.git("submodule", "--quiet", *step.split())
    assert gather(repo.root, PLANS, GLOBS, memory).clean
    (repo.root / "src" / "library").rmdir()
    assert gather(repo.root, PLANS, GLOBS, memory) == gather(repo.root, PLANS, GLOBS)


def test_facts_that_are_not_asked_for_any_more_are_forgotten() -> None:
    memory = Memory(None)
    made: list[int] = []

    def make(number: int) -> int | None:
        made.append(number)
        return number or None

    for number in range(memory_module.FACTS_MAX + 2):
        assert memory.recall(number, lambda number=number: make(number)) == (number or None)  # type: ignore[misc] # bound now
    made.clear()
    for number in (0, 1, memory_module.FACTS_MAX + 1):
        memory.recall(number, lambda number=number: make(number))  # type: ignore[misc] # bound now
    assert made == [0, 1]
    assert memory.recall(1, lambda: 7, lambda _: False) == 7


def test_what_follows_from_a_look_is_kept_for_a_few_plans(repo: Repo) -> None:
    memory = Memory(None, Clock(2 * MINUTE_NS))
    for number in range(12):
        globs = Globs((f"p{number}/",), (f"t{number}/**",), (), ())
        assert gather(repo.root, PLANS, globs, memory) == gather(repo.root, PLANS, globs)


def test_what_is_forgotten_before_any_look_is_not_read_from_the_disk_either(repo: Repo) -> None:
    later = Memory(repo.private, lambda: time.time_ns() + 2 * RACY_NS)
    repo.private.mkdir(exist_ok=True)
    take_manifest(repo.root, PLANS, (), later)
    assert stat_cache.load(repo.private, repo.root)
    fresh = Memory(repo.private)
    fresh.forget()
    take_manifest(repo.root, PLANS, (), fresh)
    known = fresh.known("README")
    assert known is not None
    assert not known.trusted
