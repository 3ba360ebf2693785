import os
import subprocess
from pathlib import Path

import pytest

from flow_mcp.domain.model import Actor
from flow_mcp.engine import core
from flow_mcp.engine.core import Engine
from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, FLOW, Holder, Project, interrupted, run_flow, terminal

YES = ((CONFIRM, "yes\n"),)


def test_a_yes_at_a_terminal_approves_exactly_what_was_shown(drafted: Project, typed: Flow) -> None:
    before = drafted.document
    ended = typed("approve", script=YES)
    assert ended.code == 0
    (given,) = drafted.document.approvals
    assert before.plan is not None
    assert (given.by, given.channel) == ("person", "terminal-unverified")
    assert given.plan_digest == before.plan.digest()
    for shown in ("Add slug", before.plan.digest(), given.source, "revision 1"):
        assert shown in ended.err
    assert "The plan is approved." in ended.out
    assert "run_start" in ended.out


def test_a_person_at_a_real_terminal_approves_with_the_installed_command(drafted: Project) -> None:
    with terminal(*YES) as (slave, person):
        process = subprocess.Popen(
            [FLOW, "approve"], cwd=drafted.root, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        assert process.wait(60) == 0
        seen = person.seen
    assert "Approve exactly this plan?" in seen
    assert "The plan is approved." in seen
    assert drafted.document.approvals[0].channel == "terminal-unverified"


def test_an_interrupt_at_the_question_ends_with_130_and_records_nothing(drafted: Project) -> None:
    before = drafted.path.read_bytes()
    code, seen = interrupted(drafted, "approve", at=CONFIRM)
    assert code == 130
    assert "Traceback" not in seen
    assert drafted.path.read_bytes() == before


@pytest.mark.parametrize("answer", ["no\n", "n\n", "yep\n", "yes please\n", "\n", "\x04", "\udcff\n"])
def test_anything_but_yes_records_nothing(drafted: Project, typed: Flow, answer: str) -> None:
    before = drafted.path.read_bytes()
    ended = typed("approve", script=((CONFIRM, answer),))
    assert ended.code == 3
    assert "Nothing was recorded" in ended.err
    assert drafted.path.read_bytes() == before


def test_what_was_typed_before_the_packet_was_shown_does_not_count(drafted: Project) -> None:
    with terminal(("Type yes", "no\n")) as (slave, person):
        os.write(person._master, b"yes\n")
        process = subprocess.Popen(
            [FLOW, "approve"], cwd=drafted.root, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        assert process.wait(60) == 3
        assert "Nothing was recorded" in person.seen
    assert drafted.document.approvals == ()


def test_with_json_the_packet_is_shown_and_the_answer_is_one_value(drafted: Project, typed: Flow) -> None:
    ended = typed("approve", "--json", script=YES)
    assert ended.body["revision"] == drafted.document.revision
    assert ended.body["approval"] == {"by": "person", "channel": "terminal-unverified"}
    assert "Approve exactly this plan?" in ended.err


def test_a_no_with_json_says_so(drafted: Project, typed: Flow) -> None:
    ended = typed("approve", "--json", script=((CONFIRM, "no\n"),))
    assert (ended.code, ended.body["confirmed"]) == (3, False)
    assert drafted.document.approvals == ()


def test_without_a_terminal_nobody_can_be_asked(drafted: Project) -> None:
    ended = run_flow(drafted, "approve", stdin=b"yes\n")
    assert ended.code == 2
    assert "no terminal" in ended.text
    assert drafted.document.approvals == ()


def test_a_missing_plan_is_said_before_a_missing_terminal(started: Project, flow: Flow) -> None:
    for arguments in (("approve",), ("deny", "--because", "No.")):
        ended = flow(*arguments)
        assert (ended.code, "There is no plan yet." in ended.err, "terminal" in ended.err) == (3, True, False)
    assert started.drafted().document.revision == 1
    assert flow("approve").code == flow("deny", "--because", "No.").code == 2


def test_a_scripts_yes_is_the_callers_and_the_default_policy_refuses_it(drafted: Project, flow: Flow) -> None:
    ended = flow("approve", "--yes", "--json")
    assert ended.code == 3
    assert ended.body["refused"]["rule"] == "approve.caller-bounded"
    assert drafted.document.approvals == ()


def test_a_scripts_yes_counts_where_the_users_policy_says_so(
    drafted: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOW_APPROVE", "caller")
    assert flow("approve", "--yes").code == 0
    (given,) = drafted.document.approvals
    assert (given.by, given.channel) == ("caller", "caller")
    assert drafted.document.operations[-1].actor == Actor(role="manager", channel="caller")


def test_a_policy_that_refuses_unverified_channels_is_told_before_anyone_is_asked(
    drafted: Project, typed: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOW_UNVERIFIED", "refuse")
    ended = typed("approve", script=())
    assert ended.code == 3
    assert CONFIRM not in ended.err
    assert drafted.document.approvals == ()


def test_without_a_plan_there_is_nothing_to_approve(started: Project, typed: Flow) -> None:
    ended = typed("approve", script=())
    assert ended.code == 3
    assert "There is no plan yet." in ended.err
    assert not (started.root / "plans").exists()


def test_a_plan_that_changes_while_the_person_reads_is_not_approved(
    drafted: Project, typed: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Engine.ask

    def late(self: Engine, *arguments: object) -> object:
        monkeypatch.setattr(Engine, "ask", ask)
        drafted.drafted()
        return ask(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "ask", late)
    ended = typed("approve", script=YES)
    assert (ended.code, drafted.document.approvals) == (3, ())
    assert "write.expected-revision" in ended.err


def test_an_unknown_plan_is_refused_with_the_known_ones(drafted: Project, typed: Flow) -> None:
    ended = typed("approve", "nope", script=())
    assert ended.code == 3
    assert drafted.document.plan_id in ended.err


def test_a_lock_that_is_busy_is_a_broken_world(drafted: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_APPROVE", "caller")
    monkeypatch.setattr(core, "LOCK_TIMEOUT_S", 0.05)
    holding = Holder(drafted)
    ended = flow("approve", "--yes")
    told = flow("approve", "--yes", "--json")
    holding.release()
    assert (ended.code, len(ended.text.splitlines())) == (4, 2)
    assert set(told.body["error"]) == {"seen", "remedy"}
    assert flow("approve", "--yes").code == 0


def test_a_plan_named_twice_differently_is_a_mistake(drafted: Project, flow: Flow) -> None:
    name = drafted.document.plan_id
    ended = flow("approve", name, "--plan", "other", "--yes")
    assert (ended.code, "Two plans are named" in ended.text) == (2, True)
    assert flow("approve", name, "--plan", name, "--yes").code == 3
    assert flow("approve", "--plan", name, "--yes").code == 3


def test_a_workspace_can_be_named(
    drafted: Project, typed: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("approve", "--workspace", str(drafted.root), script=YES).code == 0
    assert len(drafted.document.approvals) == 1
