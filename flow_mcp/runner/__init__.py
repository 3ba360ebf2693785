"""Execute one listed command and say what the operating system saw."""
