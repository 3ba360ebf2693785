"""A workspace may lie anywhere: in a folder of any name that the system allows."""

import os
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.view import status
from tests.engine.place import CHECK, GATE, Place, lone, make

NAMES = {
    "spaces": b"two  words",
    "quotes": b'it\'s "quoted" `here` $HOME',
    "a newline": b"new\nline",
    "bytes that are no text": b"caf\xe9 \xff",
    "a colon": b"left:right",
    "other scripts": "日本語".encode(),
}


@pytest.fixture(params=NAMES)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    root = tmp_path / os.fsdecode(NAMES[request.param])
    try:
        root.mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    return Place(make(root))


def test_a_goal_is_reached_there(odd: Place) -> None:
    document = odd.finished()
    assert status(document) == "completed"
    for seen in (*document.baselines, *document.runs[0].observations):
        assert (seen.ineligible, seen.in_place, seen.left) == (None, None, None)


def test_why_a_command_runs_in_place_names_no_folder_of_this_machine(odd: Place) -> None:
    odd.approved(lone(CHECK.run))
    odd.done(c.RunStart())
    objects = odd.root / ".flow" / "objects"
    objects.rename(objects.with_name("aside"))
    objects.touch()
    seen = odd.observe("focused", CHECK.run)
    assert seen.in_place is not None
    assert "'.flow/objects'" in seen.in_place.replace('"', "'")
    assert odd.root.parent.name not in seen.in_place


def test_a_check_there_is_cancelled_and_the_next_one_ends(odd: Place) -> None:
    odd.script("do.sh", "sleep 60")
    odd.approved(lone("./do.sh"))
    odd.done(c.RunStart())
    ids = odd.begin("focused", "./do.sh")
    assert odd.checks.cancel(*ids)
    assert odd.ended(*ids).ended == "cancelled"
    odd.settled()
    assert odd.observe("baseline", GATE.run).exit_code == 0
