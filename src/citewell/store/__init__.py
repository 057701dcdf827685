"""Stores: tables of runs and reports in SQLite and PostgreSQL, their hash chain and leases, files on the disk."""
