"""Retrieval from a record: what a run found is found again, without corpus, provider or network.

It answers the actions that find something by their digests. What the run never asked for is a miss, and a miss fails
loudly: a report that is half recorded and half new would be neither. Models are asked as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from citewell.domain.errors import WorkFailed
from citewell.domain.events import RunEvent
from citewell.runner.actions import (
    Action,
    KeepTexts,
    Observation,
    RankPages,
    ReadGiven,
    ReadPage,
    Retrieve,
    SearchWeb,
    SurveyTopic,
    TextsKept,
    action_digest,
    decode_observation,
)
from citewell.runner.actions import KeepSnippets as KeepSnippetsAction
from citewell.runner.driver import Perform

_FINDING = (SurveyTopic, Retrieve, ReadGiven, SearchWeb, ReadPage, RankPages, KeepSnippetsAction)


class ReplayRetrievalSource:
    """What one run found, by what it asked."""

    def __init__(self, events: Sequence[RunEvent]) -> None:
        self.run_id = events[0].run_id
        self._seen = {
            str(event.body["answers"]): event.body["observation"]
            for event in events
            if event.kind == "observation_recorded" and event.body["kind"] == "io"
        }

    def find(self, action: Action) -> Observation:
        """What the run saw when it did this; a miss is an error."""
        seen = self._seen.get(action_digest(action))
        if seen is None:
            raise WorkFailed(
                f"Run {self.run_id} never did this {type(action).__name__}, so its record has no answer to it.",
                fix="Run the brief live, or with the strategies of the recorded run.",
            )
        return decode_observation(seen)

    def over(self, live: Perform) -> Perform:
        """Performs a run's actions: what finds something from the record, everything else live."""

        async def perform(action: Action, on_text: Callable[[str], None]) -> Observation:
            if isinstance(action, _FINDING):
                return self.find(action)
            if isinstance(action, KeepTexts):
                return TextsKept(())  # the recorded run keeps them
            return await live(action, on_text)

        return perform
