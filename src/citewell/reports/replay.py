"""Retrieval from a record: what a run found is found again, without corpus, provider or network.

It answers the calls that find something by their keys. What the run never asked for is a miss, and a miss fails loudly:
a report that is half recorded and half new would be neither. Models are asked as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from citewell.domain.errors import WorkFailed
from citewell.domain.events import RunEvent
from citewell.runs.execute import Perform
from citewell.runs.journal import Call, Failed

_FINDING = ("survey_topic", "retrieve", "read_given", "search_web", "read_page", "rank_pages", "keep_snippets")


class ReplayRetrievalSource:
    """What one run found, by what it asked."""

    def __init__(self, events: Sequence[RunEvent]) -> None:
        self.run_id = events[0].run_id
        self._seen = {
            str(event.body["answers"]): event.body["observation"]
            for event in events
            if event.kind == "observation_recorded" and event.body["kind"] == "io"
        }

    def find(self, call: Call) -> Any:
        """What the run saw when it asked for this; a miss is an error."""
        seen = self._seen.get(call.key)
        if seen is None:
            raise WorkFailed(
                f"Run {self.run_id} never asked for this {call.name}, so its record has no answer to it.",
                fix="Run the brief live, or with the strategies of the recorded run.",
            )
        if "failed" in seen:
            raise Failed(**seen["failed"])
        return msgspec.convert(seen["value"], call.form)

    def over(self, live: Perform) -> Perform:
        """Performs a run's calls: what finds something from the record, everything else live."""

        async def perform(call: Call, on_text: Callable[[str], None]) -> Any:
            if call.name in _FINDING:
                return self.find(call)
            if call.name == "keep_texts":
                return ()  # the recorded run keeps them
            return await live(call, on_text)

        return perform
