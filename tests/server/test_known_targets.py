"""Which commands ask for what a project does not have; nothing is said where that is not certain."""

from pathlib import Path

import pytest

from flow_mcp.domain.plan import Command, Gate
from flow_mcp.server.known_targets import of_unknown_targets
from tests.cli.rig import PLAN

MAKEFILE = ".PHONY: test all\nall: test\ntest unit: a.c\n\tcc a.c\nFLAGS := -g\n"


def told(root: Path, run: str, files: dict[str, str], *targets: str, check: str = "") -> list[str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    checks = (Command(run=check),) if check else ()
    feature = PLAN.features[0].model_copy(update={"targets": targets or ("app.py",), "checks": checks})
    gate = Gate(run=run, no_report_because="None.")
    return [
        one.sentence
        for one in of_unknown_targets(root, PLAN.model_copy(update={"gate": gate, "features": (feature,)}), set(files))
    ]


def test_a_make_target_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    (sentence,) = told(tmp_path, "make -k tset", {"Makefile": MAKEFILE})
    assert sentence.startswith("The gate `make -k tset` asks for the target 'tset', which Makefile does not have, and")
    assert "the nearest is 'test'" in sentence
    (check,) = told(tmp_path, "make test", {"Makefile": MAKEFILE}, check="cd lib && make xyzzy")[:1] or [""]
    assert check == ""
    files = {"Makefile": MAKEFILE, "lib/Makefile": "one:\n"}
    (check,) = told(tmp_path, "make test", files, check="cd lib && make xyzzy")
    assert check.startswith("The command `cd lib && make xyzzy` asks for the target 'xyzzy', which lib/Makefile does")


@pytest.mark.parametrize(
    ("run", "files"),
    [
        ("make test", {"Makefile": MAKEFILE}),
        ("CC=gcc make unit FLAGS=-O2", {"Makefile": MAKEFILE}),
        ("make", {"Makefile": MAKEFILE}),
        ("make a.c", {"Makefile": MAKEFILE, "a.c": ""}),
        ("make -C lib tset", {"Makefile": MAKEFILE}),
        ("make tset", {}),
        ("make tset", {"Makefile": "include other.mk\n"}),
        ("make tset", {"Makefile": "t%: a\n\ttrue\n"}),
        ("make tset", {"Makefile": "$(NAMES): a\n"}),
        ("cd .. && make tset", {"Makefile": MAKEFILE}),
        ("cd a b && make tset", {"Makefile": MAKEFILE}),
        ("cd /tmp && make tset", {"Makefile": MAKEFILE}),
        ("make 'tset", {"Makefile": MAKEFILE}),
        ("npm test", {"package.json": '{"scripts": {"test": "x"}}'}),
        ("npm install", {"package.json": "{}"}),
        ("npm run", {"package.json": "{}"}),
        ("npm run tset", {}),
        ("npm run tset", {"package.json": "{"}),
        ("npm run tset", {"package.json": "[]"}),
        ("npm run tset", {"package.json": '{"scripts": 1}'}),
        ("./check.sh", {"check.sh": ""}),
        ("sh check.sh", {}),
        ("make test && ./built", {"Makefile": MAKEFILE}),
    ],
)
def test_what_is_there_or_is_not_certain_is_not_told(tmp_path: Path, run: str, files: dict[str, str]) -> None:
    assert told(tmp_path, run, files) == []


def test_a_script_of_npm_and_a_program_of_the_workspace_are_looked_for(tmp_path: Path) -> None:
    (script,) = told(tmp_path, "npm run tset", {"package.json": '{"scripts": {"test": "x"}}'})
    assert "asks for the script 'tset', which package.json does not have, and the nearest is 'test'" in script
    (bare,) = told(tmp_path, "pnpm test", {"package.json": "{}"})
    assert "asks for the script 'test', which package.json does not have." in bare
    (program,) = told(tmp_path, "./check.sh all", {})
    assert "asks for itself, a program of the workspace" not in program
    assert "names check.sh, which is not there." in program


def test_what_a_feature_is_to_make_is_not_told(tmp_path: Path) -> None:
    assert told(tmp_path, "make tset", {"Makefile": MAKEFILE}, "Makefile") == []
    assert told(tmp_path, "./check.sh", {}, "check.sh") == []


def test_a_makefile_that_cannot_be_read_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(MAKEFILE)
    (tmp_path / "Makefile").symlink_to("real")
    assert told(tmp_path, "make tset", {"real": MAKEFILE}) == []
    plan = PLAN.model_copy(update={"gate": Gate(run="make tset", no_report_because="None.")})
    assert list(of_unknown_targets(tmp_path, plan, {"Makefile"})) == []
