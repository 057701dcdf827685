"""A run's progress as lines for a person: rendered from its log and nothing else."""

from __future__ import annotations

import sys

from citewell.domain.events import (
    DecisionMade,
    RunEvent,
    RunResumed,
    SentenceRetracted,
    SentenceShown,
    StageEntered,
)
from citewell.surfaces.cli.console import note, one_line, screen_width
from citewell.surfaces.cli.layout import cells
from citewell.surfaces.progress_text import STAGE_TITLES

# The ends of a log are large and say nothing to a person who watches.
_SHOWN = ("stage_entered", "decision_made", "sentence_shown", "sentence_retracted", "run_resumed", "display_updated")


class ProgressLine:
    """Progress on stderr: one line that the next one replaces and the answer clears away; or lines that stay."""

    def __init__(self, *, quiet: bool, stays: bool) -> None:
        self._quiet = quiet
        self._stays = stays
        self._shown = 0

    def show_event(self, event: RunEvent) -> None:
        line = progress_line(event)
        if line:
            self.show(line)

    def show(self, text: str) -> None:
        if self._quiet:
            return
        if self._stays:
            note(text)
            return
        line = one_line(text, screen_width() - 1)
        self.clear()
        self._shown = cells(line)
        print(line, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for what follows; with spaces, which every terminal knows."""
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=sys.stderr, flush=True)
            self._shown = 0


def progress_line(event: RunEvent) -> str | None:
    """What a person wants to read of an event, if anything."""
    if event.kind not in _SHOWN:
        return None
    match event.event:
        case StageEntered(stage=stage):
            return STAGE_TITLES.get(stage, stage)
        case DecisionMade() as decision:
            return f"  {decision.sentence}"
        case SentenceShown(text=text):
            return f"  > {text}"
        case SentenceRetracted(indexes=indexes, reason=reason):
            return f"  taken back: sentence {', '.join(str(index + 1) for index in indexes)} ({reason})"
        case RunResumed():
            return f"resumed {event.run_id}"
        case _:
            return None
