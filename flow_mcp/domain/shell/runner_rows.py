"""Which options and operands choose tests, runner by runner: the tables behind row plan.gate-whole.

Naming a part of a workspace (`cargo -p`, `pnpm --filter`, `gradle :app:test`) chooses tests where the runner has a form
for the whole. A directory does not: it is how suites are named. Neither does stopping early (`-x`, `--bail`): what did
not run is then missing from a result that failed anyway. An environment of tox or a session of nox is like a target of
make: its name is not a choice among tests.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flow_mcp.domain.shell.options import OptionTable


@dataclass(frozen=True, slots=True)
class Runner:
    """How one runner is told which tests to run.

    Attributes:
        verbs: ways of leading operands that make it a test run (`test`, `run/*`); `-` is none, `?` any word, `*` a
            word that sounds like a test.
        options: the options that choose tests.
        operands: the kind of reading its operands get (see `selectors`).
        after: the runner whose arguments stand after `--`; "" where they are its own operands.
    """

    verbs: tuple[tuple[str, ...], ...]
    options: OptionTable
    operands: str
    after: str


def row(names: str, verbs: str, options: OptionTable, operands: str, after: str) -> tuple[str, Runner]:
    """Make a table row from its cells; the first cell lists the programs it is for."""
    ways = tuple(tuple(verb.split("/")) if verb != "-" else () for verb in verbs.split())
    return names, Runner(ways, options, operands, after)


def indexed(rows: Iterable[tuple[str, Runner]]) -> dict[str, tuple[Runner, ...]]:
    """Map each program to the rows to try, in order."""
    index: dict[str, tuple[Runner, ...]] = {}
    for names, runner in rows:
        for name in names.split():
            index[name] = (*index.get(name, ()), runner)
    return index


VARIABLES: Final = {
    "PYTEST_ADDOPTS": "pytest",
    "NODE_OPTIONS": "node",
    "MOCHA_OPTIONS": "mocha",
    "GOFLAGS": "go",
    "SPEC_OPTS": "rspec",
    **dict.fromkeys(
        ("MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"), "mvn"
    ),
}
"""Variables whose value is read as a runner's arguments, whatever program is named beside them."""

CHOOSING_VARIABLE: Final = re.compile(
    r"GTEST_FILTER|GTEST_SHARD_INDEX|GTEST_TOTAL_SHARDS|TEST_SHARD_INDEX|TEST_TOTAL_SHARDS|TESTBRIDGE_TEST_ONLY"
    r"|TOX_SKIP_ENV|TOX_OVERRIDE|VSTestTestCaseFilter|npm_config_(?:workspace|filter)"
    r"|(?i:(?:PYTEST|JEST|VITEST|MOCHA|AVA|TAP|PLAYWRIGHT|PW|CYPRESS|CARGO|NEXTEST|CTEST|GRADLE|MAVEN|BATS|PHPUNIT"
    r"|RSPEC|NX|TURBO|BAZEL|TOX|NOX)_\w*(?:GREP|FILTER|SHARD|TAGS|PATTERN|SELECT|MATCH|PARTITION)\w*)"
)
"""Variables that choose tests by themselves."""
