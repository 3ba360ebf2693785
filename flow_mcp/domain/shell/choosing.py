"""What in a command narrows which tests run: row plan.gate-whole, read from the tables of known runners.

An unknown program has no selectors. Wrappers are seen through, and so are the containers and build tools in front of a
known runner, as far as their own words tell.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from flow_mcp.domain.shell import runners_compiled, runners_scripted
from flow_mcp.domain.shell.launch import launch, program_name
from flow_mcp.domain.shell.options import Hit, scan
from flow_mcp.domain.shell.runner_rows import CHOOSING_VARIABLE, VARIABLES, Runner, indexed
from flow_mcp.domain.shell.words import Command, Fault, Word, assignment_of, fault, names, plain_word

RUNNERS: Final = indexed((*runners_scripted.ROWS, *runners_compiled.ROWS))
"""Program name → its rows. A name in angle brackets is no program: it stands after another's `--`."""

_OPTION: Final = "an option that chooses which tests run"
_OPERAND: Final = "an argument that names some of the tests"
_MODE: Final = "a mode that runs only some of the tests"
_VARIABLE: Final = "a variable that chooses which tests run"
_HIDDEN: Final = "a word that only the machine can spell out, where tests can be chosen"
_PIPED: Final = "xargs names the tests that run"

CONTAINER_WORDS_MAX: Final = 256

_BUILD_TOOLS: Final = names("make gmake rake just task ninja")
_MANAGERS: Final = names("pnpm yarn bun")
_NODES: Final = names("node nodejs tsx ts-node")
_CONTAINERS: Final = names("docker podman nerdctl docker-compose kubectl")

_SOURCE: Final = re.compile(
    r"(?i)\.(?:[cm]?[jt]sx?|pyi?|rb|php|go|rs|java|kts?|bats|t|exs|swift|dart|feature|robot|cs|txt|rst|md|ipynb|ya?ml"
    r"|vue|svelte)(?::\d[\d:]*|\[[^\]]*\])?$"
)
_EVERY_TEST: Final = re.compile(
    r"(?i)(?:tests?[_-]?)?\*+(?:[._-]?(?:tests?|specs?|cy|e2e|unit|integration|\{[\w,]+\}))*"
    r"(?:\.(?:\w{1,4}|\{[\w,]+\}))?"
)
_TEST_MODULE: Final = re.compile(r"\w+(?:\.\w+)*\.test_\w+")
_DIRECTORY: Final = names(
    "src test tests spec specs lib packages package app apps e2e unit integration functional features __tests__ source"
) | {""}
_PATTERN: Final = re.compile(r"[|()^$\\*+?\[\]]")
_LEADING_EXPANSION: Final = re.compile(r"\$(?:\w+|\{\w+\})(?!/)(?!\w)")
_TEST_SCRIPT: Final = re.compile(
    r"(?i)(?!.*(?:lint|type|format|build))(?:t|.*(?:test|tst|spec|e2e|check|verify|jest|mocha|cypress|playwright|unit"
    r"|integration|coverage).*)"
)
_HARMLESS_PLUGINS: Final = names(
    "cacheprovider randomly random_order random-order xdist xdist.looponfail warnings logging sugar faulthandler cov "
    "pytest_cov timeout pytest_timeout rerunfailures benchmark pastebin threadexception unraisableexception stepwise "
    "terminalreporter debugging legacypath html metadata"
)
_CHOOSING_INI: Final = names(
    "addopts python_files python_classes python_functions testpaths norecursedirs collect_ignore collect_ignore_glob"
)
_CHOOSING_PROPERTY: Final = re.compile(
    r"(?i)(?:it\.)?tests?(?:\.single)?|skip(?:\w*tests?\w*|its?|uts?)|skip[.\-_].*tests?"
    r"|(?:.*\.)?tests?\.skip(?:\.exec)?"
    r"|(?:excluded)?groups|(?:surefire|failsafe)\.(?:in|ex)cludes\w*|vsTestTestCaseFilter|(?:in|ex)cluded?-?tags"
    r"|cucumber\.filter\.\w+|(?=.*test).*(?:filter|include|exclude|only)\w*"
)
_TEST_TASK: Final = re.compile(r"(?i).*(?:test|check|verif).*")
_MAKE_CHOICE: Final = re.compile(
    r"(?i)(?!(?:PY|C|GO)TEST$)\w*TESTS?(?:_?(?:CASES?|FILTERS?|NAMES?|PATHS?|FILES?|SUITES?|PATTERN|SELECT\w*|SKIP|ONLY"
    r"|EXCLUDE|TARGETS?|PKGS?|PACKAGES?|RUN))?|T|K|FILTER|GREP|PATTERN|ONLY|SKIP|EXCLUDE|SPECS?|SUITES?|MARK(?:ER)?S?"
    r"|WHAT|PKGS?|PACKAGES?|RUN|MATCH"
)
_MAKE_ARGUMENTS: Final = re.compile(
    r"(?i)(?:\w*(?:TEST|SPEC|JEST|MOCHA|SUITE|GO|CARGO)\w*)?(?:ARGS|OPTS|FLAGS|OPTIONS)"
)
_SWITCH: Final = re.compile(r"(?i)|[\d.]+%?|yes|no|true|false|on|off")
_SHORT_CHOICES: Final = names("-k -m -t -g -R -E -L -LE -I -run -skip -short")


def command_selectors(command: Command) -> Iterator[Fault]:
    """Say what one simple command holds that chooses tests."""
    run = launch(command.words)
    name = program_name(run.words[0]) if run.words else ""
    for variable, value in (*command.assignments, *run.assignments):
        yield from _variable_faults(variable, value, name)
    found = _program_faults(run.words)
    if found is not None and any(stage.name == "xargs" for stage in run.stages):
        yield fault(_PIPED, " ".join(word.raw for word in command.words))
    yield from found or ()
    if name in _BUILD_TOOLS:
        for word in run.words[1:]:
            yield from _assigned_faults(word, name)
    if name in _CONTAINERS:
        yield from _container_faults(run.words)


def _program_faults(words: tuple[Word, ...]) -> list[Fault] | None:
    """Judge a program's arguments; None where it is no known runner."""
    name = program_name(words[0]) if words else ""
    if name in _NODES and not any(word.text.startswith("--test") for word in words):
        return None
    rows = RUNNERS.get(name, ())
    if name in _MANAGERS:
        first = scan(rows[-1].options, words[1:]).operands[:1]
        if first and program_name(first[0]) in RUNNERS:
            return _managed_faults(rows[-1], words, words.index(first[0], 1))
    for runner in rows:
        operands = tuple(word for word in scan(runner.options, words[1:]).operands if not word.text.startswith("+"))
        depth = _verb_length(runner, operands)
        if depth is not None:
            return list(_argument_faults(runner, words[1:], operands[:depth], operands[depth:]))
    return None


def _managed_faults(manager: Runner, words: tuple[Word, ...], position: int) -> list[Fault]:
    """Judge `pnpm OPTIONS vitest …`: the manager's own options, then the runner that it starts."""
    own = _argument_faults(manager, words[1:position], (), ())
    return [*own, *(_program_faults(words[position:]) or ())]


def _verb_length(runner: Runner, operands: tuple[Word, ...]) -> int | None:
    """Count the leading operands that say "run the tests"; None where they say something else."""
    for verb in runner.verbs:
        said = operands[: len(verb)]
        if len(said) == len(verb) and all(_same_verb(want, word.text) for want, word in zip(verb, said, strict=True)):
            return len(verb)
    return None


def _same_verb(want: str, text: str) -> bool:
    if want == "*":
        return _TEST_SCRIPT.fullmatch(text) is not None
    return want in {text, "?"}


def _argument_faults(
    runner: Runner, words: tuple[Word, ...], verb: tuple[Word, ...], operands: tuple[Word, ...]
) -> Iterator[Fault]:
    seen = scan(runner.options, words)
    for hit in seen.hits:
        if _chooses(hit):
            yield fault(_OPTION, hit.shown)
    for option in seen.options:
        if option.is_pattern and _PATTERN.search(option.text.partition("=")[0]):
            yield fault(_HIDDEN, option.raw)
    if runner.operands == "verb":
        yield fault(_MODE, " ".join(word.raw for word in verb))
    if runner.after:
        yield from _argument_faults(RUNNERS[runner.after][0], seen.rest, (), _operands_of(runner.after, seen.rest))
    else:
        operands += seen.rest
    yield from _operand_faults(runner.operands, operands)


def _operands_of(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """List the operands among a runner's arguments."""
    return scan(RUNNERS[name][0].options, words).operands


def _operand_faults(kind: str, operands: tuple[Word, ...]) -> Iterator[Fault]:
    for position, word in enumerate(operands):
        if word.varies and _LEADING_EXPANSION.match(word.text):
            yield fault(_HIDDEN, word.raw)
        elif _names_tests(kind, position, operands):
            yield fault(_OPERAND, word.raw)


def _names_tests(kind: str, position: int, operands: tuple[Word, ...]) -> bool:
    text = operands[position].text
    if kind == "labels" and operands[0].text == "discover":
        return position == 2 and not _is_every_test(text)  # noqa: PLR2004 - discover, folder, pattern
    return _KINDS[kind](text)


def _is_every_test(text: str) -> bool:
    return _EVERY_TEST.fullmatch(text.rsplit("/", 1)[-1]) is not None


def _is_file(text: str) -> bool:
    named = "::" in text or text.startswith("@") or _TEST_MODULE.fullmatch(text) or _SOURCE.search(text)
    return bool(named) and not _is_every_test(text)


def _is_pattern(text: str) -> bool:
    if _is_file(text):
        return True
    if _is_every_test(text) or _SWITCH.fullmatch(text) or text.rstrip("/.").lower() in _DIRECTORY:
        return False
    return "/" not in text or _PATTERN.search(text) is not None


def _is_label(text: str) -> bool:
    """Dotted names and modules choose; a package or a directory is a suite."""
    if "/" in text or text in {".", ".."}:
        return _is_file(text)
    return "." in text or text.startswith("test_") or text.endswith("_test")


def _is_task(text: str) -> bool:
    """A task of one project, where the same task without a way runs in all."""
    return ":" in text.removeprefix(":") and _TEST_TASK.fullmatch(text) is not None


def _is_build_argument(text: str) -> bool:
    lower = text.lower()
    return lower.startswith(("/tests:", "/testcasefilter:", "-p:vstest", "/p:vstesttestcasefilter")) or (
        re.search(r"(?:where|filter)\w*=", lower) is not None
    )


_KINDS: Final[Mapping[str, Callable[[str], bool]]] = {
    "none": lambda _: False,
    "verb": lambda _: False,
    "any": lambda _: True,
    "files": _is_file,
    "patterns": _is_pattern,
    "labels": _is_label,
    "packages": lambda text: text not in {"./...", "...", "all"},
    "tasks": _is_task,
    "targets": lambda text: text not in {"//...", "...", "//...:all", "//...:*"},
    "msbuild": _is_build_argument,
    "sbt": lambda text: re.search(r"(?i)\btest-?(?:only|quick)\b", text) is not None,
}


def _chooses(hit: Hit) -> bool:
    """Ask the check that a table names for an option's value."""
    if hit.check is None or hit.value is None:
        return True
    return hit.value.varies or _CHECKS[hit.check](hit.value.text)


def _is_harmful_plugin(value: str) -> bool:
    name = value.partition(":")[2]
    return value.startswith("no:") and name.removeprefix("pytest_").removeprefix("pytest-") not in _HARMLESS_PLUGINS


def _is_choosing_setting(value: str) -> bool:
    name, _, setting = value.partition("=")
    if name == "addopts" and name not in setting:
        return any(_text_faults("pytest", setting))
    return name in _CHOOSING_INI


def _is_choosing_property(value: str) -> bool:
    name, _, setting = value.removeprefix(":").partition("=")
    return _CHOOSING_PROPERTY.fullmatch(name.strip()) is not None and setting.lower() != "false"


_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "": lambda _: True,
    "plugin": _is_harmful_plugin,
    "ini": _is_choosing_setting,
    "property": _is_choosing_property,
    "glob": lambda value: not _is_every_test(value),
    "task": lambda value: _TEST_TASK.fullmatch(value) is not None,
    "json": lambda value: value.startswith("{"),
    "grep": lambda value: re.search(r"(?i)grep|spec", value) is not None,
    "ignored": lambda value: value != "all",
    "packages": lambda value: value not in {"./...", "..."},
    "state": lambda value: value != "save",
}


def _text_faults(runner: str, text: str) -> Iterator[Fault]:
    """Judge a text that a program will split and read as a runner's arguments."""
    words = _split(text)
    yield from _argument_faults(RUNNERS[runner][0], words, (), _operands_of(runner, words))


def _split(text: str) -> tuple[Word, ...]:
    try:
        parts = shlex.split(text)
    except ValueError:
        parts = text.split()
    return tuple(Word(part, part, varies="$" in part) for part in parts)


def _variable_faults(name: str, value: Word, program: str) -> Iterator[Fault]:
    shown = f"{name}={value.raw}"
    runner = VARIABLES.get(name)
    carried = runner is not None and any(_text_faults(runner, value.text))
    named = CHOOSING_VARIABLE.fullmatch(name) is not None and value.text != ""
    if carried or named or (program in _BUILD_TOOLS and _make_chooses(name, value.text)):
        yield fault(_VARIABLE, shown)


def _assigned_faults(word: Word, program: str) -> Iterator[Fault]:
    assignment = assignment_of(word)
    if assignment is not None:
        yield from _variable_faults(*assignment, program)


def _make_chooses(name: str, value: str) -> bool:
    """True where a build tool's variable names tests, or carries options that do."""
    if _MAKE_ARGUMENTS.fullmatch(name):
        return any(_is_choice(part.text.partition("=")[0]) or _is_file(part.text) for part in _split(value))
    return _MAKE_CHOICE.fullmatch(name) is not None and _SWITCH.fullmatch(value) is None


def _is_choice(option: str) -> bool:
    return option in _ALL_CHOICES or "--" + option.replace("-", "").lower() in _ALL_CHOICES


_ALL_CHOICES: Final = _SHORT_CHOICES | {
    option
    for rows in RUNNERS.values()
    for row in rows
    for option in row.options.picks
    if option.startswith("--") and option not in {"--help", "--version"}
}


def _container_faults(words: tuple[Word, ...]) -> Iterator[Fault]:
    """Look for the first known runner among the words that a container is started with."""
    for word in words[1:]:
        yield from _assigned_faults(plain_word(word.text.removeprefix("--env=")), "")
    for position in range(1, min(len(words), CONTAINER_WORDS_MAX)):
        found = _program_faults(launch(words[position:]).words)
        if found is not None:
            yield from found
            return
