"""A client that starts the toy server and a bystander which holds the same pipes, then waits to be killed.

Usage: python orphan_maker.py MARKS. Prints the bystander's process id once the server has answered.
"""

import subprocess
import sys
from pathlib import Path

_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"orphan maker","version":"1"}}}\n'
)


def _main() -> None:
    toy = Path(__file__).with_name("toy_server.py")
    command = [sys.executable, str(toy), sys.argv[1]]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    held = (server.stdin.fileno(), server.stdout.fileno())
    bystander = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        pass_fds=held,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server.stdin.write(_INITIALIZE)
    server.stdin.flush()
    server.stdout.readline()
    print(bystander.pid, flush=True)  # noqa: T201 - the answer to the test
    server.wait()


if __name__ == "__main__":
    _main()
