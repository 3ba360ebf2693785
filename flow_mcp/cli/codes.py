"""Exit codes: public, so that a script can tell a refusal from a mistake and from a broken world."""

from typing import Final

DONE: Final = 0
PROBLEM: Final = 1
USAGE: Final = 2
REFUSED: Final = 3
WORLD: Final = 4
INTERRUPTED: Final = 130

MEANINGS: Final = (
    (DONE, "done"),
    (PROBLEM, "a problem was found (verify, doctor, demo, observe, cancel, gc)"),
    (USAGE, "the command was not understood, or there is no terminal to ask at"),
    (REFUSED, "a rule refused, or the person did not type yes"),
    (WORLD, "the world stands in the way: an unreadable document, a lock that is busy, no workspace"),
    (INTERRUPTED, "interrupted"),
)
"""What each code means, for the help and its page."""
