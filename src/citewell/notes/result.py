"""What a run about a note came to, as `note` answers it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.decisions import Decision, NoteWritten, SourceTurnedAway, TopicsChosen, TopicSkipped
from citewell.domain.errors import BadInput, CitewellError, Conflict, NotFound, StoreFull, Unavailable, WorkFailed
from citewell.domain.notes import NoteResult
from citewell.domain.runs import RunResult

_ERRORS: dict[str, type[CitewellError]] = {
    form.code: form for form in (BadInput, Conflict, NotFound, StoreFull, Unavailable, WorkFailed)
}


def note_result(result: RunResult, decisions: Sequence[Decision]) -> NoteResult:
    """The result of an ended run; raises what made it fail: the note is then as it was."""
    outcome = next((one for one in reversed(decisions) if isinstance(one, NoteWritten)), None)
    if outcome is None:
        raise _failure(result)
    chosen = next((one.topics for one in decisions if isinstance(one, TopicsChosen)), ())
    skipped = [f"{one.topic}: {one.why}" for one in decisions if isinstance(one, TopicSkipped)]
    skipped += [f"{one.source}: {one.reason}" for one in decisions if isinstance(one, SourceTurnedAway)]
    return NoteResult(
        path=outcome.path,
        topics_researched=outcome.topics_researched,
        preview=outcome.preview,
        changed=outcome.changed,
        diff=outcome.diff if outcome.dry_run else None,
        backup=outcome.backup,
        run_id=result.run_id,
        topics=chosen,
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
