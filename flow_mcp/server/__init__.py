"""The MCP surface: one table row a tool."""
