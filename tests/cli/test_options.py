import os
from pathlib import Path

import pytest

from flow_mcp.cli.options import fault
from tests.cli.conftest import Flow
from tests.cli.rig import Project


def test_a_folder_that_is_gone_is_told(started: Project, flow: Flow, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        ended = flow("status")
    finally:
        os.chdir(started.root)
    assert (ended.code, ended.text.splitlines()[0]) == (4, "The current folder is gone.")


def test_a_workspace_is_found_from_a_folder_below_it(drafted: Project, flow: Flow) -> None:
    os.chdir(drafted.root / "tests")
    assert drafted.document.plan_id in flow("status").out


@pytest.mark.parametrize("text", ["", " \n", "\x00", "a\x1bb", "\ud800", "\u2028", "\r"])
def test_what_cannot_stand_in_a_document_is_said(text: str) -> None:
    assert fault(text) is not None


@pytest.mark.parametrize("text", ["a", "two\nlines", "é 漢 🙂", "tab\t"])
def test_what_can_stand_there_is_not(text: str) -> None:
    assert fault(text) is None
