from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.place import Hold, Place, make
from tests.promises.rig import Model


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "repo"
    root.mkdir()
    return Place(make(root))


@pytest.fixture
def model(place: Place) -> Model:
    """The model that drives the plan."""
    return Model(place)


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """A program that runs until it is let go, at the end of the test at the latest."""
    folder = tmp_path / "hold"
    folder.mkdir()
    held = Hold(folder)
    yield held
    held.release()
