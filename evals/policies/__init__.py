"""Agents that a list of steps cannot describe: a module each, with ``async def play(stage)``."""
