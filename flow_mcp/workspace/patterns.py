"""Globs of a plan: the rules of ``.gitignore``, bounded so that no pattern can keep the matcher busy.

A glob without an inner slash names files in every folder, one with a slash starts at the workspace's top, and a
folder's name covers all that lies in it. A glob also matches the path that it spells letter by letter, so that
``app/[id]/page.tsx`` means that file.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from flow_mcp.workspace.paths import safe_relative
from flow_mcp.workspace.translate import Translated, translate

GLOB_CHARACTERS_MAX = 1024
GLOBS_MAX = 1024

_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_NOTHING = "(?!)"


def safe_glob(glob: str) -> str:
    """Give the glob back when it can be matched.

    Raises:
        ValueError: in plain words, for one that is no relative path, a comment, too long, or of unknown form.
    """
    _understood(glob)
    return glob


def _understood(glob: str) -> Translated:
    safe_relative(glob.removeprefix("!").removeprefix("/"))
    found = translate(glob, contents=True)
    if len(glob) > GLOB_CHARACTERS_MAX:
        problem = f"is longer than {GLOB_CHARACTERS_MAX} characters"
    elif glob.startswith("#"):
        problem = "is a comment"
    elif found is None:
        problem = (
            "has brackets beyond the kinds [abc], [a-z] and [!a], or an empty name; write '?' in place of brackets"
        )
    else:
        return found
    message = f"The glob {glob[:80]!r} {problem}."
    raise ValueError(message)


def matches(globs: Sequence[str], paths: Iterable[str]) -> frozenset[str]:
    """Give the paths that the globs name; a later glob that starts with ``!`` takes back.

    Raises:
        ValueError: in plain words, for a glob that ``safe_glob`` refuses, or more than 1,024 of them.
    """
    if len(globs) > GLOBS_MAX:
        message = f"There are more than {GLOBS_MAX} globs."
        raise ValueError(message)
    fits, spelled = _matcher(tuple(globs)), frozenset(globs)
    return frozenset(path for path in paths if path in spelled or fits(path))


@lru_cache(maxsize=256)
def _matcher(globs: tuple[str, ...]) -> Callable[[str], object]:
    translated = [_understood(glob) for glob in globs]
    if not all(each.include for each in translated):
        rules = [GitIgnoreSpecPattern(re.compile(each.whole()), each.include) for each in translated]
        return GitIgnoreSpec(rules, backend="simple").match_file
    # Without take-backs any match is a match: one expression asks for all, ten times faster than one by one.
    texts = {each: _NAMED_GROUP.sub("(?:", each.text) for each in translated}
    anywhere = "|".join(text for each, text in texts.items() if each.anywhere)
    anchored = "|".join(text for each, text in texts.items() if not each.anywhere)
    options = [rf"(?:\A|/)(?:{anywhere})"] * bool(anywhere) + [rf"\A(?:{anchored})"] * bool(anchored)
    return re.compile("|".join(options) or _NOTHING).search


# What counts as a test: cases, what they read, what they expect.
TEST_FILES: tuple[str, ...] = (
    # any language
    "tests/",
    "test/",
    "fixtures/",
    "testdata/",
    "e2e/",
    # scripts that run tests, whatever they are written in
    "test.sh",
    "tests.sh",
    "test_*.sh",
    "test-*.sh",
    "*_test.sh",
    "*-test.sh",
    "run_test.*",
    "run_tests.*",
    "run-test.*",
    "run-tests.*",
    # Python: pytest, unittest, Django
    "test_*.py",
    "*_test.py",
    "tests.py",
    "/test.py",
    # JavaScript: jest, vitest, mocha, node, playwright, cypress
    "__tests__/",
    "__mocks__/",
    "__fixtures__/",
    "__snapshots__/",
    "*.test.[jt]s",
    "*.test.[jt]sx",
    "*.test.[cm][jt]s",
    "*.spec.[jt]s",
    "*.spec.[jt]sx",
    "*.spec.[cm][jt]s",
    "*-test.[jt]s",
    "*-test.[cm][jt]s",
    "*_test.[jt]s",
    "*_test.[cm][jt]s",
    "/test.[jt]s",
    "/test.[cm][jt]s",
    "/tests.[jt]s",
    "/tests.[cm][jt]s",
    "*.cy.[jt]s",
    "*.cy.[jt]sx",
    "*.snap",
    "cypress/",
    # Go
    "*_test.go",
    # JVM: junit, testng
    "**/src/test/**",
    "*Test.java",
    "*Tests.java",
    "*IT.java",
    "*Test.kt",
    "*Tests.kt",
    "*Spec.groovy",
    "*Spec.scala",
    # .NET
    "*Test.cs",
    "*Tests.cs",
    # Ruby: rspec, minitest
    "*_spec.rb",
    "*_test.rb",
    "spec_helper.rb",
    "rails_helper.rb",
    # bats, for shell scripts
    "*.bats",
    # PHP: phpunit, pest
    "*Test.php",
    # C and C++: ctest, googletest
    "*_test.c",
    "*_test.cc",
    "*_test.cpp",
    "*_unittest.cc",
    "*_unittest.cpp",
    # Elixir, Dart
    "*_test.exs",
    "*_test.dart",
)

# What steers a test runner wherever it lies: which tests run, and what they may do before and after.
TEST_CONFIGURATION: tuple[str, ...] = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "tox.toml",
    "noxfile.py",
    ".coveragerc",
    "sitecustomize.py",
    "usercustomize.py",
    "jest.config.*",
    "jest.setup.*",
    "jest-setup.*",
    "setupTests.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vitest.setup.*",
    ".mocharc.*",
    "mocha.opts",
    "karma.conf.*",
    "cypress.config.*",
    "playwright.config.*",
    "ava.config.*",
    ".taprc",
    ".nycrc",
    ".nycrc.*",
    ".c8rc.json",
    ".config/nextest.toml",
    "junit-platform.properties",
    "testng.xml",
    ".rspec",
    ".rspec-local",
    "phpunit.xml",
    "phpunit.xml.dist",
    "phpunit.dist.xml",
    "CTestConfig.cmake",
    "CTestCustom.cmake",
    "CTestCustom.cmake.in",
    "*.runsettings",
    "xunit.runner.json",
)

CI_FILES: tuple[str, ...] = (
    ".github/workflows/**",
    ".github/actions/**",
    ".gitlab-ci.yml",
    ".gitlab/ci/**",
    ".circleci/**",
    ".buildkite/**",
    ".woodpecker/**",
    ".woodpecker.yml",
    ".drone.yml",
    ".travis.yml",
    ".cirrus.yml",
    ".appveyor.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    ".ci/**",
)

# Left out on purpose, although each can hold a test runner's settings: pyproject.toml, setup.cfg, package.json,
# Cargo.toml, go.mod, pom.xml, build.gradle, CMakeLists.txt, Gemfile, composer.json, Makefile. Nearly every feature
# edits one of them for a dependency or a version, and a final review that a waiver must rescue each time teaches
# people to waive. What a change there could do, to run fewer tests, is held by review.cases-kept; a plan
# whose features leave them alone can list them in ``protected``.
DEFAULT_PROTECTED: tuple[str, ...] = (*TEST_FILES, *TEST_CONFIGURATION, *CI_FILES)
