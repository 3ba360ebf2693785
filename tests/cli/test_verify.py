import json

from flow_mcp.domain.listing import LINES_MAX, listing_of
from flow_mcp.store import chain
from flow_mcp.store.documents import rendered
from flow_mcp.workspace.folders import remove_tree
from tests.cli.conftest import Flow
from tests.cli.rig import Project, run_flow


def test_documents_that_hold_end_with_0(pending: Project, flow: Flow) -> None:
    ended = flow("verify")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "1 of 1 documents hold.")
    body = flow("verify", "--json").body
    name, revision = pending.document.plan_id, pending.document.revision
    assert body["plans"] == [{"plan_id": name, "ok": True, "revision": revision}]
    assert body["ok"] is True
    assert run_flow(pending, "verify", name).code == 0


def test_no_documents_are_no_problem(started: Project, flow: Flow) -> None:
    assert "There are no documents in" in flow("verify").out.replace("\n", " ")
    assert not (started.root / "plans").exists()


def test_nothing_is_written_and_no_server_is_needed(drafted: Project, flow: Flow) -> None:
    remove_tree(drafted.root / ".flow")
    assert flow("verify").code == 0
    assert not (drafted.root / ".flow").exists()


def test_one_damaged_document_is_told_beside_those_that_hold(drafted: Project, flow: Flow) -> None:
    name = drafted.document.plan_id
    drafted.write("plans/other.json", "{")
    ended = flow("verify")
    assert ended.code == 1
    assert ended.out.startswith("1 of 2 documents in plans/ do not hold.")
    assert "Line 1" in ended.out
    assert "git checkout" in ended.out
    body = flow("verify", "--json").body
    assert (body["ok"], [one["ok"] for one in body["plans"]]) == (False, [True, False])
    assert flow("verify", name).code == 0
    assert run_flow(drafted, "verify", "other").code == 1


def test_each_kind_of_damage_is_a_problem(approved: Project, flow: Flow) -> None:
    whole = approved.path.read_bytes()
    value = json.loads(whole)
    forged = value | {"runs": [], "revision": value["revision"] + 1}
    for damage, seen in (
        (b"<<<<<<< ours\n" + whole, "conflict"),
        (whole.replace(b'"goal"', b'"gaol"'), "goal"),
        (whole.replace(b"Add slug", b"Add plug"), "edited outside"),
        (json.dumps(value | {"schema": 99}).encode(), "schema 99"),
        (json.dumps(forged).encode(), "edited outside"),
        (b"", "empty"),
    ):
        approved.path.write_bytes(damage)
        ended = flow("verify")
        assert (ended.code, seen in ended.out) == (1, True), damage
    approved.path.write_bytes(whole)
    assert flow("verify").code == 0


def test_a_plan_that_is_not_there_is_a_problem(drafted: Project, flow: Flow) -> None:
    ended = flow("verify", "nope", drafted.document.plan_id)
    assert (ended.code, "There is no document 'nope'." in ended.out) == (1, True)


def test_a_list_whose_file_is_gone_is_a_problem(pending: Project, flow: Flow) -> None:
    document, last = pending.document, pending.document.operations[-1]
    long = listing_of(f"case {number:05d}" for number in range(LINES_MAX + 1))
    bare = document.model_copy(update={"listings": (*document.listings, long), "operations": document.operations[:-1]})
    pending.path.write_bytes(rendered(chain.appended(bare, last)))
    sidecar = pending.path.with_suffix(f".{long.digest.removeprefix('sha256:')[:32]}.lines")
    sidecar.write_text("".join(f"case {number:05d}\n" for number in range(LINES_MAX + 1)))
    assert flow("verify").code == 0
    sidecar.write_text("other\n")
    ended = flow("verify")
    assert (ended.code, long.digest in ended.out) == (1, True)


def test_a_workspace_that_is_none_is_a_broken_world(started: Project, flow: Flow) -> None:
    ended = flow("verify", "--workspace", str(started.root / "nope"), "--json")
    assert (ended.code, "is not a folder" in ended.body["error"]["seen"]) == (4, True)
