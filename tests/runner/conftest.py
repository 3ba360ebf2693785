"""Orders for real commands in a folder of their own, and keepers: processes that do nothing but execute one."""

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from flow_mcp.runner.execute import Outcome, execute
from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, Order, environment, new_token

Run = Callable[..., Outcome]
MakeOrder = Callable[..., Order]
StartKeeper = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def make_order(tmp_path: Path) -> MakeOrder:
    numbers = itertools.count()
    folder = tmp_path / "workspace"
    folder.mkdir()

    def make(
        run: str | tuple[str, ...],
        *,
        timeout_s: float = 60,
        more: Mapping[str, str] | None = None,
        output_bytes_max: int = 1 << 20,
        outside: tuple[Path, ...] = (),
    ) -> Order:
        surroundings = environment(os.environ, ALLOWED_BY_DEFAULT) | dict(more or {})
        return Order(
            run=run,
            folder=folder,
            timeout_s=timeout_s,
            environment=surroundings,
            output_path=tmp_path / f"output-{next(numbers)}",
            output_bytes_max=output_bytes_max,
            tail_bytes_max=64 * 1024,
            network="host",
            token=new_token(),
            outside=outside,
            ends_with_runner=False,
        )

    return make


@pytest.fixture
def run(make_order: MakeOrder) -> Run:
    def go(command: str | tuple[str, ...], *, timeout_s: float = 60, more: Mapping[str, str] | None = None) -> Outcome:
        return execute(make_order(command, timeout_s=timeout_s, more=more), threading.Event(), lambda _pid: None)

    return go


_KEEPER = """
import json, os, signal, sys, threading
from dataclasses import asdict
from pathlib import Path
from flow_mcp.runner import execute as module
from flow_mcp.runner.order import Order
from flow_mcp.runner.reaping import become_subreaper, is_subreaper

asked = json.loads(sys.argv[1])
exec(asked["first"])
ballast = b"x" * asked["ballast_bytes"]
module.GRACE_S, module.DRAIN_S_MAX, module._TICK_S = asked["grace_s"], asked["drain_s"], asked["tick_s"]
os.setsid()
if asked["reaps"]:
    assert not is_subreaper() and become_subreaper() and is_subreaper()
folder = Path(asked["folder"])
order = Order(asked["run"], folder, asked["timeout_s"], dict(os.environ), folder.with_suffix(".log"), 1 << 20, 1 << 16,
    network="host", token=asked["token"], outside=(), ends_with_runner=asked["ends_with_runner"])
cancel = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: cancel.set())
seen = module.execute(order, cancel, lambda pid: print(pid, flush=True))
children = [one for task in Path("/proc/self/task").iterdir() for one in (task / "children").read_text().split()]
print(json.dumps(asdict(seen) | {"children": children}))
"""


@pytest.fixture
def start_keeper() -> Iterator[StartKeeper]:
    """Start keepers. They print the number of the command's process, then the outcome as JSON."""
    begun: list[subprocess.Popen[str]] = []

    def start(run: str, folder: Path, **unusual: object) -> "subprocess.Popen[str]":
        usual = {"timeout_s": 60, "token": new_token(), "ends_with_runner": True, "reaps": True, "ballast_bytes": 0}
        usual |= {"grace_s": 0.1, "drain_s": 0.2, "tick_s": 0.05, "first": ""}
        asked = json.dumps(usual | {"run": run, "folder": str(folder)} | unusual)
        begun.append(subprocess.Popen([sys.executable, "-c", _KEEPER, asked], stdout=subprocess.PIPE, text=True))
        return begun[-1]

    yield start
    for keeper in begun:
        with keeper:
            keeper.kill()
