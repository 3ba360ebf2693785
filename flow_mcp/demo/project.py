"""The small real repository that the demo works in, and the edits that its agent makes there."""

import os
import subprocess
import sys
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld

START: dict[str, str] = {
    "words.py": '"""Small helpers for titles."""\n\n\ndef shout(text: str) -> str:\n    return text.upper()\n',
    "tests/test_words.py": (
        "from words import shout\n\n\n"
        'def test_shout() -> None:\n    assert shout("hi") == "HI"\n\n\n'
        'def test_shout_keeps_blanks() -> None:\n    assert shout("a b") == "A B"\n'
    ),
    "conftest.py": "",
    ".gitignore": ".flow/\n__pycache__/\n.pytest_cache/\n",
    "README.md": "# words\n\nHelpers for titles.\n",
}

SLUG_BROKEN = '\n\ndef slugify(text: str) -> str:\n    return text.replace(" ", "-")\n'
SLUG_NAIVE = '\n\ndef slugify(text: str) -> str:\n    return text.lower().replace(" ", "-")\n'
SLUG_RIGHT = '\n\ndef slugify(text: str) -> str:\n    return "-".join(text.lower().split())\n'
SLUG_TEST = (
    'from words import slugify\n\n\ndef test_slugify() -> None:\n    assert slugify("Hello World") == "hello-world"\n'
)
SLUG_TEST_BLANKS = (
    SLUG_TEST
    + '\n\ndef test_slugify_joins_blanks() -> None:\n    assert slugify("  Hello   World ") == "hello-world"\n'
)
UNIQUE = (
    "\n\ndef unique(slug: str, taken: set[str]) -> str:\n"
    "    number, found = 1, slug\n"
    "    while found in taken:\n"
    '        number, found = number + 1, f"{slug}-{number + 1}"\n'
    "    return found\n"
)
UNIQUE_TEST = (
    'from words import unique\n\n\ndef test_unique() -> None:\n    assert unique("a", {"a", "a-2"}) == "a-3"\n'
)


class NoTool(BrokenWorld):
    """Something that the demo's project needs is not on this machine."""


class Project:
    """A git repository with a module, its tests, and an agent's edits."""

    def __init__(self, folder: Path) -> None:
        """Name the folder."""
        self.folder = folder

    def make(self) -> None:
        """Write the files and commit them.

        Raises:
            NoTool: where git or pytest is missing.
        """
        self._need("git", ["git", "--version"], "Install git.")
        self._need("pytest", [sys.executable, "-m", "pytest", "--version"], f"{sys.executable} -m pip install pytest")
        for name, text in START.items():
            self.write(name, text)
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("add", ".")
        self._git("commit", "--quiet", "--message=Helpers for titles")

    def _need(self, what: str, command: list[str], remedy: str) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)  # noqa: S603 - fixed words
        except (OSError, subprocess.CalledProcessError) as error:
            seen = f"The demo needs {what}, and it does not start here."
            raise NoTool(seen, remedy) from error

    def _git(self, *words: str) -> None:
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        author = {"GIT_AUTHOR_NAME": "Demo", "GIT_AUTHOR_EMAIL": "demo@example.invalid"}
        committer = {"GIT_COMMITTER_NAME": "Demo", "GIT_COMMITTER_EMAIL": "demo@example.invalid"}
        env = {**os.environ, **quiet, **author, **committer}
        subprocess.run(  # noqa: S603 - an argument list, no shell
            ["git", *words],  # noqa: S607 - the user's git
            cwd=self.folder,
            env=env,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        """Read a file of the project."""
        return (self.folder / name).read_text(encoding="utf-8")

    def remove(self, name: str) -> None:
        """Remove a file of the project."""
        (self.folder / name).unlink()


def environment() -> dict[str, str]:
    """Give the servers' environment: this interpreter first, so that the plan can say ``python``."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path}
