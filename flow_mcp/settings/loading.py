"""What is in force here: flags before variables, the user's own file, and the repository's, which only tightens.

What the user says is trusted: the flags and variables of the server's entry, and a file outside of the workspace.
``flow.yaml`` is written by whoever writes the source, so it is read as hostile, and the most it can do is ask for
more care, name the plans folder, and name harmless variables.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from flow_mcp.domain.policy import Policy, tightened
from flow_mcp.settings.layer import (
    CHOICES,
    NOTHING,
    PLANS_DEFAULT,
    SINGLE,
    Layer,
    Said,
    Source,
    checked,
    read_layer,
    refuse,
    refuse_access,
    short,
)
from flow_mcp.settings.variable_names import covers, why_withheld
from flow_mcp.workspace.paths import printable

REPOSITORY_FILE: Final = "flow.yaml"
USER_FILE: Final = "config.yaml"
VARIABLES_TOLD_MAX: Final = 8

# What Flow itself gives to the command that tells the user, and to the commands of a plan.
_TOLD: Final = ("FLOW_PLAN", "FLOW_REVISION", "FLOW_CHECK")


@dataclass(frozen=True)
class Settings:
    """The values in force.

    Attributes:
        policy: never looser than the user's, whatever the repository says; row policy.unmoved compares it.
        plans: the folder of the documents, relative to the workspace, with ``/`` between folders.
        environment: names of variables that commands get beside the default ones; one that the user wrote may end in
            ``*``, which stands for any ending.
        sources: which source set each value, by the names of the policy, ``plans``, and ``environment.NAME``.
        ignored: one sentence for each wish of the repository that was not granted.
        notify: the user's own command that says that a person is waited for; empty for none.
    """

    policy: Policy
    plans: str
    environment: tuple[str, ...]
    sources: Mapping[str, Source]
    ignored: tuple[str, ...]
    notify: tuple[str, ...] = ()


def load_settings(root: Path, environ: Mapping[str, str], flags: Mapping[str, str], user_file: Path | None) -> Settings:
    """Give the settings of a workspace; files that are not there say nothing.

    Args:
        root: the workspace.
        environ: the server's environment; an empty ``FLOW_*`` variable counts as unset.
        flags: the start flags that were given, by the names of the settings, such as ``caller_scope``.
        user_file: the user's configuration; None for the usual place on this platform.

    Raises:
        SettingsFault: for a file, a name or a value that cannot be used.
    """
    own_path = _usual_file() if user_file is None else user_file
    own = NOTHING if own_path is None else _own_layer(root, own_path)
    shared = read_layer(root / REPOSITORY_FILE, "repository", REPOSITORY_FILE)
    trusted = {**own.single, **_from_variables(environ), **_from_flags(flags)}
    policy, sources, loose = _policy(trusted, shared.single)
    plans = {**shared.single, **trusted}.get("plans", Said("default", "By default", PLANS_DEFAULT))
    _refuse_links(root, plans)
    granted, withheld = _environment(own.variables, shared.variables, own_path)
    named: dict[str, Source] = {f"environment.{name}": source for name, source in granted.items()}
    return Settings(
        policy=policy,
        plans=plans.text,
        environment=tuple(granted),
        sources=MappingProxyType(sources | {"plans": plans.source} | named),
        ignored=(*loose, *withheld),
        notify=own.notify,
    )


def unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Say of each ``FLOW_*`` variable that Flow does not know that it has no effect, and which one may be meant."""
    known = [f"FLOW_{name.upper()}" for name in SINGLE]
    unknown = sorted(name for name in environ if name.startswith("FLOW_") and name not in {*known, *_TOLD})
    return tuple(_unknown_variable(name, known) for name in unknown[:VARIABLES_TOLD_MAX])


def _unknown_variable(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - for a misspelt name only

    close = get_close_matches(name[:64], known, n=1)
    hint = f"; the nearest is {close[0]}" if close else f"; there are {', '.join(known)}"
    return f"The variable {short(name)[1:-1]} is none that Flow reads, so it has no effect{hint}."


def _usual_file() -> Path | None:
    from platformdirs import user_config_path  # noqa: PLC0415 - costs 16 ms, and a named file needs none

    # An account without a home has no configuration of its own.
    with suppress(RuntimeError):
        return user_config_path("flow-mcp") / USER_FILE
    return None


def _own_layer(root: Path, path: Path) -> Layer:
    """Read the user's file, which may be a link, but not to a place where an agent writes."""
    shown = printable(os.fsencode(path))
    try:
        real = Path(os.path.realpath(path, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            refuse(f"{shown} is a link to nothing.", "Restore what it names, or remove it.")
        return NOTHING
    except OSError as error:
        refuse_access(shown, error)
    if _is_inside(root, real):
        seen = f"{shown} lies in the workspace, where whoever edits the source could loosen the policy."
        refuse(seen, "Move it out, or give its settings as flags or FLOW_* variables.")
    return read_layer(real, "user", shown)


def _is_inside(root: Path, path: Path) -> bool:
    # By identity, not by text: case and mounts give one folder several names.
    try:
        return any(folder.samefile(root) for folder in path.parents)
    except OSError as error:
        refuse_access(printable(os.fsencode(root)), error)


def _from_variables(environ: Mapping[str, str]) -> dict[str, Said]:
    named = {name: f"FLOW_{name.upper()}" for name in SINGLE}
    return {
        name: checked(name, Said("variable", f"The variable {variable}", environ[variable]))
        for name, variable in named.items()
        if environ.get(variable)
    }


def _from_flags(flags: Mapping[str, str]) -> dict[str, Said]:
    assert flags.keys() <= set(SINGLE), "the command line knows its own flags"  # noqa: S101 - a broken program
    return {
        name: checked(name, Said("flag", f"The flag --{name.replace('_', '-')}", text)) for name, text in flags.items()
    }


def _policy(
    trusted: Mapping[str, Said], wished: Mapping[str, Said]
) -> tuple[Policy, dict[str, Source], tuple[str, ...]]:
    """Give the policy in force, who set each part, and a sentence for each wish that is looser."""
    base = Policy.model_validate(_texts(trusted))
    policy = tightened(base, Policy.model_validate(base.model_dump() | _texts(wished)))
    before, after = base.model_dump(), policy.model_dump()
    sources: dict[str, Source] = {
        name: "repository" if after[name] != before[name] else trusted[name].source if name in trusted else "default"
        for name in CHOICES
    }
    loose = tuple(
        f"{said.place}: {name} stays {after[name]}, for {said.text} is looser and a repository can only tighten."
        for name, said in wished.items()
        if name in CHOICES and said.text != after[name]
    )
    return policy, sources, loose


def _texts(single: Mapping[str, Said]) -> dict[str, str]:
    return {name: said.text for name, said in single.items() if name in CHOICES}


def _environment(
    own: Sequence[Said], wished: Sequence[Said], own_path: Path | None
) -> tuple[dict[str, Source], tuple[str, ...]]:
    """Give the variables for commands, and a sentence for each that the repository may not name by itself."""
    patterns = [said.text for said in own]
    reasons = {said: None if covers(patterns, said.text) else why_withheld(said.text) for said in wished}
    granted = {said.text: said.source for said, reason in reasons.items() if reason is None}
    granted |= {said.text: said.source for said in own}
    where = "your own configuration" if own_path is None else printable(os.fsencode(own_path))
    withheld = tuple(
        f"{said.place}: {said.text} {reason} and is kept from commands, until {where} names it under 'environment'."
        for said, reason in reasons.items()
        if reason is not None
    )
    return granted, withheld


def _refuse_links(root: Path, plans: Said) -> None:
    """Refuse a plans folder that leads elsewhere, or is none; what is missing may be made."""
    here = root
    whole = f"{plans.place}: the plans folder {short(plans.text)}"
    for part in plans.text.split("/"):
        here /= part
        try:
            mode = here.lstat().st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            refuse(f"{whole} cannot be used: {error.strerror}.", "Name another folder, or make this one usable.")
        if not stat.S_ISDIR(mode):
            kind = "a link" if stat.S_ISLNK(mode) else "no folder"
            refuse(f"{whole} goes through {short(part)}, which is {kind}.", "Put a folder there, or name another one.")
