"""Sources that are held though no document names them just now."""

import os
import time

from flow_mcp.workspace.folders import private_folder
from flow_mcp.workspace.pins import FOLDER, HELD_S, pin, pinned, unpin
from tests.workspace.rig import Repo

ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")


def test_a_pin_holds_until_it_is_taken_out(repo: Repo) -> None:
    for digest in (ONE, TWO, ONE):
        pin(repo.private, digest)
    assert pinned(repo.private) == {ONE, TWO}
    unpin(repo.private, [ONE, "no digest", "../../greeting"])
    assert pinned(repo.private) == {TWO}


def test_a_pin_holds_for_thirty_days(repo: Repo) -> None:
    pin(repo.private, ONE)
    path = private_folder(repo.private, FOLDER) / ("1" * 64)
    old_s = time.time() - HELD_S - 60
    os.utime(path, (old_s, old_s))
    assert pinned(repo.private) == frozenset()
