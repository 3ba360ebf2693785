from pathlib import Path

from flow_mcp.guarantees import enforced, rendered_page
from flow_mcp.promises import ATTESTED, DECLARED, JUDGED, OPEN

ROOT = Path(__file__).resolve().parents[2]

CONTRACT_ROWS = frozenset(
    [
        "plan.bounded",
        "plan.acyclic",
        "plan.questions-answered",
        "plan.commands-whole",
        "plan.gate-whole",
        "plan.artifacts-narrow",
        "plan.approved-first",
        "plan.frozen",
        "plan.goal-kept",
        "plan.one-open",
        "plan.losses-carried",
        "plan.closed-final",
        "approve.exact",
        "policy.unmoved",
        "run.feature-startable",
        "run.one-active",
        "run.not-blocked",
        "run.facts-present",
        "reset.current-run",
        "observe.always-recorded",
        "observe.settled-first",
        "observe.active-run",
        "observe.before-review",
        "observe.broad-is-gate",
        "observe.listed-only",
        "review.baseline-taken",
        "review.one-per-run",
        "review.kind-derived",
        "review.checks-passed",
        "review.veto-clear",
        "review.final-checks",
        "review.final-external",
        "review.cases-kept",
        "review.protected-kept",
        "review.proof-shown",
        "review.source-unmoved",
        "review.assignment-pending",
        "review.reserved-identity",
        "review.failed-blocks",
        "review.passed-clean",
        "review.findings-carried",
        "review.waived-by-person",
        "close.every-feature-passed",
        "close.source-unmoved",
        "close.accepted-by-person",
        "write.expected-revision",
        "write.one-revision",
        "write.operation-replays",
        "write.whole-schema",
        "write.atomic-locked",
        "write.chain-intact",
    ]
)
OWN_ROWS = {"approve.caller-bounded", "observe.pending-only", "review.links-inside", "write.setback-told"}


def test_the_page_is_what_the_registry_says() -> None:
    page = (ROOT / "guarantees.md").read_text()
    assert page == rendered_page(), "write it anew: flow-mcp guarantees > guarantees.md"


def test_every_row_of_the_contract_is_in_the_registry_and_no_other_is() -> None:
    assert {rule.id for rule in enforced()} == CONTRACT_ROWS | OWN_ROWS


def test_every_row_says_what_it_promises() -> None:
    for rule in enforced():
        assert rule.claim.endswith(".")
        assert not rule.limits or rule.limits.endswith(".")
    ids = [row.id for row in ATTESTED] + [row.id for row in (*DECLARED, *JUDGED, *OPEN)]
    assert len(set(ids)) == len(ids)


def test_what_is_measured_by_nothing_says_so() -> None:
    assert all(row.note == "unmeasured" for row in JUDGED)
