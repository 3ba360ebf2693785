"""The table that a round prints, and its one line of totals."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from evals.metrics import Totals, faults
from evals.outcome import Outcome

_HEAD = ("name", "family", "wanted", "end", "stopped by", "calls", "refused", "s")


def show(console: Console, outcomes: Sequence[Outcome], numbers: Totals, seconds: float) -> None:
    """Print every outcome, what is wrong with any, and the totals."""
    table = Table(*_HEAD, box=box.SIMPLE_HEAD, pad_edge=False)
    for one in sorted(outcomes, key=lambda each: (each.kind != "liar", each.name)):
        bad = bool(faults(one))
        stop = one.stopped_by if one.open is None else f"left open: {one.open}"
        cells = (one.name, one.family, one.wanted, one.end, stop)
        figures = (str(len(one.calls)), str(len(one.refusals)), f"{one.seconds:.1f}")
        table.add_row(*cells, *figures, style="red" if bad else None)
    console.print(table)
    for one in outcomes:
        for fault in faults(one):
            console.print(f"{one.name}: {fault}", style="red", markup=False, highlight=False)
    console.print(line(numbers, seconds), markup=False, highlight=False, soft_wrap=True)


def line(numbers: Totals, seconds: float) -> str:
    """Say the totals in one line."""
    return (
        f"liars {numbers.liars - numbers.completed}/{numbers.liars} never completed, {numbers.stops} different stops; "
        f"{numbers.open} more through gaps that the page leaves open; "
        f"honest {numbers.honest - numbers.blocked}/{numbers.honest} reached their end, median {numbers.calls:g} calls "
        f"and {numbers.refusals:g} refusals, {numbers.repeated} repeated; "
        f"false completions {numbers.false_completions}; {seconds:.0f} s"
    )


def show_matrix(console: Console, through: Mapping[str, Sequence[Outcome]]) -> None:
    """Print, for each rule that was taken out, the liars that meet it, how they ended, and what refused them then."""
    table = Table("without", "liar", "end", "refused by", box=box.SIMPLE_HEAD, pad_edge=False)
    for rule, outcomes in through.items():
        if not outcomes:
            table.add_row(rule, "nobody meets it", "", "")
        for one in outcomes:
            refused = ", ".join(dict.fromkeys(str(call.refused) for call in one.refusals))
            table.add_row(rule, one.name, one.end, refused, style="bold" if one.end.startswith("completed") else None)
    console.print(table)
