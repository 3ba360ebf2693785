from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine import placing
from flow_mcp.engine.placing import Site, translated
from flow_mcp.workspace.copies import Copy
from flow_mcp.workspace.inputs import Lent

NOTHING = Lent((), (), builds=False, foreign=False, leads_back=False)


def test_variables_lead_to_the_copy_wherever_they_name_the_workspace(tmp_path: Path) -> None:
    root, copy = tmp_path / "repo", tmp_path / "copy"
    root.mkdir()
    given = {
        "PATH": f"{root}/bin:/usr/bin:{root}-other/bin:{root}",
        "VIRTUAL_ENV": f"{root}/.venv",
        "HOME": "/home/somebody",
        "LANG": "C",
    }
    assert translated(given, root, copy) == {
        "PATH": f"{copy}/bin:/usr/bin:{root}-other/bin:{copy}",
        "VIRTUAL_ENV": f"{copy}/.venv",
        "HOME": "/home/somebody",
        "LANG": "C",
        "GIT_CEILING_DIRECTORIES": str(tmp_path),
    }


def test_a_workspace_behind_a_link_is_known_by_both_spellings(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "bin").mkdir()
    given = {"A": f"{tmp_path}/real/x", "B": f"{tmp_path}/link/x", "C": f"{tmp_path}/alias/bin", "D": "odd\0"}
    led = translated(given, tmp_path / "link", Path("/copy"))
    assert {name: led[name] for name in given} == {"A": "/copy/x", "B": "/copy/x", "C": "/copy/bin", "D": "odd\0"}


def test_git_does_not_go_up_from_a_copy_to_the_workspaces_own_history(tmp_path: Path) -> None:
    copy = tmp_path / "work" / "copy"
    assert translated({}, tmp_path, copy) == {"GIT_CEILING_DIRECTORIES": str(copy.parent)}
    assert translated({}, tmp_path, tmp_path) == {}


def test_in_place_nothing_is_led_anywhere(tmp_path: Path) -> None:
    given = {"PATH": f"{tmp_path}/bin"}
    assert translated(given, tmp_path, tmp_path) == given


def test_what_was_left_in_a_copy_that_cannot_be_read_is_said_to_be_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        seen = "It is too deep."
        raise BrokenWorld(seen, "Look at it.")

    monkeypatch.setattr(placing, "left_behind", fail)
    assert Site(tmp_path, Copy(tmp_path, {}, frozenset(), names_workspace=False), NOTHING, None).left() == (
        "unknown: It is too deep.",
    )
    assert Site(tmp_path, None, NOTHING, "no copy").left() == ()
