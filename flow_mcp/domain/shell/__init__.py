"""What a command line says of itself: whether it can swallow its result, and which tests it chooses."""

from flow_mcp.domain.shell.grammar import COMMAND_BYTES_MAX, command_words, selectors, swallowing_faults
from flow_mcp.domain.shell.words import Fault

__all__ = ["COMMAND_BYTES_MAX", "Fault", "command_words", "selectors", "swallowing_faults"]
