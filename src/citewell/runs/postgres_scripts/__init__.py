"""Forward-only scripts for runs and reports in PostgreSQL, run in the order of their names."""

from __future__ import annotations
