"""The platform's name."""

import sys

import pytest

from flow_mcp.workspace.platform import this_platform


@pytest.mark.parametrize(
    ("system", "name"),
    [("linux", "linux"), ("darwin", "darwin"), ("win32", "win32"), ("freebsd14", "other"), ("cygwin", "other")],
)
def test_the_platform_is_what_the_interpreter_runs_on(system: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("OSTYPE", "plan9")
    assert this_platform() == name
