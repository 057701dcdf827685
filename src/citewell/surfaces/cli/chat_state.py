"""A conversation as the terminal keeps it: what was asked, which run answered, what is pinned. Pure.

A follow-up is understood from the questions before it and from what is pinned; earlier answers are never part of it.

    >>> state = ChatState().asked("Who lit the lamp?", "20260105T101500-0a1b2c3d").pinned("note:notes/lamp")
    >>> state.history
    ({'id': 'q1', 'question': 'Who lit the lamp?'},)
    >>> state.conversation_id, state.pins
    ('chat-20260105T101500-0a1b2c3d', ('note:notes/lamp',))
"""

from __future__ import annotations

import string
from dataclasses import dataclass, replace

from citewell.domain.documents import Span
from citewell.domain.errors import BadInput, NotFound
from citewell.domain.runs import SESSION_TURNS, RunResult
from citewell.domain.transcripts import ChatTranscript, TranscriptTurn

MOST_TURNS, MOST_PINS = SESSION_TURNS, 24


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that can be opened or pinned: of a citation, or of a row that was found and not cited."""

    label: str
    source_key: str
    title: str
    where: str
    span: Span
    is_cited: bool


@dataclass(frozen=True, slots=True)
class ChatState:
    """A conversation so far; `last` is what the last question came to, once it has."""

    turns: tuple[TranscriptTurn, ...] = ()
    pins: tuple[str, ...] = ()
    conversation: str = ""
    last: RunResult | None = None

    @property
    def conversation_id(self) -> str:
        """Named after its first run, so that it needs no clock and leads back to the record."""
        return self.conversation or (f"chat-{self.turns[0].run_id}" if self.turns else "")

    @property
    def history(self) -> tuple[dict[str, str], ...]:
        """What the next question is told of the ones before it."""
        return tuple({"id": turn.question_id, "question": turn.question} for turn in self.turns[-MOST_TURNS:])

    @property
    def stopped_run(self) -> str | None:
        """The run of the last question, where it has no answer yet."""
        if self.turns and self.turns[-1].answer_status is None:
            return self.turns[-1].run_id
        return None

    def asked(self, question: str, run_id: str | None) -> ChatState:
        turn = TranscriptTurn(self._next_id(), question, run_id, pinned_keys=self.pins)
        return replace(self, turns=(*self.turns, turn), last=None)

    def answered(self, result: RunResult) -> ChatState:
        """The last question has its answer."""
        cited = tuple(dict.fromkeys(citation.source_key for citation in result.citations))
        turn = replace(self.turns[-1], answer_status=result.answer_status, cited_keys=cited)
        return replace(self, turns=(*self.turns[:-1], turn), last=result)

    def pinned(self, *keys: str) -> ChatState:
        pins = tuple(dict.fromkeys((*self.pins, *keys)))
        if len(pins) > MOST_PINS:
            raise BadInput(
                f"At most {MOST_PINS} documents can be pinned.", fix="Take some out: /unpin KEY, /unpin all."
            )
        return replace(self, pins=pins)

    def unpinned(self, *keys: str) -> ChatState:
        return replace(self, pins=tuple(key for key in self.pins if key not in keys))

    def transcript(self) -> ChatTranscript:
        return ChatTranscript(self.conversation_id, self.turns)

    def sources(self) -> tuple[Source, ...]:
        """The citations of the last answer by their numbers, then what else was found, by letters."""
        if self.last is None:
            return ()
        cited = [
            Source(str(one.n), one.source_key, one.title, one.note_path or one.url or "", one.span, is_cited=True)
            for one in self.last.citations
        ]
        keys = {one.source_key for one in cited}
        rows = [row for row in (self.last.pack.evidence if self.last.pack else ()) if row.source_key not in keys]
        found = [
            Source(label, row.source_key, row.title, row.note_path or row.url or "", row.span, is_cited=False)
            for label, row in zip(string.ascii_lowercase, rows, strict=False)
        ]
        return (*cited, *found)

    def source(self, name: str) -> Source | None:
        """What a number, a letter or a key names among these."""
        wanted = name.strip("[]")
        return next((one for one in self.sources() if wanted in (one.label, one.source_key)), None)

    def _next_id(self) -> str:
        taken = {turn.question_id for turn in self.turns}
        return next(name for number in range(len(self.turns) + 1, 10_000) if (name := f"q{number}") not in taken)


def continued(transcript: ChatTranscript, last: RunResult | None) -> ChatState:
    """A saved conversation, to be gone on with."""
    if not transcript.turns:
        raise NotFound(f"Conversation {transcript.conversation_id} is empty.", fix="Start one with 'citewell chat'.")
    return ChatState(transcript.turns, transcript.turns[-1].pinned_keys, transcript.conversation_id, last)
