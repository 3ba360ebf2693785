"""Gaps that are left open on purpose: each test goes through one, so that a gap that was closed is noticed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Plan, Proof
from flow_mcp.engine.core import Asked, Done, Engine
from flow_mcp.engine.gather import Workspace
from flow_mcp.engine.keeper import read_ticket
from flow_mcp.engine.warm import WARM
from flow_mcp.settings import load_settings
from flow_mcp.store import chain
from flow_mcp.store.documents import rendered
from tests.cli.rig import CONFIRM, FLOW, terminal
from tests.engine.place import (
    GATE,
    MANAGER,
    Place,
    approval_of,
    feature,
    is_alive,
    lone,
    make,
    plan,
    settings,
    until,
)
from tests.promises.rig import YES, Host, Model, planned

UNPROVEN = Proof(kind="none", because="Nothing can show it.")


def started(place: Place, wanted: Plan) -> None:
    place.approved(wanted)
    place.done(c.RunStart())


def completed(place: Place) -> Document:
    """Go from work that is done to a completed closure."""
    if not place.document.baselines:
        place.observe("baseline", GATE.run)
    place.observe("broad", GATE.run)
    assert place.document.plan is not None
    for check in place.document.plan.features[0].checks:
        place.observe("focused", check.run)
    place.reviewed()
    document = place.done(c.Close(kind="completed", summary="done")).document
    assert document.closure is not None
    assert document.closure.kind == "completed"
    return document


def unproven(*targets: str) -> Plan:
    return plan(feature(proof=UNPROVEN, checks=(), targets=targets or ("greeting.txt", "tests/new.sh")))


@pytest.mark.promise("open.empty-tests")
def test_a_gate_whose_tests_assert_nothing_passes(place: Place) -> None:
    started(place, unproven())
    place.write("greeting.txt", "hello\nnot what was asked for\n")
    place.write("tests/new.sh", ": # asserts nothing\n")
    completed(place)


@pytest.mark.promise("open.skipping-suite")
def test_a_suite_that_skips_what_was_never_named_passes(place: Place) -> None:
    cases = '<testcase name="old"/><testcase name="new"><skipped/></testcase>'
    place.script("run.sh", "mkdir -p .flow/reports", f"echo '<testsuite>{cases}</testsuite>' >$1")
    started(place, unproven())
    document = completed(place)
    report = document.runs[0].observations[-1].report
    assert report is not None
    assert (report.passed, report.skipped) == (1, 1)


@pytest.mark.promise("open.inputs")
def test_what_a_command_reads_through_inputs_is_outside_the_digest(place: Place) -> None:
    place.write("cache/answer", "yes\n")
    place.script("tests/new.sh", "grep -q yes cache/answer")
    wanted = unproven().model_copy(update={"inputs": ("cache",)})
    started(place, wanted)
    document = completed(place)
    before = place.state().facts.digest
    place.write("cache/answer", "no\n")
    assert document.closure is not None
    assert place.state().facts.digest == before == document.closure.source
    assert subprocess.run(["./run.sh", ".flow/reports/all.xml"], cwd=place.root, check=False).returncode == 1


@pytest.mark.promise("open.broken-before")
def test_taking_back_what_was_broken_before_a_caller_approved_is_proved_as_work(tmp_path: Path) -> None:
    root = tmp_path / "headless"
    root.mkdir()
    place = Place(make(root), policy={"approve": "caller"})
    place.write("greeting.txt", "broken\n")
    mended = feature(proof=Proof(kind="case", run=GATE.run, case="old"), checks=(), targets=("greeting.txt",))
    place.done(c.PlanSave(goal="Say good-bye", plan=plan(mended)))
    place.done(approval_of(place.state()), MANAGER)
    place.done(c.RunStart())
    place.write("greeting.txt", "hello\n")
    assert place.git("status", "--porcelain", "greeting.txt") == ""
    place.observe("baseline", GATE.run)
    place.observe("proof", GATE.run, feature_id="bye")
    closure = completed(place).closure
    assert closure is not None
    assert "Targets differed from HEAD when the caller approved: greeting.txt." in closure.notes


@pytest.mark.promise("open.removed-document")
def test_a_document_that_is_removed_takes_what_it_owes_with_it_and_git_shows_that(place: Place) -> None:
    first = place.approved()
    place.done(c.Close(kind="deferred", summary="later"))
    place.git("add", "--force", "plans")
    place.git("commit", "--quiet", "--message=plans")
    (place.root / "plans" / f"{first.plan_id}.json").unlink()
    second = place.done(c.PlanSave(goal="Another", plan=plan())).document
    assert second.plan is not None
    assert second.plan.inherits == ()
    assert f"D plans/{first.plan_id}.json" in place.git("status", "--porcelain")


@pytest.mark.promise("open.moved-folder")
def test_another_plans_folder_leaves_what_is_owed_out_of_sight(place: Place) -> None:
    place.approved()
    place.done(c.Close(kind="deferred", summary="later"))
    moved = Engine(Workspace(place.root, "plans2"), settings())
    second = moved.ask(c.PlanSave(goal="Another", plan=plan()), Asked(MANAGER))
    assert isinstance(second, Done)
    assert second.document.plan is not None
    assert second.document.plan.inherits == ()


@pytest.mark.promise("open.forgotten-worktree")
def test_a_forgotten_worktree_drives_a_second_plan(place: Place) -> None:
    place.approved()
    (place.root / ".flow" / "worktree").unlink()
    other = place.another()
    second = other.ask(c.PlanSave(goal="Another", plan=plan()), Asked(MANAGER, plan_id="second"))
    assert isinstance(second, Done)


@pytest.mark.promise("open.taken-back")
def test_a_failed_review_that_was_put_back_is_lost_and_a_fresh_reviewer_passes_the_same_work(place: Place) -> None:
    started(place, unproven())
    place.write("greeting.txt", "hello\n\n")
    place.observe("baseline", GATE.run)
    place.observe("broad", GATE.run)
    (path,) = (place.root / "plans").glob("*.json")
    earlier = path.read_bytes()
    place.reviewed("failed", c.NewFinding(severity="blocking", summary="It says nothing.", evidence="greeting.txt"))
    path.write_bytes(earlier)
    document = completed(place)
    assert [run.review.result.verdict for run in document.runs if run.review and run.review.result] == ["passed"]
    assert len(document.taken_back or ()) == 1


@pytest.mark.promise("open.forgotten-worktree")
def test_a_forgotten_worktree_does_not_know_that_a_document_was_put_back(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    (path,) = (place.root / "plans").glob("*.json")
    earlier = path.read_bytes()
    place.approve()
    path.write_bytes(earlier)
    assert len(place.document.taken_back or ()) == 1
    shutil.rmtree(place.root / ".flow")
    assert place.document.taken_back is None


@pytest.mark.promise("open.ignored-behind-link")
def test_what_an_ignored_file_behind_a_source_link_says_is_not_seen(place: Place) -> None:
    place.write("cache/word.txt", "hello\n")
    (place.root / "linked.txt").symlink_to("cache/word.txt")
    before = place.approved().approvals[0].source
    place.write("cache/word.txt", "another word\n")
    assert place.state().facts.digest == before


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a home whose cache folder holds the copies of the checks that start from now on."""
    (tmp_path / "home" / ".cache").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    WARM.close()  # a warm process has the environment that it was started with
    yield tmp_path / "home"
    WARM.close()


@pytest.mark.promise("open.planted-above")
def test_what_is_planted_above_flows_cache_folder_steers_a_test_runner(place: Place, home: Path) -> None:
    run = f"{sys.executable} -m pytest -q -p no:cacheprovider test_words.py"
    place.write("test_words.py", "def test_words():\n    raise AssertionError\n")
    place.approved(lone(run))
    place.done(c.RunStart())
    assert place.observe("focused", run).exit_code == 1
    (home / "pytest.ini").write_text("[pytest]\n")
    (home / "conftest.py").write_text("def pytest_collection_modifyitems(items):\n    items[0].obj = lambda: None\n")
    seen = place.observe("focused", run)
    assert (seen.exit_code, seen.ineligible) == (0, None)


@pytest.mark.promise("open.disguised-secret")
def test_a_token_that_is_spelt_otherwise_is_kept(place: Place) -> None:
    token = "ghp_" + "0aB1" * 9
    place.script("say.sh", f"echo {token}", f"echo {token} | sed s/_/-/")
    place.approved(lone("./say.sh"))
    place.done(c.RunStart())
    place.observe("focused", "./say.sh")
    (kept,) = (place.root / ".flow" / "checks").glob("*.log")
    assert token not in kept.read_text()
    assert token.replace("_", "-") in kept.read_text()


@pytest.mark.promise("open.path")
def test_a_fake_program_on_the_path_answers_for_the_real_one(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "fake" / "grep"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    place.approved()
    place.write("greeting.txt", "nothing\n")
    place.done(c.RunStart())
    assert place.observe("broad", GATE.run).exit_code == 1
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    assert place.observe("broad", GATE.run).exit_code == 0


@pytest.mark.promise("open.host-entry")
def test_a_variable_of_the_servers_entry_counts_as_the_users_word(place: Place) -> None:
    loaded = load_settings(place.root, {"FLOW_APPROVE": "caller"}, {}, place.root.parent / "none.yaml")
    assert loaded.policy.approve == "caller"


@pytest.mark.promise("open.cheated-runner")
def test_a_runner_that_nobody_froze_can_say_what_it_likes(place: Place) -> None:
    started(place, unproven("greeting.txt"))
    place.observe("baseline", GATE.run)
    cases = "<testcase classname='sh' name='old'/><testcase classname='sh' name='new'/>"
    place.script("run.sh", "mkdir -p .flow/reports", f"echo \"<testsuite name='sh'>{cases}</testsuite>\" >$1")
    place.write("greeting.txt", "nothing of it\n")
    document = completed(place)
    assert document.runs[0].review is not None
    assert "run.sh" in document.runs[0].review.outside_targets


@pytest.mark.promise("open.reverted-edit")
def test_an_edit_that_is_taken_back_before_it_is_seen_leaves_no_trace(place: Place) -> None:
    started(place, unproven())
    place.work()
    place.observe("baseline", GATE.run)
    before = (place.root / "run.sh").read_text()
    place.write("run.sh", "#!/bin/sh\n# for a moment\n")
    place.write("run.sh", before)
    seen = place.observe("broad", GATE.run)
    assert (seen.exit_code, seen.ineligible, seen.source) == (0, None, place.state().facts.digest)
    changed = place.done(c.ReviewStart(summary="Nothing else was touched.")).document.runs[0].review
    assert changed is not None
    assert "run.sh" not in changed.changed_paths


@pytest.mark.promise("open.shell-writes")
def test_a_shell_writes_outside_the_targets_and_is_only_listed_afterwards(place: Place) -> None:
    started(place, unproven())
    place.work()
    subprocess.run(["sh", "-c", "echo more >elsewhere.txt"], cwd=place.root, check=True)
    document = completed(place)
    assert document.runs[0].review is not None
    assert document.runs[0].review.outside_targets == ("elsewhere.txt",)


@pytest.mark.promise("open.fake-terminal")
def test_a_program_at_a_terminal_of_its_own_passes_for_the_person_and_is_stored_as_unverified(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    with terminal((CONFIRM, "yes\n")) as (slave, nobody):
        process = subprocess.Popen(
            [FLOW, "approve"], cwd=place.root, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        assert process.wait(60) == 0
        assert "The plan is approved." in nobody.seen
    (given,) = place.document.approvals
    assert (given.by, given.channel) == ("person", "terminal-unverified")


@pytest.mark.promise("open.rewritten-chain")
def test_whoever_recomputes_the_chain_is_believed(place: Place) -> None:
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()), plan_id="p")
    given = place.approve().approvals[0]
    place.done(c.Close(kind="abandoned", summary="for another plan"))
    draft = place.done(c.PlanSave(goal="Another", plan=plan(summary="Nobody saw this.")), plan_id="mine").document
    assert draft.plan is not None
    yes = given.model_copy(update={"plan_digest": draft.plan.digest(), "revision": 1})
    (operation,) = draft.operations
    forged = chain.appended(draft.model_copy(update={"approvals": (yes,), "operations": ()}), operation)
    (place.root / "plans" / "mine.json").write_bytes(rendered(forged))
    assert place.done(c.RunStart()).document.approvals == (yes,)


@pytest.mark.promise("open.lying-host")
def test_a_host_that_answers_for_the_person_is_believed(place: Place, model: Model) -> None:
    model.does("plan_save", goal="Say good-bye", plan=planned(plan()))
    host = Host([YES])
    model.does("plan_approve", host)
    assert len(host.asked) == 1
    (given,) = place.document.approvals
    assert (given.by, given.channel) == ("person", "dialog")


@pytest.mark.promise("open.survivors")
@pytest.mark.skipif(sys.platform != "linux", reason="who is left is told by /proc")
def test_a_daemon_that_hid_from_a_killed_runner_is_not_found(place: Place, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    daemon = f"( env -i setsid sh -c 'echo $$ >{pid}; exec sleep 600' >/dev/null 2>&1 & )"
    place.script("do.sh", daemon, "exec sleep 600")
    started(place, lone("./do.sh"))
    ids = place.begin("focused", "./do.sh")
    until(lambda: pid.exists() and pid.read_text().strip())
    ticket = read_ticket(place.engine.space.private / "checks", *ids)
    assert ticket is not None
    os.kill(ticket.pid, signal.SIGKILL)
    until(place.checks.clean_up)
    survivor = int(pid.read_text())
    assert is_alive(survivor)
    os.kill(survivor, signal.SIGKILL)
    assert (
        place.done(c.RunReset(feature_id="bye", reason="again")).document.runs[0].observations[0].ended == "runner-lost"
    )
