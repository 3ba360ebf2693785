"""A person at a terminal: shown exactly what they decide, asked once, and recorded as what they are.

Whoever runs as the same user can fake a terminal, so the channel is ``terminal-unverified``. Without a terminal nobody
can be asked: ``--yes`` then records the answer as the caller's, and the rules say where that is enough.
"""

import io
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

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

_TRIAL = Moment(at="", fresh="trial")


def answering(*, yes: bool) -> Actor:
    """Say who answers.

    Raises:
        Misused: where nobody can be asked.
    """
    if yes:
        return CALLER
    if not at_terminal():
        seen = "There is no terminal here, so nobody can be asked."
        raise Misused(seen, "Run it at a terminal, or with --yes to answer as the caller.")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # what is no text is then told, where it would be a traceback
    return TERMINAL


def at_terminal() -> bool:
    """Say whether a person can be shown something and can answer."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def prompted(question: str) -> str:
    """Ask for one line on the terminal; nothing where it ends."""
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def confirmed(packet: Sequence[Block], question: str) -> bool:
    """Show what is decided, and ask for a yes. What was typed before it was shown does not count."""
    show(packet)
    _forget_typed()
    return prompted(f"{question} Type yes to confirm:") == "yes"


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
    """

    ask: Ask
    packet: Sequence[Block]
    question: str
    summary: str


def settled(engine: Engine, state: State, actor: Actor, decision: Decision) -> Answer:
    """Ask the person and record the answer, for the revision and source that were shown (row approve.exact).

    What the rules refuse anyway is refused before anyone is asked.
    """
    document = state.document
    hopeful = decide(document, decision.ask, replace(state.facts, actor=actor), _TRIAL, engine.book)
    if isinstance(hopeful, Refused):
        return refusal(hopeful)
    recorded = Facts((("a yes records", tuple(lines(dict(hopeful.answer)))),))
    if actor == TERMINAL and not confirmed((*decision.packet, recorded), decision.question):
        return unconfirmed()
    asked = Asked(actor, plan_id=document.plan_id, expected_revision=document.revision)
    done = engine.ask(decision.ask, asked)
    return refusal(done) if isinstance(done, Refused) else accepted(done, decision.summary)
