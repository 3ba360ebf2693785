"""Measure keeping a source and laying it out, beside the ways to copy a whole tree. Run it alone on a quiet machine.

``python benchmarks/copies.py [sizes]`` prints, for trees of so many files, what each act took and its ratio to copying
the tree file by file. The acts take turns, so that all see the same machine; what one of them wrote is on the disk
before the next begins.
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

from flow_mcp.workspace.copies import Copy, lay_out, left_behind
from flow_mcp.workspace.folders import remove_tree
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Manifest, take_manifest
from flow_mcp.workspace.sources import store_copy

SIZES = (300, 20_000, 100_000)
ROUNDS_FILES = 60_000
ROUNDS_MAX = 7
FILES_PER_FOLDER = 40
COPIED = "copy file by file"

Spent = dict[str, list[float]]


def plant(root: Path, files: int) -> None:
    """Make a tree of small files, as many sizes as a repository has: 200 bytes to 12 kB."""
    for number in range(files):
        folder = root / f"part{number // 2000}" / f"sub{number // FILES_PER_FOLDER}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}.py").write_bytes(b"value = %07d\n" % number * (15 + number * 7919 % 850))


def timed(spent: Spent, name: str, act: Callable[[], object]) -> None:
    """Do something, and note how long it took."""
    os.sync()
    begun_s = time.perf_counter()
    act()
    spent.setdefault(name, []).append(time.perf_counter() - begun_s)


def own(spent: Spent, root: Path, manifest: Manifest, place: Path) -> None:
    """Time what Flow does with a source, from keeping it to removing its copy."""
    private, target, laid = place / "private", place / "copy", list[Copy]()
    target.mkdir(parents=True)
    timed(spent, "keep a new source", lambda: store_copy(root, manifest, private))
    timed(spent, "keep it again", lambda: store_copy(root, manifest, private))
    timed(spent, "lay it out, checked", lambda: laid.append(lay_out(private, manifest.digest, manifest, target)))
    timed(spent, "say what was left behind", lambda: left_behind(laid[0], ()))
    used = target.rename(place / "used")
    target.mkdir()
    timed(spent, "lay it out from a used one", lambda: lay_out(private, manifest.digest, manifest, target, used=used))
    timed(spent, "remove the copy", lambda: remove_tree(target))
    remove_tree(place)


def others(spent: Spent, root: Path, place: Path) -> None:
    """Time the ways to copy a tree that check nothing."""
    place.mkdir()
    timed(spent, COPIED, lambda: shutil.copytree(root, place / "copied", copy_function=shutil.copyfile))
    timed(spent, "hard links", lambda: shutil.copytree(root, place / "linked", copy_function=os.link))
    if sys.platform == "linux":
        command = ["cp", "-r", "--reflink=auto", str(root), str(place / "cloned")]
        timed(spent, "cp -r --reflink=auto", lambda: subprocess.run(command, check=True))
    timed(spent, "remove such a copy", lambda: remove_tree(place / "copied"))
    remove_tree(place)


def measured(files: int) -> Spent:
    """Time every act on a tree of so many files."""
    spent: Spent = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCHMARK_FOLDER")) as name:
        root = Path(name, "tree")
        plant(root, files)
        manifest = take_manifest(root, Records("plans", frozenset()), ())
        for _ in range(max(1, min(ROUNDS_MAX, ROUNDS_FILES // files))):
            own(spent, root, manifest, Path(name, "own"))
            others(spent, root, Path(name, "others"))
    return spent


def tell(files: int, spent: Spent) -> None:
    """Print the medians."""
    usual_s = statistics.median(spent[COPIED])
    print(f"{files} files, median of {len(spent[COPIED])}")
    for name, values in spent.items():
        median_s = statistics.median(values)
        print(f"  {name:26} {median_s * 1000:10.1f} ms  {median_s / usual_s:6.2f} x")


if __name__ == "__main__":
    for size in [int(text) for text in sys.argv[1:]] or SIZES:
        tell(size, measured(size))
