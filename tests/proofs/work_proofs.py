"""Proofs of the rows on runs, observations and writes."""

from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import Rulebook
from tests.fabricated import RED
from tests.histories import CHAIN, PAIR, approved, check_of, failed, reviewed, running
from tests.proofs.record import proves, tried
from tests.simulator import Forbidden


def actives(document: Document) -> list[str]:
    """Name the features that are under way."""
    return [run.feature_id for run in document.runs if run.state == "active"]


@proves("run.feature-startable")
def feature_startable(book: Rulebook) -> str:
    world = approved(book, CHAIN)
    return tried(world, lambda: world.start("b"), lambda document: actives(document) == ["b"])


@proves("run.one-active")
def one_active(book: Rulebook) -> str:
    world = running(book, PAIR)
    return tried(world, lambda: world.start("b"), lambda document: actives(document) == ["a", "b"])


@proves("run.not-blocked")
def not_blocked(book: Rulebook) -> str:
    world = failed(book, PAIR)
    return tried(world, lambda: world.start("b"), lambda document: actives(document) == ["b"])


@proves("run.facts-present")
def facts_present(book: Rulebook) -> str:
    world = running(book)
    world.start_present = False
    return tried(world, lambda: world.begin("broad"), lambda document: document.pending is not None)


@proves("reset.current-run")
def reset_current(book: Rulebook) -> str:
    world = approved(book)
    return tried(world, lambda: world.reset("a"), lambda document: document.operations[-1].kind == "run_reset")


@proves("observe.always-recorded")
def always_recorded(book: Rulebook) -> str:
    world = running(book)
    world.begin("broad")
    world.close("deferred")
    if world.document.pending is None and not observations(world.document):
        raise Forbidden
    assert [seen.ineligible for seen in observations(world.document)] == ["cancelled"]
    return "observe.always-recorded"


@proves("observe.settled-first")
def settled_first(book: Rulebook) -> str:
    world = running(book)
    world.begin("broad")
    first = world.pending.id
    return tried(
        world,
        lambda: world.begin("focused", check_of("a").run),
        lambda document: document.pending is not None and document.pending.id != first and not observations(document),
    )


@proves("observe.active-run")
def needs_active_run(book: Rulebook) -> str:
    world = approved(book)
    return tried(
        world,
        lambda: world.begin("broad"),
        lambda document: document.pending is not None and document.pending.run_id is None,
    )


@proves("observe.before-review")
def before_review(book: Rulebook) -> str:
    world = reviewed(book)
    before = len(observations(world.document))
    return tried(world, lambda: world.check("broad", result=RED), lambda document: len(observations(document)) > before)


@proves("observe.broad-is-gate")
def broad_is_gate(book: Rulebook) -> str:
    world = running(book)
    return tried(
        world,
        lambda: world.check("broad", check_of("a").run),
        lambda document: observations(document)[-1].command == check_of("a").run,
    )


@proves("observe.listed-only")
def listed_only(book: Rulebook) -> str:
    world = running(book)
    return tried(
        world, lambda: world.check("focused", "true"), lambda document: observations(document)[-1].command == "true"
    )


@proves("observe.pending-only")
def pending_only(book: Rulebook) -> str:
    world = running(book)
    return tried(world, world.end, lambda document: len(observations(document)) == 1)


@proves("write.one-revision")
def one_revision(book: Rulebook) -> str:
    world = running(book)
    skipped = world.document.model_copy(update={"revision": world.document.revision + 1})
    return tried(
        world, lambda: world.store(skipped), lambda document: document.revision != document.operations[-1].revision
    )
