"""Backup and restore: corpus, runs, traces and settings as one archive, consistent and without secrets."""
