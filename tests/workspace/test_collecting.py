"""Pruning the content store: what stays, what goes, and that nothing goes which a kept source names."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flow_mcp.workspace import collecting as collecting_module
from flow_mcp.workspace.collecting import NEWEST_KEPT, YOUNG_S, Collected, collect
from flow_mcp.workspace.copies import lay_out
from flow_mcp.workspace.folders import PlantedLink
from flow_mcp.workspace.keeping import adding
from flow_mcp.workspace.paths import Inaccessible
from flow_mcp.workspace.sources import discard_copy, has_copy, load_manifest, manifest_path, store_copy
from tests.workspace.rig import Repo, roomed


def _kept(repo: Repo, number: int, *, age_s: float) -> str:
    """Keep a source of its own, and date its manifest back."""
    repo.write("number", f"{number}\n")
    manifest = repo.manifest()
    store_copy(repo.root, manifest, repo.private)
    then = time.time() - age_s
    os.utime(_manifest(repo, manifest.digest), (then, then))
    return manifest.digest


def _manifest(repo: Repo, digest: str) -> Path:
    return repo.private / "sources" / f"{digest.removeprefix('sha256:')}.json"


def _objects(repo: Repo) -> set[Path]:
    return {path for path in (repo.private / "objects").rglob("*") if not path.is_dir()}


def _is_whole(repo: Repo, digest: str) -> bool:
    with roomed(repo.private) as folder:
        lay_out(repo.private, digest, load_manifest(repo.private, digest), folder)
    return True


def test_what_is_needed_what_is_young_and_the_newest_stay_and_the_rest_goes(repo: Repo) -> None:
    old = [_kept(repo, number, age_s=10_000 - number) for number in range(8)]
    assert collect(repo.private, {old[0], old[2]}, young_s=YOUNG_S) == Collected(2, 2, 4)
    assert [has_copy(repo.private, digest) for digest in old] == [True, False, True, False, True, True, True, True]
    young = [_kept(repo, number, age_s=10) for number in range(20, 23)]
    assert collect(repo.private, {old[0]}, young_s=YOUNG_S) == Collected(4, 4, 8)
    stayed = [old[0], old[7], *young]
    assert {path.stem for path in (repo.private / "sources").iterdir()} == {digest[7:] for digest in stayed}
    assert all(_is_whole(repo, digest) for digest in stayed)
    assert len(_objects(repo)) == 3 + len(stayed)


def test_young_sources_stay_however_many_they_are(repo: Repo) -> None:
    young = [_kept(repo, number, age_s=0) for number in range(NEWEST_KEPT + 2)]
    assert collect(repo.private, set(), young_s=YOUNG_S) == Collected(0, 0, 0)
    assert all(has_copy(repo.private, digest) for digest in young)
    assert collect(repo.private, set(), young_s=-1.0) == Collected(2, 2, 4)


def test_a_source_that_is_kept_again_counts_as_young(repo: Repo) -> None:
    old = [_kept(repo, number, age_s=10_000) for number in range(6)]
    repo.write("number", "0\n")
    store_copy(repo.root, repo.manifest(), repo.private)
    collect(repo.private, set(), young_s=YOUNG_S)
    assert has_copy(repo.private, old[0])
    assert sum(has_copy(repo.private, digest) for digest in old) == NEWEST_KEPT


def test_an_empty_private_folder_has_nothing_to_prune(tmp_path: Path) -> None:
    assert collect(tmp_path / ".flow", set(), young_s=YOUNG_S) == Collected(0, 0, 0)


def test_unfinished_objects_strange_names_and_folders_of_an_earlier_version_are_swept(repo: Repo) -> None:
    digest = _kept(repo, 1, age_s=0)
    whole = _objects(repo)
    folder = repo.private / "objects"
    (folder / "new-0123").write_text("half")
    (folder / "ab").mkdir(exist_ok=True)
    (folder / "ab" / "strange").write_text("x")
    (folder / "abcd" / "ef").mkdir(parents=True)
    (folder / "link").symlink_to("/etc/passwd")
    (repo.private / "sources" / f".{digest[7:]}.json.0123456789abcdef.tmp").write_text("half")
    (repo.private / "sources" / "strange").mkdir()
    for name in ("copies", "tmp"):
        (repo.private / name / "of" / "old").mkdir(parents=True)
    assert collect(repo.private, set(), young_s=YOUNG_S) is not None
    assert _objects(repo) == whole
    assert sorted(path.name for path in repo.private.iterdir()) == ["objects", "objects.lock", "sources"]
    assert list((repo.private / "sources").iterdir()) == [_manifest(repo, digest)]
    assert not (folder / "abcd").exists()
    assert Path("/etc/passwd").exists()


def test_what_lies_beside_the_store_is_left_alone(repo: Repo) -> None:
    (repo.private / "checks").mkdir(parents=True)
    with roomed(repo.private) as folder:
        (folder / "file").write_text("")
        collect(repo.private, set(), young_s=YOUNG_S)
        assert (folder / "file").exists()
    assert (repo.private / "checks").exists()


def test_a_source_whose_manifest_does_not_hold_goes_with_its_objects(repo: Repo) -> None:
    digest = _kept(repo, 1, age_s=0)
    _manifest(repo, digest).write_text("{}")
    assert collect(repo.private, {digest}, young_s=YOUNG_S) == Collected(0, 4, 2 + 8 + 9 + 6)
    assert _objects(repo) == set()
    assert list((repo.private / "sources").iterdir()) == []


def test_a_source_that_is_discarded_meanwhile_is_passed_over(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = _kept(repo, 1, age_s=0)

    def discarded(private: Path, asked: str) -> Path | None:
        discard_copy(private, digest)
        return manifest_path(private, asked)

    monkeypatch.setattr(collecting_module, "manifest_path", discarded)
    assert collect(repo.private, {digest}, young_s=YOUNG_S) == Collected(0, 4, 25)


def test_a_manifest_that_cannot_be_read_stops_the_sweep(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    _kept(repo, 1, age_s=0)
    before = _objects(repo)

    def closed(*_: object) -> None:
        refusal = Inaccessible("closed", "open it")
        raise refusal

    monkeypatch.setattr(collecting_module, "load_manifest", closed)
    with pytest.raises(Inaccessible):
        collect(repo.private, set(), young_s=YOUNG_S)
    assert _objects(repo) == before


def test_planted_links_are_refused_and_never_pruned_through(repo: Repo, tmp_path: Path) -> None:
    digest = _kept(repo, 1, age_s=0)
    (repo.private / "sources").rename(tmp_path / "moved")
    (repo.private / "sources").symlink_to(tmp_path / "moved")
    before = _objects(repo)
    with pytest.raises(PlantedLink):
        collect(repo.private, set(), young_s=-1.0)
    assert _objects(repo) == before
    assert (tmp_path / "moved" / f"{digest[7:]}.json").exists()
    (repo.private / "sources").unlink()
    (tmp_path / "moved").rename(repo.private / "sources")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("")
    (repo.private / "copies").symlink_to(tmp_path / "outside")
    assert collect(repo.private, set(), young_s=YOUNG_S) == Collected(0, 0, 0)
    assert (tmp_path / "outside" / "kept").exists()
    assert not (repo.private / "copies").is_symlink()


HOLDER = """
import sys
from pathlib import Path
from flow_mcp.workspace.keeping import adding

with adding(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_nothing_is_pruned_while_somebody_adds(repo: Repo) -> None:
    old = [_kept(repo, number, age_s=10_000) for number in range(6)]
    (repo.private / "objects" / "new-0123").write_text("being written")
    (repo.private / "tmp").mkdir()
    with adding(repo.private):
        assert collect(repo.private, set(), young_s=YOUNG_S) is None
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(repo.private)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert collect(repo.private, set(), young_s=YOUNG_S) is None
        holder.communicate(b"\n")
    assert all(has_copy(repo.private, digest) for digest in old)
    assert (repo.private / "objects" / "new-0123").exists()
    assert (repo.private / "tmp").exists()


ROUNDS = 60
ROUNDS_MAX = 5_000

COLLECTOR = """
import sys
from pathlib import Path
from flow_mcp.workspace.collecting import collect

private, done, pruned = (Path(name) for name in sys.argv[1:])
print("ready", flush=True)
while not done.exists():
    found = collect(private, set(), young_s=-1.0)
    if found is not None and found.objects > 0:
        pruned.touch()
"""


def test_no_object_of_a_kept_source_goes_while_one_process_keeps_and_another_prunes(repo: Repo, tmp_path: Path) -> None:
    done, pruned = tmp_path / "done", tmp_path / "pruned"
    command = [sys.executable, "-c", COLLECTOR, str(repo.private), str(done), str(pruned)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as collector:
        try:
            assert collector.stdout is not None
            assert collector.stdout.readline() == b"ready\n"
            for number in range(ROUNDS_MAX):
                if number >= ROUNDS and pruned.exists():
                    break
                # Every third one comes back, so that its objects go and come too.
                repo.write("number", f"{number % 3 and number}\n")
                manifest = repo.manifest()
                store_copy(repo.root, manifest, repo.private)
                assert _is_whole(repo, manifest.digest)
        finally:
            done.touch()
    assert pruned.exists(), "nothing was pruned meanwhile: it proves nothing"
    assert collector.returncode == 0
