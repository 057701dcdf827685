"""What a person sees of an answer while it is written: sentences that pass their own gates, and what is retracted.

Entries for the log, beside it: a replay passes over them. A sentence that was shown and is not in the answer that
holds is retracted by its number, with the reason. Sentences are checked off the event loop, in the order they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from citewell.domain.events import Entry, SentenceRetracted, SentenceShown
from citewell.runner.actions import Action, Ask, Observation, Replied
from citewell.runner.state import RunState
from citewell.synthesis.streaming import SentenceStream, ShownSentence

InThread = Callable[..., Awaitable[Any]]


class Display:
    """Turns a model's text into entries, in the order in which they may be shown."""

    def __init__(self, wake: Callable[[], None], in_thread: InThread) -> None:
        self._wake = wake
        self._in_thread = in_thread
        self._waiting: list[Entry] = []
        self._stream: SentenceStream | None = None
        self._pieces: list[str] = []
        self._checking: asyncio.Task[None] | None = None
        self._standing: list[ShownSentence] = []

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def take(self) -> list[Entry]:
        """What is to be shown now."""
        entries, self._waiting = self._waiting, []
        return entries

    def open(self, action: Action, state: RunState) -> Callable[[str], None]:
        """Where the text of this action goes; a second draft takes the place of the first."""
        # A report is shown whole: its claims are lines of a list until they are read.
        if not _writes(action) or state.prepared is None or state.plan is None or state.report is not None:
            return _nowhere
        self._retract("the answer is written again")
        self._stream, self._pieces = SentenceStream(state.prepared, state.plan), []
        return self._feed

    async def close(self, action: Action, observation: Observation) -> None:
        """The text of an action is whole, or will not come: show what is still to be shown of it."""
        if not _writes(action) or self._stream is None:
            return
        stream, checking = self._stream, self._checking
        if checking is not None:
            await checking
        if isinstance(observation, Replied):
            self._show(await self._in_thread(stream.close))
        self._stream = None

    def settle(self, state: RunState) -> list[Entry]:
        """At the end, what stands must be what the answer says and what its check upheld."""
        if not state.is_over:
            return []
        if state.verification is None or not state.verification.passed or state.failure is not None:
            self._retract("the answer could not be used")
        else:
            held = {one.text for one in state.verification.sentences if one.verdict != "contradicted"}
            fallen = {one.index for one in self._standing if one.text not in held}
            self._retract("it did not pass the final check", fallen)
        return self.take()

    def _feed(self, text: str) -> None:
        self._pieces.append(text)
        if self._checking is None or self._checking.done():
            self._checking = asyncio.ensure_future(self._check())

    async def _check(self) -> None:
        stream = self._stream
        while self._pieces and stream is not None and stream is self._stream:
            text, self._pieces = "".join(self._pieces), []
            self._show(await self._in_thread(stream.feed, text))

    def _show(self, sentences: list[ShownSentence]) -> None:
        for one in sentences:
            shown = SentenceShown(one.index, one.text, one.verdict, one.sources)
            self._waiting.append(Entry.of(shown))
            self._standing.append(one)
        if sentences:
            self._wake()

    def _retract(self, reason: str, only: set[int] | None = None) -> None:
        gone = [one for one in self._standing if only is None or one.index in only]
        if gone:
            self._waiting.append(Entry.of(SentenceRetracted(tuple(one.index for one in gone), reason)))
        self._standing = [one for one in self._standing if one not in gone]


def _writes(action: Action) -> bool:
    return isinstance(action, Ask) and action.request.purpose in ("write", "repair")


def _nowhere(text: str) -> None:
    """Text of a call that shows nothing."""
