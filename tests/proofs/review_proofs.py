"""Proofs of the rows on reviews, waivers and closing."""

from flow_mcp.domain.decision import OutwardLink
from flow_mcp.domain.model import Document, Review, ReviewResult
from flow_mcp.domain.plan import Requirement
from flow_mcp.domain.rule import Rulebook
from tests.fabricated import CRASHED
from tests.histories import (
    ELSEWHERE,
    GATE,
    ONE,
    PAIR,
    QUIET,
    all_passed,
    check_of,
    external,
    failed,
    feature,
    plan_of,
    reviewed,
    running,
    shown,
)
from tests.proofs.record import proves, tried
from tests.simulator import BLOCKING, MANAGER, World

LINKED = (OutwardLink("a.py", "/elsewhere/a.py"),)
QUIET_PAIR = plan_of(feature("a", proof="none"), feature("b", proof="none"))


def review_of(document: Document) -> Review:
    """Give the review of the newest run."""
    review = document.runs[-1].review
    assert review is not None
    return review


def result_of(document: Document) -> ReviewResult:
    """Give the verdict on the newest run."""
    result = review_of(document).result
    assert result is not None
    return result


def under_review(document: Document) -> bool:
    """Say whether the newest run has its assignment."""
    return document.runs[-1].review is not None


@proves("review.baseline-taken")
def baseline_taken(book: Rulebook) -> str:
    world = running(book)
    world.check("focused", check_of("a").run)
    world.check("broad")
    world.prove("a")
    return tried(world, world.review, lambda document: under_review(document) and document.baselines == ())


@proves("review.one-per-run")
def one_per_run(book: Rulebook) -> str:
    world = reviewed(book)
    first = review_of(world.document).id
    return tried(world, world.review, lambda document: review_of(document).id != first)


@proves("review.kind-derived")
def kind_derived(book: Rulebook) -> str:
    world = reviewed(book)
    run = world.document.runs[-1]
    wrong = run.model_copy(update={"review": review_of(world.document).model_copy(update={"kind": "feature"})})
    forged = world.document.model_copy(update={"runs": (wrong,)})
    return tried(world, lambda: world.store(forged), lambda document: review_of(document).kind == "feature")


@proves("review.checks-passed")
def checks_passed(book: Rulebook) -> str:
    world = running(book, QUIET_PAIR)
    world.check("baseline")
    world.check("broad")
    return tried(world, world.review, under_review)


@proves("review.veto-clear")
def veto_clear(book: Rulebook) -> str:
    world = running(book, QUIET_PAIR)
    world.check("baseline")
    world.check("focused", check_of("a").run)
    world.check("broad", result=CRASHED)
    return tried(world, world.review, under_review)


@proves("review.final-checks")
def final_checks(book: Rulebook) -> str:
    world = running(book, QUIET)
    world.check("baseline")
    world.check("focused", check_of("a").run)
    world.check("focused", GATE.run)
    return tried(world, world.review, under_review)


@proves("review.final-external")
def final_external(book: Rulebook) -> str:
    world = running(book, ELSEWHERE)
    world.check("baseline")
    world.check("focused", check_of("a").run)
    world.check("broad")
    world.prove("a")
    return tried(world, world.review, lambda document: under_review(document) and document.externals == ())


@proves("review.cases-kept")
def cases_kept(book: Rulebook) -> str:
    world = running(book)
    world.check("baseline")
    world.suite = ("unit :: works",)
    world.show()
    return tried(world, world.review, under_review)


@proves("review.protected-kept")
def protected_kept(book: Rulebook) -> str:
    world = shown(book)
    world.protected["tests/test_kept.py"] = "sha256:weaker"
    return tried(world, world.review, under_review)


@proves("review.proof-shown")
def proof_shown(book: Rulebook) -> str:
    world = running(book)
    world.check("baseline")
    world.check("focused", check_of("a").run)
    world.check("broad")
    return tried(world, world.review, under_review)


@proves("review.links-inside")
def links_inside(book: Rulebook) -> str:
    world = shown(book)
    world.outward = LINKED
    return tried(world, world.review, under_review)


@proves("review.source-unmoved")
def review_source(book: Rulebook) -> str:
    world = reviewed(book)
    world.edit()
    return tried(world, world.verdict, lambda document: result_of(document).source != review_of(document).source)


@proves("review.assignment-pending")
def assignment_pending(book: Rulebook) -> str:
    world = reviewed(book)
    return tried(
        world,
        lambda: world.verdict(assignment="review-99"),
        lambda document: result_of(document).verdict == "passed",
    )


@proves("review.reserved-identity")
def reserved_identity(book: Rulebook) -> str:
    world = reviewed(book)
    return tried(
        world, lambda: world.verdict(actor=MANAGER), lambda document: result_of(document).reviewer.name == "manager"
    )


@proves("review.failed-blocks")
def failed_blocks(book: Rulebook) -> str:
    world = reviewed(book)
    return tried(world, lambda: world.verdict("failed"), lambda document: result_of(document).findings == ())


@proves("review.passed-clean")
def passed_clean(book: Rulebook) -> str:
    world = reviewed(book)
    return tried(
        world,
        lambda: world.verdict("passed", (BLOCKING,)),
        lambda document: result_of(document).findings[0].severity == "blocking",
    )


@proves("review.findings-carried")
def findings_carried(book: Rulebook) -> str:
    world = failed(book)
    first = result_of(world.document).findings[0].id
    world.reset("a", "a")
    world.show()
    world.review()
    return tried(
        world,
        lambda: world.verdict("failed", (BLOCKING,)),
        lambda document: first not in {finding.id for finding in result_of(document).findings},
    )


@proves("review.waived-by-person")
def waived_by_person(book: Rulebook) -> str:
    world = shown(book)
    return tried(
        world,
        lambda: world.waive("proof", "a", MANAGER),
        lambda document: document.allowances[-1].channel == "caller",
    )


@proves("close.every-feature-passed")
def every_feature_passed(book: Rulebook) -> str:
    world = all_passed(book, PAIR)
    world.reset("a")
    return tried(world, world.close, lambda document: document.closure is not None)


def seen_elsewhere(book: Rulebook) -> World:
    """Give a goal whose final review saw one source, and whose every observation is of another."""
    requirement = Requirement(id="r", text="It works anywhere.")
    entries = tuple(
        external("any").model_copy(update={"command": command}) for command in (GATE.as_command(), check_of("a"))
    )
    world = running(book, ONE.model_copy(update={"requirements": (requirement,), "external_evidence": entries}))
    world.show()
    unreviewed = world.source
    world.edit()
    world.show()
    world.review()
    world.verdict()
    world.source = unreviewed
    world.external(index=0)
    world.external(index=1)
    return world


@proves("close.source-unmoved")
def close_source(book: Rulebook) -> str:
    world = seen_elsewhere(book)
    return tried(
        world,
        world.close,
        lambda document: document.closure is not None and document.closure.source != review_of(document).source,
    )


@proves("close.accepted-by-person")
def accepted_by_person(book: Rulebook) -> str:
    world = running(book)
    return tried(
        world,
        lambda: world.close("accepted", MANAGER),
        lambda document: document.closure is not None and document.closure.by == "caller",
    )
