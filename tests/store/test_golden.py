"""Documents that released versions wrote: every later version loads them, and can go on with them and close them."""

import shutil
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import SCHEMA
from flow_mcp.domain.rule import ALL_RULES
from flow_mcp.engine.core import Done
from flow_mcp.store.documents import PlansFolder, rendered
from tests.engine.place import Place, make

GOLDEN = Path(__file__).parents[1] / "golden"
DOCUMENTS = sorted(GOLDEN.glob("*/*.json"))


def test_every_schema_has_its_golden_documents() -> None:
    assert {path.parent.name for path in DOCUMENTS} == {str(number) for number in range(1, SCHEMA + 1)}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_golden_document_loads_and_keeps_its_bytes(path: Path) -> None:
    held = PlansFolder(path.parent, ALL_RULES).load(path.stem)
    assert held is not None
    assert rendered(held.document) == path.read_bytes()


def test_a_golden_open_plan_can_be_gone_on_with_and_closed(tmp_path: Path) -> None:
    for number in range(1, SCHEMA + 1):
        root = tmp_path / str(number)
        root.mkdir()
        make(root)
        (root / "plans").mkdir()
        for path in (GOLDEN / str(number)).glob("*.json"):
            shutil.copy(path, root / "plans")
        place = Place(root)
        assert place.state().document.plan_id == "running"
        assert isinstance(place.ask(c.RunReset(feature_id="bye", reason="here", next_feature_id="bye")), Done | Refused)
        done = place.done(c.Close(kind="deferred", summary="enough"))
        assert done.document.closure is not None
