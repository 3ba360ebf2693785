"""The source that evidence is bound to: root, digest, copies, git facts, platform."""
