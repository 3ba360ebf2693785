"""The verbs by name, each imported when it is called, and how what goes wrong ends."""

import difflib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, NoReturn

from flow_mcp import __version__
from flow_mcp.cli.answer import Answer, Facts, Misused, Raw, Words, trouble
from flow_mcp.cli.codes import DONE, INTERRUPTED, MEANINGS
from flow_mcp.cli.paper import emit
from flow_mcp.domain.errors import BrokenWorld

PROGRAM: Final = "flow-mcp"


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: what the help says of it, and the module and function behind it.

    ``serve`` has none: it is started before anything else loads.
    """

    name: str
    says: str
    module: str = ""
    function: str = ""


def _row(name: str, says: str) -> Verb:
    return Verb(name, says, f"flow_mcp.cli.{name}", name)


VERBS: Final = (
    Verb("serve", "answer one MCP client on standard input and output"),
    _row("init", "print the server entry for a host"),
    _row("doctor", "look for what is missing or broken here"),
    _row("status", "where the goal stands and what is next"),
    _row("why", "what stands between the goal and its next step"),
    _row("log", "every accepted mutation of a plan"),
    _row("show", "a plan as a page"),
    _row("diff", "what a run changed, computed from Flow's own store"),
    _row("plan", "the plan as plan_save takes it; --suggest proposes a first one"),
    _row("approve", "say yes to exactly this plan"),
    _row("deny", "say no to the draft, and why"),
    _row("review", "judge the pending assignment"),
    _row("waive", "let one case, one path or one proof go"),
    _row("accept", "take the goal as it is, although rules stand open"),
    _row("reseal", "take over a document that was edited outside Flow"),
    _row("observe", "run what the plan asks of this platform, as external evidence"),
    _row("cancel", "end the check that runs"),
    _row("gc", "remove from .flow what no open plan rests on"),
    _row("call", "one tool call from a shell"),
    _row("verify", "whether the documents hold; for CI"),
    _row("guarantees", "what is promised, and by which means"),
    Verb(
        "demo", "a whole goal, lies and work, in a small real repository", "flow_mcp.cli.demonstration", "demonstration"
    ),
)

_BY_NAME: Final = {verb.name: verb for verb in VERBS}


def app() -> NoReturn:
    """Run the command line of this process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command, print what came of it, and give the exit code.

    A mistake of the user and a broken world are told in two sentences; a broken program ends with its traceback.
    """
    as_json = "--json" in arguments
    try:
        answer = _answer(list(arguments), as_json=as_json)
    except (BrokenWorld, Misused) as error:
        answer = trouble(error).told(as_json=as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    return emit(answer) if isinstance(answer, Answer) else answer


def _answer(arguments: list[str], *, as_json: bool) -> Answer | int:
    name = arguments[0] if arguments else "--help"
    if name in {"--help", "-h", "help"}:
        return _help().told(as_json=as_json)
    if name == "--version":
        body = {"version": __version__}
        return Answer(body, (Raw(f"{PROGRAM} {__version__}"),)).told(as_json=as_json)
    if name not in _BY_NAME:
        raise _unknown(name)
    return _called(_BY_NAME[name], arguments[1:])


def _unknown(name: str) -> Misused:
    if name.startswith("-"):
        return Misused(
            f"There is no option {name!r} before the verb.", f"Write `{PROGRAM} VERB` and its options after it."
        )
    close = difflib.get_close_matches(name, _BY_NAME, n=1)
    hint = f"Did you mean `{PROGRAM} {close[0]}`?" if close else f"`{PROGRAM} --help` lists the verbs."
    return Misused(f"There is no verb {name!r}.", hint)


def _called(verb: Verb, arguments: list[str]) -> Answer | int:
    import typer  # noqa: PLC0415 - costs 110 ms, and --version needs none

    function: Callable[..., Answer | int] = getattr(import_module(verb.module), verb.function)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    single.command(verb.name, epilog=_epilog())(function)
    command = typer.main.get_command(single)
    prefix = f"{PROGRAM} {verb.name}"
    try:
        ended: Answer | int | None = command.main(arguments, prog_name=prefix, standalone_mode=False)
    except typer.TyperException as error:
        seen = " ".join(error.format_message().replace("Value error, ", "").split())
        told = f"{seen.removesuffix('.')}."
        raise Misused(told, f"`{prefix} --help` says how it is written.") from error
    except SystemExit:
        return DONE  # typer ends so when nobody reads its help any more
    return DONE if ended is None else ended


def _epilog() -> str:
    return "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in MEANINGS) + "."


def _help() -> Answer:
    verbs = Facts(tuple((f"  {verb.name}", (verb.says,)) for verb in VERBS))
    codes = Facts(tuple((f"  {code}", (meaning,)) for code, meaning in MEANINGS))
    page = (
        Words(f"Usage: {PROGRAM} VERB [OPTIONS]"),
        Words("\nAn agent says done only when the evidence supports it. This is the person's side of it.\n"),
        verbs,
        Words(f"\n`{PROGRAM} VERB --help` names a verb's options; {PROGRAM} --version says which version this is."),
        Words("\nExit codes:\n"),
        codes,
    )
    return Answer({"verbs": {verb.name: verb.says for verb in VERBS}}, page)
