import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from flow_mcp.store import chain
from flow_mcp.store.lock import WorkspaceLock
from tests.engine.place import Hold, Place, make, plan
from tests.proofs.engine_proofs import ENGINE_PROOFS
from tests.simulator import Forbidden

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    folder = tmp_path / "hold"
    folder.mkdir()
    held = Hold(folder)
    yield held
    held.release()


def place_with(tmp_path: Path, book: Rulebook) -> Place:
    root = tmp_path / "repo"
    root.mkdir()
    return Place(make(root), book)


@pytest.mark.parametrize("rule_id", sorted(ENGINE_PROOFS))
def test_a_rule_keeps_its_forbidden_state_off_the_disk(
    rule_id: str, tmp_path: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ENGINE_PROOFS[rule_id](place_with(tmp_path, ALL_RULES), hold, monkeypatch) == rule_id


@pytest.mark.parametrize("rule_id", sorted(ENGINE_PROOFS))
def test_without_its_rule_the_forbidden_state_stands_on_the_disk(
    rule_id: str, tmp_path: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Forbidden):
        ENGINE_PROOFS[rule_id](place_with(tmp_path, Rulebook(out=frozenset({rule_id}))), hold, monkeypatch)


@contextmanager
def writers(place: Place) -> Iterator["subprocess.Popen[str]"]:
    """Run a program that begins a writer, which saves draft after draft, whenever it is told to."""
    command = [sys.executable, "-m", "tests.proofs.writers", str(place.root)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_a_writer_that_is_killed_at_any_moment_leaves_a_whole_document_and_a_free_lock(tmp_path: Path) -> None:
    place = place_with(tmp_path, ALL_RULES)
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()), plan_id="p")
    moments, seen = random.Random(20), [1]  # noqa: S311 - moments, not secrets
    with writers(place) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(20):
            process.stdin.write("go\n")
            process.stdin.flush()
            writer = int(process.stdout.readline())
            time.sleep(moments.uniform(0.0, 0.2))
            os.kill(writer, signal.SIGKILL)
            assert process.stdout.readline().strip() == "killed"
            with WorkspaceLock(place.root / ".flow" / "lock").hold(30):
                pass
            document = place.done(c.PlanSave(goal="Say good-bye", plan=plan(summary="by the survivor"))).document
            assert chain.fault(document) is None
            assert document.revision > seen[-1]
            seen.append(document.revision)
    assert seen[-1] > 21  # some of the killed ones had written
