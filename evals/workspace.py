"""A fresh workspace: a fixture's files in a real git repository, and what is done there outside of Flow."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.scenario import FIXTURES

FLOW = Path(sys.executable).with_name("flow-mcp")
PATIENCE_S = 60


class Workspace:
    """The folder of one scenario: the repository, and a home of its own."""

    def __init__(self, folder: Path, inner: str = ".") -> None:
        """Name the folder, which exists, and where in the repository the work is done."""
        self.folder = folder
        self.repository = folder / "repo"
        self.root = self.repository / inner
        self.home = folder / "home"

    @property
    def environment(self) -> dict[str, str]:
        """What every program gets: this interpreter first, an empty home, nobody's settings."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("FLOW_", "GIT_", "XDG_"))}
        path = os.pathsep.join([str(FLOW.parent), os.environ.get("PATH", os.defpath)])
        names = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
        author = {f"GIT_{name}": "eval@example.invalid" for name in names}
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1"}
        return {**kept, **author, **quiet, "PATH": path, "HOME": str(self.home)}

    def make(self, fixture: str, files: Mapping[str, str], *, git: bool = True) -> None:
        """Lay out the files, and commit them where there is git."""
        self.home.mkdir()
        shutil.copytree(FIXTURES / fixture, self.root, symlinks=True)
        for name, text in files.items():
            self.write(name, text)
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Start")) if git else ():
            subprocess.run(  # noqa: S603 - fixed words
                ["git", *words],  # noqa: S607 - the user's git
                cwd=self.repository,
                env=self.environment,
                check=True,
                capture_output=True,
                stdin=subprocess.DEVNULL,
            )

    def write(self, name: str, text: str) -> None:
        """Write a file; one that begins with ``#!`` is a program."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)

    def append(self, name: str, text: str) -> None:
        """Add to a file."""
        with (self.root / name).open("a", encoding="utf-8") as file:
            file.write(text)

    def remove(self, name: str) -> None:
        """Remove a file or a folder."""
        path = self.root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    async def run(self, words: Sequence[str]) -> tuple[int, str]:
        """Run a program in the workspace; give its exit code and what it wrote on standard output."""
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=self.root,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            out, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            return -1, ""
        return process.returncode or 0, out.decode("utf-8", "replace")

    async def shell(self, command: str) -> int:
        """Run a shell command, and give its exit code."""
        code, _ = await self.run(["sh", "-c", command])
        return code

    def documents(self) -> dict[str, dict[str, Any]]:
        """Read the documents as anybody could, by plan id, the one written last at the end; others are left out."""
        paths = sorted((self.repository / "plans").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        found: dict[str, dict[str, Any]] = {}
        for path in paths:
            try:
                found[path.stem] = json.loads(path.read_bytes())
            except ValueError:
                continue
        return found

    def edit(self, plan_id: str, value: Mapping[str, Any]) -> None:
        """Write a document by hand."""
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        (self.repository / "plans" / f"{plan_id}.json").write_text(text, encoding="utf-8")
