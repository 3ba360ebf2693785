"""Evals: agents that lie and agents that work honestly, against the real server, in a workspace of their own each."""
