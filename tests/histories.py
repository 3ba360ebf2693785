"""Plans, and worlds that have come to a known point: drafted, approved, running, reviewed, passed, closed."""

from flow_mcp.domain.plan import (
    Command,
    ExternalEvidence,
    Feature,
    Gate,
    Inherited,
    KeptCases,
    Plan,
    Proof,
    Requirement,
)
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from tests.simulator import BLOCKING, PERSON, World

GATE = Gate(run="pytest -q", report=".flow/reports/gate.xml")


def check_of(name: str) -> Command:
    """Give the check of a feature."""
    return Command(run=f"pytest tests/test_{name}.py", report=f".flow/reports/{name}.xml")


def feature(name: str, *needs: str, proof: str = "command", checks: bool = True) -> Feature:
    """Give a feature that changes one file; ``proof`` is command, none, or a case's name."""
    run = check_of(name).run if checks else GATE.run
    shown = Proof(kind="none", because="Nothing to see.") if proof == "none" else Proof(kind="command", run=run)
    if proof not in {"none", "command"}:
        shown = Proof(kind="case", run=run, case=proof)
    return Feature(
        id=name,
        title=f"Feature {name}",
        targets=(f"{name}.py",),
        checks=(check_of(name),) if checks else (),
        depends_on=needs,
        proof=shown,
    )


def plan_of(*features: Feature, **changes: object) -> Plan:
    """Give a plan of some features."""
    plan = Plan(summary="All of it.", features=features, gate=GATE, external_evidence=())
    return plan.model_copy(update=changes)


def external(platform: str, *cases: str, run: str = "pytest e2e") -> ExternalEvidence:
    """Give an external entry for the requirement r."""
    command = {"run": run, "report": ".flow/reports/e2e.xml"}
    words = {"requirement": "r", "command": command, "platform": platform, "cases": list(cases)}
    return ExternalEvidence.model_validate_json(_json(words))


def _json(words: object) -> str:
    import json  # noqa: PLC0415 - used here alone

    return json.dumps(words)


ONE = plan_of(feature("a"))
QUIET = plan_of(feature("a", proof="none"))
CHAIN = plan_of(feature("a"), feature("b", "a"))
PAIR = plan_of(feature("a"), feature("b"))
BARE = plan_of(feature("a", checks=False, proof="none"))
ELSEWHERE = plan_of(
    feature("a"),
    requirements=(Requirement(id="r", text="It works there."),),
    external_evidence=(external("darwin", "works"),),
)
"""One feature, and evidence from a Mac."""


def drafted(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world with a draft."""
    world = World(book=book)
    world.save(plan)
    return world


def approved(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world with an approved plan."""
    world = drafted(book, plan)
    world.approve()
    return world


def running(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world in which the first feature is under way, its source edited."""
    world = approved(book, plan)
    world.start()
    world.edit()
    return world


def shown(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world that is ready for the first review."""
    world = running(book, plan)
    world.show()
    return world


def reviewed(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world in which the first review is asked for."""
    world = shown(book, plan)
    world.review()
    return world


def failed(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world in which the first review failed."""
    world = reviewed(book, plan)
    world.verdict("failed", (BLOCKING,))
    return world


def passed(book: Rulebook = ALL_RULES, plan: Plan = CHAIN) -> World:
    """Give a world in which the first feature has passed."""
    world = reviewed(book, plan)
    world.verdict()
    return world


def all_passed(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world in which every feature has passed."""
    world = approved(book, plan)
    for _ in plan.features:
        world.finish()
    return world


def closed(kind: str = "completed", book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world that ended one way."""
    world = all_passed(book, plan) if kind == "completed" else running(book, plan)
    world.close(kind, PERSON)
    return world


def resealed(book: Rulebook = ALL_RULES, plan: Plan = ONE) -> World:
    """Give a world whose document a person took over while a review was pending."""
    world = reviewed(book, plan)
    world.reseal()
    return world


def owes(world: World, *cases: str, run: str = GATE.run, **changes: object) -> Inherited:
    """Make a deferred plan owe something from here on."""
    from flow_mcp.domain.digest import digest_json  # noqa: PLC0415 - used here alone

    lines = tuple(sorted(cases))
    digest = digest_json(list(lines))
    world.lines[digest] = lines
    kept = (KeptCases(run=run, platform="linux", listing=digest),) if cases else ()
    entry = Inherited(plan_id="old", plan_digest="sha256:old", kept=kept, protected=(), findings=())
    entry = entry.model_copy(update=changes)
    world.owed = (*world.owed, entry)
    return entry
