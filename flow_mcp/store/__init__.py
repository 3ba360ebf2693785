"""The document on disk: strict text, one lock, atomic writes, a hash chain."""
