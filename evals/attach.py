"""Stands for a program that a fork runs: ``attach.py SOCKET PID_FILE COMMAND``, with its pipes, folder and environment.

It writes the program's process id to the file, hands on the signal to end, and ends as the program ends.
"""

import json
import os
import signal
import socket
import sys


def main(place: str, pid_file: str, words: list[str]) -> int:
    """Ask for the program, and wait for its end."""
    asked = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109 - starts quickly
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(place)
        socket.send_fds(asking, [b"{"], [0, 1, 2])
        asking.sendall(json.dumps(asked).encode()[1:])
        asking.shutdown(socket.SHUT_WR)
        for descriptor in (0, 1):
            os.close(descriptor)  # the program's alone, so that the other end hears of its end
        with asking.makefile() as answers:
            pid = answers.readline()
            signal.signal(signal.SIGTERM, lambda *_: os.kill(int(pid), signal.SIGTERM))
            with open(pid_file, "w") as file:  # noqa: PTH123 - starts quickly
                file.write(pid)
            return int(answers.readline())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
