"""Forward-only scripts for `runs.db`, run in the order of their names."""

from __future__ import annotations
