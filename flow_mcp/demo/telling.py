"""Tell the story to a person: every line comes from a server's answer or from the document."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule

from flow_mcp.demo.story import Body, Told

WORDS_CHARACTERS = 150


class Teller:
    """Writes each call and its answer as it happens."""

    def __init__(self, console: Console) -> None:
        """Tell on a console."""
        self._console = console
        self._scene = ""

    def tell(self, told: Told) -> None:
        """Tell one call and its answer."""
        if told.scene != self._scene:
            self._scene = told.scene
            self._console.print(Rule(escape(told.scene), align="left", style="dim"))
        mark, style = _mark(told)
        self._console.print(f"  [bold]{told.who}[/] {told.tool} [dim]{escape(_words(told.arguments))}[/]")
        self._console.print(f"    [{style}]{mark}[/] {escape(str(told.answer['summary']))}")
        step = told.answer["next"]
        if told.refused:
            self._console.print(f"      [yellow]next:[/] {escape(_step(step))}")

    def close(self, answer: Body, page: str) -> None:
        """Tell how it ended, and where the record is."""
        closure = answer["closure"]
        self._console.print(Rule(align="left", style="dim"))
        self._console.print(f"[bold green]{escape(closure['kind'])}[/] at revision {closure['revision']}")
        for note in closure["notes"]:
            self._console.print(f"  [yellow]note:[/] {escape(note)}")
        self._console.print(f"  record: {escape(page)}", soft_wrap=True)


def _mark(told: Told) -> tuple[str, str]:
    seen = told.answer.get("observation")
    if told.refused:
        return "✗", "red"
    red = seen is not None and "proof" not in seen and not seen["passes"]
    return ("●", "yellow") if red else ("✓", "green")


def _words(arguments: Body) -> str:
    shown = {name: value for name, value in arguments.items() if name not in {"goal", "findings"}}
    if "plan" in shown:
        shown["plan"] = f"gate {shown['plan']['gate']['run']}"
    return ", ".join(f"{name}: {_short(value)}" for name, value in shown.items())


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON
    text = str(value)
    return text if len(text) <= WORDS_CHARACTERS else text[: WORDS_CHARACTERS - 1] + "…"


def _step(step: Body) -> str:
    call = f"{step['tool']} {_words(step.get('arguments', {}))} " if "tool" in step else ""
    return f"{call}({step['say']})" if call else str(step["say"])
