"""Measure what the runner adds to a bare spawn, and what large output costs it. Run it alone on a quiet machine.

``python benchmarks/runner.py [rounds]`` prints medians; the kinds take turns, so that all see the same machine.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from flow_mcp.runner.execute import Outcome, execute
from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, Order, environment, new_token
from flow_mcp.runner.reaping import become_subreaper
from flow_mcp.runner.redaction import Redactor

ROUNDS = 200
LARGE_BYTES = 2 << 30
TEXT_BYTES = 10 << 20
GRANTED = {f"API_TOKEN_{number}": f"value-{number}/{number * 7919:08x}" for number in range(10)}


def order(folder: Path, run: str) -> Order:
    """Make an order whose output file is new."""
    output = folder / f"output-{time.monotonic_ns()}"
    surroundings = environment(os.environ, ALLOWED_BY_DEFAULT)
    return Order(
        run=run,
        folder=folder,
        timeout_s=600,
        environment=surroundings,
        output_path=output,
        output_bytes_max=1 << 20,
        tail_bytes_max=1 << 16,
        network="host",
        token=new_token(),
        outside=(),
        ends_with_runner=False,
    )


def done(given: Order) -> Outcome:
    """Execute an order to its end."""
    seen = execute(given, threading.Event(), lambda _pid: None)
    given.output_path.unlink()
    return seen


def spawn() -> None:
    """Start and await the same command without the runner."""
    subprocess.run(["bash", "-c", "true"], check=True)


def medians_ms(kinds: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Give each kind's median in milliseconds."""
    spent: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, act in kinds.items():
            begun_s = time.perf_counter()
            act()
            spent[name].append((time.perf_counter() - begun_s) * 1000)
    return {name: statistics.median(values) for name, values in spent.items()}


def overhead(folder: Path, rounds: int) -> None:
    """Print the medians of a bare spawn and of the runner, first as any process has it, then as a subreaper."""
    plain = {"bare spawn": spawn, "execute": lambda: done(order(folder, "true"))}
    bound = lambda: done(replace(order(folder, "true"), ends_with_runner=True))  # noqa: E731 - one of a table's acts
    tell(medians_ms(plain, rounds))
    if become_subreaper():
        tell(
            medians_ms(
                {"bare spawn": spawn, "execute in a subreaper": plain["execute"], "and bound to it": bound}, rounds
            )
        )


def tell(found: Mapping[str, float]) -> None:
    """Print medians, and their ratio to a bare spawn."""
    for name, median_ms in found.items():
        say(f"{name}: {median_ms:.2f} ms, {median_ms / found['bare spawn']:.2f} of a bare spawn")


def large_output(folder: Path) -> None:
    """Print how long a large output took, and by how much the runner's resident memory grew."""
    done(order(folder, "head -c 4194304 /dev/zero"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seen = done(order(folder, f"head -c {LARGE_BYTES} /dev/zero"))
    growth_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    say(f"{seen.output_bytes >> 20} MiB of output: {seen.duration_s:.2f} s, {growth_mib:.1f} MiB more memory")


def kept_text(folder: Path) -> None:
    """Print how long ordinary text takes that is all looked through for secrets and kept, and the same not kept."""
    run = f"yes 'tests/test_a.py::test_that_it_works PASSED [ 10%]' | head -c {TEXT_BYTES}"
    base = order(folder, run)
    kinds = {
        "not kept": replace(base, output_bytes_max=0),
        "looked through for tokens": replace(base, output_bytes_max=TEXT_BYTES),
        "and for 10 granted values": replace(base, output_bytes_max=TEXT_BYTES, redactor=Redactor(GRANTED)),
    }
    for name, given in kinds.items():
        seen = done(replace(given, output_path=folder / name))
        say(f"{seen.output_bytes >> 20} MiB of text, {name}: {seen.duration_s:.2f} s")


def say(line: str) -> None:
    """Print a figure at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure in a folder of its own."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        overhead(Path(name), rounds)
        large_output(Path(name))
        kept_text(Path(name))


if __name__ == "__main__":
    main()
