"""What a run about a note came to, as `note` answers it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from citewell.domain.errors import BadInput, CitewellError, Conflict, NotFound, StoreFull, Unavailable, WorkFailed
from citewell.domain.events import DecisionMade
from citewell.domain.notes import NoteResult, NoteTopic
from citewell.domain.runs import RunResult

_ERRORS: dict[str, type[CitewellError]] = {
    form.code: form for form in (BadInput, Conflict, NotFound, StoreFull, Unavailable, WorkFailed)
}


def note_result(result: RunResult, decisions: Sequence[DecisionMade]) -> NoteResult:
    """The result of an ended run; raises what made it fail: the note is then as it was."""

    def told(name: str) -> list[dict[str, Any]]:
        return [one.data for one in decisions if one.name == name]

    written = told("note_written")
    if not written:
        raise _failure(result)
    outcome, chosen = written[-1], told("topics_chosen")
    skipped = [f"{one['topic']}: {one['why']}" for one in told("topic_skipped")]
    skipped += [f"{one['source']}: {one['reason']}" for one in told("source_turned_away")]
    return NoteResult(
        path=outcome["path"],
        topics_researched=outcome["topics_researched"],
        preview=outcome["preview"],
        changed=outcome["changed"],
        diff=outcome["diff"] if outcome["dry_run"] else None,
        backup=outcome["backup"],
        run_id=result.run_id,
        topics=msgspec.convert(chosen[0]["topics"], tuple[NoteTopic, ...]) if chosen else (),
        skipped=tuple(dict.fromkeys(skipped)),
        warnings=result.warnings,
    )


def _failure(result: RunResult) -> CitewellError:
    failure = result.failure
    if failure is None:
        fix = f"See 'citewell runs show {result.run_id}'."
        return WorkFailed(f"The run ended without a section ({result.stop_reason}). The note is as it was.", fix=fix)
    form = Unavailable if result.stop_reason == "synthesis_unavailable" else _ERRORS.get(failure.code, WorkFailed)
    return form(failure.message, fix=failure.fix)
