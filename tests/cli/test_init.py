import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from flow_mcp.cli.init import ENTRIES, Host, program
from tests.cli.conftest import Flow
from tests.cli.rig import FLOW, Project, run_flow


def parsed(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text) if text.startswith("{") else tomllib.loads(text)
    return found


def command_of(host: str, content: dict[str, Any]) -> list[str]:
    key = {"vscode": "servers", "opencode": "mcp", "codex": "mcp_servers", "zed": "context_servers"}
    entry = content[key.get(host, "mcpServers")]["flow"]
    if host == "opencode":
        assert entry["type"] == "local"
        return list(entry["command"])
    return [entry["command"], *entry["args"]]


@pytest.mark.parametrize("host", ENTRIES)
def test_the_entry_starts_the_installed_command(flow: Flow, host: Host) -> None:
    ended = flow("init", host)
    assert ended.code == 0
    assert ENTRIES[host].file in ended.err
    command, *arguments = command_of(host, parsed(ended.out))
    assert (Path(command).is_absolute(), arguments[0]) == (True, "serve")
    assert arguments[1:] in ([], ["--workspace", "${workspaceFolder}"])
    assert [command] == program()


def test_the_command_of_an_entry_serves(started: Project, flow: Flow) -> None:
    command, *_ = command_of("zed", parsed(flow("init", "zed").out))
    done = subprocess.run([command, "serve"], check=False, cwd=started.root, input=b"", capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("host", ENTRIES)
def test_json_has_the_file_the_entry_and_its_text(started: Project, flow: Flow, host: Host) -> None:
    body = flow("init", host, "--json", "--workspace", "here").body
    assert (body["host"], body["file"]) == (host, ENTRIES[host].file)
    assert parsed(body["text"]) == body["entry"]
    assert command_of(host, body["entry"])[-2:] == ["--workspace", str(started.root / "here")]
    assert len(body["notes"]) == 3


def test_nothing_is_written(started: Project, flow: Flow) -> None:
    before = sorted(started.root.rglob("*"))
    for host in ENTRIES:
        flow("init", host)
    assert sorted(started.root.rglob("*")) == before


def test_a_path_with_any_character_stays_what_it_is(started: Project, flow: Flow) -> None:
    odd = 'a "b" \\ c é \x7f'
    body = flow("init", "codex", "--json", "--workspace", odd).body
    assert command_of("codex", tomllib.loads(body["text"]))[-1] == str(started.root / odd)


def test_an_unknown_host_is_told_with_the_known_ones(started: Project, flow: Flow) -> None:
    for arguments in (("emacs",), ()):
        ended = flow("init", *arguments)
        assert ended.code == 2
    assert all(host in flow("init", "emacs").text for host in ENTRIES)
    assert run_flow(started, "init", "emacs", "--json").body["error"]["seen"].startswith("Invalid value")


def test_without_an_installed_command_this_python_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program() == [str(FLOW)] or os.name == "nt"
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    assert program() == [sys.executable, "-m", "flow_mcp"]
