"""Reports in PostgreSQL: the same documents as in SQLite, found by their brief, replayed, and moved back."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Citewell
from reports.lighthouse import QUESTION
from support.postgres import Postgres


@pytest.mark.slow
def test_a_report_in_postgresql_is_stored_replayed_and_moved_back(data: Path, postgres: Postgres) -> None:
    address = postgres.new_database()
    with Citewell(data, database_url=address, embeddings="off", judge="off") as cw:
        run = cw.report(QUESTION)
        assert run.report is not None
        assert cw.runs.replay(run.run_id).identical
        assert cw.report(QUESTION) == run  # the stored one
        archive = cw.runs.archive(run.run_id)
        moved = cw.runs.migrate("sqlite")
        assert (moved.moved, moved.reports_moved) == (1, 1)
    with Citewell(data, embeddings="off", judge="off") as cw:
        assert cw.report(QUESTION) == run
        assert cw.runs.replay(run.run_id).identical
    with Citewell(data.parent / "elsewhere", embeddings="off", judge="off") as cw:
        assert cw.runs.import_archive(archive).run_id == run.run_id
        assert cw.runs.replay(run.run_id).identical
