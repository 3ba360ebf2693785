"""Checks whose keeper is a thread of the test's own process, so that a test can put faults into it."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Engine
from flow_mcp.engine.keeper import Keeper, Spec
from flow_mcp.engine.slot import Held


@dataclass
class ThreadHandle:
    """A check that runs in a thread.

    Attributes:
        failure: what its keeper raised.
    """

    ended: threading.Event = field(default_factory=threading.Event)
    failure: BaseException | None = None

    def wait(self, seconds: float) -> bool:
        """Wait for its end, and say whether it has ended."""
        return self.ended.wait(max(0.0, seconds))


@dataclass
class Threaded:
    """Starts each check in a thread of this process.

    Attributes:
        engine_of: gives the engine that a keeper works with.
        handles: one for each check that was started.
    """

    engine_of: Callable[[Spec], Engine] = Spec.engine
    handles: list[ThreadHandle] = field(default_factory=list)

    def ready(self) -> None:
        """Be always ready."""

    def launch(self, spec: Spec, slot: int) -> ThreadHandle:
        """Run the keeper in a thread, with a descriptor of its own, since the starter closes the one it was given."""
        handle = ThreadHandle()
        self.handles.append(handle)
        thread = threading.Thread(target=self._keep, args=(spec, Held(os.dup(slot)), handle), name="keeper")
        thread.start()
        return handle

    def _keep(self, spec: Spec, held: Held, handle: ThreadHandle) -> None:
        try:
            engine = self.engine_of(spec)
            cancel = engine.cancels.signal(spec.plan_id, spec.check_id)
            Keeper(engine, spec, cancel, alone=False).keep()
        except BaseException as error:  # noqa: BLE001 - the test asks for it
            handle.failure = error
        finally:
            held.give_back()
            handle.ended.set()


def threaded(engine: Engine) -> tuple[Checks, Threaded]:
    """Give checks whose keepers work with this very engine, and what starts them."""
    launcher = Threaded(engine_of=lambda _: engine)
    return Checks(engine, launcher), launcher
