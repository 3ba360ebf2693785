"""A person at a terminal: shown exactly what they decide, asked once, and recorded as what they are.

Whoever runs as the same user can fake a terminal, so the channel is ``terminal-unverified``. Without a terminal nobody
can be asked: ``--yes`` then records the answer as the caller's, and the rules say where that is enough.
"""

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Facts, Misused, Words
from flow_mcp.cli.codes import REFUSED
from flow_mcp.cli.paper import show
from flow_mcp.cli.words import accepted, lines, refusal
from flow_mcp.domain.commands import Ask
from flow_mcp.domain.decide import decide
from flow_mcp.domain.decision import Moment, Refused
from flow_mcp.domain.model import Actor
from flow_mcp.engine.core import Asked, Engine, State

TERMINAL = Actor(role="person", channel="terminal-unverified")
CALLER = Actor(role="manager", channel="caller")

BY_CALLER: Final = ", or with --yes to answer as the caller"
BY_NOBODY_ELSE: Final = ": this takes a person, and no script can do it"
_YES: Final = ("y", "yes")

AGAIN_MAX: Final = 3
"""How often a question is asked again."""

_TRIAL = Moment(at="", fresh="trial")


def answering(*, yes: bool) -> Actor:
    """Say who answers; whether they can be asked is found out when there is something to ask."""
    return CALLER if yes else TERMINAL


def reached(otherwise: str) -> None:
    """See that a person can be asked; ``otherwise`` is what helps beside a terminal, where something does.

    Raises:
        Misused: where nobody can.
    """
    if not at_terminal():
        seen = "There is no terminal here, so nobody can be asked."
        raise Misused(seen, f"Run it at a terminal{otherwise}.")
    if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.errors != "surrogateescape":
        sys.stdin.reconfigure(errors="surrogateescape")  # what is no text is then told, where it would be a traceback


def at_terminal() -> bool:
    """Say whether a person can be shown something and can answer."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def prompted(question: str) -> str:
    """Ask for one line on the terminal; nothing where it ends."""
    try:
        sys.stderr.write(f"{question} ")
        sys.stderr.flush()
        return sys.stdin.readline().strip()
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted: nothing was recorded.\n")
        raise


def insisted(question: str, fault: Callable[[str], str | None]) -> str:
    """Ask until the answer has no fault, three times again at most.

    Raises:
        Misused: where no answer without one comes.
    """
    for _ in range(1 + AGAIN_MAX):
        text = prompted(question)
        why = fault(text)
        if why is None:
            return text
        question = f"That cannot be recorded: {why}. Again:"
    seen = "No answer came that can be recorded, so nothing was recorded."
    raise Misused(seen, "Begin again, or give the answers as options; --help names them.")


def confirmed(packet: Sequence[Block], question: str, otherwise: str) -> bool:
    """Show what is decided, and ask for a yes, or y. What was typed before it was shown does not count.

    Raises:
        Misused: where nobody can be asked.
    """
    reached(otherwise)
    show(packet)
    _forget_typed()
    return prompted(f"{question} Type yes to confirm:").casefold() in _YES


def _forget_typed() -> None:
    with suppress(ImportError):
        import termios  # noqa: PLC0415 - Windows has no such module

        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def unconfirmed() -> Answer:
    """Tell that the person did not say yes."""
    summary = "Nothing was recorded: the answer was not yes."
    return Answer({"summary": summary, "confirmed": False}, (Words(summary, "bad"),), REFUSED, complaint=True)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person is about to decide.

    Attributes:
        ask: the request.
        packet: what is shown of it.
        question: what is asked, without the way to answer.
        summary: what came of a yes, in a sentence.
        otherwise: what helps beside a terminal, where there is none.
        known: what of the answer stands in the packet already.
        told: what of the answer a person reads in other words; a program reads it as it is.
    """

    ask: Ask
    packet: Sequence[Block]
    question: str
    summary: str
    otherwise: str = BY_NOBODY_ELSE
    known: tuple[str, ...] = ()
    told: Mapping[str, JsonValue] = field(default_factory=dict)

    def reworded(self, answer: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Give an answer in the words for this decision."""
        return {name: self.told.get(name, value) for name, value in answer.items()}


def settled(engine: Engine, state: State, actor: Actor, decision: Decision) -> Answer:
    """Ask the person and record the answer, for the revision and source that were shown (row approve.exact).

    What the rules refuse anyway is refused before anyone is asked.
    """
    document = state.document
    hopeful = decide(document, decision.ask, replace(state.facts, actor=actor), _TRIAL, engine.book)
    if isinstance(hopeful, Refused):
        return refusal(hopeful)
    fresh = {name: value for name, value in decision.reworded(hopeful.answer).items() if name not in decision.known}
    packet = (*decision.packet, *([Facts((("a yes records", tuple(lines(fresh))),))] if fresh else []))
    if actor == TERMINAL and not confirmed(packet, decision.question, decision.otherwise):
        return unconfirmed()
    asked = Asked(actor, plan_id=document.plan_id, expected_revision=document.revision)
    done = engine.ask(decision.ask, asked)
    if isinstance(done, Refused):
        return refusal(done)
    page = accepted(replace(done, answer=decision.reworded(done.answer)), decision.summary).page
    return replace(accepted(done, decision.summary), page=page)
