"""Citewell: answers from what you have saved, every sentence bound to the passage that supports it."""

__version__ = "0.2.0"
