"""Whether two globs can meet, decided from their text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flow_mcp.workspace.overlap import fixed_part, is_literal, overlap, within
from flow_mcp.workspace.patterns import matches


@pytest.mark.parametrize(
    ("glob", "target", "meet"),
    [
        ("src/app.py", "src/app.py", True),
        ("src/", "src/app.py", True),
        ("src/*.py", "src/app.py", True),
        ("src/*.txt", "src/app.py", False),
        ("*.py", "src/app.py", True),
        ("app.py", "src/app.py", True),
        ("/app.py", "src/app.py", False),
        ("lib/**", "src/app.py", False),
        ("src/generated/**", "src/**", True),
        ("*_gen.py", "src/**", True),
        ("*_gen.py", "src/*.py", True),
        ("*.pyc", "src/*.py", False),
        ("build/**", "src/**/*.py", False),
        ("dist/**", "src/**", False),
        ("__pycache__/", "src/**", True),
        ("src/gen.py/**", "src/*.py", True),
        ("dist/", "pyproject.toml", False),
        ("pyproject.*", "pyproject.toml", True),
        ("docs/setup.py", "setup.py", False),
        ("a/b/c/z", "a/**/z", True),
        ("b/**", "a/**/z", False),
        ("d/abc", "d/a?c", True),
        ("d/ac", "d/a?c", False),
        ("[ab]c/x", "ac/x", True),
        ("a*b*c/x", "a1b2c/x", True),
        ("*a/x.c", "a*b/x.c", False),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", True),
        ("!src/**", "src/app.py", False),
        ("src/**", "!src/app.py", False),
        ("anything/at/all", "**", True),
        (".env", "src", True),
    ],
)
def test_a_glob_overlaps_a_target_where_some_path_could_match_both(glob: str, target: str, meet: bool) -> None:  # noqa: FBT001 - an expected value
    assert overlap(glob, target, target_is_file=False) is meet


def test_a_target_that_is_a_file_has_nothing_in_it() -> None:
    assert overlap("dist/", "Makefile", target_is_file=False)
    assert not overlap("dist/", "Makefile", target_is_file=True)
    assert overlap("Makefile", "Makefile", target_is_file=True)


_parts = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "**", "[ab]"])
_globs = st.tuples(st.lists(_parts, min_size=1, max_size=3), st.sampled_from(["", "/"])).map(
    lambda made: "/".join(made[0]) + made[1]
)
_paths = st.lists(st.sampled_from(["a", "b", "ab", "aab", "c"]), min_size=1, max_size=4).map("/".join)


@settings(max_examples=500, deadline=None)
@given(_globs, _globs, st.lists(_paths, min_size=1, max_size=20))
@example("a/**", "*", ["a/b"])
def test_globs_that_match_one_path_are_never_said_to_be_apart(left: str, right: str, paths: list[str]) -> None:
    # A literal target counts from the top for the one, and in every folder for the other.
    asked = [path for path in paths if not is_literal(right) or "/" not in path]
    if matches([left], asked) & matches([right], asked):
        assert overlap(left, right, target_is_file=False)


@pytest.mark.parametrize(
    ("target", "outer", "inside"),
    [
        ("node_modules/x/index.js", "node_modules", True),
        ("node_modules/**", "node_modules/", True),
        ("src/**", "node_modules", False),
        ("packages/a/**", "packages/a/node_modules", False),
        ("src/**", "**", True),
        ("src/", "src", True),
        ("src/*.py", "src/*.py", True),
        ("src/*.py", "src/?*.txt", False),
        ("[ab].py", "?.py", True),
    ],
)
def test_a_target_lies_within_a_glob_that_covers_all_it_names(target: str, outer: str, inside: bool) -> None:  # noqa: FBT001 - an expected value
    assert within(target, outer) is inside


@pytest.mark.parametrize(
    ("glob", "fixed"),
    [
        ("src/app.py", "src/app.py"),
        ("/src/", "src"),
        ("src/**", "src"),
        ("src/a/*.py", "src/a"),
        ("*.py", ""),
        ("src/[ab]/x", "src"),
    ],
)
def test_the_fixed_part_ends_before_the_first_wildcard(glob: str, fixed: str) -> None:
    assert fixed_part(glob) == fixed
