"""A person at a terminal, for the verbs that ask one."""

import asyncio
import os
import pty
import select
import subprocess
from collections.abc import Sequence

from evals.workspace import FLOW, PATIENCE_S, Workspace

_ASKS = b"confirm:"


async def typed(space: Workspace, words: Sequence[str], lines: Sequence[str]) -> int:
    """Run a verb at a terminal, type a line at each question, and give its exit code."""
    return await asyncio.to_thread(_typed, space, words, list(lines))


def _typed(space: Workspace, words: Sequence[str], lines: list[str]) -> int:
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
            [FLOW, *words], cwd=space.root, env=space.environment, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        seen = b""
        while data := _read(master):
            seen += data
            if _ASKS in seen and lines:
                os.write(master, f"{lines.pop(0)}\n".encode())
                seen = b""
        return _ended(process)
    finally:
        os.close(master)


def _ended(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait(1)
    except subprocess.TimeoutExpired:  # it asks what nobody was told to answer
        process.kill()
        return process.wait()


def _read(master: int) -> bytes:
    if not select.select([master], [], [], PATIENCE_S)[0]:
        return b""
    try:
        return os.read(master, 65536)
    except OSError:  # Linux says so when the last program has closed its end
        return b""
