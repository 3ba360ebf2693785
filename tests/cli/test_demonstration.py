from pathlib import Path

import pytest

from flow_mcp.cli import demo
from flow_mcp.domain.errors import BrokenWorld
from tests.cli.conftest import Flow


def test_the_folder_and_the_exit_code_are_passed_on(
    flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Path | None] = []

    def play(folder: Path | None) -> int:
        given.append(folder)
        return len(given) - 1

    monkeypatch.setattr(demo, "demo", play)
    assert flow("demo").code == 0
    assert flow("demo", str(tmp_path)).code == 1
    assert given == [None, tmp_path]


def test_what_the_demo_lacks_is_told(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(_folder: Path | None) -> int:
        seen = "git is missing."
        raise BrokenWorld(seen, "Install git.")

    monkeypatch.setattr(demo, "demo", play)
    ended = flow("demo")
    assert (ended.code, ended.text) == (4, "git is missing.\nInstall git.\n")
