"""A real repository to play with, kept apart from this machine's own git configuration."""

import hashlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flow_mcp.workspace.disposal import disposable
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Manifest, SourceEntry, take_manifest

PLANS = Records("plans", frozenset({"goal", "plan", "a", "x"}))
SETTINGS = ("user.name=T", "user.email=t@example.org", "init.defaultBranch=main", "protocol.file.allow=always")


class Repo:
    """A working tree, with git or without."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    @property
    def private(self) -> Path:
        return self.root / ".flow"

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        options = [text for setting in SETTINGS for text in ("-c", setting)]
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=self.root,
            env=plain_environment(),
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def started(self, *options: str) -> "Repo":
        self.git("init", "-q", *options)
        return self

    def write(self, path: str, text: str = "text\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return file

    def commit(self, *paths: str) -> str:
        self.git("add", "-A", "-f", *paths)
        self.git("commit", "-q", "--allow-empty", "-m", "more")
        return self.git("rev-parse", "HEAD")

    def manifest(self, artifacts: Sequence[str] = ()) -> Manifest:
        return take_manifest(self.root, PLANS, artifacts)

    def digest(self, artifacts: Sequence[str] = ()) -> str:
        return self.manifest(artifacts).digest

    def entries(self) -> dict[str, SourceEntry]:
        return {entry.path: entry for entry in self.manifest().entries}

    def paths(self) -> list[str]:
        return [entry.path for entry in self.manifest().entries]

    def forge_index(self, old: bytes, new: bytes) -> None:
        """Put a path of the same length into the index, as no git command would."""
        assert len(old) == len(new)
        index = self.root / ".git" / "index"
        body = index.read_bytes()[:-20].replace(old, new)
        index.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())


def plain_environment() -> dict[str, str]:
    """What a user's shell would hand to git, without this machine's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


@contextmanager
def same_times(path: Path) -> Iterator[None]:
    """Give a file back the times that it had."""
    before = path.lstat()
    yield
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@contextmanager
def roomed(private: Path) -> Iterator[Path]:
    """Lend a folder for a copy."""
    with disposable(private) as room:
        yield room.folder
