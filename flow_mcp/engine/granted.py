"""Which values of a command's environment are secrets, and are hidden wherever its output is kept or shown.

Only what reaches the command because a configuration names it can be one; what every command gets cannot. Of these:

- Eight characters or more where the name looks like a secret's (by the table that keeps such names from a repository),
  or where the value is a URL with a password.
- Sixteen or more under any other name, without a blank, beginning with no dash, with a letter, a digit and
  eight different characters.
- Never a path, a plain word of up to eleven letters of one case, or fewer than four different characters: hiding
  ``production`` or ``/tmp`` would hide ordinary output, and tell nobody a secret was there.
"""

import os
from collections.abc import Mapping, Sequence

from flow_mcp.runner.secret_forms import FORM_BYTES_MIN, is_plain, password_in
from flow_mcp.settings.variable_names import covers, why_withheld

OTHER_NAME_CHARACTERS_MIN = 16
OTHER_NAME_DISTINCT_MIN = 8

_HERE = ("./", "../", "~/")
_SCHEMES = ("file://", "unix://")


def secret_names(environment: Mapping[str, str], granted: Sequence[str], ordinary: Sequence[str]) -> tuple[str, ...]:
    """Name the variables whose values are hidden.

    Args:
        environment: what reaches the command.
        granted: names that a configuration gives to commands, or beginnings of names with a final ``*``.
        ordinary: names that every command gets, in the same form.
    """
    named = [name for name in environment if covers(granted, name) and not covers(ordinary, name)]
    return tuple(sorted(name for name in named if _is_secret(name, environment[name].strip())))


def _is_secret(name: str, value: str) -> bool:
    if len(value) < FORM_BYTES_MIN or is_plain(value) or _is_path(value):
        return False
    return why_withheld(name) == "looks like a secret" or bool(password_in(value)) or _looks_random(value)


def _looks_random(value: str) -> bool:
    is_mixed = any(char.isalpha() for char in value) and any(char.isdigit() for char in value)
    is_one_word = not value.startswith("-") and not any(char.isspace() for char in value)
    is_long = len(value) >= OTHER_NAME_CHARACTERS_MIN and len(set(value)) >= OTHER_NAME_DISTINCT_MIN
    return is_mixed and is_one_word and is_long


def _is_path(value: str) -> bool:
    """Say whether a value names files: a path from here or home, or one or more that are there."""
    for scheme in _SCHEMES:
        value = value.removeprefix(scheme)
    return value.startswith(_HERE) or all(_is_there(part) for part in value.split(os.pathsep))


def _is_there(part: str) -> bool:
    return os.path.isabs(part) and os.path.exists(part)  # noqa: PTH110, PTH117 - a value need not be a path
