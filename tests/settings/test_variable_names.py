import pytest

from flow_mcp.runner.order import ALLOWED_BY_DEFAULT
from flow_mcp.settings.variable_names import NAME, PATTERN, covers, why_withheld

SECRETS = (
    *("API_TOKEN", "npm_token", "CLIENT_SECRET", "SIGNING_KEY", "DB_PASSWORD", "MYSQL_PASSWD", "GCP_CREDENTIALS"),
    *("AWS_REGION", "AWS_PROFILE", "AZURE_TENANT_ID", "GITHUB_ACTOR", "GH_HOST", "ANTHROPIC_BASE_URL", "OPENAI_ORG"),
    *("SSH_AUTH_SOCK", "DOCKER_HOST", "GPG_AGENT_INFO", "KUBECONFIG", "NETRC", "DBUS_SESSION_BUS_ADDRESS"),
    *("DATABASE_URL", "REDIS_URI", "SENTRY_DSN", "https_proxy", "HTTP_PROXY", "BASIC_AUTH", "SESSION_COOKIE"),
    *("GITHUB_PAT", "MYSQL_PWD", "SMTP_PASS", "PGPASSFILE", "SLACK_WEBHOOK", "MY_CREDS", "AUTH_JWT", "CLAUDE_CODE"),
)
STEERING = (
    *("PYTEST_ADDOPTS", "GOFLAGS", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "GTEST_FILTER", "JEST_SHARD", "TOX_SKIP_ENV"),
    *("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "GIT_DIR", "PYTHONPATH", "PERL5OPT", "RUBYOPT"),
    *("NODE_PATH", "CLASSPATH", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "BASHOPTS", "SHELLOPTS"),
)
HARMLESS = (
    *("CI", "TZ", "RUST_BACKTRACE", "PYTHONHASHSEED", "NODE_ENV", "BASE_URL", "COLUMNS", "JAVA_HOME", "DISPLAY"),
    *("PATTERN_DIR", "COMPASS", "AUTHOR", "ENVIRONMENT", "LDFLAGS", "CFLAGS", "PGHOST", "CARGO_TERM_COLOR"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_variable_whose_name_looks_like_a_secret_is_withheld(name: str) -> None:
    assert why_withheld(name) == "looks like a secret"


@pytest.mark.parametrize("name", STEERING)
def test_a_variable_that_steers_what_runs_is_withheld(name: str) -> None:
    assert why_withheld(name) == "can steer what a command runs"


@pytest.mark.parametrize("name", HARMLESS)
def test_an_ordinary_variable_is_not_withheld(name: str) -> None:
    assert why_withheld(name) is None


def test_no_variable_that_commands_get_by_default_would_be_withheld_from_a_repository() -> None:
    assert [name for name in ALLOWED_BY_DEFAULT if why_withheld(name.rstrip("*"))] == []


@pytest.mark.parametrize("name", ["A", "_", "a1", "npm_config_cache", "X" * 128])
def test_a_name_is_letters_digits_and_underscores_and_a_pattern_may_end_in_a_star(name: str) -> None:
    assert NAME.fullmatch(name)
    assert PATTERN.fullmatch(name)
    assert PATTERN.fullmatch(f"{name}*")
    assert not NAME.fullmatch(f"{name}*")


@pytest.mark.parametrize("name", ["", "*", "1A", "A B", "A=1", "A-B", "A.B", "**", "A**", "A*B", "É", "X" * 129, "A\n"])
def test_anything_else_names_no_variable(name: str) -> None:
    assert not NAME.fullmatch(name)
    assert not PATTERN.fullmatch(name)


def test_a_pattern_covers_what_begins_like_it_and_a_name_only_itself() -> None:
    assert covers(["B", "AWS_*"], "AWS_REGION")
    assert covers(["AWS_*"], "AWS_")
    assert covers(["AWS_REGION"], "AWS_REGION")
    assert not covers(["AWS_REGION"], "AWS_REGION_2")
    assert not covers(["AWS_*"], "MY_AWS_REGION")
    assert not covers([], "A")
