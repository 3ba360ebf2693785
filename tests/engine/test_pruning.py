import os
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine import pruning
from flow_mcp.engine.pruning import prune, prune_if_grown
from flow_mcp.workspace.collecting import NEWEST_KEPT
from flow_mcp.workspace.keeping import adding
from tests.engine.place import GATE, Place


def more_sources(place: Place, count: int) -> set[str]:
    """Have an open run rest on one source after the other, and give the names of all that are kept then."""
    for number in range(count):
        place.write("greeting.txt", f"hello {number}\n")
        place.done(c.RunReset(feature_id="bye", reason="again", next_feature_id="bye"))
    return place.kept_sources()


def test_sources_that_an_open_plan_rests_on_stay_and_others_go(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    kept = more_sources(place, NEWEST_KEPT + 3)
    done = prune(place.engine, young_s=0.0)
    assert done is not None
    assert (done.sources, place.kept_sources()) == (0, kept)
    place.done(c.Close(kind="abandoned", summary="not wanted"))
    done = prune(place.engine, young_s=0.0)
    assert done is not None
    assert done.sources == len(kept) - NEWEST_KEPT == len(kept) - len(place.kept_sources())
    assert done.objects > 0


def test_a_finished_goal_is_still_whole_after_pruning(place: Place) -> None:
    document = place.finished()
    assert prune(place.engine, young_s=0.0) is not None
    needed = {document.approvals[0].source, document.runs[0].started_source, place.state().facts.digest}
    assert {digest.removeprefix("sha256:") for digest in needed} <= place.kept_sources()
    assert place.done(c.Close(kind="completed", summary="done")).document.closure is not None


def test_nothing_is_removed_while_a_document_cannot_be_read(place: Place) -> None:
    place.approved()
    kept = place.kept_sources()
    (place.root / "plans" / "broken.json").write_text("{")
    assert prune(place.engine, young_s=0.0) is None
    assert place.kept_sources() == kept


def test_nothing_is_removed_while_somebody_adds_a_source(place: Place) -> None:
    place.approved()
    with adding(place.engine.space.private):
        assert prune(place.engine, young_s=0.0) is None


def test_a_running_checks_source_stays(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.script("run.sh", "sleep 60")
    ids = place.begin("broad", GATE.run)
    pending = place.document.pending
    assert pending is not None
    prune(place.engine, young_s=0.0)
    assert pending.source.removeprefix("sha256:") in place.kept_sources()
    place.checks.cancel(*ids)
    assert place.ended(*ids).ended == "cancelled"


def test_few_sources_are_not_pruned_and_many_are(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.approved()
    pruned: list[object] = []
    monkeypatch.setattr(pruning, "prune", pruned.append)
    prune_if_grown(place.engine)
    assert pruned == []
    monkeypatch.setattr(pruning, "SOURCES_MAX", 0)
    prune_if_grown(place.engine)
    assert pruned == [place.engine]


def test_what_stands_in_the_way_of_pruning_waits_for_the_next(place: Place, tmp_path: Path) -> None:
    place.approved()
    sources = place.root / ".flow" / "sources"
    sources.rename(tmp_path / "aside")
    sources.symlink_to(tmp_path / "aside")
    prune_if_grown(place.engine)
    assert list((tmp_path / "aside").iterdir()) != []


# Outputs.


def outputs(place: Place, sizes: list[int]) -> list[str]:
    """Write outputs, the newest first, and give their names."""
    folder = place.root / ".flow" / "checks"
    folder.mkdir(mode=0o700)
    names = [f"p.check-{number}.{number:08x}.log" for number in range(len(sizes))]
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        (folder / name).write_bytes(b"x" * size)
        os.utime(folder / name, (1_000_000 - number, 1_000_000 - number))
    return names


def logs(place: Place) -> list[str]:
    return sorted(path.name for path in (place.root / ".flow" / "checks").glob("*.log"))


def test_the_newest_outputs_stay_up_to_a_number(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "OUTPUTS_MAX", 3)
    names = outputs(place, [1] * 5)
    other = place.root / ".flow" / "checks" / "p.check-1.ticket"
    other.touch()
    prune(place.engine)
    assert logs(place) == names[:3]
    assert other.exists()


def test_the_newest_outputs_stay_up_to_a_size(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "OUTPUT_BYTES_MAX", 100)
    names = outputs(place, [40, 60, 1, 1])
    prune(place.engine)
    assert logs(place) == names[:2]


def test_outputs_behind_a_planted_link_are_not_removed(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "OUTPUTS_MAX", 0)
    (tmp_path / "precious.log").touch()
    (place.root / ".flow" / "checks").symlink_to(tmp_path)
    with pytest.raises(BrokenWorld, match="link"):
        prune(place.engine)
    prune_if_grown(place.engine)
    assert (tmp_path / "precious.log").exists()


def test_a_folder_in_place_of_an_output_is_removed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "OUTPUTS_MAX", 0)
    (place.root / ".flow" / "checks" / "x.log" / "inside").mkdir(parents=True)
    prune(place.engine)
    assert logs(place) == []
