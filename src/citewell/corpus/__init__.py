"""The corpus: what was saved, where it came from, and how it is kept."""
