"""Ignore rules without git, held against git's own answer."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flow_mcp.workspace import ignore as ignore_module
from flow_mcp.workspace.ignore import OversizedRules, ignores
from flow_mcp.workspace.paths import Descent
from tests.workspace.rig import Repo

_lines = st.builds(
    lambda sign, start, parts, end: sign + start + "/".join(parts) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from(["a", "b", "c", "*", "a*", "?", "**", "[!a]", "\\b", "*b*"]), min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)
_TREE = [f"{first}/{second}/{third}" for first in "ab" for second in "ab" for third in ("a", "b", "c")]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(top=[], inner=["a", "!a/*"])
@example(top=[], inner=["a/**/"])
@example(top=["b"], inner=["a", "!a"])
@example(top=["a/**", "!a/b"], inner=[])
@given(top=st.lists(_lines, max_size=3), inner=st.lists(_lines, max_size=2))
def test_random_rules_leave_out_what_git_leaves_out(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], inner: list[str]
) -> None:
    tree = Repo(tmp_path_factory.mktemp("tree"))
    for path in _TREE:
        tree.write(path)
    tree.write(".gitignore", "\n".join(top))
    tree.write("a/.gitignore", "\n".join(inner))
    without = tree.paths()
    tree.started()
    assert without == tree.paths(), (top, inner)


@pytest.mark.parametrize(
    ("path", "is_folder", "ignored"),
    [
        ("build", True, True),
        ("build", False, False),
        ("build/new/file.py", False, True),
        ("src/x.log", False, True),
        ("src/keep.log", False, False),
        ("src/app.py", False, False),
        ("nowhere/at/all.log", False, True),
    ],
)
def test_a_path_that_does_not_exist_yet_is_asked_after_too(
    plain: Repo,
    path: str,
    is_folder: bool,  # noqa: FBT001 - a given value
    ignored: bool,  # noqa: FBT001 - an expected value
) -> None:
    plain.write(".gitignore", "build/\n*.log\n")
    plain.write("src/.gitignore", "!keep.log\n")
    with Descent(plain.root) as descent:
        assert ignores(descent, path.encode(), is_folder=is_folder) is ignored


def test_rules_of_a_planted_link_pipe_or_folder_are_not_read(plain: Repo, tmp_path: Path) -> None:

    (tmp_path / "rules").write_text("*\n")
    (plain.root / ".gitignore").symlink_to(tmp_path / "rules")
    os.mkfifo(plain.root / "src" / ".gitignore")
    (plain.root / "other" / ".gitignore").mkdir(parents=True)
    plain.write("other/file")
    assert {"src/app.py", "other/file"} <= set(plain.paths())


def test_marks_and_line_ends_of_other_systems_are_understood(plain: Repo) -> None:
    (plain.root / ".gitignore").write_bytes(b"\xef\xbb\xbf*.py\r\n*.txt\r\n")
    plain.write("a.txt")
    assert plain.paths() == [".gitignore", "README"]


def test_a_pattern_that_is_broken_too_long_or_unknown_is_passed_over_and_hides_nothing(plain: Repo) -> None:
    broken = ["[[:alpha:]]*", "[z-a]*", "!", "/", "", "src//app.py", "*\\", "a" * 1020 + "/../*", "[", "README"]
    plain.write(".gitignore", "\n".join(broken))
    assert plain.paths() == [".gitignore", "src/app.py"]


def test_rules_of_a_megabyte_are_read_and_more_is_refused(plain: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignore_module, "FILE_BYTES_MAX", 8)
    plain.write(".gitignore", "README\n\n")
    assert plain.paths() == [".gitignore", "src/app.py"]
    plain.write(".gitignore", "README\n\n\n")
    with pytest.raises(OversizedRules, match="more than 8 bytes"):
        plain.paths()
