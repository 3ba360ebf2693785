"""Whether an environment of Python packages outside of the workspace has the workspace installed editable.

Its interpreter then imports today's source, whatever source the command's copy is of.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from flow_mcp.workspace.pointing import pointing, within

FOLDERS_MAX = 200
NAMES_MAX = 20_000
_NAMED = re.compile(r"(/[^\s'\"=:]+)/bin/[^\s'\"/]+")
_PREFIXES = ("VIRTUAL_ENV", "CONDA_PREFIX")
_PROGRAMS = ("python3", "python")


def environments_lead_back(run: str, variables: Mapping[str, str], root: Path) -> bool:
    """Say whether the Python that a command names or would find has a package that leads into the workspace."""
    real = os.path.realpath(root)
    packages = (
        folder for prefix in (*_NAMED.findall(run), *_prefixes(variables)) for folder in _packages(Path(prefix))
    )
    return any(
        _leads_back(folder, root)
        for folder in islice(dict.fromkeys(packages), FOLDERS_MAX)
        if not within(os.path.realpath(folder), real)
    )


def _prefixes(variables: Mapping[str, str]) -> Iterator[str]:
    """Name the folders that environments may be in: of variables, of the programs on the PATH, and the user's own."""
    yield from (variables[name] for name in _PREFIXES if variables.get(name))
    for entry in variables.get("PATH", "").split(os.pathsep):
        for program in _PROGRAMS if os.path.isabs(entry) else ():  # noqa: PTH117 - an entry need not be a path
            path = Path(entry, program)
            if path.exists():
                # An environment's own folder, and that of the interpreter behind its link.
                yield str(path.parent.parent)
                yield str(Path(os.path.realpath(path)).parent.parent)
    if variables.get("HOME"):
        yield os.path.join(variables["HOME"], ".local")  # noqa: PTH118 - a variable need not be a path
    versions = Path(variables.get("PYENV_ROOT") or Path(variables.get("HOME", os.sep), ".pyenv"), "versions")
    with suppress(OSError):
        yield from (str(path) for path in sorted(versions.iterdir()))


def _packages(prefix: Path) -> Iterator[Path]:
    with suppress(OSError):
        for library in ("lib", "lib64"):
            yield from sorted(prefix.glob(f"{library}/python3*/*-packages"))


def _leads_back(folder: Path, root: Path) -> bool:
    look = pointing(root, folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, NAMES_MAX):
            if entry.is_symlink() and look.of_link(entry.path):
                return True
            if look.of_file(entry.name, entry.path):
                return True
    return False
