"""What a person sees of an answer while it is written: sentences that pass their own gates, and what is retracted.

Entries for the log, beside it: a replay passes over them. A sentence that was shown and is not in the answer that
holds is retracted by its number, with the reason. Sentences are checked off the event loop, in the order they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from citewell.domain.events import Entry, SentenceRetracted, SentenceShown
from citewell.flows.found import Found
from citewell.runs.journal import Call, Run
from citewell.synthesis.streaming import SentenceStream, ShownSentence

InThread = Callable[..., Awaitable[Any]]


class Display:
    """Turns a model's text into entries, in the order in which they may be shown."""

    def __init__(self, run: Run, found: Found, wake: Callable[[], None], in_thread: InThread) -> None:
        self._run, self._found = run, found
        self._wake = wake
        self._in_thread = in_thread
        self._waiting: list[Entry] = []
        self._stream: SentenceStream | None = None
        self._pieces: list[str] = []
        self._checking: asyncio.Task[None] | None = None
        self._shown: list[ShownSentence] = []

    def take(self) -> list[Entry]:
        """What is to be shown now."""
        entries, self._waiting = self._waiting, []
        return entries

    def open(self, call: Call) -> Callable[[str], None]:
        """Where the text of this call goes; a second draft takes the place of the first."""
        found = self._found
        # A report and the section of a note are shown whole: their claims are lines of a list until they are read.
        is_shown = self._run.request.profile in ("local", "chat", "deep")
        if not _writes(call) or found.prepared is None or found.plan is None or not is_shown:
            return _nowhere
        self._retract("the answer is written again")
        self._stream, self._pieces = SentenceStream(found.prepared, found.plan), []
        return self._feed

    async def close(self, call: Call, *, is_whole: bool) -> None:
        """The text of a call is whole, or will not come: show what is still to be shown of it."""
        if not _writes(call) or self._stream is None:
            return
        stream, checking = self._stream, self._checking
        if checking is not None:
            await checking
        if is_whole:
            self._show(await self._in_thread(stream.close))
        self._stream = None

    def settle(self) -> list[Entry]:
        """At the end, what is shown must be what the answer says and what its check upheld."""
        checked = self._found.verification
        if checked is None or not checked.passed or self._run.failure is not None:
            self._retract("the answer could not be used")
        else:
            held = {one.text for one in checked.sentences if one.verdict != "contradicted"}
            fallen = {one.index for one in self._shown if one.text not in held}
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
            self._waiting.append(Entry.of(SentenceShown(one.index, one.text, one.verdict, one.sources)))
            self._shown.append(one)
        if sentences:
            self._wake()

    def _retract(self, reason: str, only: set[int] | None = None) -> None:
        gone = [one for one in self._shown if only is None or one.index in only]
        if gone:
            self._waiting.append(Entry.of(SentenceRetracted(tuple(one.index for one in gone), reason)))
        self._shown = [one for one in self._shown if one not in gone]


def _writes(call: Call) -> bool:
    return call.name == "ask" and call.arguments["request"].purpose in ("write", "repair")


def _nowhere(text: str) -> None:
    """Text of a call that shows nothing."""
