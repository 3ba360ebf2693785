"""Another process on the same workspace: starts a check, waits for it or cancels it, and prints what came of it.

Usage: python -m tests.engine.elsewhere ROOT start SCOPE COMMAND
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
from tests.engine.place import MANAGER, Place


def main(root: str, verb: str, first: str, second: str) -> str:
    place = Place(Path(root))
    if verb == "start":
        started = place.checks.start(CheckStart(scope=cast("Scope", first), command=second), Asked(MANAGER))
        if isinstance(started, Refused):
            return f"{started.rule} {started.remedy.arguments}"
        print(started.answer["check_id"], flush=True)  # noqa: T201 - the answer
        place.ended(started.document.plan_id, str(started.answer["check_id"]))
        return "ended"
    if verb == "cancel":
        place.checks.cancel(first, second)
        return "asked"
    waited = place.checks.wait(first, second, 60)
    return waited.rule if isinstance(waited, Refused) else f"{waited.observation and waited.observation.ended}"


def run(arguments: Sequence[str]) -> None:
    root, verb, first, second = arguments
    print(main(root, verb, first, second), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    run(sys.argv[1:])
