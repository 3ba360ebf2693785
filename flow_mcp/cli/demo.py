"""``flow-mcp demo``: play a whole goal, lies and work, against real servers in a small real repository."""

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp import StdioServerParameters
from rich.console import Console

from flow_mcp.demo.project import environment
from flow_mcp.demo.story import StoryDiffers, play
from flow_mcp.demo.telling import Teller
from flow_mcp.domain.rule import ALL_RULES
from flow_mcp.store.documents import PlansFolder


def demo(folder: Path | None) -> int:
    """Play the story in a folder, a new temporary one where none is named; 0 when it went as it should.

    Raises:
        BrokenWorld: where git or pytest is missing, or the folder cannot be used.
    """
    place = folder or Path(tempfile.mkdtemp(prefix="flow-demo-"))
    place.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    teller = Teller(console)
    try:
        told = asyncio.run(play(place.resolve(), lambda role: _server(place, role), teller.tell))
    except StoryDiffers as error:
        Console(stderr=True).print(f"The story differs from what an intact Flow tells: {error}", markup=False)
        return 1
    plans = PlansFolder(place / "plans", ALL_RULES)
    name = plans.names()[0]
    assert plans.load(name) is not None, "the document that was just closed holds"  # noqa: S101 - a broken program
    teller.close(told[-1].answer, str(place / "plans" / f"{name}.md"))
    return 0


def _server(folder: Path, role: str) -> StdioServerParameters:
    """Start a server as a host does; the demo has no person, so that the caller approves, labelled."""
    arguments = ["-m", "flow_mcp", "serve", "--role", role, "--approve", "caller"]
    return StdioServerParameters(command=sys.executable, args=arguments, cwd=str(folder), env=environment())
