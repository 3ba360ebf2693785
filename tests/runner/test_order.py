"""What an order holds, and what of the server's environment reaches a command."""

from pathlib import Path

import pytest

from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, MARKER, Order, environment, is_token, new_token

_SECRET_OR_STEERING = (
    "GITHUB_TOKEN",
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "SSH_AUTH_SOCK",
    "HTTPS_PROXY",
    "PYTEST_ADDOPTS",
    "GOFLAGS",
    "NODE_OPTIONS",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASH_FUNC_ls%%",
    "PYTHONPATH",
    "LD_PRELOAD",
    "GIT_DIR",
    "FLOW_POLICY",
    "CI",
)


def test_only_allowed_names_reach_a_command() -> None:
    base = {"PATH": "/bin", "LC_ALL": "C", "LC_TIME": "C", "LCX": "no", "HOME": "/home/x", "OTHER": "no"}
    kept = environment(base, ("PATH", "LC_*"))
    assert kept == {"PATH": "/bin", "LC_ALL": "C", "LC_TIME": "C", "TERM": "dumb"}


def test_nothing_is_allowed_by_an_empty_list() -> None:
    assert environment({"PATH": "/bin", "": "x"}, ()) == {"TERM": "dumb"}


def test_the_servers_terminal_is_no_terminal_for_a_command() -> None:
    assert environment({"TERM": "xterm"}, ("TERM",))["TERM"] == "dumb"


def test_no_secret_and_nothing_that_steers_a_test_runner_is_allowed_by_default() -> None:
    base = dict.fromkeys(_SECRET_OR_STEERING, "x")
    assert environment(base, ALLOWED_BY_DEFAULT) == {"TERM": "dumb"}


def test_the_marker_of_an_outer_check_passes_through() -> None:
    assert environment({MARKER: "outer"}, ALLOWED_BY_DEFAULT)[MARKER] == "outer"


def _order(run: str | tuple[str, ...], token: str) -> Order:
    return Order(run, Path(), 1, {}, Path("output"), 1, 1, "deny", token, outside=(), ends_with_runner=False)


def test_every_new_token_is_another_and_can_be_a_word_of_a_marker() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(is_token(token) for token in tokens)


@pytest.mark.parametrize("word", ["", "a:b", "a b", "a\n", "a=b", "\u00e9"])
def test_a_word_that_a_marker_cannot_hold_is_no_token(word: str) -> None:
    assert not is_token(word)
    with pytest.raises(AssertionError, match="a token is one word"):
        _order("true", word)


def test_an_argument_list_without_a_program_is_no_order() -> None:
    with pytest.raises(AssertionError, match="begins with a program"):
        _order((), "word")
