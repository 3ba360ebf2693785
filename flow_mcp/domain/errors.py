"""What is raised when the world, not the caller's request, is at fault."""


class BrokenWorld(Exception):  # noqa: N818 - named for what it means: the world is broken, the program is not
    """Tell a person what was seen and what to do.

    Attributes:
        seen: one sentence on what was found.
        remedy: one sentence on what a person can do about it.
    """

    def __init__(self, seen: str, remedy: str) -> None:
        super().__init__(f"{seen} {remedy}")
        self.seen = seen
        self.remedy = remedy
