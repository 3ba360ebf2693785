"""Fixtures of the workspace's tests."""

from pathlib import Path

import pytest

from tests.workspace.rig import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one commit of three files."""
    made = Repo(tmp_path / "repo").started()
    made.write("README", "read me\n")
    made.write("src/app.py", "print(1)\n")
    made.write("src/deep/er/mod.py", "x = 1\n")
    made.commit()
    return made


@pytest.fixture
def plain(tmp_path: Path) -> Repo:
    """A folder without git."""
    made = Repo(tmp_path / "plain")
    made.write("README", "read me\n")
    made.write("src/app.py", "print(1)\n")
    return made
