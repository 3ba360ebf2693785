"""Orders for real commands in a folder of their own."""

import itertools
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from flow_mcp.runner.execute import Outcome, execute
from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, Order, environment

Run = Callable[..., Outcome]
MakeOrder = Callable[..., Order]


@pytest.fixture
def make_order(tmp_path: Path) -> MakeOrder:
    numbers = itertools.count()
    folder = tmp_path / "workspace"
    folder.mkdir()

    def make(
        run: str, *, timeout_s: float = 60, more: Mapping[str, str] | None = None, output_bytes_max: int = 1 << 20
    ) -> Order:
        surroundings = environment(os.environ, ALLOWED_BY_DEFAULT) | dict(more or {})
        output = tmp_path / f"output-{next(numbers)}"
        return Order(run, folder, timeout_s, surroundings, output, output_bytes_max, 64 * 1024)

    return make


@pytest.fixture
def run(make_order: MakeOrder) -> Run:
    def go(command: str, *, timeout_s: float = 60, more: Mapping[str, str] | None = None) -> Outcome:
        return execute(make_order(command, timeout_s=timeout_s, more=more), threading.Event(), lambda _pid: None)

    return go
