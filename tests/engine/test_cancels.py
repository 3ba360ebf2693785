import signal
from pathlib import Path

import pytest

from flow_mcp.engine.cancels import Cancels
from flow_mcp.store.files import PlantedLink, prepare_private


@pytest.fixture
def cancels(tmp_path: Path) -> Cancels:
    prepare_private(tmp_path / ".flow")
    return Cancels(tmp_path / ".flow")


def test_a_request_sets_the_signal_of_its_own_check_alone(cancels: Cancels) -> None:
    meant, other = cancels.signal("p", "check-3"), cancels.signal("p", "check-4")
    assert not meant.is_set()
    cancels.request("p", "check-3")
    cancels.request("p", "check-3")
    assert meant.is_set()
    assert not other.is_set()


def test_a_signal_is_set_in_its_own_process_without_a_file(cancels: Cancels, tmp_path: Path) -> None:
    signal = cancels.signal("p", "check-3")
    signal.set()
    assert signal.is_set()
    assert not (tmp_path / ".flow" / "checks").exists()


def test_a_signal_of_the_system_sets_it_too_however_often_it_comes(cancels: Cancels) -> None:
    cancel = cancels.signal("p", "check-3")
    cancel.on_signal(signal.SIGTERM, None)
    cancel.on_signal(signal.SIGHUP, None)
    assert cancel.is_set()


def test_requests_are_forgotten_together_and_other_files_stay(cancels: Cancels, tmp_path: Path) -> None:
    cancels.clear()
    cancels.request("p", "check-3")
    cancels.request("q", "check-1")
    output = tmp_path / ".flow" / "checks" / "p.check-3.log"
    output.write_text("output")
    cancels.clear()
    assert not cancels.signal("p", "check-3").is_set()
    assert not cancels.signal("q", "check-1").is_set()
    assert output.exists()


def test_a_planted_link_is_not_followed(cancels: Cancels, tmp_path: Path) -> None:
    (tmp_path / ".flow" / "checks").symlink_to(tmp_path)
    with pytest.raises(PlantedLink):
        cancels.request("p", "check-3")


@pytest.mark.parametrize("name", ["../x", "a/b"])
def test_what_is_no_check_of_a_document_is_a_broken_program(cancels: Cancels, name: str) -> None:
    with pytest.raises(AssertionError):
        cancels.request("p", name)
