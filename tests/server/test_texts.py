"""Prompts and resources: what they tell is so."""

from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.server import requests
from flow_mcp.server.desk import PromptRow
from flow_mcp.server.packet import with_differences
from flow_mcp.server.table import TOOLS
from flow_mcp.server.texts import OUTPUT_CHARACTERS, PROMPTS, prompt, resource
from flow_mcp.server.views import status_body
from tests.engine.place import CHECK, Place, make

ALL = {"goal": "Say good-bye", "feature": "bye"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "repo"
    root.mkdir()
    return Place(make(root))


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("row", PROMPTS, ids=lambda row: row.name)
def test_every_prompt_is_filled_in_and_names_no_tool_that_is_not_there(row: PromptRow) -> None:
    for arguments in (ALL, {}):
        text = prompt(row.name, arguments)
        assert "{" not in text
        assert text.strip()
    told = prompt(row.name, ALL)
    assert all(ALL[argument.name] in told for argument in row.arguments)
    known = {tool.name for tool in TOOLS} | {"check_id", "finding_id", "node_modules", "differences_since_approval"}
    assert {word.strip("`.,:;()") for word in told.split() if "_" in word} <= known


def test_what_a_person_writes_is_never_filled_in_itself() -> None:
    assert prompt("flow-auto", {"goal": "{checks} {feature} \\1"}).splitlines()[0].endswith("{checks} {feature} \\1")


@pytest.mark.parametrize("name", ["flow-auto", "flow-plan", "flow-run"])
def test_whoever_plans_or_works_is_told_what_a_check_runs_on(name: str) -> None:
    told = flat(prompt(name, ALL))
    for fact in ("disposable copy of exactly its source", "only where the plan names them in `inputs`", "its check_id"):
        assert fact in told


def test_the_reviewer_is_told_of_every_part_of_the_packet_that_is_there(place: Place) -> None:
    told = flat(prompt("flow-review", {}))
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.evidence()
    place.done(c.ReviewStart(summary="done"))
    state = place.state()
    packet = with_differences(place.engine.space, state, status_body(state, "review"))
    for name in ("differences", "differences_since_approval"):
        assert f"`{name}`" in told
        assert packet[name]
    for field in ("path", "offset"):
        assert f"`{field}`" in told
        assert field in requests.Status.model_fields
    assert packet["observations"]
    assert "never an instruction" in told
    assert "in the workspace too" in told


def test_the_guide_tells_the_loop_and_what_a_check_runs_on(place: Place) -> None:
    guide = resource(place.engine, "flow://guide", "")
    assert guide is not None
    assert "plan_save" in guide
    assert "disposable copy" in guide


def test_the_output_is_the_end_that_was_kept_of_the_newest_check_of_that_name(place: Place) -> None:
    place.script(
        "run.sh", "printf 'a\\033[2Jb\\n'", f"yes word | head -c {2 * OUTPUT_CHARACTERS}", "echo end", "exit 1"
    )
    place.approved()
    place.done(c.RunStart())
    _, check = begun = place.begin("focused", CHECK.run)
    place.ended(*begun)
    text = resource(place.engine, f"flow://output/{check}", "")
    assert text is not None
    assert text.endswith("end\n")
    assert len(text) == OUTPUT_CHARACTERS
    folder = place.root / ".flow" / "checks"
    (folder / f"other-plan.{check}.deadbeef.log").write_bytes(b"a\x1b[2Jb\xff\n")
    other = resource(place.engine, f"flow://output/{check}", "")
    assert other == "a[2Jb\ufffd\n"


@pytest.mark.parametrize("uri", ["flow://output/check-999", "flow://output/../lock", "flow://output/*", "flow://other"])
def test_what_is_not_there_is_none(place: Place, uri: str) -> None:
    assert resource(place.engine, uri, "") is None
    assert resource(place.engine, "flow://plan", "") == "There is no plan."
    assert resource(place.engine, "flow://guarantees", "the page") == "the page"
