"""A raw MCP client on real pipes: what it sends and reads is bytes, so that it can misbehave."""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

TOY: Final = Path(__file__).with_name("toy_server.py")
_RUN_TOY: Final = "import runpy, sys; sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"

PATIENCE_S: Final = 60.0
"""How long a test waits for what must come; never a wait in a test that passes."""

CLIENT: Final = {"name": "rig", "version": "1"}
FORMS: Final[dict[str, Any]] = {"elicitation": {"form": {}}}


def envelope(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every request of the 2026 era carries."""
    prefix = "io.modelcontextprotocol"
    return {
        f"{prefix}/protocolVersion": "2026-07-28",
        f"{prefix}/clientInfo": CLIENT,
        f"{prefix}/clientCapabilities": dict(capabilities),
    }


class Rig:
    """One server process and both ends of its pipes."""

    def __init__(self, process: subprocess.Popen[bytes], marks: Path) -> None:
        self.process = process
        self.marks = marks
        self.notes: list[dict[str, Any]] = []
        self._held = bytearray()
        self._errors = bytearray()
        self._next_id = 0
        self._meta: dict[str, Any] = {}
        self._drain = threading.Thread(target=self._read_errors, daemon=True)
        self._drain.start()

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Mapping[str, Any]) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def line(self) -> bytes:
        """Return the next line of the wire; empty where it has ended."""
        assert self.process.stdout is not None
        while b"\n" not in self._held:
            piece = b""
            if select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
                piece = os.read(self.process.stdout.fileno(), 1024 * 1024)
            if not piece:
                assert not self._held, self._held[:200]
                return b""
            self._held += piece
        line, _, rest = self._held.partition(b"\n")
        self._held = rest
        return bytes(line)

    def read(self) -> dict[str, Any]:
        """Return the next message that is not a notification; those gather in `notes`."""
        while line := self.line():
            message: dict[str, Any] = json.loads(line)
            if "id" in message:
                return message
            self.notes.append(message)
        raise EOFError(self.errors())

    def note(self) -> dict[str, Any]:
        """Return the next message, which is a notification."""
        message: dict[str, Any] = json.loads(self.line())
        assert "id" not in message, message
        return message

    def rest(self) -> list[dict[str, Any]]:
        """Return every message up to the end of the wire."""
        return [json.loads(line) for line in iter(self.line, b"")]

    def post(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request and return its id."""
        self._next_id += 1
        meta = {**self._meta, "progressToken": self._next_id}
        params = {**(params or {}), "_meta": meta}
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its answer."""
        request_id = self.post(method, params)
        answer = self.read()
        assert answer["id"] == request_id, answer
        return answer

    def start_call(self, tool: str, **arguments: object) -> int:
        """Call a tool whose first act is a progress note, and return when it is inside."""
        request_id = self.post("tools/call", {"name": tool, "arguments": arguments})
        assert self.note()["method"] == "notifications/progress"
        return request_id

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its result, which says the same twice."""
        result: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        (content,) = result["content"]
        assert json.loads(content["text"]) == result["structuredContent"]
        return result

    def handshake(self, version: str = "2025-11-25", capabilities: Mapping[str, Any] | None = None) -> None:
        """Open a connection of the era up to 2025."""
        asked = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": CLIENT}
        assert self.ask("initialize", asked)["result"]["protocolVersion"] == version
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def modern(self, capabilities: Mapping[str, Any] | None = None) -> None:
        """Open a connection of the era from 2026."""
        self._meta = envelope(capabilities or {})
        assert self.ask("server/discover")["result"]["supportedVersions"] == ["2026-07-28"]

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close_output(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    def errors(self) -> str:
        """Return what the server wrote to standard error, once it has ended."""
        self._drain.join(PATIENCE_S)
        return self._errors.decode()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while piece := os.read(self.process.stderr.fileno(), 1024 * 1024):
            self._errors += piece

    def wait_for_mark(self, name: str) -> None:
        """Return when the desk has left a mark; for what it does where nobody reads its answers."""
        until = time.monotonic() + PATIENCE_S
        while not self.marked(name):
            assert time.monotonic() < until, f"no {name}"
            time.sleep(0.01)

    def marked(self, name: str) -> bool:
        return (self.marks / name).exists()


@contextmanager
def running(marks: Path, before: str = "", **options: Any) -> Iterator[Rig]:  # noqa: ANN401 - whatever Popen takes
    """Run the toy server until the block ends, in a process that runs the statements `before` first."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = [sys.executable, str(TOY), str(marks)]
    if before:
        command = [sys.executable, "-c", f"{before}\n{_RUN_TOY}", *command[1:]]
    with subprocess.Popen(command, **pipes) as process:
        try:
            yield Rig(process, marks)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server as a client does, so that it is measured to its end; by force where that fails."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(PATIENCE_S)
    finally:
        process.kill()
