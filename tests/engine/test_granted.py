"""Which values of a command's environment are taken for secrets."""

from pathlib import Path

import pytest

from flow_mcp.engine.granted import secret_names

ORDINARY = ("PATH", "LC_*")
RANDOM = "9f8e7d6c5b4a3f2e1d0c"


def is_hidden(name: str, value: str) -> bool:
    return secret_names({name: value}, (name,), ORDINARY) == (name,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "abc12345"),
        ("DB_PASSWORD", "correcthorsebattery"),
        ("DB_PASSWORD", "Correctho"),
        ("DB_PASSWORD", " 8675309001\n"),
        ("AWS_SECRET_ACCESS_KEY", "/not/a/path+but/Akey0123456789abcdefghij"),
        ("BASE_URL", "https://me:pa55word@host/x"),
        ("LICENSE", RANDOM),
    ],
)
def test_a_value_that_looks_like_a_secret_is_hidden(name: str, value: str) -> None:
    assert is_hidden(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", ""),
        ("GITHUB_TOKEN", "1"),
        ("GITHUB_TOKEN", "abc1234"),
        ("GITHUB_ACTIONS", "true"),
        ("PGPASSWORD", "postgres"),
        ("DB_PASSWORD", "DEVELOPMENT"),
        ("DB_PASSWORD", "xxxxxxxx--------"),
        ("DOCKER_HOST", "unix:///"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "./keys/google.json"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "~/keys/google.json"),
        ("RUST_BACKTRACE", "full"),
        ("LICENSE", RANDOM[:15]),
        ("LICENSE", "1212121212121212ab"),
        ("LICENSE", "abcdefghijklmnopqrst"),
        ("NODE_FLAGS", "--max-old-space-size=4096"),
        ("GREETING", "hello 1234567 and more words"),
        ("WEIRD", "\0" * 20),
    ],
)
def test_a_short_value_a_word_or_a_setting_is_not(name: str, value: str) -> None:
    assert not is_hidden(name, value)


def test_a_path_or_a_list_of_paths_that_are_there_is_not(tmp_path: Path) -> None:
    for value in (str(tmp_path), f"{tmp_path}:/", f"file://{tmp_path}"):
        assert not is_hidden("KEY_FILE", value)
    assert is_hidden("KEY_FILE", f"{tmp_path}:{tmp_path}/gone")
    assert is_hidden("KEY_FILE", f"/{'x1y2' * 3000}")


def test_only_what_a_configuration_grants_is_hidden() -> None:
    environment = {"PATH": RANDOM, "LC_KEY": RANDOM, "MY_KEY": RANDOM, "MY_OTHER": RANDOM, "NOT_KEY": RANDOM}
    assert secret_names(environment, ("MY_*", "PATH", "LC_KEY", "GONE"), ORDINARY) == ("MY_KEY", "MY_OTHER")
