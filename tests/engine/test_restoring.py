"""What is advised for a record that cannot be read, with real repositories."""

from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine.folder import read_folder
from flow_mcp.engine.restoring import fitting
from tests.engine.place import Place, plan


def damaged(place: Place, old: str, new: str) -> BrokenWorld:
    place.done(c.PlanSave(goal="First", plan=plan()), plan_id="first")
    path = place.root / "plans" / "first.json"
    path.write_text(path.read_text().replace(old, new))
    return read_folder(place.engine.plans).damaged["first"]


def test_git_is_named_only_where_git_has_the_record(place: Place) -> None:
    edited = damaged(place, "Say good-bye too.", "Say nothing.")
    assert "git checkout" not in edited.remedy
    assert "Undo the edit" in edited.remedy
    assert "`flow-mcp reseal first" in edited.remedy
    assert edited.seen.count("plans document first") == 1
    place.git("add", "plans")
    assert "git checkout -- first.json" in read_folder(place.engine.plans).damaged["first"].remedy


def test_a_torn_record_that_git_lacks_is_mended_by_hand(place: Place) -> None:
    torn = damaged(place, '"goal"', "<<<<<<< ours")
    assert "git checkout" not in torn.remedy
    assert "Mend it by hand until `flow-mcp verify`" in torn.remedy


@pytest.mark.parametrize("how", ["no repository", "no git"])
def test_without_a_repository_or_git_nothing_is_restored_from_there(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    place.git("add", ".")
    if how == "no git":
        monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    else:
        (place.root / ".git").rename(tmp_path / "git")
    assert "git checkout" not in damaged(place, "Say good-bye too.", "Say nothing.").remedy


def test_another_trouble_keeps_its_own_remedy(place: Place) -> None:
    trouble = BrokenWorld("It cannot be read.", "Restore it from git.")
    assert fitting(place.root / "plans", {"first": trouble}) == {"first": trouble}
    assert fitting(place.root / "plans", {}) == {}
