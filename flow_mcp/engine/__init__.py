"""The only place that does: lock, load, check, decide, check, save. No lock is held while a command runs."""

from flow_mcp.engine.core import Asked, Done, Engine, State

__all__ = ["Asked", "Done", "Engine", "State"]
