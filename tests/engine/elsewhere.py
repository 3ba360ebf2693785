"""Another process on the same workspace: starts a check, waits for it or cancels it, and prints what came of it.

Usage: python -m tests.engine.elsewhere ROOT start|leave|race SCOPE COMMAND
       python -m tests.engine.elsewhere ROOT wait|cancel PLAN CHECK
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from flow_mcp.domain.commands import CheckStart
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Scope
from flow_mcp.engine.core import Asked
from flow_mcp.engine.warm import WARM
from tests.engine.place import MANAGER, Place


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 - the answer


def _start(place: Place, verb: str, scope: str, command: str) -> str:
    if verb == "race":
        WARM.ready()
        _say("ready")
        sys.stdin.readline()
    started = place.checks.start(CheckStart(scope=cast("Scope", scope), command=command), Asked(MANAGER))
    if isinstance(started, Refused):
        return f"{started.rule} {started.remedy.arguments}"
    _say(str(started.answer["check_id"]))
    if verb == "leave":
        return "left"
    place.ended(started.document.plan_id, str(started.answer["check_id"]))
    return "ended"


def main(root: str, verb: str, first: str, second: str) -> str:
    place = Place(Path(root))
    if verb in {"start", "leave", "race"}:
        return _start(place, verb, first, second)
    if verb == "cancel":
        return "asked" if place.checks.cancel(first, second) else "nothing is pending"
    _say("waiting")
    waited = place.checks.wait(first, second, 60)
    return waited.rule if isinstance(waited, Refused) else f"{waited.observation and waited.observation.ended}"


def run(arguments: Sequence[str]) -> None:
    root, verb, first, second = arguments
    _say(main(root, verb, first, second))


if __name__ == "__main__":
    run(sys.argv[1:])
