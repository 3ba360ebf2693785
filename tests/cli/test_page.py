"""The page on the command line names every verb, option and exit code, and no other verb."""

import re
import subprocess
from pathlib import Path

import pytest

from flow_mcp.cli.app import VERBS
from flow_mcp.cli.codes import MEANINGS
from flow_mcp.cli.init import ENTRIES
from flow_mcp.settings.layer import _KNOWN as KNOWN
from tests.cli.conftest import Flow
from tests.cli.rig import FLOW, Project

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command-line.md").read_text()
OPERATING = (ROOT / "docs" / "operating.md").read_text()
OPTIONS = {option for code in re.findall(r"`[^`\n]+`", PAGE) for option in re.findall(r"--[a-z-]+", code)}
NAMED = re.compile(r"`?flow-mcp ([a-z]+)")
# What follows the name of the command in a sentence, and is no verb.
WORDS = {"that"}


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_the_page_names_each_verb_and_its_options(verb: str, flow: Flow) -> None:
    shown = subprocess.run([FLOW, "serve", "--help"], check=True, capture_output=True).stdout.decode()
    told = shown if verb == "serve" else flow(verb, "--help").out
    options = set(re.findall(r"--[a-z-]+", told))
    assert "--help" in options
    assert f"`{verb}" in PAGE
    assert options - OPTIONS == set()


def test_the_page_names_each_exit_code_and_host() -> None:
    for code, meaning in MEANINGS:
        assert f"| {code} | {meaning} |" in PAGE.replace("`", "")
    assert all(f"`{host}`" in PAGE for host in ENTRIES)


def test_every_command_that_a_page_or_a_remedy_names_is_a_verb() -> None:
    known = {verb.name for verb in VERBS} | WORDS
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "flow_mcp").rglob("*.py")]
    named = {found for page in pages for found in NAMED.findall(page.read_text())}
    assert named - known == set()


def test_the_page_on_operating_names_everything_that_flow_keeps(pending: Project, flow: Flow) -> None:
    assert flow("gc").code == flow("call", "status").code == 0
    found = {path.name for path in (pending.root / ".flow").iterdir()} - {".gitignore"}
    named = set(re.findall(r"`([a-z]+)(?:/|\.lock)?`", OPERATING)) | set(re.findall(r"`([a-z]+\.lock)`", OPERATING))
    assert {"objects", "sources", "checks", "log"} <= found
    assert found <= named


def test_the_page_on_operating_names_every_setting() -> None:
    assert all(f"| `{name}` |" in OPERATING for name in KNOWN)


def test_the_examples_of_the_page_are_understood(flow: Flow, tmp_path: Path) -> None:
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    assert len(lines) > 10
    for line in lines:
        script = f"cd {tmp_path} && touch plan.json && {line.replace('flow-mcp', str(FLOW))} </dev/null"
        done = subprocess.run(["bash", "-c", script], check=False, capture_output=True, timeout=60)
        assert b"Traceback" not in done.stderr
        assert b"says how it is written" not in done.stderr, done.stderr
    assert flow("verify", "--workspace", str(tmp_path)).code == 0
