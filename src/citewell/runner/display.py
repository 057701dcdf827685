"""What a person sees of an answer while it is written: sentences that pass their own gates, and what is taken back.

Entries for the log, beside it: a replay passes over them. A sentence that was shown and is not in the answer that
holds is retracted by its number, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from citewell.recording.log import Entry
from citewell.runner.actions import Action, Ask, Observation
from citewell.runner.state import RunState
from citewell.synthesis.streaming import SentenceStream, ShownSentence


class Display:
    """Turns a model's text into entries, in the order in which they may be shown."""

    def __init__(self) -> None:
        self.woken = asyncio.Event()
        self._waiting: list[Entry] = []
        self._stream: SentenceStream | None = None
        self._standing: list[ShownSentence] = []

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def take(self) -> list[Entry]:
        """What is to be shown now."""
        entries, self._waiting = self._waiting, []
        self.woken.clear()
        return entries

    def open(self, action: Action, state: RunState) -> Callable[[str], None]:
        """Where the text of this action goes; a second draft takes the place of the first."""
        writes = isinstance(action, Ask) and action.request.purpose in ("write", "repair")
        if not writes or state.prepared is None or state.plan is None:
            return _nowhere
        self._retract("the answer is written again")
        self._stream = SentenceStream(state.prepared, state.plan)
        return self._feed

    def after(self, observation: Observation, state: RunState) -> list[Entry]:
        """What is still to be shown, and what must be taken back now that this was seen."""
        if self._stream is not None and type(observation).__name__ in ("Replied", "AskFailed", "ActionFailed"):
            if type(observation).__name__ == "Replied":
                self._show(self._stream.close())
            self._stream = None
        if state.is_over:
            self._settle(state)
        return self.take()

    def _feed(self, text: str) -> None:
        if self._stream is not None:
            self._show(self._stream.feed(text))

    def _show(self, sentences: list[ShownSentence]) -> None:
        for sentence in sentences:
            body = {"index": sentence.index, "text": sentence.text, "verdict": sentence.verdict}
            self._waiting.append(Entry("display_updated", {"shown": {**body, "sources": list(sentence.sources)}}))
            self._standing.append(sentence)
        if sentences:
            self.woken.set()

    def _settle(self, state: RunState) -> None:
        """At the end, what stands must be what the answer says and what its check upheld."""
        if state.verification is None or not state.verification.passed or state.failure is not None:
            self._retract("the answer could not be used")
            return
        held = {one.text for one in state.verification.sentences if one.verdict != "unsupported"}
        self._retract("it did not pass the final check", {one.index for one in self._standing if one.text not in held})

    def _retract(self, reason: str, only: set[int] | None = None) -> None:
        gone = [one for one in self._standing if only is None or one.index in only]
        if gone:
            numbers = [one.index for one in gone]
            self._waiting.append(Entry("display_updated", {"retracted": {"indexes": numbers, "reason": reason}}))
        self._standing = [one for one in self._standing if one not in gone]


def _nowhere(text: str) -> None:
    """Text of a call that shows nothing."""
