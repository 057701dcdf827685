"""Readers: the bytes of one file become canonical text and what the file says about itself."""
