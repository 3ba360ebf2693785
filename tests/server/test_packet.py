"""The reviewer's packet shows the differences themselves, within one answer, and says where the rest is."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Review
from flow_mcp.engine.asked import State
from flow_mcp.server import packet
from flow_mcp.server.desk import Reply
from flow_mcp.server.packet import ANSWER_CHARACTERS_MAX, cost, file_page, with_differences
from flow_mcp.server.reply import REPLY_CHARACTERS_MAX, result
from flow_mcp.server.views import _brief, status_body
from flow_mcp.workspace.folders import remove_tree
from tests.engine.place import Place, at_work, feature, make, plan

Body = dict[str, Any]
Kind = Literal["feature", "final"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A run with its work done, and nothing observed."""
    return at_work(tmp_path / "repo")


def judged(place: Place, kind: Kind = "feature") -> State:
    """Give the state as it is while a review of the source as it is waits."""
    state = place.state()
    changed = () if state.facts.source is None else state.facts.source.changed
    review = Review(
        id="r",
        kind=kind,
        source=state.facts.digest,
        observations=(),
        summary="done",
        changed_paths=changed,
        revision=state.document.revision,
    )
    run = state.document.runs[-1].model_copy(update={"review": review})
    runs = (*state.document.runs[:-1], run)
    return replace(state, document=state.document.model_copy(update={"runs": runs}))


def shown(place: Place, state: State) -> Body:
    """Give the packet as it goes out, uncut."""
    body = with_differences(place.engine.space, state, status_body(state, "review"))
    sent: Body = result(Reply(body, is_error=False)).structured_content or {}
    assert len(json.dumps(sent, ensure_ascii=False, separators=(",", ":"))) <= REPLY_CHARACTERS_MAX
    assert "truncated" not in sent
    return sent


def test_a_feature_review_is_shown_what_changed_since_the_run_started(place: Place) -> None:
    place.write("run.sh", "#!/bin/sh\n")
    body = shown(place, judged(place))
    found = body["differences"]
    assert [one["path"] for one in found["files"]] == ["tests/new.sh", "run.sh", "greeting.txt"]
    test, runner, greeting = found["files"]
    assert test == {
        "path": "tests/new.sh",
        "what": "added",
        "added": 1,
        "removed": 0,
        "marks": ["test"],
        "diff": "@@ -0,0 +1 @@\n+grep -q bye greeting.txt\n",
    }
    assert runner["marks"] == ["outside targets"]
    assert ("marks" in greeting, greeting["diff"]) == (False, "@@ -1 +1,2 @@\n hello\n+bye\n")
    assert found["paths"] == 3
    assert "path" in found["rest"]
    assert "flow-mcp diff" in found["rest"]
    assert "differences_since_approval" not in body
    assert body["assignment"]["changed_paths"] == ["greeting.txt", "run.sh", "tests/new.sh"]


def test_a_final_review_of_a_run_from_the_approved_source_is_told_that_both_are_one(place: Place) -> None:
    body = shown(place, judged(place, "final"))
    assert len(body["differences"]["files"]) == 2
    assert body["differences_since_approval"] == {"say": "The feature's first run started from the approved source."}


def test_a_final_review_is_shown_what_changed_since_the_approval_too(tmp_path: Path) -> None:
    tmp_path.joinpath("repo").mkdir()
    place = Place(make(tmp_path / "repo"))
    place.approved(plan(feature("bye"), feature("more", targets=("more.txt",))))
    place.write("more.txt", "more\n")
    place.done(c.RunStart(feature_id="bye"))
    place.work()
    state = judged(place, "final")
    body = shown(place, state)
    assert [one["path"] for one in body["differences"]["files"]] == ["tests/new.sh", "greeting.txt"]
    since = body["differences_since_approval"]["files"]
    assert [one["path"] for one in since] == ["tests/new.sh", "greeting.txt", "more.txt"]
    same = file_page(place.engine.space, state, "greeting.txt", 0)["text"]
    assert same.count("greeting.txt: changed since bye.1 started, +1 -0\n@@ -1 +1,2 @@") == same.count("@@ -1") == 1
    more = file_page(place.engine.space, state, "more.txt", 0)["text"]
    assert more.startswith("more.txt does not differ since bye.1 started.\nmore.txt: added since the approval, +1 -0\n")


def test_a_frozen_file_is_marked_as_one_in_the_packet_and_on_its_own_page(place: Place) -> None:
    place.write("tests/old.sh", "exit 0\n")
    state = judged(place, "final")
    files = {one["path"]: one.get("marks") for one in shown(place, state)["differences"]["files"]}
    assert files["tests/old.sh"] == ["frozen", "test", "outside targets"]
    assert files["tests/new.sh"] == ["test"]
    page = file_page(place.engine.space, state, "tests/old.sh", 0)["text"]
    assert page.startswith("tests/old.sh: changed since bye.1 started, +1 -1, frozen, test, outside targets\n")


@pytest.mark.parametrize("kind", ["feature", "final"])
@pytest.mark.parametrize("line", ['say "hello" \\ \x1b[31m again', "x" * 3_000, "日本"])
def test_however_much_changed_the_packet_fits_and_names_what_it_leaves_out(place: Place, kind: Kind, line: str) -> None:
    for number in range(150):
        place.write(f"src/{number:03}.txt", f"{line} {number}\n" * 40)
    body = shown(place, judged(place, kind))
    found = body["differences"]
    assert found["files"][0]["path"] == "tests/new.sh"
    assert found["paths"] == 152
    assert found["left_out"]["paths"] + len(found["files"]) == 152
    assert found["left_out"]["names"]
    assert any("lines_left_out" in one for one in found["files"])
    assert len(body["assignment"]["changed_paths"]) == 40
    assert body["assignment"]["changed_paths_total"] == 152
    assert body["assignment"]["summary"] == "done"


def test_files_that_were_not_read_are_counted_as_such(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet, "READ_ALL_BYTES_MAX", 1)
    found = shown(place, judged(place))["differences"]
    assert found["left_out"] == {
        "paths": 1,
        "lines": 0,
        "names": ["greeting.txt"],
        "paths_with_uncounted_lines": 1,
    }


def test_a_plan_that_fills_the_answer_leaves_the_differences_the_least_room(place: Place) -> None:
    place.write("greeting.txt", "hello\n" * 4_000)
    state = judged(place)
    body = with_differences(place.engine.space, state, status_body(state, "review") | {"long": "x" * 19_900})
    assert len(json.dumps(body["differences"])) < 3_000
    assert [one["path"] for one in body["differences"]["files"]] == ["tests/new.sh", "greeting.txt"]


def test_what_is_not_kept_is_a_sentence_and_no_error(place: Place) -> None:
    state = judged(place, "final")
    remove_tree(place.root / ".flow" / "sources")
    body = shown(place, state)
    assert "bye.1 started from is not kept" in body["differences"]["say"]
    assert "approved source is not kept" in body["differences_since_approval"]["say"]
    text = file_page(place.engine.space, state, "greeting.txt", 0)["text"]
    assert text.count("not kept") == 2


def test_a_store_that_breaks_while_it_is_read_is_a_sentence_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        seen = f"{len(arguments)} things cannot be read."
        raise BrokenWorld(seen, "Mend the disk.")

    monkeypatch.setattr(packet, "show", broken)
    state = judged(place)
    assert shown(place, state)["differences"] == {"say": "3 things cannot be read. Mend the disk."}
    page = file_page(place.engine.space, state, "greeting.txt", 0)
    assert page["text"] == "3 things cannot be read. Mend the disk.\n"


def test_without_an_assignment_the_packet_stays_as_it_is(place: Place) -> None:
    state = place.state()
    body = status_body(state, "review")
    assert with_differences(place.engine.space, state, body) == body
    done = replace(state, document=state.document.model_copy(update={"runs": ()}))
    assert with_differences(place.engine.space, done, body) == body
    assert "No run is active" in file_page(place.engine.space, done, "x", 0)["text"]


def test_one_files_whole_difference_comes_in_pages_that_join_without_a_gap(place: Place) -> None:
    place.write("greeting.txt", "".join(f'"{number}" \x1b[1m\n' for number in range(3_000)) + "y" * 50_000)
    state, text, offset, pages = judged(place), "", 0, 0
    while True:
        page = file_page(place.engine.space, state, "greeting.txt", offset)
        assert len(json.dumps(page, ensure_ascii=False)) <= REPLY_CHARACTERS_MAX
        text, pages = text + page["text"], pages + 1
        if "next_offset" not in page:
            break
        assert page["next_offset"] > offset
        offset = page["next_offset"]
    assert len(text) == page["characters"]
    assert pages > 3
    assert text.startswith("greeting.txt: changed since bye.1 started, +3001 -1\n@@ -1 +1,3001 @@\n-hello\n")
    assert '+"2999" <U+001B>[1m\n+' + "y" * 50_000 + "\n\\ No newline at end of file\n" in text
    beyond = file_page(place.engine.space, state, "greeting.txt", 10**9)
    assert (beyond["text"], "next_offset" in beyond) == ("", False)
    assert file_page(place.engine.space, state, "greeting.txt", -5) == file_page(
        place.engine.space, state, "greeting.txt", 0
    )


def test_a_path_shows_its_marks_and_notes_and_one_that_did_not_change_says_so(place: Place) -> None:
    (place.root / "run.sh").chmod(0o644)
    state = judged(place)
    assert file_page(place.engine.space, state, "run.sh", 0)["text"] == (
        "run.sh: mode changed since bye.1 started, +0 -0, outside targets\nIt cannot be executed any more.\n"
    )
    same = file_page(place.engine.space, state, "tests/old.sh", 0)
    assert same["text"] == "tests/old.sh does not differ since bye.1 started.\n"
    place.write("blob", "\0")
    assert "added since bye.1 started, outside targets\nBinary" in file_page(
        place.engine.space, place.state(), "blob", 0
    )["text"].replace("blob: ", "")


def test_an_answer_holds_as_much_as_the_server_sends() -> None:
    assert ANSWER_CHARACTERS_MAX == REPLY_CHARACTERS_MAX


def test_the_cost_of_a_text_is_what_it_takes_inside_json() -> None:
    assert cost('a"b\n') == len('a\\"b\\n')


def test_observations_with_many_cases_name_those_that_did_not_pass() -> None:
    cases = {f"case {number}": "passed" for number in range(500)} | {"bad": "failed"}
    assert _brief({"id": "o", "cases": cases}) == {"id": "o", "cases": {"bad": "failed"}}
    few = {"id": "o", "cases": {"one": "passed"}}
    assert _brief(few) is few
    assert _brief({"id": "o"}) == {"id": "o"}
