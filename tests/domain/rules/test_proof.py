"""Proofs, external evidence and frozen verifiers."""

import pytest

from flow_mcp.domain.commands import ReviewStart
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Plan, Proof, Requirement
from flow_mcp.domain.rule import Question
from flow_mcp.domain.rules.proof import changed_verifiers, frozen_files
from tests.fabricated import CANCELLED, CRASHED, RED, Result
from tests.histories import (
    CHAIN,
    ELSEWHERE,
    GATE,
    ONE,
    approved,
    check_of,
    external,
    feature,
    owes,
    passed,
    plan_of,
    running,
    shown,
)
from tests.simulator import MANAGER, PERSON, World

A = check_of("a").run


def unproved(plan: Plan = ONE) -> World:
    """Give a world that lacks nothing but a proof."""
    world = running(plan=plan)
    world.check("baseline")
    world.check("focused", A)
    world.check("broad")
    return world


SHOWN = Result(code=1, failed=1)
NO_PROOFS: list[tuple[Result, str]] = [
    (Result(outcome="untried"), "was not tried on the approved source with today's test files"),
    (Result(approved="sha256:elsewhere"), "was not tried on the approved source"),
    (Result(code=0, outcome="passed"), "passes without the change"),
    (Result(code=2, outcome="usage"), "ended there as if it had been called wrongly (exit code 2)"),
    (Result(code=127, outcome="missing-tool"), "could not start there (exit code 127)"),
    (Result(outcome="no-result"), "ended there without a result"),
    (Result(code=None, outcome="timed-out"), "did not end in time there"),
    (Result(code=None, ended="timed-out"), "did not end in time there"),
    (CANCELLED, "was cancelled there"),
    (Result(code=1, ineligible="path-dependent"), "was not tried in a copy that stands apart (path-dependent)"),
    (Result(code=1, ineligible="source-drift"), "was not tried in a copy that stands apart (source-drift)"),
    (Result(code=2, outcome="uncollected", tests_changed=False, control="ended"), "ended there with an error"),
    (Result(code=2, outcome="uncollected", control="usage"), "ended there with an error"),
    (Result(code=2, outcome="uncollected"), "ended there with an error"),
]


@pytest.mark.parametrize(("result", "why"), NO_PROOFS)
def test_what_shows_nothing_is_no_proof(result: Result, why: str) -> None:
    world = unproved()
    world.prove("a", result)
    refused = world.refusal(world.review)
    assert refused.rule == "review.proof-shown"
    assert why in refused.seen
    again = {"scope": "proof", "command": A, "feature_id": "a"}
    assert refused.remedy.arguments == again or "waive proof a" in refused.remedy.say


def test_a_proof_that_cannot_come_out_otherwise_is_not_asked_for_again() -> None:
    world = unproved()
    assert world.refusal(world.review).remedy.tool == "validate"
    world.prove("a", Result(outcome="passed"))
    assert world.refusal(world.review).remedy.who == "person"
    world.edit()
    world.show()
    world.prove("a", Result(outcome="timed-out"))
    assert world.refusal(world.review).remedy.tool == "validate"


def test_a_proof_on_the_approved_source_itself_shows_nothing() -> None:
    world = unproved()
    world.source = world.document.approvals[0].source
    world.show()
    world.prove("a", SHOWN)
    refused = world.refusal(world.review)
    assert "the very source that it must differ from" in refused.seen
    assert refused.remedy.say.startswith("Do the work on a, then observe the proof")


@pytest.mark.parametrize("result", [SHOWN, Result(code=2, outcome="uncollected", control="ended")])
def test_a_check_that_fails_without_the_change_is_a_proof(result: Result) -> None:
    world = unproved()
    world.prove("a", result)
    world.review()


def test_the_latest_try_speaks_and_it_is_of_current_source() -> None:
    world = unproved()
    world.prove("a")
    world.prove("a", Result(code=0, outcome="passed"))
    assert world.refusal(world.review).rule == "review.proof-shown"
    world.prove("a")
    world.edit()
    world.check("focused", A)
    world.check("broad")
    assert "was not tried" in world.refusal(world.review).seen


def test_a_proof_from_before_a_reseal_does_not_count() -> None:
    world = shown()
    world.reseal()
    world.approve()
    world.start()
    world.check("baseline")
    world.check("focused", A)
    world.check("broad")
    assert world.refusal(world.review).rule == "review.proof-shown"


def test_a_red_proof_vetoes_nothing() -> None:
    world = unproved()
    world.prove("a", RED)
    world.review()


def test_every_feature_shows_its_proof_again_at_the_final_review() -> None:
    world = passed()
    world.start("b")
    world.edit()
    for name in ("a", "b"):
        world.check("focused", check_of(name).run)
    world.check("broad")
    world.prove("b")
    assert "The proof of feature 'a'" in world.refusal(world.review).seen
    world.prove("a")
    world.review()


BY_CASE = plan_of(feature("a", proof="works"))


def test_a_case_that_claims_the_proof_passes_with_the_change() -> None:
    world = unproved(BY_CASE)
    world.suite = ("unit :: keeps", "other :: fails")
    world.check("focused", A)
    world.prove("a")
    refused = world.refusal(world.review)
    assert refused.rule == "review.proof-shown"
    assert "does not pass with the change: case works" in refused.seen
    assert refused.remedy.arguments == {"scope": "focused", "command": A}
    world.suite = ("unit :: keeps", "unit :: works")
    world.check("focused", A)
    world.review()


def test_a_gate_that_claims_the_proof_passes_with_the_change() -> None:
    gated = feature("a").model_copy(update={"proof": Proof(kind="command", run=GATE.run)})
    plan = plan_of(gated, feature("b", "a"))
    world = running(plan=plan)
    world.check("baseline")
    world.check("focused", A)
    refused = world.refusal(world.review)
    assert f"does not pass with the change: {GATE.run}" in refused.seen
    assert refused.remedy.arguments == {"scope": "broad", "command": GATE.run}


def test_a_person_waives_the_proof_of_one_feature() -> None:
    world = unproved(CHAIN)
    assert world.waive("proof", "a").answer == {"waived": {"kind": "proof", "value": "a"}}
    world.review()
    world.verdict()
    world.start("b")
    for name in ("a", "b"):
        world.check("focused", check_of(name).run)
    world.check("broad")
    assert "The proof of feature 'b'" in world.refusal(world.review).seen


def there() -> World:
    """Give a world that lacks nothing but external evidence from a Mac."""
    world = unproved(ELSEWHERE)
    world.prove("a")
    return world


def unmet(world: World) -> str:
    refused = world.refusal(world.review)
    assert refused.rule == "review.final-external"
    return refused.seen


def test_external_evidence_says_what_is_missing_of_it() -> None:
    world = there()
    assert unmet(world) == "External evidence for 'r' on darwin was never observed."
    world.external(on="linux")
    assert unmet(world).endswith("was only seen on another platform.")
    world.external(on="other")
    assert unmet(world).endswith("was only seen on another platform.")
    world.external(RED)
    assert unmet(world).endswith("did not pass: exit code 1.")
    world.external(Result(passing=("unit :: keeps",)))
    assert unmet(world).endswith("did not show these cases passing: works (absent).")
    world.external()
    world.external(CRASHED)
    assert unmet(world).endswith("passed once and was revoked by a later failure: exit code 2.")
    world.external()
    world.review()


def test_external_evidence_is_of_current_source() -> None:
    world = there()
    world.external()
    world.edit()
    world.check("focused", A)
    world.check("broad")
    world.prove("a")
    assert unmet(world).endswith("passed on another source than the current one.")


def test_external_evidence_is_asked_for_where_it_can_be_had() -> None:
    world = there()
    remedy = world.refusal(world.review).remedy
    assert (remedy.who, "On a darwin machine" in remedy.say) == ("person", True)
    for way in ("`flow-mcp observe r`", "`flow-mcp accept --because …`", '{"kind": "deferred"'):
        assert way in remedy.say
    world.platform = "darwin"
    world.show()
    world.check("baseline")
    world.check("broad")
    world.external(RED)
    assert world.refusal(world.review).remedy.arguments == {
        "scope": "external",
        "command": "pytest e2e",
        "requirement": "r",
    }


def test_any_platform_means_the_latest_of_all() -> None:
    requirement = Requirement(id="r", text="It works anywhere.")
    plan = ONE.model_copy(update={"requirements": (requirement,), "external_evidence": (external("any"),)})
    world = unproved(plan)
    world.prove("a")
    world.external(on="other")
    world.clone().review()
    world.external(RED, on="darwin")
    assert "revoked by a later failure" in unmet(world)


def test_a_feature_review_asks_for_no_external_evidence() -> None:
    entry = ELSEWHERE.external_evidence
    world = unproved(CHAIN.model_copy(update={"requirements": ELSEWHERE.requirements, "external_evidence": entry}))
    world.prove("a")
    world.review()


def verifiers(world: World) -> tuple[str, ...] | None:
    return changed_verifiers(Question(world.document, ReviewStart(summary=""), world.facts(MANAGER)))


def test_a_frozen_file_that_changed_or_is_gone_is_named() -> None:
    world = shown()
    assert verifiers(world) == ()
    world.protected["tests/test_new.py"] = "sha256:new"
    assert verifiers(world) == ()
    world.protected["tests/test_kept.py"] = "sha256:weaker"
    assert verifiers(world) == ("tests/test_kept.py",)
    del world.protected["tests/test_kept.py"]
    assert verifiers(world) == ("tests/test_kept.py",)
    refused = world.refusal(world.review)
    assert (refused.rule, refused.remedy.who) == ("review.protected-kept", "person")


def test_a_new_test_configuration_counts_where_tests_are_frozen() -> None:
    world = shown()
    world.configuration["pytest.ini"] = "sha256:ini"
    assert verifiers(world) == ("pytest.ini",)
    free = World(protected={})
    free.save(ONE)
    free.approve()
    free.configuration["pytest.ini"] = "sha256:ini"
    assert verifiers(free) == ()


@pytest.mark.parametrize(
    ("target", "allowed"), [("tests/test_kept.py", True), ("tests/*", False), ("tests", False), ("**", False)]
)
def test_only_a_literal_target_allows_a_change(target: str, *, allowed: bool) -> None:
    wide = plan_of(feature("a").model_copy(update={"targets": (target,)}))
    world = shown(plan=wide)
    world.protected["tests/test_kept.py"] = "sha256:changed"
    assert (verifiers(world) == ()) is allowed


def test_a_waived_path_is_waived_with_its_bytes() -> None:
    world = shown()
    world.protected["tests/test_kept.py"] = "sha256:changed"
    world.waive("path", "tests/test_kept.py")
    assert world.document.allowances[0].digest == "sha256:changed"
    assert verifiers(world) == ()
    world.protected["tests/test_kept.py"] = "sha256:weaker"
    assert verifiers(world) == ("tests/test_kept.py",)
    del world.protected["tests/test_kept.py"]
    assert verifiers(world) == ("tests/test_kept.py",)
    world.waive("path", "tests/test_kept.py")
    assert verifiers(world) == ()


def test_a_new_configuration_is_waived_with_its_bytes() -> None:
    world = shown()
    world.configuration["pytest.ini"] = "sha256:ini"
    world.waive("path", "pytest.ini")
    assert verifiers(world) == ()
    world.configuration["pytest.ini"] = "sha256:other"
    assert verifiers(world) == ("pytest.ini",)


def test_deferring_and_approving_anew_launders_no_changed_verifier() -> None:
    world = World(protected={"tests/test_kept.py": "sha256:weaker"})
    owes(world, protected=("sha256:kept tests/test_kept.py", "sha256:gone tests/test_gone.py"))
    world.save(ONE)
    world.approve()
    assert verifiers(world) == ("tests/test_gone.py", "tests/test_kept.py")
    world.protected = {"tests/test_kept.py": "sha256:kept", "tests/test_gone.py": "sha256:gone"}
    assert verifiers(world) == ("tests/test_kept.py",)
    world.waive("path", "tests/test_kept.py")
    assert verifiers(world) == ()


def test_without_the_list_of_frozen_files_no_final_review_is_accepted() -> None:
    world = shown()
    given = world.document.approvals[0]
    bare = [entry for entry in world.document.listings if entry.digest != given.protected]
    world.store(world.document.model_copy(update={"listings": tuple(bare)}))
    refused = world.refusal(world.review)
    assert refused.rule == "review.protected-kept"
    assert "missing beside its document" in refused.seen
    world.lines = {given.protected: ("sha256:kept tests/test_kept.py",)}
    world.review()


def test_before_approval_nothing_is_frozen_and_nothing_seen_is_no_change() -> None:
    world = World()
    assert frozen_files(Question(world.document, ReviewStart(summary=""), world.facts(MANAGER))) == {}
    seen = approved()
    seen.blind = True
    assert verifiers(seen) == ()


def test_a_waived_proof_of_a_closed_goal_is_listed() -> None:
    world = unproved()
    world.waive("proof", "a", because="It is a\n\trefactoring.")
    world.review()
    world.verdict()
    world.close()
    assert _closure(world.document) == ("completed-with-waivers", ("proof a: It is a refactoring.",))


def _closure(document: Document) -> tuple[str, tuple[str, ...]]:
    assert document.closure is not None
    return document.closure.kind, document.closure.waivers


def test_only_a_person_waives() -> None:
    world = unproved()
    for kind, value in (("proof", "a"), ("path", "tests/test_kept.py"), ("case", "unit :: keeps")):
        refused = world.refusal(lambda kind=kind, value=value: world.waive(kind, value, MANAGER))  # type: ignore[misc]
        assert (refused.rule, refused.seen) == ("review.waived-by-person", "Only a person waives.")
        world.waive(kind, value, PERSON)
    assert [entry.channel for entry in world.document.allowances] == ["dialog"] * 3


@pytest.mark.parametrize(
    ("kind", "value", "seen"),
    [
        ("path", "tests/*", "is no single frozen file"),
        ("path", "a.py", "is no single frozen file"),
        ("proof", "z", "is no feature that claims a proof"),
        ("case", "*", "names 0 kept cases"),
    ],
)
def test_a_waiver_names_one_thing_that_is_there(kind: str, value: str, seen: str) -> None:
    world = unproved()
    assert seen in world.refusal(lambda: world.waive(kind, value)).seen


def test_a_feature_that_claims_no_proof_has_none_to_waive() -> None:
    world = running(plan=plan_of(feature("a", proof="none")))
    assert world.refusal(lambda: world.waive("proof", "a")).rule == "review.waived-by-person"


def test_a_waiver_has_a_reason() -> None:
    world = unproved()
    assert world.refusal(lambda: world.waive("proof", "a", because=" ")).seen == "A waiver needs its reason."


def test_a_frozen_file_whose_name_looks_like_a_glob_can_be_waived() -> None:
    world = World(protected={"pages/[id].test.ts": "sha256:1"})
    world.save(ONE)
    world.approve()
    world.waive("path", "pages/[id].test.ts")


def unkept(world: World, name: str = "tests/test_cart.py::test_total") -> str:
    return world.refusal(lambda: world.waive("case", name)).remedy.say


def test_where_no_case_is_kept_a_waiver_is_told_why() -> None:
    world = running()
    assert (
        unkept(world) == "No case is kept, so none has to be waived: the gate was not observed on the approved source."
    )
    world.check("baseline", result=Result(code=127, reason="missing"))
    assert unkept(world).endswith("so none has to be waived: the baseline has no cases, its report is missing.")
    world.check("baseline", result=Result(passing=("unit :: works",)))
    world.waive("case", "unit :: works")
    assert unkept(world).endswith("so none has to be waived: every case that passed was dropped or waived.")


def test_where_cases_are_kept_a_waiver_is_told_which() -> None:
    world = running()
    world.suite = tuple(f"unit :: case {number:02}" for number in range(20))
    world.check("baseline")
    assert unkept(world).startswith("Kept are, 8 of 20: unit :: case 00; unit :: case 01;")
    world.suite = ("unit :: x :: keeps", "other :: x :: keeps")
    world.check("baseline")
    assert unkept(world, "keeps") == "Name one of them whole: other :: x :: keeps; unit :: x :: keeps."


def test_a_waiver_without_a_lost_list_a_reason_or_a_change_says_what_helps() -> None:
    world = shown()
    assert "--because" in world.refusal(lambda: world.waive("proof", "a", because=" ")).remedy.say
    assert (
        world.refusal(lambda: world.waive("path", "x.py")).remedy.say
        == "No frozen file differs, so none has to be waived."
    )
    assert world.refusal(lambda: world.waive("proof", "z")).remedy.say == "Features that claim a proof: a."
    plain = running(plan=plan_of(feature("a", proof="none")))
    assert plain.refusal(lambda: plain.waive("proof", "a")).remedy.say == "No feature of this plan claims a proof."


def test_where_the_list_of_kept_cases_is_missing_a_waiver_waits_for_it() -> None:
    world = shown()
    passing = world.document.baselines[0].report
    assert passing is not None
    bare = tuple(entry for entry in world.document.listings if entry.digest != passing.passing)
    world.document = world.document.model_copy(update={"listings": bare})
    assert "sidecar" in unkept(world)
