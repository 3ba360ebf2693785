"""A plugin that gives the copies of checks a folder which goes with the tests: none belongs into a person's cache."""

import os
import shutil
import tempfile

import pytest

_CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder, and name it to whatever the tests start."""
    config.stash[_CACHE] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="flow-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it."""
    shutil.rmtree(config.stash[_CACHE], ignore_errors=True)
