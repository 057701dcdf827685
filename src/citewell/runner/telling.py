"""What a run tells a log while it goes on: failures as warnings, everything between as debug lines.

What is asked of models, the corpus and the web is told where it is done (`effects.py`). Names and counts only, never
what stands in a note, a question or a document.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from citewell.domain.decisions import ActionGivenUp, Decision, NoteWritten, TopicsChosen, TopicSkipped
from citewell.runner.actions import STAGE_TIMEOUT, Action

_log = logging.getLogger("citewell.runner")


def tell_computing(action: Action) -> None:
    _log.debug("%s", type(action).__name__)


def tell_failed(action: Action, code: str) -> None:
    _log.warning("%s failed (%s)", type(action).__name__, code)


def tell_decisions(decisions: Sequence[Decision]) -> None:
    """What the run decided, where somebody listens."""
    for one in decisions:
        match one:
            case ActionGivenUp(stage=stage, code=code):
                # What failed was told where it was done; what took too long did not fail there.
                level = logging.WARNING if code == STAGE_TIMEOUT else logging.DEBUG
                _log.log(level, "given up in %s: %s", stage, code)
            case TopicsChosen(topics=topics, chosen_by=who):
                _log.debug("%d topics, chosen by the %s", len(topics), who)
            case TopicSkipped():
                _log.debug("a topic is left out")
            case NoteWritten(changed=changed):
                _log.debug("the note is %s", "another" if changed else "as it was")
            case _:
                _log.debug("%s", type(one).__name__)
