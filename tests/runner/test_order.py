"""What of the server's environment reaches a command."""

from flow_mcp.runner.order import ALLOWED_BY_DEFAULT, MARKER, environment

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
