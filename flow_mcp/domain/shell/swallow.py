"""What makes one simple command say "passed" whatever happened: row plan.commands-whole, below the grammar.

Everything here is a table: builtins that change the shell, programs that detach or hand text to another shell,
options with which a known program forgets a failure, and variables that change what a command is.
Code for an interpreter (`python -c`, `node -e`) is no nested shell: it is a program like any script of the
repository, and the approver reads it.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from flow_mcp.domain.shell.launch import STAGES_MAX, Launch, Stage, launch, program_name
from flow_mcp.domain.shell.options import OptionTable, option_table, scan
from flow_mcp.domain.shell.words import Command, Fault, Word, assignment_of, fault, names

_RESERVED: Final = names(
    "! { } [ [[ ]] if then elif else fi case esac for select while until do done in function coproc"
)
_BUILTINS: Final = names(
    ". source eval exec exit return trap alias unalias set shopt builtin command declare typeset local export readonly "
    "unset enable hash let read mapfile readarray getopts wait jobs bg fg disown kill suspend logout break continue "
    "shift umask bind complete compgen compopt caller dirs pushd popd fc history"
)
_DETACHING: Final = names("setsid at batch systemd-run daemon daemonize start-stop-daemon screen tmux watch")
_SHELL_STARTERS: Final = names("su runuser sg script parallel expect nix-shell cross-env-shell ssh")
_CANNOT_FAIL: Final = names("true : echo printf pwd sleep date cd clear whoami hostname uname")
_SHELLS: Final = names("sh bash dash ash zsh ksh mksh rbash fish csh tcsh pwsh powershell")
_SHELL_LETTERS: Final = frozenset("euxvfhplabBCEHPT")
_NESTED: Final = "a nested shell, or one that does not run its script to the end: write a script of the repository"
_SHELL_NAMES: Final = names("errexit nounset pipefail xtrace verbose posix")
_SHELL_FLAGS: Final = frozenset({"--norc", "--noprofile", "--posix", "--login", "--verbose"})
_SHELL_VARIABLES: Final = re.compile(
    r"BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|PS4|PROMPT_COMMAND|CDPATH|LD_PRELOAD|LD_AUDIT"
    r"|DYLD_INSERT_LIBRARIES|PYTHONINSPECT|PYTHONOPTIMIZE|(?i:npm_config_script_shell)"
)
_MAKE_FLAGS: Final = frozenset({"MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS"})
_MAKES: Final = frozenset({"make", "gmake"})
_MAKE_VARIABLES: Final = frozenset({"SHELL", ".SHELLFLAGS"})
_RUNNER_VARIABLE: Final = re.compile(r"CARGO_TARGET_\w+_RUNNER")
_INTERPRETERS: Final = names("python pypy py coverage node nodejs tsx ts-node ruby php go")
_WRITERS: Final = names("tee cp mv ln dd install rsync touch sed rm sponge truncate")
_RESERVED_FOLDERS: Final = frozenset({".flow", "plans", ".git"})
_PRIVATE: Final = re.compile(r"(?i)(?:^|[\s/=:,])\.flow(?=$|[\s/,:])(?P<rest>[^\s,:]*)")

_MAKE: Final = option_table(
    "-i --ignore-errors -n --just-print --dry-run --recon -t --touch -q --question -h --help -v --version --eval= -E=",
    "-f --file --makefile -C --directory -I --include-dir -o --old-file -W --what-if -O? -j? -l?",
    "clusters abbreviated",
)
_NINJA: Final = option_table("-n -t= -h --version", "-C -f -j -k -l -d -w", "clusters")
_MAVEN: Final = option_table("-fn --fail-never -D=ignored --define=ignored", "-f -s -P -pl -T -l", "")
_GO: Final = option_table("-exec=idle -n", "-run -skip -timeout -o -p", "")
_CARGO: Final = option_table("--config=runner", "-p --package --features --target", "clusters")
_FIND: Final = option_table("-exec -execdir -ok -okdir", "-name -iname -path -regex -type", "")
_RSPEC: Final = option_table("--failure-exit-code=zero", "-e -t", "clusters abbreviated")
_MOCHA: Final = option_table("--pass-on-failing-test-suite", "", "clusters folded")
_VITEST: Final = option_table("--dangerouslyIgnoreUnhandledErrors", "", "clusters folded")
_PYTEST: Final = option_table("--suppress-tests-failed-exit-code", "-k -m -p -c -W -o -r", "clusters")
_ROBOT: Final = option_table("--nostatusrc --noncritical= --skiponfailure=", "", "clusters folded")
_DOTNET: Final = option_table("--ignore-exit-code=", "--filter", "")
_SCRIPTS: Final = option_table(
    "--script-shell= -c= --call=", "-w --workspace --prefix -F --filter -C --dir", "clusters"
)
_PYTHON: Final = option_table("-i -O", "-c -m -W -X", "clusters")
_LINT: Final = option_table("--exit-zero --no-exit-code --issues-exit-code=zero", "", "clusters")

_SWALLOWING: Final[dict[str, OptionTable]] = {
    **dict.fromkeys(_MAKES, _MAKE),
    "ninja": _NINJA,
    **dict.fromkeys(("mvn", "mvnw", "mvnd"), _MAVEN),
    "go": _GO,
    "cargo": _CARGO,
    "find": _FIND,
    "rspec": _RSPEC,
    **dict.fromkeys(("mocha", "_mocha"), _MOCHA),
    "vitest": _VITEST,
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    "robot": _ROBOT,
    "dotnet": _DOTNET,
    **dict.fromkeys(("npm", "pnpm", "yarn"), _SCRIPTS),
    "git": option_table("-c=alias", "-C --git-dir --work-tree", "clusters"),
    "just": option_table("-n --dry-run --shell= --shell-arg= -c= --command= -l --list --evaluate", "-f -d", "clusters"),
    "rake": option_table("-n --dry-run -T --tasks -P --prereqs", "-f", "clusters"),
    # Wrappers: only their own words are looked at, never those of the command they start.
    "sudo": option_table("-b --background -s --shell -i --login", "-u -g -C -D -h -p -R -r -T -t -U", "clusters"),
    "env": option_table("-S= --split-string=", "-u -C", "clusters abbreviated"),
    "flock": option_table("-c= --command= -E= --conflict-exit-code=", "-w", "clusters abbreviated"),
    "npx": option_table("-c= --call=", "-p --package", "clusters"),
    **dict.fromkeys(("python", "pypy", "py"), _PYTHON),
    "test": option_table("-v -R", "", ""),
    "printf": option_table("-v", "", ""),
}


def command_faults(command: Command) -> Iterator[Fault]:
    """Say what one simple command holds that could hide its failure."""
    run = launch(command.words)
    for name, value in (*command.assignments, *run.assignments):
        yield from _variable_faults(name, value)
    yield from _name_faults(command.words[0])
    yield from _private_faults(command.words, run)
    for stage in run.stages:
        yield from _option_faults(stage)
    if len(run.stages) == STAGES_MAX:
        yield fault(f"{STAGES_MAX} programs that start one another are too many to judge", _shown(command.words))
    if not run.words:
        yield fault("this starts no program of its own: name what it runs", _shown(command.words))
        return
    if run.stages and run.stages[-1].name not in _INTERPRETERS:
        yield from _name_faults(run.words[0])
    yield from _option_faults(Stage(program_name(run.words[0]), run.words[1:]))
    yield from _program_faults(run)


def cannot_fail(command: Command) -> bool:
    """True for a command that succeeds whatever the state of the source: `true`, `echo` and their like."""
    words = launch(command.words).words
    return bool(words) and program_name(words[0]) in _CANNOT_FAIL


def path_fault(word: Word) -> Fault | None:
    """Say why a command may not write to, read from, or enter this path; None where it may."""
    top = _top_folder(word.text)
    if word.text == "/dev/null":
        return None
    if word.varies or not word.text:
        return fault("only a plainly written path may be used here", word.raw)
    if posixpath.isabs(word.text) or ".." in word.text.split("/"):
        return fault("this path leads out of the workspace", word.raw)
    if top in _RESERVED_FOLDERS:
        return fault(f"{top} is not a command's to write to or enter", word.raw)
    return None


def _shown(words: tuple[Word, ...]) -> str:
    return " ".join(word.raw for word in words)


def _name_faults(word: Word) -> Iterator[Fault]:
    if word.varies or not word.text:
        yield fault("a program is named plainly, not by an expansion or a pattern", word.raw)
    if word.text in _RESERVED:
        yield fault("a word of the shell's own grammar: only simple commands joined by && or | are allowed", word.raw)
    if word.text in _BUILTINS:
        yield fault("a builtin that changes or leaves the shell", word.raw)
    in_place = "/" not in word.text or word.text.startswith("/")
    if in_place and program_name(word) in _DETACHING:
        yield fault("a program that may return before the command ends", word.raw)
    if in_place and program_name(word) in _SHELL_STARTERS:
        yield fault("a program that hands its text to another shell", word.raw)


def _variable_faults(name: str, value: Word) -> Iterator[Fault]:
    shown = f"{name}={value.raw}"
    if _SHELL_VARIABLES.fullmatch(name):
        yield fault("a variable that changes the shell or the programs it starts", shown)
    if name in _MAKE_FLAGS and _makeflags_swallow(value.text):
        yield fault("an option with which make forgets a failure or runs nothing", shown)
    if _RUNNER_VARIABLE.fullmatch(name) and _idle(value.text):
        yield fault("a test runner that cannot fail", shown)


def _makeflags_swallow(text: str) -> bool:
    """True where make would read a swallowing option; its first word may be letters without a dash."""
    first, *rest = text.split() or [""]
    dashed = first if first.startswith("-") or "=" in first else f"-{first}"
    words = tuple(Word(part, part, varies=False) for part in (dashed, *rest))
    return bool(scan(_MAKE, words).hits)


def _nested_shells(words: tuple[Word, ...]) -> Iterator[Fault]:
    """A shell among the arguments, as in `docker run image sh -c …`, may not be handed a text."""
    for position, word in enumerate(words):
        if program_name(word) in _SHELLS and any(_hands_text(later) for later in _leading_options(words, position)):
            yield fault(_NESTED, _shown(words[position:]))


def _leading_options(words: tuple[Word, ...], position: int) -> Iterator[Word]:
    for word in words[position + 1 :]:
        if not word.text.startswith(("-", "+")) and word.text not in _SHELL_NAMES:
            return
        yield word


def _hands_text(word: Word) -> bool:
    name = word.text.casefold().partition("=")[0]
    return name == "--command" or (name.startswith("-") and not name.startswith("--") and "c" in name)


def _private_faults(words: tuple[Word, ...], run: Launch) -> Iterator[Fault]:
    """Only a report may be named below `.flow`, and no writing tool may name even that, nor the plans."""
    writes = any(program_name(word) in _WRITERS for word in run.words[:1])
    for word in words[1:]:
        named = [seen["rest"] for seen in _PRIVATE.finditer(word.text)]
        if any(writes or not _is_report(rest) for rest in named):
            yield fault(".flow is Flow's own: a command may name only its report below .flow/reports/", word.raw)
        elif writes and _top_folder(word.text.rpartition("=")[2]) in _RESERVED_FOLDERS:
            yield fault("the plans and the repository's own state are no command's to write", word.raw)


def _is_report(rest: str) -> bool:
    return f"{rest}/".startswith("/reports/") and ".." not in rest.split("/")


def _top_folder(path: str) -> str:
    return posixpath.normpath(path).split("/")[0].casefold()


def _program_faults(run: Launch) -> Iterator[Fault]:
    """Ask of the program really run what holds for its name alone."""
    name, arguments = program_name(run.words[0]), run.words[1:]
    if name in _SHELLS:
        yield from _shell_faults(run.words)
    else:
        yield from _nested_shells(arguments)
    if name == "cd":
        yield from _directory_faults(run.words)
    if name in _MAKES:
        for word in arguments:
            yield from _make_faults(word)


def _shell_faults(words: tuple[Word, ...]) -> Iterator[Fault]:
    """A shell may run a script of the repository, with options that keep the script's failures."""
    rest = iter(words[1:])
    for word in rest:
        if not word.text.startswith(("-", "+")):
            return
        if not _keeps_failures(word.text):
            yield fault(_NESTED, _shown(words))
            return
        if word.text.endswith("o"):
            setting = next(rest, word)
            if setting.text not in _SHELL_NAMES:
                yield fault("a shell option that may change what the script's result means", _shown(words))
                return
    yield fault("a shell that reads its commands from its input", _shown(words))


def _keeps_failures(option: str) -> bool:
    return option in _SHELL_FLAGS or _SHELL_LETTERS.issuperset(option[1:].removesuffix("o"))


def _directory_faults(words: tuple[Word, ...]) -> Iterator[Fault]:
    if len(words) != 2:  # noqa: PLR2004 - the builtin and its one folder
        yield fault("cd takes one folder of the workspace", _shown(words))
        return
    found = path_fault(words[1])
    if found is not None:
        yield found


def _make_faults(word: Word) -> Iterator[Fault]:
    assignment = assignment_of(word)
    name = word.text.partition("=")[0].rstrip(":")
    if name in _MAKE_VARIABLES:
        yield fault("a variable that replaces the shell in which make runs its recipes", word.raw)
    elif assignment is not None:
        yield from _variable_faults(*assignment)


def _option_faults(stage: Stage) -> Iterator[Fault]:
    seen = scan(_SWALLOWING.get(stage.name, _LINT), stage.words)
    # What stands after `cmake --build … --` goes to make or ninja.
    hits = (*seen.hits, *(scan(_MAKE, seen.rest).hits if stage.name == "cmake" else ()))
    for hit in hits:
        if hit.value is None or _matters(hit.check, hit.value.text):
            yield fault(f"an option with which {stage.name} forgets a failure or runs something else", hit.shown)


def _matters(check: str | None, value: str) -> bool:
    """Ask the check that a table names for an option's value."""
    match check:
        case "idle":
            return _idle(value)
        case "zero":
            return value == "0"
        case "runner":
            return "runner" in value
        case "alias":
            return value.lower().startswith("alias.")
        case "ignored":
            name, _, setting = value.partition("=")
            return name.lower().endswith("failure.ignore") and setting.lower() != "false"
        case _:
            return True


def _idle(text: str) -> bool:
    words = text.split()
    return bool(words) and words[0].rsplit("/", 1)[-1] in _CANNOT_FAIL
