"""Lists of names in a sentence: the first few, and how many more there are."""

from collections.abc import Sequence

FEW = 5


def few(names: Sequence[str]) -> str:
    """Name the first few."""
    rest = len(names) - FEW
    return ", ".join(names[:FEW]) + (f" and {rest} more" if rest > 0 else "")
