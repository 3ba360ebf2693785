"""Servers for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.rig import FORMS, Rig, running
from tests.server.stories import Rig as Desk
from tests.server.typescript import Drive, installed


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Rig]:
    """A server that nobody has spoken to yet."""
    with running(tmp_path) as rig:
        yield rig


@pytest.fixture
def legacy(fresh: Rig) -> Rig:
    """A server of one's own in the era of the handshake; its client can show forms."""
    fresh.handshake(capabilities=FORMS)
    return fresh


@pytest.fixture
def modern(fresh: Rig) -> Rig:
    """A server of one's own in the era without handshake; its client can show forms."""
    fresh.modern(FORMS)
    return fresh


@pytest.fixture(scope="module", params=["legacy", "modern"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A server in each era, shared by the tests of a module: leave it as it was."""
    with running(tmp_path_factory.mktemp("marks")) as rig:
        if request.param == "legacy":
            rig.handshake(capabilities=FORMS)
        else:
            rig.modern(FORMS)
        yield rig


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A server in the era of the handshake, shared by the tests of a module: leave it as it was."""
    with running(tmp_path_factory.mktemp("marks")) as rig:
        rig.handshake(capabilities=FORMS)
        yield rig


@pytest.fixture(scope="module")
def shared_modern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A server in the era without handshake, shared by the tests of a module: leave it as it was."""
    with running(tmp_path_factory.mktemp("marks")) as rig:
        rig.modern(FORMS)
        yield rig


@pytest.fixture(scope="session")
def typescript() -> Drive:
    """A driver of the TypeScript clients; the first test that asks for it installs them."""
    return installed()


@pytest.fixture
def rig(tmp_path: Path) -> Desk:
    """A workspace with the real desk on it; its policy is the default one."""
    root = tmp_path / "repo"
    root.mkdir()
    return Desk(root)


@pytest.fixture
def headless(tmp_path: Path) -> Desk:
    """One where the caller may approve."""
    root = tmp_path / "repo"
    root.mkdir()
    return Desk(root, approve="caller")
