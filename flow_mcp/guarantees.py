"""The page of promises: rules, invariants and edge promises, each with what holds it."""

from collections.abc import Iterator

from flow_mcp.domain import decide
from flow_mcp.domain.invariants import INVARIANTS
from flow_mcp.domain.rule import REGISTRY, Rule
from flow_mcp.domain.rules import write
from flow_mcp.promises import ATTESTED, DECLARED, JUDGED, OPEN, Stated

_HOLDS = {
    "guard": "a rule of the kernel refuses it",
    "invariant": "what must be true of every document refuses it",
    "mechanism": "the engine and the store keep it",
}

_HEAD = """\
# Guarantees

What holds each promise of Flow MCP, and what happens if the model is wrong. This page is written by
`flow-mcp guarantees` from the same registry that the rules come from; the test suite fails when it is stale. For every
enforced row the suite takes the rule out and sees the forbidden state stored.

| tier | what it means | if the model is wrong |
| --- | --- | --- |
| Enforced | a type, schema or rule refuses the state | the call fails, the stored bytes are unchanged |
| Host-attested | the host or Flow's runner reports the fact; the model has no say in it | recorded as ineligible |
| Caller-declared | Flow checks the shape, not the truth | stored and shown as a declaration |
| Model-judgment | a prompt asks for it; nothing checks it | silently wrong; measured by an eval, or unmeasured |
| Unenforced | a known gap, left open on purpose | silently wrong; a test pins that the gap is really open |
"""


def enforced() -> tuple[Rule, ...]:
    """Give every enforced row, by id; importing the kernel has registered them all."""
    assert decide.SPEAKING, "the rules of every request are registered"  # noqa: S101 - a broken program
    assert write.CHAIN_INTACT.id in REGISTRY, "the rules of every write are registered"  # noqa: S101 - the same
    return tuple(REGISTRY[name] for name in sorted(REGISTRY))


def rendered_page() -> str:
    """Render the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield from _enforced()
    yield from _attested()
    yield from _stated("Caller-declared", "Flow checks the shape. The record labels it.", DECLARED)
    yield from _stated("Model-judgment", "A prompt asks for it, nothing checks it.", JUDGED)
    yield from _stated("Unenforced", "Known gaps. A test shows that each is really open.", OPEN)
    yield from _invariants()


def _enforced() -> Iterator[str]:
    yield "## Enforced"
    yield ""
    yield "| id | claim | exact meaning and limits | held by |"
    yield "| --- | --- | --- | --- |"
    for rule in enforced():
        yield f"| `{rule.id}` | {rule.claim} | {rule.limits} | {_HOLDS[rule.means]} |"
    yield ""


def _attested() -> Iterator[str]:
    yield "## Host-attested"
    yield ""
    yield "| id | fact | never | not built yet |"
    yield "| --- | --- | --- | --- |"
    for row in ATTESTED:
        yield f"| `{row.id}` | {row.fact} | {row.never} | {row.deferred or ''} |"
    yield ""


def _stated(title: str, words: str, rows: tuple[Stated, ...]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield words
    yield ""
    for row in rows:
        yield f"- `{row.id}`: {row.claim}" + (f" ({row.note})" if row.note else "")
    yield ""


def _invariants() -> Iterator[str]:
    yield "## True of every document"
    yield ""
    yield "Asked before each write and after each load. A document that breaks one is refused and left as it is."
    yield ""
    for entry in INVARIANTS.values():
        yield f"- `{entry.id}`: {entry.claim}"
