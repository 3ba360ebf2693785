"""Begins a writer for every line that comes in; a writer saves the same draft again and again until it is killed."""

import os
import sys
from pathlib import Path

from flow_mcp.domain.commands import PlanSave
from tests.engine.place import Place, plan


def write(root: str) -> None:
    place, turn = Place(Path(root)), 0
    while True:
        turn += 1
        place.done(PlanSave(goal="Say good-bye", plan=plan(summary=f"turn {turn}")))


def main(root: str) -> None:
    for _ in sys.stdin:
        writer = os.fork()
        if writer == 0:
            write(root)
        print(writer, flush=True)  # noqa: T201 - the answer
        os.waitpid(writer, 0)
        print("killed", flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main(sys.argv[1])
