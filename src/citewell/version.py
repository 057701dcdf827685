"""The version of the program, which every run records."""

__version__ = "0.2.0"
