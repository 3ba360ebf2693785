"""The pure kernel: the document, its rules, and the one function that says yes or no."""
