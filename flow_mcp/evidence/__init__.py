"""What a report proves, and nothing more."""
