from flow_mcp.domain.markdown import page
from flow_mcp.workspace.folders import remove_tree
from tests.cli.conftest import Flow
from tests.cli.rig import Project, run_flow


def test_the_plan_is_a_page(pending: Project, flow: Flow) -> None:
    ended = flow("show")
    assert ended.code == 0
    assert ended.out.startswith("# Add slug\n")
    assert ended.out == page(pending.document, {entry.digest: entry.lines or () for entry in pending.document.listings})
    assert run_flow(pending, "show").out == ended.out


def test_json_is_the_document(pending: Project, flow: Flow) -> None:
    assert flow("show", "--json", pending.document.plan_id).body == pending.document.as_json()


def test_without_a_plan_or_with_an_unknown_one_it_is_refused(started: Project, flow: Flow) -> None:
    ended = flow("show")
    assert (ended.code, ended.out) == (3, "")
    assert "There is no plan yet." in ended.err
    started.drafted()
    assert flow("show", "nope").code == 3


def test_several_open_plans_need_a_name(drafted: Project, flow: Flow) -> None:
    first = drafted.document.plan_id
    remove_tree(drafted.root / ".flow")
    drafted.path.rename(drafted.root / "kept")
    drafted.drafted("Another goal")
    second = drafted.document.plan_id
    (drafted.root / "kept").rename(drafted.root / "plans" / f"{first}.json")
    assert flow("show").out.startswith("# Another goal")
    remove_tree(drafted.root / ".flow")
    ended = flow("show", "--json")
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "plan.one-open")
    assert flow("show", "--plan", second).out.startswith("# Another goal")
    assert flow("show", first).out.startswith("# Add slug")


def test_an_edited_document_is_not_shown(drafted: Project, flow: Flow) -> None:
    drafted.edit({"goal": "Another goal"})
    ended = flow("show", drafted.path.stem)
    assert (ended.code, ended.out) == (4, "")
    assert "edited outside Flow" in ended.err
