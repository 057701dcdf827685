"""The port of the table `research_runs`: one row for each run of a brief, with its whole document.

A row is written when a run begins and again when it ends. The document is canonical JSON of the run as
`citewell report --json` prints it; `brief_id`, `project_id`, `status` and `created_at` are what rows are found by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ResearchRow:
    """A run of a brief as it is stored."""

    run_id: str
    brief_id: str
    project_id: str | None
    status: str
    created_at: str
    document: str


class ResearchRunRepository(Protocol):
    """Every method blocks until it is done."""

    def put(self, row: ResearchRow) -> None:
        """Insert a row, or replace the one of this run."""
        ...

    def get(self, run_id: str) -> ResearchRow | None: ...

    def of_brief(self, brief_id: str) -> list[ResearchRow]:
        """The runs of a brief, newest first."""
        ...

    def latest(self, limit: int, project_id: str | None = None, status: str | None = None) -> list[ResearchRow]:
        """The latest runs, newest first."""
        ...

    def delete(self, run_ids: Sequence[str]) -> None: ...
