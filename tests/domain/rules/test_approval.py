import pytest

from flow_mcp.domain.commands import Close
from flow_mcp.domain.markdown import page
from flow_mcp.domain.model import Actor
from flow_mcp.domain.plan import DroppedCase, Gate
from flow_mcp.domain.policy import Policy
from tests.histories import CHAIN, ONE, approved, drafted, feature, owes, passed, plan_of, resealed, reviewed, running
from tests.simulator import MANAGER, PERSON, TERMINAL, World

CALLER = Policy(approve="caller")
PAGE = Actor(role="person", channel="page-unverified")
SIGNED = Actor(role="person", channel="signed")


def test_a_yes_is_for_the_revision_that_was_shown() -> None:
    world = drafted()
    world.save(ONE)
    refused = world.refusal(lambda: world.approve(revision=1))
    assert refused.rule == "approve.exact"
    assert refused.seen == "The plan was shown at revision 1; it is at 2 now."


def test_a_plan_is_approved_once() -> None:
    world = approved()
    refused = world.refusal(world.approve)
    assert refused.seen == "This exact plan is approved since revision 2."
    assert world.refusal(world.deny).rule == "approve.exact"


@pytest.mark.parametrize("actor", [PERSON, SIGNED, TERMINAL, PAGE])
def test_every_channel_of_a_person_counts_and_is_stored(actor: Actor) -> None:
    world = drafted()
    world.approve(actor)
    given = world.document.approvals[-1]
    assert (given.by, given.channel) == ("person", actor.channel)


@pytest.mark.parametrize("actor", [TERMINAL, PAGE, MANAGER, Actor(role="reviewer"), Actor(role="person")])
def test_where_unverified_channels_are_refused_they_are_no_person(actor: Actor) -> None:
    world = drafted()
    world.policy = Policy(unverified="refuse")
    assert world.refusal(lambda: world.approve(actor)).rule == "approve.caller-bounded"
    world.approve(SIGNED)


def test_a_caller_approves_where_the_policy_says_so_and_is_labelled() -> None:
    world = drafted()
    world.policy = CALLER
    world.approve(MANAGER)
    assert (world.document.approvals[-1].by, world.document.approvals[-1].channel) == ("caller", "caller")


def test_a_caller_does_not_approve_what_a_person_denied() -> None:
    world = drafted()
    world.policy = CALLER
    world.deny()
    assert world.refusal(lambda: world.approve(MANAGER)).seen == "A person said no to this draft or an earlier one."
    world.approve(PERSON)


def test_a_caller_does_not_freeze_changed_verifiers() -> None:
    world = drafted()
    world.policy, world.dirty = CALLER, ("tests/test_kept.py",)
    assert "differs from HEAD" in world.refusal(lambda: world.approve(MANAGER)).seen
    world.policy = Policy(approve="caller", caller_scope="trusted")
    assert "differs from HEAD" in world.refusal(lambda: world.approve(MANAGER)).seen
    world.approve(PERSON)


def test_what_nobody_was_shown_is_written_down_with_the_approval_and_told_by_the_closure() -> None:
    world = drafted()
    world.policy = Policy(approve="caller", caller_scope="trusted")
    world.targets_dirty = tuple(f"src/{number:02}.py" for number in range(30))
    world.verifiers = ("tests/test_loose.py",)
    answer = world.approve(MANAGER).answer
    (given,) = world.document.approvals
    assert (given.targets_dirty, given.unfrozen) == (world.targets_dirty[:20], world.verifiers)
    assert answer["targets_dirty"] == list(world.targets_dirty[:20])
    shown = page(world.document, {})
    assert "- Targets that differed from HEAD then: `src/00.py`, `src/01.py`" in shown
    assert "- Verifiers that are not frozen: `tests/test_loose.py`" in shown
    world.close("deferred", MANAGER)
    assert world.document.closure is not None
    caller, targets = world.document.closure.notes
    assert caller == "No person approved this plan: caller-declared."
    assert targets.startswith("Targets differed from HEAD when the caller approved: src/00.py, src/01.py, src/02.py, ")
    assert targets.endswith("src/04.py and 15 more.")


def test_a_second_approval_keeps_what_the_first_one_wrote_down() -> None:
    world = drafted()
    world.targets_dirty, world.verifiers = ("a.py",), ("tests/test_loose.py",)
    assert "targets_dirty" not in world.approve().answer
    world.policy, world.targets_dirty, world.verifiers = Policy(sandbox="off"), ("b.py",), ()
    world.approve()
    assert [given.targets_dirty for given in world.document.approvals] == [("a.py",)] * 2
    assert [given.unfrozen for given in world.document.approvals] == [("tests/test_loose.py",)] * 2
    world.policy, world.copy_present = Policy(sandbox="off"), False
    world.approve()
    assert world.document.approvals[-1].targets_dirty == ("b.py",)


def test_a_caller_is_told_to_commit_or_revert_what_differs_and_to_ask_again() -> None:
    world = drafted()
    world.policy = CALLER
    world.dirty = tuple(f"tests/test_{letter}.py" for letter in "abcdefg")
    refused = world.refusal(lambda: world.approve(MANAGER))
    assert refused.seen == (
        "Protected files differ from HEAD: tests/test_a.py, tests/test_b.py, tests/test_c.py, tests/test_d.py, "
        "tests/test_e.py and 2 more."
    )
    assert refused.remedy.say.startswith("Commit them, or revert them, then ask again (plan_approve).")
    assert (refused.remedy.who, refused.retryable) == ("person", True)
    world.dirty = world.dirty[:1]
    refused = world.refusal(lambda: world.approve(MANAGER))
    assert refused.seen == "The protected file 'tests/test_a.py' differs from HEAD."
    assert refused.remedy.say.startswith("Commit it, or revert it, then ask again (plan_approve).")


DROPPING = ONE.model_copy(update={"dropped_cases": (DroppedCase(case="keeps", because="It tests nothing."),)})
TARGETING = plan_of(feature("a").model_copy(update={"targets": ("a.py", "tests/test_kept.py")}))


@pytest.mark.parametrize(("plan", "seen"), [(DROPPING, "drops the case"), (TARGETING, "may change the protected file")])
def test_a_caller_narrows_only_where_the_policy_trusts_it(plan: object, seen: str) -> None:
    world = drafted(plan=plan)  # type: ignore[arg-type]
    world.policy = CALLER
    refused = world.refusal(lambda: world.approve(MANAGER))
    assert (refused.rule, refused.remedy.who) == ("approve.caller-bounded", "person")
    assert seen in refused.seen
    world.policy = Policy(approve="caller", caller_scope="trusted")
    world.approve(MANAGER)


def test_even_a_trusted_caller_drops_no_report() -> None:
    world = drafted(plan=ONE.model_copy(update={"gate": Gate(run="pytest -q", no_report_because="It cannot.")}))
    world.policy = Policy(approve="caller", caller_scope="trusted")
    refused = world.refusal(lambda: world.approve(MANAGER))
    assert (refused.rule, refused.remedy.tool) == ("plan.questions-answered", "plan_save")
    world.approve(PERSON)
    world.reseal()
    again = world.refusal(lambda: world.approve(MANAGER))
    assert (again.rule, again.remedy.who) == ("plan.questions-answered", "person")


LOOSE = Policy(unverified="count")
STRICT = Policy(unverified="refuse")


def test_a_loosened_policy_stops_the_work_until_a_person_agrees() -> None:
    world = running()
    world.policy = Policy(sandbox="off")
    refused = world.refusal(lambda: world.begin("broad"))
    assert refused.seen == "The policy is looser than at approval (sandbox: prefer -> off)."
    assert refused.remedy.tool == "plan_approve"
    world.clone().reset("a")
    assert world.refusal(lambda: world.reset("a", "a")).rule == "policy.unmoved"
    world.approve()
    world.check("broad")
    assert [given.policy.sandbox for given in world.document.approvals] == ["prefer", "off"]


def test_a_tightened_policy_is_free() -> None:
    world = running()
    world.policy = Policy(sandbox="require", reviewer="attested")
    world.check("broad")


def test_a_channel_that_only_the_loosened_policy_counts_does_not_approve_the_loosening() -> None:
    world = drafted()
    world.policy = STRICT
    world.approve(SIGNED)
    world.policy = LOOSE
    refused = world.refusal(lambda: world.approve(TERMINAL))
    assert (refused.rule, refused.remedy.who) == ("policy.unmoved", "person")
    world.approve(SIGNED)
    assert world.refusal(lambda: world.approve(TERMINAL)).rule == "approve.exact"


def test_a_channel_that_the_policy_no_longer_counts_does_not_approve_a_loosening() -> None:
    world = approved()
    world.policy = Policy(approve="caller", unverified="refuse")
    assert world.refusal(lambda: world.approve(TERMINAL)).rule == "policy.unmoved"


def test_a_channel_that_only_the_loosened_policy_counts_waives_accepts_and_reseals_nothing() -> None:
    world = drafted()
    world.policy = STRICT
    world.approve(SIGNED)
    world.start()
    world.policy = LOOSE
    assert world.refusal(lambda: world.waive("proof", "a", TERMINAL)).rule == "review.waived-by-person"
    assert world.refusal(lambda: world.close("accepted", TERMINAL)).rule == "close.accepted-by-person"
    assert world.refusal(lambda: world.reseal(TERMINAL)).rule == "close.accepted-by-person"
    world.waive("proof", "a", SIGNED)
    world.close("accepted", SIGNED)


def test_a_reseal_does_not_let_a_caller_approve_a_loosened_policy() -> None:
    world = resealed()
    world.policy = CALLER
    assert world.refusal(lambda: world.approve(MANAGER)).rule == "policy.unmoved"
    world.approve(PERSON)


def test_approving_again_keeps_the_first_source_and_the_first_frozen_files() -> None:
    world = approved()
    first = world.document.approvals[0]
    world.edit()
    world.protected["tests/test_kept.py"] = "sha256:weaker"
    world.reseal()
    world.approve()
    again = world.document.approvals[-1]
    assert (again.source, again.commit, again.protected) == (first.source, first.commit, first.protected)
    assert again.revision > first.revision


def test_where_the_copy_is_lost_approving_again_takes_the_source_of_today_and_the_first_frozen_files() -> None:
    world = running()
    world.copy_present = False
    refused = world.refusal(lambda: world.begin("broad"))
    assert (refused.rule, refused.remedy.tool) == ("run.facts-present", "plan_approve")
    world.commit = "c1"
    world.approve()
    first, again = world.document.approvals
    assert (again.source, again.commit) == ("s1", "c1")
    assert again.protected == first.protected


def test_a_frozen_plan_can_be_approved_again_though_another_came_to_owe_meanwhile() -> None:
    world = passed()
    owes(world, "unit :: old")
    world.policy = Policy(sandbox="off")
    world.approve()
    world.finish()
    world.close()


def test_a_draft_takes_over_what_is_owed_now_and_not_what_its_author_writes() -> None:
    world = World()
    entry = owes(world, "unit :: old")
    forged = ONE.model_copy(update={"inherits": (entry.model_copy(update={"plan_id": "mine", "kept": ()}),)})
    assert world.save(forged).answer["inherits"] == ["old"]
    assert world.plan.inherits == (entry,)
    world.approve()


def test_an_owed_plan_with_other_bytes_is_taken_over_anew() -> None:
    world = World()
    entry = owes(world, "unit :: old")
    world.save(ONE)
    world.owed = (entry.model_copy(update={"plan_digest": "sha256:other"}),)
    refused = world.refusal(world.approve)
    assert (refused.rule, refused.remedy.tool) == ("plan.losses-carried", "plan_save")
    world.save(ONE)
    world.approve()


def test_a_plan_continues_only_one_that_is_owed() -> None:
    world = World()
    owes(world)
    world.save(ONE.model_copy(update={"continues": "old"}))


def test_a_waiver_and_an_acceptance_are_for_the_source_that_was_shown() -> None:
    world = running()
    assert world.refusal(lambda: world.waive("proof", "a", shown="s0")).rule == "approve.exact"
    assert world.refusal(lambda: world.close("accepted", PERSON, shown="s0")).rule == "approve.exact"
    unseen = Close(kind="accepted", summary="Over.")
    assert world.refusal(lambda: world.ask(unseen, PERSON)).rule == "approve.exact"
    world.ask(Close(kind="deferred", summary="Over.", shown_source="s0"))


def test_a_no_is_recorded_with_its_reason_and_a_new_draft_answers_it() -> None:
    world = drafted()
    assert world.deny("Too much.").answer == {"denied": "Too much."}
    assert world.document.denials[0].because == "Too much."
    world.save(CHAIN)
    world.approve()


def test_a_policy_that_moved_stops_a_verdict_too() -> None:
    world = reviewed()
    world.policy = Policy(reviewer="any", sandbox="off")
    assert world.refusal(lambda: world.verdict(actor=PERSON)).rule == "policy.unmoved"
