r"""One printable id for every test case of a report, and the shorter names that may stand for it.

An id is ``suite :: class :: name``. ``suite`` is the chain of suite names from the outside in, with ``>``
between them; where no suite has a name it is the file that the report gives. Empty parts are left out. What
could not be printed or told apart is written as ``\u{hex}``: a character without a shape of its own, a blank
at either end of a part, a ``::`` that would read as the join. So an id is one line of plain text, and its
parts can be read back.
"""

import re
from collections.abc import Mapping
from functools import reduce
from typing import Literal

CaseOutcome = Literal["passed", "failed", "skipped"]

SEPARATOR = " :: "
CHAIN = " > "

# A "::" beside a blank or an end would read as the join, and a "\u{" as one of the escapes made here.
_LOOKALIKE = re.compile(r"(?:^|(?<= ))::|::(?=$| )|\\(?=u\{)|^ | $")
_ESCAPE = re.compile(r"\\u\{([0-9a-f]{1,5}|10[0-9a-f]{4})\}")
_BADNESS: Mapping[CaseOutcome, int] = {"passed": 0, "skipped": 1, "failed": 2}


def case_id(suite: str, class_name: str, name: str) -> str:
    """Join the parts of a case into its id, as the module describes."""
    return SEPARATOR.join(_printable(part) for part in (suite, class_name, name) if part)


def worst(first: CaseOutcome, second: CaseOutcome) -> CaseOutcome:
    """Give the worse of two outcomes of one case: failed, then skipped, then passed."""
    return max(first, second, key=lambda outcome: _BADNESS[outcome])


def outcome_of(cases: Mapping[str, CaseOutcome], wanted: str) -> CaseOutcome | Literal["absent"]:
    """Say what became of the case that ``wanted`` names; the worst, where several bear the name.

    A case may be named by its id, its name, ``class.name``, ``class::name``, ``suite > name`` (the innermost
    suite or more of the chain), or pytest's node id. A part may be written with the id's escapes.
    """
    if wanted in cases:
        return cases[wanted]
    found = [outcome for key, outcome in cases.items() if names_case(key, wanted)]
    if not found:
        return "absent"
    outcome: CaseOutcome = reduce(worst, found)
    return outcome


def names_case(case: str, wanted: str) -> bool:
    """Say whether ``wanted`` is one of the ways to name the case with this id."""
    return wanted == case or any(_names(case, one) for one in {wanted, _readable(wanted)})


def _names(key: str, wanted: str) -> bool:
    *outer, name = (_readable(part) for part in key.split(SEPARATOR))
    if not wanted.endswith(name):
        return False
    before = wanted.removesuffix(name)
    # Where one of suite and class is missing, the part that is there may be either.
    return not before or any(_names_class(part, before) for part in outer[-1:]) or _names_suite(outer, before)


def _names_class(class_name: str, before: str) -> bool:
    if before in {f"{class_name}.", f"{class_name}::"}:
        return True
    # As pytest itself turns a node id into a class name.
    path, *classes = before.removesuffix("::").split("::")
    module = path.replace("/", ".").removesuffix(".py")
    return before.endswith("::") and class_name == ".".join([module, *classes])


def _names_suite(outer: list[str], before: str) -> bool:
    return any((CHAIN + suite + CHAIN).endswith(CHAIN + before) for suite in outer[:1])


def _printable(part: str) -> str:
    plain = _LOOKALIKE.sub(lambda found: _escaped(found.group()[0]) + found.group()[1:], part)
    if plain.isprintable():
        return plain
    return "".join(char if char.isprintable() else _escaped(char) for char in plain)


def _escaped(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _readable(part: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), part) if "\\u{" in part else part
