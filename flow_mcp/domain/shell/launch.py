"""Programs that start another program: what a command line really runs, seen through `env` and `timeout`.

The table holds, for each wrapper, which of its options take a word of their own, which name a Python module, and how
many operands come before the command. An unknown program is never a wrapper.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flow_mcp.domain.shell.words import Word, assignment_of, plain_word

STAGES_MAX: Final = 16
"""Wrappers that are seen through; what stands behind more of them is not judged, so it is refused."""

_SUFFIX: Final = re.compile(r"(?i)\.(?:exe|cmd|bat|ps1|[cm]?js|phar)$")
_PYTHON: Final = re.compile(r"(?i)(?:python|pypy|coverage)(?=[\d.-]*t?$)")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How one wrapper reads its own words.

    Attributes:
        verbs: the operands that make it a wrapper (`uv run`); none where it always is one.
        values: options that take a word of their own.
        modules: options whose value is the module to run; what follows belongs to the module.
        ends: options with which it starts no other program.
        operands: how many words come between its options and the command.
        assigns: whether `NAME=value` words may come before the command.
    """

    verbs: tuple[str, ...]
    values: frozenset[str]
    modules: frozenset[str]
    ends: frozenset[str]
    operands: int
    assigns: bool


@dataclass(frozen=True, slots=True)
class Stage:
    """One program of a chain with the arguments that are its own."""

    name: str
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """What one simple command runs.

    Attributes:
        assignments: variables set by wrappers, in order.
        stages: the wrappers, outermost first; the arguments of the command they start are not theirs.
        words: the program really run with its arguments; empty where the wrappers start nothing.
    """

    assignments: tuple[tuple[str, Word], ...]
    stages: tuple[Stage, ...]
    words: tuple[Word, ...]


def program_name(word: Word) -> str:
    """Reduce the way to a program to its name: `./node_modules/.bin/jest@29` and `jest.js` are `jest`."""
    name = word.text.replace("\\", "/").rsplit("/", 1)[-1]
    name = _SUFFIX.sub("", name[:1] + name[1:].split("@", 1)[0])
    python = _PYTHON.match(name)
    return python[0].lower() if python else name


def launch(words: tuple[Word, ...]) -> Launch:
    """See through wrappers until the program that does the work."""
    assignments: list[tuple[str, Word]] = []
    stages: list[Stage] = []
    while words and len(stages) < STAGES_MAX:
        step = _step(words)
        if step is None:
            break
        assignments += step.assignments
        stages += step.stages
        words = step.words
    return Launch(tuple(assignments), tuple(stages), words)


def _step(words: tuple[Word, ...]) -> Launch | None:
    name = program_name(words[0])
    tries = (_Reading(wrapper, words).outcome(name) for wrapper in _WRAPPERS.get(name, ()))
    return next((step for step in tries if step is not None), None)


class _Reading:
    """One wrapper read over one list of words."""

    def __init__(self, wrapper: Wrapper, words: tuple[Word, ...]) -> None:
        self._wrapper = wrapper
        self._words = words
        self._next = 1
        self._awaited = list(wrapper.verbs)
        self._operands = wrapper.operands
        self._module: Word | None = None
        self._ended = False
        self._assignments: list[tuple[str, Word]] = []

    def outcome(self, name: str) -> Launch | None:
        """Say what comes after the wrapper's own words; None where it wraps nothing here."""
        while not self._ended and self._module is None and self._next < len(self._words) and self._takes():
            self._next += 1
        if self._ended or self._awaited:
            return None
        own, rest = self._words[1 : self._next], self._words[self._next :]
        if self._module is not None:
            rest = (self._module, *rest)
        return Launch(tuple(self._assignments), (Stage(name, own),), rest)

    def _takes(self) -> bool:
        """Take the next word if it is the wrapper's own."""
        word = self._words[self._next]
        if not word.text.startswith("-"):
            return self._takes_operand(word)
        if word.text.startswith("--"):
            name, equals, value = word.text.partition("=")
            self._takes_option(name, value if equals else None)
        else:
            self._takes_letters(word.text)
        return True

    def _takes_operand(self, word: Word) -> bool:
        assignment = assignment_of(word) if self._wrapper.assigns else None
        if assignment is not None:
            self._assignments.append(assignment)
        elif self._awaited:
            self._ended = word.text != self._awaited.pop(0)
        elif self._operands:
            self._operands -= 1
        else:
            return False
        return True

    def _takes_letters(self, text: str) -> None:
        for position, letter in enumerate(text[1:], 2):
            if self._takes_option(f"-{letter}", text[position:] or None):
                return

    def _takes_option(self, option: str, attached: str | None) -> bool:
        """Take one option, and its value where it has one; True where the rest of the word is its value."""
        wrapper = self._wrapper
        self._ended = self._ended or option in wrapper.ends
        module = option in wrapper.modules
        if not module and option not in wrapper.values:
            return False
        if attached is None:
            self._next += 1
        if module:
            self._take_module(attached)
        return True

    def _take_module(self, attached: str | None) -> None:
        if attached is not None:
            self._module = plain_word(attached)
        elif self._next < len(self._words):
            self._module = self._words[self._next]


def _wrapper(command: str, options: str, ends: str, operands: int) -> tuple[str, Wrapper]:
    """Read a row: `NAME VERB…`, options with values (`-m!` names a module), options that end it."""
    name, *verbs = command.split()
    named = [option.removesuffix("!") for option in options.split() if option.endswith("!")]
    wrapper = Wrapper(
        tuple(verbs),
        frozenset(options.split()),
        frozenset(named),
        frozenset(ends.split()),
        operands,
        name in _ASSIGNING,
    )
    return name, wrapper


def _indexed(rows: Iterable[tuple[str, str, str, int]]) -> dict[str, tuple[Wrapper, ...]]:
    """Spread rows whose first column lists several commands, separated by commas."""
    index: dict[str, tuple[Wrapper, ...]] = {}
    for commands, options, ends, operands in rows:
        for command in commands.split(","):
            name, wrapper = _wrapper(command, options, ends, operands)
            index[name] = (*index.get(name, ()), wrapper)
    return index


_ASSIGNING: Final = frozenset({"env", "sudo", "time", "cross-env"})

_UV: Final = (
    "-m! --module! --with --with-editable --with-requirements --extra --no-extra --group --no-group --only-group "
    "--package --python -p --project --directory --env-file --index --default-index --index-url --cache-dir --color"
)
_PYTHON_VALUES: Final = "-m! -W -X --check-hash-based-pycs"
_COVERAGE_VALUES: Final = (
    "-m! --module! --source --source-pkgs --rcfile --omit --include --context --concurrency --data-file --save-signal"
)
_NODE_VALUES: Final = (
    "-r --require --import --loader --experimental-loader -C --conditions --title --input-type --env-file"
)
_NODE_ENDS: Final = (
    "-e --eval -p --print -c --check -v --version --test --test-name-pattern --test-skip-pattern --test-only "
    "--test-shard --test-reporter --test-concurrency --test-timeout"
)
_SUDO_VALUES: Final = "-u -g -C -D -h -p -R -r -T -t -U --user --group --chdir --host --prompt --chroot --role --type"
_XARGS_VALUES: Final = "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --max-chars"

_WRAPPERS: Final = _indexed(
    (
        # What the system brings.
        ("env", "-u --unset -C --chdir -S --split-string", "", 0),
        ("timeout,gtimeout", "-k --kill-after -s --signal", "", 1),
        ("nice", "-n --adjustment", "", 0),
        ("ionice", "-c --class -n --classdata -p --pid", "", 0),
        ("time,gtime", "-f --format -o --output", "", 0),
        ("stdbuf", "-i --input -o --output -e --error", "", 0),
        ("taskset,chrt", "", "", 1),
        ("nohup,unbuffer,chronic,busybox,catchsegv,ltrace", "", "", 0),
        ("sudo,doas", _SUDO_VALUES, "", 0),
        ("xargs", _XARGS_VALUES, "", 0),
        ("strace", "-e -o -p -s -u -I -P -a -b -E -O -S -X --trace --output", "", 0),
        ("flock", "-w --timeout --wait -E --conflict-exit-code -c --command", "", 1),
        ("xvfb-run", "-e -f -n -p -s -w --error-file --auth-file --server-num --server-args --wait", "", 0),
        ("dbus-run-session", "--config-file --dbus-daemon", "", 0),
        ("caffeinate", "-t -w", "", 0),
        ("direnv exec", "", "", 1),
        # Python.
        ("python,pypy", _PYTHON_VALUES, "-c -V --version -h --help", 0),
        ("py", "-m! -W -X", "-c -h --help -0", 0),
        ("coverage run", _COVERAGE_VALUES, "", 0),
        ("uv run", _UV, "", 0),
        ("uvx,uv tool run,pipx run", "--from --with --spec --python -p --index-url --pip-args", "", 0),
        ("poetry run", "-C --directory -P --project", "", 0),
        ("pipenv run,pdm run,rye run", "-p --project --venv", "", 0),
        ("hatch run", "-e --env -p --project --config", "", 0),
        ("conda run,mamba run,micromamba run", "-n --name -p --prefix --cwd", "", 0),
        ("pixi run", "-e --environment --manifest-path", "", 0),
        # Go.
        ("go run,go tool", "-C -exec -mod -modfile -tags -ldflags -gcflags", "", 0),
        # JavaScript.
        ("node,nodejs,tsx,ts-node", _NODE_VALUES, _NODE_ENDS, 0),
        ("npx,pnpx,npm exec,npm x", "-p --package -c --call -w --workspace --prefix", "", 0),
        ("pnpm exec,pnpm dlx", "-F --filter -C --dir --package", "", 0),
        ("yarn exec,yarn dlx", "-p --package --cwd", "", 0),
        ("bunx,bun x", "-p --package --cwd", "", 0),
        ("c8,nyc", "-r --reporter -x --exclude -n --include --temp-dir --report-dir --check-coverage", "", 0),
        ("cross-env", "", "", 0),
        ("env-cmd", "-f --file -e --environments", "", 0),
        ("dotenv", "-e -c -v -p -f --file", "", 0),
        # Ruby, PHP and version managers.
        ("bundle exec", "--gemfile", "", 0),
        ("ruby", "-I -r -E -K", "-e -v --version", 0),
        ("php", "-d -c", "-r -v -i -m -l", 0),
        ("rbenv exec,pyenv exec,nodenv exec,asdf exec", "", "", 0),
    )
)
