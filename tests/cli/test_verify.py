import json

from flow_mcp.domain.commands import Close, ReviewSubmit
from flow_mcp.domain.listing import LINES_MAX, listing_of
from flow_mcp.domain.model import Actor, Document
from flow_mcp.store import chain
from flow_mcp.store.documents import rendered
from flow_mcp.workspace.folders import remove_tree
from tests.cli.conftest import Flow
from tests.cli.rig import APP_DONE, Project, run_flow


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
    assert flow("verify", "--audit").code == 0
    assert not (drafted.root / ".flow").exists()


def test_one_damaged_document_is_told_beside_those_that_hold(drafted: Project, flow: Flow) -> None:
    name = drafted.document.plan_id
    drafted.write("plans/other.json", "{")
    ended = flow("verify")
    assert ended.code == 1
    assert ended.out.startswith("1 of 2 documents in plans/ do not hold.")
    assert "Line 1" in ended.out
    assert "git checkout" not in ended.out
    assert "Mend it by hand" in ended.out
    drafted.git("add", "plans/other.json")
    assert "git checkout" in flow("verify").out
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


def completed(project: Project) -> Document:
    review = project.document.runs[0].review
    assert review is not None
    ask = ReviewSubmit(assignment_id=review.id, verdict="passed", summary="Read.", findings=())
    project.ask(ask, Actor(role="reviewer", agent="reviewer-connection"))
    return project.ask(Close(kind="completed", summary="slug() is there"))


def test_an_audit_says_that_a_completed_goal_has_no_gap_and_whether_its_source_moved(
    pending: Project, flow: Flow
) -> None:
    completed(pending)
    ended = flow("verify", "--audit", "--json")
    (plan,) = ended.body["plans"]
    assert (ended.code, plan["audit"]) == (0, {"closure": "completed", "gaps": [], "source": "as closed"})
    pending.write("app.py", APP_DONE + "# later work\n")
    remove_tree(pending.root / ".flow")
    ended = flow("verify", "--audit")
    assert (ended.code, "completed, 0 gap(s); source: moved since" in ended.out) == (0, True)
    assert not (pending.root / ".flow").exists()
    assert "audit" not in flow("verify", "--json").body["plans"][0]


def test_an_audit_judges_apart_from_what_verifying_refuses(pending: Project, flow: Flow) -> None:
    document = completed(pending)
    bare = document.model_copy(update={"baselines": (), "operations": document.operations[:-1]})
    pending.path.write_bytes(rendered(chain.appended(bare, document.operations[-1])))
    ended = flow("verify", "--audit", "--json")
    (plan,) = ended.body["plans"]
    assert (ended.code, plan["ok"], "review.baseline-taken" in plan["seen"]) == (1, False, True)
    assert [gap["id"] for gap in plan["audit"]["gaps"]] == ["baseline-missing"]
    shown = flow("verify", "--audit")
    assert (shown.code, "baseline-missing: " in shown.out) == (1, True)


def test_an_open_goal_and_one_that_nobody_can_read_are_not_audited(drafted: Project, flow: Flow) -> None:
    drafted.write("plans/other.json", "{")
    ended = flow("verify", "--audit", "--json")
    assert (ended.code, [one.get("audit") for one in ended.body["plans"]]) == (1, [None, None])


def with_artifacts(project: Project, *globs: str) -> None:
    """Complete the goal, and write it as if its plan had named artifacts."""
    document = completed(project)
    plan = document.plan
    assert plan is not None
    odd = plan.model_copy(update={"artifacts": globs})
    given = document.approvals[0].model_copy(update={"plan_digest": odd.digest()})
    changes = {"plan": odd, "approvals": (given,), "operations": document.operations[:-1]}
    project.path.write_bytes(rendered(chain.appended(document.model_copy(update=changes), document.operations[-1])))


def test_a_tracked_file_under_an_artifact_is_a_gap_and_a_generated_one_is_none(pending: Project, flow: Flow) -> None:
    with_artifacts(pending, "out/")
    pending.write("out/made.py", "made = 1\n")
    assert flow("verify", "--audit").code == 0
    pending.git("add", "out/made.py")
    ended = flow("verify", "--audit", "--json")
    audit = ended.body["plans"][0]["audit"]
    assert (ended.code, audit["source"], [gap["id"] for gap in audit["gaps"]]) == (
        1,
        "as closed",
        ["artifact-hides-source"],
    )


def test_without_a_readable_tree_the_audit_judges_the_document_alone(pending: Project, flow: Flow) -> None:
    with_artifacts(pending, "../out")
    ended = flow("verify", "--audit", "--json")
    assert (ended.code, ended.body["plans"][0]["audit"]["source"]) == (0, "unknown")
