"""Times the digest of the source beside ``git status``, on repositories made for it: ``benchmarks/digest.py [sizes]``.

Each repository has so many tracked files of about 6 KB, a fifth as many ignored ones, five changed, ten new and one
deleted. The kinds of look take turns, and medians are printed, in milliseconds. The memory's clock runs two minutes
ahead, as if the files had been left alone for so long: younger ones would be read again at every look.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from flow_mcp.workspace.facts import Globs, gather
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Memory, take_manifest

SIZES = (300, 20_000, 100_000)
RATIOS_MAX = {20_000: 1.5, 100_000: 2.5}
"""How many times as long as ``git status`` a warm digest should take at most."""

ROUNDS = 7
ROUNDS_COLD = 5
AHEAD_NS = 120 * 1_000_000_000
FILES_PER_FOLDER = 50
FOLDERS_PER_FOLDER = 20
RECORDS = Records("plans", frozenset())
GLOBS = Globs(DEFAULT_PROTECTED, ("p0/**",), (), ("out/**",))
COLUMNS = ("files", "git status", "warm", "ratio", "warm gather", "ratio", "after an edit", "cold", "cold gather")

Look = Callable[[], object]


def main(arguments: list[str]) -> int:
    """Print the table."""
    sizes = [int(argument) for argument in arguments] or list(SIZES)
    _tell(" | ".join(f"{column:>13}" for column in COLUMNS))
    for size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="digest-"))
        try:
            _build(folder, size)
            _row(folder, size)
        finally:
            shutil.rmtree(folder)
    limits = ", ".join(f"{ratio} at {size} files" for size, ratio in RATIOS_MAX.items())
    _tell(f"Medians of {ROUNDS} rounds, of {ROUNDS_COLD} for cold, in ms. A warm digest should take at most {limits}.")
    return 0


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _build(folder: Path, size: int) -> None:
    line = b"value = compute(value, other)  # some text\n"
    for number in range(size):
        place = folder / f"p{number // (FILES_PER_FOLDER * FOLDERS_PER_FOLDER)}"
        place /= f"m{number // FILES_PER_FOLDER % FOLDERS_PER_FOLDER}"
        if number % FILES_PER_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"file{number}.py").write_bytes(b"# %d\n" % number + line * (90 + number % 100))
    (folder / ".gitignore").write_text("build/\n*.log\n")
    (folder / "build").mkdir()
    for number in range(size // 5):
        (folder / "build" / f"made{number}").write_bytes(line)
    _git(folder, "init", "-q")
    _git(folder, "add", "-A")
    _git(folder, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "all")
    for number in range(5):
        (folder / "p0" / "m0" / f"file{number}.py").write_bytes(line)
    for number in range(10):
        (folder / "p0" / "m1" / f"new{number}.py").write_bytes(line)
    (folder / "p0" / "m2" / f"file{2 * FILES_PER_FOLDER}.py").unlink()


def _git(folder: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def _row(folder: Path, size: int) -> None:
    memory = Memory(None, lambda: time.time_ns() + AHEAD_NS)
    edited = folder / "p0" / "m0" / "file7.py"
    looks: dict[str, Look] = {
        "git status": lambda: _git(folder, "status"),
        "warm": lambda: take_manifest(folder, RECORDS, (), memory),
        "warm gather": lambda: gather(folder, RECORDS, GLOBS, memory),
        "after an edit": lambda: gather(folder, RECORDS, GLOBS, memory),
        "cold": lambda: take_manifest(folder, RECORDS, ()),
        "cold gather": lambda: gather(folder, RECORDS, GLOBS),
    }
    for look in list(looks.values())[:3]:
        look()
    times: dict[str, list[float]] = {name: [] for name in looks}
    for turn in range(ROUNDS):
        for name, look in looks.items():
            if name == "after an edit":
                edited.write_text(f"edit = {turn}\n")
            if turn < ROUNDS_COLD or not name.startswith("cold"):
                times[name].append(_timed(look))
        looks["warm"]()  # takes in the edit, so that the next one that is timed has none to take in
    found = {name: statistics.median(each) * 1000 for name, each in times.items()}
    ratios = {name: found[name] / found["git status"] for name in ("warm", "warm gather")}
    cells = [f"{size}", *(f"{found[name]:.1f}" for name in ("git status", "warm")), f"{ratios['warm']:.2f}"]
    cells += [f"{found['warm gather']:.1f}", f"{ratios['warm gather']:.2f}"]
    cells += [f"{found[name]:.1f}" for name in ("after an edit", "cold", "cold gather")]
    _tell(" | ".join(f"{cell:>13}" for cell in cells))


def _timed(look: Look) -> float:
    before = time.perf_counter()
    look()
    return time.perf_counter() - before


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
