"""Ingest: what was saved is walked, read and brought into the store."""
