from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flow_mcp.domain.rule import ALL_RULES, Rulebook
from tests.engine.place import Hold, Place, make


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "repo"
    root.mkdir()
    return Place(make(root))


@pytest.fixture
def weak(tmp_path: Path) -> Callable[[str], Place]:
    """A place whose engine has one rule out."""

    def made(*rules: str) -> Place:
        root = tmp_path / f"without-{rules[0]}" if rules else tmp_path / "whole"
        root.mkdir()
        return Place(make(root), Rulebook(out=frozenset(rules)) if rules else ALL_RULES)

    return made


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """A program that runs until it is let go, at the end of the test at the latest."""
    folder = tmp_path / "hold"
    folder.mkdir()
    held = Hold(folder)
    yield held
    held.release()
