"""``python -m evals``: play the scenarios and print what came of them; exit code 1 where anything is not as it must be.

A liar that completed, an honest agent that did not reach its end, an expectation that does not hold, a refusal that an
honest agent met twice, and a difference between repeats: each is a fault.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict

from rich.console import Console

from evals.connection import COLD
from evals.metrics import faults, totals
from evals.outcome import Outcome
from evals.play import play_all, usual_jobs
from evals.preforked import preforked
from evals.scenario import Scenario, Unusable, scenarios
from evals.table import show, show_matrix

WIDTH = 160


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals", description="Play the scenarios against real servers.")
    parser.add_argument("part", nargs="?", default="", help="only scenarios whose kind/name holds this text")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="play each N times and compare")
    parser.add_argument("--without", action="append", default=[], metavar="RULE", help="play the liars without a rule")
    parser.add_argument("--matrix", action="store_true", help="take out each rule that a liar met, one at a time")
    parser.add_argument("--jobs", type=int, default=usual_jobs(), help="how many are played at once")
    parser.add_argument("--cold", action="store_true", help="start each program by its own command; slower")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    """Play, print, and give the exit code."""
    given = _arguments(words)
    try:
        chosen = scenarios(given.part)
    except Unusable as error:
        print(error, file=sys.stderr)  # noqa: T201 - this is a program
        return 2
    if not chosen:
        print(f"no scenario holds {given.part!r}", file=sys.stderr)  # noqa: T201 - the same
        return 2
    play = _matrix if given.matrix or given.without else _round
    with nullcontext(COLD) if given.cold else preforked() as start:
        return asyncio.run(play(given, chosen, start))


def _told(outcome: Outcome) -> None:
    if sys.stderr.isatty():
        print(f"{outcome.name}: {outcome.end}", file=sys.stderr)  # noqa: T201 - the same


async def _round(given: argparse.Namespace, chosen: Sequence[Scenario], start: Sequence[str]) -> int:
    began_s = time.monotonic()
    played = await play_all([(one, ()) for one in chosen for _ in range(given.repeat)], given.jobs, _told, start)
    firsts = played[:: given.repeat]
    groups = [played[start : start + given.repeat] for start in range(0, len(played), given.repeat)]
    varied = [group[0].name for group in groups if len({one.likeness() for one in group}) > 1]
    bad = bool(varied) or any(faults(one) for one in played)
    numbers, seconds = totals(firsts), time.monotonic() - began_s
    if given.json:
        body = {"totals": asdict(numbers), "seconds": round(seconds, 1), "varied": varied, "repeats": given.repeat}
        print(json.dumps({**body, "outcomes": [one.as_json() for one in played]}))  # noqa: T201 - this is a program
        return int(bad)
    console = _console()
    show(console, firsts if given.repeat == 1 else _worst(groups), numbers, seconds)
    if given.repeat > 1:
        console.print(f"{given.repeat} times each: {', '.join(varied) or 'nothing'} differed", markup=False)
    return int(bad)


def _console() -> Console:
    """Give a page that is wide enough where nobody says how wide it is."""
    return Console(width=None if sys.stdout.isatty() else WIDTH)


def _worst(groups: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    return [max(group, key=lambda one: len(faults(one))) for group in groups]


async def _matrix(given: argparse.Namespace, chosen: Sequence[Scenario], start: Sequence[str]) -> int:
    """Play the liars without rules that they met; only those can go otherwise."""
    liars = [one for one in chosen if one.kind == "liar"]
    rules = list(dict.fromkeys(given.without)) or sorted({rule for one in liars for rule in one.meets()})
    jobs = [(one, (rule,)) for rule in rules for one in liars if rule in one.meets()]
    played = await play_all(jobs, given.jobs, _told, start)
    through: dict[str, list[Outcome]] = {rule: [] for rule in rules}
    for (_, (rule,)), outcome in zip(jobs, played, strict=True):
        through[rule].append(outcome)
    if given.json:
        body = {rule: [one.as_json() for one in outcomes] for rule, outcomes in through.items()}
        print(json.dumps(body))  # noqa: T201 - this is a program
    else:
        show_matrix(_console(), through)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
