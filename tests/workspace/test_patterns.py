"""Globs: the rules of .gitignore, as git itself applies them, and nothing that keeps the matcher busy."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from flow_mcp.workspace.patterns import (
    CI_FILES,
    DEFAULT_PROTECTED,
    GLOBS_MAX,
    TEST_CONFIGURATION,
    TEST_FILES,
    matches,
    safe_glob,
)
from tests.workspace.rig import Repo

PATHS = ("a", "a/b", "a/b/c.py", "b.py", "src/b.py", "src/deep/b.py", "build/x", "src/build/x", "x.log", "a/x.log")


@pytest.mark.parametrize(
    ("globs", "found"),
    [
        ([], set()),
        (["b.py"], {"b.py", "src/b.py", "src/deep/b.py"}),
        (["/b.py"], {"b.py"}),
        (["src/b.py"], {"src/b.py"}),
        (["src/*.py"], {"src/b.py"}),
        (["src/**"], {"src/b.py", "src/deep/b.py", "src/build/x"}),
        (["src/**/b.py"], {"src/b.py", "src/deep/b.py"}),
        (["build/"], {"build/x", "src/build/x"}),
        (["a"], {"a", "a/b", "a/b/c.py", "a/x.log"}),
        (["*.log", "!a/x.log"], {"x.log"}),
        (["?.py"], {"a/b/c.py", "b.py", "src/b.py", "src/deep/b.py"}),
        (["[a-b].py", "[!ac]"], {"a/b", "a/b/c.py", "b.py", "src/b.py", "src/deep/b.py", "build/x", "src/build/x"}),
        (["**"], set(PATHS)),
        (["*"], set(PATHS)),
        (["nothing"], set()),
        (["[z-z].none"], set()),
    ],
)
def test_globs_name_what_gitignore_rules_would(globs: list[str], found: set[str]) -> None:
    assert matches(globs, PATHS) == found


def test_a_glob_names_the_path_that_it_spells(repo: Repo) -> None:
    assert matches(["app/[id]/page.tsx"], ["app/[id]/page.tsx", "app/i/page.tsx", "app/x/page.tsx"]) == {
        "app/[id]/page.tsx",
        "app/i/page.tsx",
    }
    assert repo.digest(["app/[id]/page.tsx"]) == repo.digest()


_parts = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "a*b*", "?", "**", "[ab]", "[!a]", "***"])
_globs = st.builds(
    lambda sign, start, parts, end: sign + start + "/".join(parts) + end,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(_parts, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
).filter(lambda glob: not glob.endswith("**/"))  # pathspec takes "a/**/" for the files of a too, git does not
_paths = st.lists(st.sampled_from(["a", "b", "ab", "aab", "c"]), min_size=1, max_size=4).map("/".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(_globs, max_size=4), st.lists(_paths, max_size=6))
def test_globs_match_as_pathspec_does(globs: list[str], paths: list[str]) -> None:
    spec = GitIgnoreSpec.from_lines(globs)
    assert matches(globs, paths) == {path for path in paths if path in globs or spec.match_file(path)}


@pytest.mark.parametrize(
    ("glob", "words"),
    [
        ("", "is empty"),
        ("!", "is empty"),
        ("/", "is empty"),
        ("../x", "leave the workspace"),
        ("a/../b", "leave the workspace"),
        ("~/x", "is absolute"),
        ("//x", "is absolute"),
        ("a\\*b", "backslash"),
        ("a\nb", "control character"),
        ("#x", "is a comment"),
        ("[[:alpha:]]", "brackets"),
        ("[a", "brackets"),
        ("[]a]", "brackets"),
        ("[a&&b]", "brackets"),
        ("a/[...slug]/[[...slug]]", "brackets"),
        ("[z-a]", "brackets"),
        ("a//b", "empty name"),
        ("a" * 1025, "longer than 1024 characters"),
    ],
)
def test_a_glob_that_cannot_be_matched_is_refused_in_plain_words(glob: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        safe_glob(glob)
    assert len(str(caught.value)) < 300
    with pytest.raises(ValueError, match=words):
        matches([glob], ["a"])


@pytest.mark.parametrize("glob", ["*a*b*c*d*", "a/**/b/**/c/**/d/**", "!src/x", "a b", "[a-z0-9_].py", "a" * 1024])
def test_an_ordinary_glob_is_given_back(glob: str) -> None:
    assert safe_glob(glob) == glob


def test_one_thousand_and_twenty_four_globs_are_taken_and_one_more_is_refused() -> None:
    globs = [f"f{number}" for number in range(GLOBS_MAX)]
    assert matches(globs, ["f7", "g"]) == {"f7"}
    with pytest.raises(ValueError, match="more than 1024 globs"):
        matches([*globs, "one-more"], ["f7"])


def test_the_costliest_glob_on_the_costliest_name_takes_little_time() -> None:
    started = time.process_time()
    costly = ["*a*a*a*a*a*b", "**/*a*a*a*b/**/*a*a*a*b/**/a*a/**/*b", "*a*?*a*?*b/", "a/**/a/**/a/**/a/**/b"]
    paths = ["/".join(["a" * 255] * 15), "/".join(["a" * 254 + "b"] * 14 + ["a" * 255]), "a/" * 100 + "c"]
    for globs in (costly, [*costly, "!c"]):
        assert matches(globs, [path for path in paths for _ in range(20)]) <= {paths[1]}
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_app.py",
        "pkg/tests/data.json",
        "test_app.py",
        "pkg/app_test.py",
        "tests/fixtures/x.json",
        "src/__tests__/app.js",
        "src/__snapshots__/app.js.snap",
        "src/app.test.ts",
        "src/app.test.tsx",
        "src/app.spec.mjs",
        "test/app.js",
        "cypress/e2e/login.cy.ts",
        "pkg/app_test.go",
        "pkg/testdata/golden",
        "crate/tests/it.rs",
        "src/test/java/AppTest.java",
        "core/src/test/resources/x.xml",
        "src/AppTests.cs",
        "spec/models/user_spec.rb",
        "spec/spec_helper.rb",
        "suite.bats",
        "tests/AppTest.php",
        "src/app_unittest.cc",
        "test.sh",
        "tests.sh",
        "scripts/test.sh",
        "run_tests.sh",
        "run-tests.py",
        "tools/run_test.sh",
        "run-test.js",
        "cart_test.sh",
        "cart-test.sh",
        "test_cart.sh",
        "test-cart.sh",
        "test.py",
        "tests.py",
        "shop/tests.py",
        "test.js",
        "tests.mjs",
        "test.ts",
    ],
)
def test_what_tests_are_made_of_is_a_test_file_and_protected(path: str) -> None:
    assert matches(TEST_FILES, [path]) == {path}
    assert matches(DEFAULT_PROTECTED, [path]) == {path}


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "pkg/conftest.py",
        "pytest.ini",
        "tox.ini",
        "noxfile.py",
        "sitecustomize.py",
        "jest.config.js",
        "web/vitest.config.ts",
        ".mocharc.yml",
        "playwright.config.ts",
        ".config/nextest.toml",
        "src/main/resources/junit-platform.properties",
        ".rspec",
        "phpunit.xml.dist",
        "CTestCustom.cmake",
    ],
)
def test_what_steers_a_test_runner_is_test_configuration_and_protected(path: str) -> None:
    assert matches(TEST_CONFIGURATION, [path]) == {path}
    assert matches(DEFAULT_PROTECTED, [path]) == {path}


@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile", ".ci/run"]
)
def test_ci_files_are_protected_and_no_tests(path: str) -> None:
    assert matches(CI_FILES, [path]) == {path}
    assert matches(DEFAULT_PROTECTED, [path]) == {path}
    assert matches((*TEST_FILES, *TEST_CONFIGURATION), [path]) == set()


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "setup.cfg",
        "package.json",
        "Cargo.toml",
        "go.mod",
        "pom.xml",
        "Makefile",
        "src/app.py",
        "src/latest.py",
        "src/contest.js",
        "docs/spec/api.md",
        "README.md",
        "testing.md",
        "src/attest.go",
        "src/test.py",
        "src/test.js",
        "latest.sh",
        "contest.sh",
        "src/rerun_tests_later.md",
        ".github/CODEOWNERS",
    ],
)
def test_what_every_feature_edits_and_what_only_sounds_like_a_test_is_not_protected(path: str) -> None:
    assert matches(DEFAULT_PROTECTED, [path]) == set()


def test_every_default_is_a_glob_that_a_plan_could_write() -> None:
    assert all(safe_glob(glob) == glob for glob in DEFAULT_PROTECTED)
    assert len(set(DEFAULT_PROTECTED)) == len(DEFAULT_PROTECTED)
