"""The main job on real input: a goal from plan to a completed closure, with lies refused on the way."""
