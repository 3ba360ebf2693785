"""Flow MCP lets a coding agent say "done" only when the evidence supports it."""

__version__ = "0.1.0"
