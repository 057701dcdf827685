"""What can go wrong with a report, beside what can go wrong with any run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.domain.errors import WorkFailed

if TYPE_CHECKING:
    from citewell.reports.models import ResearchRun


class ResearchSynthesisError(WorkFailed):
    """No report came of a run: what was written does not hold, or could not be written. `run` has all it gathered."""

    code = "synthesis_failed"

    def __init__(self, run: ResearchRun) -> None:
        message = run.error or f"The run ended without a report ({run.stop_reason})."
        fix = f"What was gathered is kept: 'citewell report --show {run.run_id}'. A fresh attempt: --fresh."
        super().__init__(message, fix=fix)
        self.run = run
        self.run_id = run.run_id
