"""Documents that no honest Flow wrote: each is refused in its own words, and its bytes stay."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import ALL_RULES
from flow_mcp.store.chain import appended
from flow_mcp.store.documents import PlansFolder, rendered
from tests.engine.place import Place, make, plan

Edit = Callable[[dict[str, Any]], object]


def run_of(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["runs"][0]
    return found


TEXTS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "not UTF-8": lambda data: data.replace(b"Say", b"S\xe9y", 1),
    "a byte-order mark": lambda data: b"\xef\xbb\xbf" + data,
    "a merge conflict": lambda data: data.replace(b'  "goal"', b'<<<<<<< HEAD\n  "goal"', 1),
    "a key twice": lambda data: data.replace(b'  "goal"', b'  "revision": 1,\n  "goal"', 1),
    "not a number": lambda data: data.replace(b'"schema": 1', b'"schema": NaN', 1),
    "half a character": lambda data: data.replace(b"Say good-bye", b"Say \\ud800", 1),
    "cut off": lambda data: data[: len(data) // 2],
    "something after it": lambda data: data + b"{}",
    "too deep": lambda _: b"[" * 100 + b"]" * 100,
    "too large": lambda data: data + b" " * (4 * 1024 * 1024),
    "too large a number": lambda data: data.replace(b'"schema": 1', b'"schema": 99999999999999999999', 1),
}

SHAPES: dict[str, Edit] = {
    "no schema": lambda doc: doc.pop("schema"),
    "a schema from the future": lambda doc: doc.update(schema=2),
    "an unknown field": lambda doc: doc.update(approved=True),
    "a missing field": lambda doc: doc.pop("goal"),
    "a number for a text": lambda doc: doc.update(worktree=7),
    "another plan's id": lambda doc: doc.update(plan_id="other"),
    "an unknown state": lambda doc: run_of(doc).update(state="great"),
    "an exit code as text": lambda doc: run_of(doc)["observations"][0].update(exit_code="0"),
    "an invented observation field": lambda doc: run_of(doc)["observations"][0].update(trusted=True),
    "an edited goal": lambda doc: doc.update(goal="Say nothing"),
}

UNTRUE: dict[str, Edit] = {
    "a run that passed without a review": lambda doc: run_of(doc).update(state="passed", review=None),
    "a second active run": lambda doc: doc["runs"].append(
        run_of(doc) | {"id": "bye.2", "attempt": 2, "state": "active"}
    ),
    "an observation of an unlisted command": lambda doc: run_of(doc)["observations"][0].update(command="true"),
    "a broad observation of a check": lambda doc: run_of(doc)["observations"][0].update(scope="broad"),
    "a wrong kind of review": lambda doc: run_of(doc)["review"].update(kind="feature"),
    "a verdict on another source": lambda doc: run_of(doc)["review"]["result"].update(source="sha256:" + "0" * 64),
    "a waiver by the caller": lambda doc: doc["allowances"].append(
        {"kind": "proof", "value": "bye", "because": "x", "channel": "caller", "source": "s", "revision": 3}
    ),
    "a closing without a final review": lambda doc: (
        doc["runs"].clear(),
        doc.update(closure=closure("completed"), baselines=[]),
    ),
    "a revision without an operation": lambda doc: doc.update(revision=doc["revision"] + 1),
    "an approval of another plan": lambda doc: doc["approvals"][0].update(plan_digest="sha256:" + "1" * 64),
    "a listing with other lines": lambda doc: doc["listings"][0].update(lines=["sha256:x other"]),
}


def closure(kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "summary": "done",
        "by": "caller",
        "open_rules": [],
        "waivers": [],
        "notes": [],
        "revision": 12,
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, bytes]:
    root = tmp_path_factory.mktemp("hostile") / "repo"
    root.mkdir()
    place = Place(make(root))
    plan_id = place.finished().plan_id
    return root, plan_id, (root / "plans" / f"{plan_id}.json").read_bytes()


def refusal(folder: Path, name: str, data: bytes) -> BrokenWorld:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_bytes(data)
    with pytest.raises(BrokenWorld) as caught:
        PlansFolder(folder, ALL_RULES).load(name)
    assert path.read_bytes() == data
    assert caught.value.remedy
    return caught.value


def edited(data: bytes, edit: Edit) -> bytes:
    document = json.loads(data)
    edit(document)
    return json.dumps(document, ensure_ascii=False).encode()


def rechained(data: bytes, edit: Edit) -> bytes:
    """Edit a document and make its hash chain whole again, as a hostile process could."""
    document = Document.model_validate_json(edited(data, edit))
    last = document.operations[-1]
    earlier = document.model_copy(update={"operations": document.operations[:-1]})
    return rendered(appended(earlier, last))


def test_every_damaged_text_and_shape_is_told_apart(whole: tuple[Path, str, bytes], tmp_path: Path) -> None:
    _, name, data = whole
    told = {what: refusal(tmp_path / "p", name, edit(data)).seen for what, edit in TEXTS.items()}
    told |= {what: refusal(tmp_path / "p", name, edited(data, edit)).seen for what, edit in SHAPES.items()}
    assert len(set(told.values())) == len(TEXTS) + len(SHAPES), sorted(told.items(), key=lambda pair: pair[1])


def test_every_untrue_document_is_refused_though_its_chain_is_whole(
    whole: tuple[Path, str, bytes], tmp_path: Path
) -> None:
    _, name, data = whole
    told = {what: refusal(tmp_path / "p", name, rechained(data, edit)).seen for what, edit in UNTRUE.items()}
    assert all("cannot be true" in seen for seen in told.values()), told
    assert len(set(told.values())) == len(UNTRUE), sorted(told.items(), key=lambda pair: pair[1])


@pytest.mark.parametrize("plant", ["link", "hard link", "folder", "pipe"])
def test_nothing_planted_in_a_documents_place_is_read(
    whole: tuple[Path, str, bytes], tmp_path: Path, plant: str
) -> None:
    _, name, data = whole
    folder = tmp_path / "plans"
    folder.mkdir()
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(data)
    path = folder / f"{name}.json"
    if plant == "link":
        path.symlink_to(elsewhere)
    elif plant == "hard link":
        path.hardlink_to(elsewhere)
    elif plant == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(BrokenWorld):
        PlansFolder(folder, ALL_RULES).load(name)


def test_a_plans_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    root = tmp_path / "repo"
    root.mkdir()
    make(root)
    (root / "plans").symlink_to(tmp_path / "elsewhere")
    place = Place(root)
    with pytest.raises(BrokenWorld):
        place.ask(c.PlanSave(goal="g", plan=plan()))
    assert list((tmp_path / "elsewhere").iterdir()) == []
