"""The ids of briefs and their runs: they follow from the request, so that the same request is the same run. Pure.

a brief                                 ->   brief-5b1f…      its content, whatever asks for it
the brief, the models, the strategies   ->   report-09ac…-1   the first attempt; a fresh one is report-09ac…-2
"""

from __future__ import annotations

import hashlib
import re

from citewell.domain.briefs import Brief, ReportTask
from citewell.domain.errors import BadInput
from citewell.domain.runs import RunRequest
from citewell.runs.document import RUN_ID
from citewell.store.log import canonical_json

MAX_ATTEMPTS = 9_999
_ATTEMPT = re.compile(r"report-[0-9a-f]{16}-([0-9]{1,4})")


def brief_id(brief: Brief) -> str:
    """The id of a brief: the same words and limits, the same id."""
    return f"brief-{_hash([brief])}"


def run_stem(request: RunRequest) -> str:
    """What the ids of all attempts at a request begin with: the brief, who may be asked, and how it is done."""
    task = request.report
    assert isinstance(task, ReportTask)
    how: list[object] = [task.planner, task.triage, task.deduplicator, task.binder, task.families]
    # What was added since counts only where it is used: the ids of earlier requests stay.
    how += [name for name in (task.own("retrieval"), task.own("synthesizer"), task.own("verifier")) if name]
    use = request.models
    asked = [use.writer, use.planner, use.reviewer, request.semantic, request.judge, request.filters]
    return f"report-{_hash([task.brief, how, asked])}"


def run_id_of(stem: str, attempt: int) -> str:
    if attempt > MAX_ATTEMPTS:
        raise BadInput("This brief was run too often.", fix="Change its words or its limits.")
    return f"{stem}-{attempt}"


def attempt_of(run_id: str) -> int:
    """The number of an attempt; a run with an id of its own is the first."""
    found = _ATTEMPT.fullmatch(run_id)
    return int(found[1]) if found else 1


def check_run_id(run_id: str) -> str:
    """An id that can be one of a run."""
    if not RUN_ID.fullmatch(run_id):
        raise BadInput(f"{run_id!r} is no id of a run.", fix="Derive it with ResearchService.run_id_for(brief).")
    return run_id


def _hash(values: list[object]) -> str:
    import msgspec

    return hashlib.sha256(canonical_json(msgspec.to_builtins(values))).hexdigest()[:16]
