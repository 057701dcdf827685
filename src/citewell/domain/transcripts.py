"""Saved conversations as values (`chat_transcript.v1`): what was asked and which run answered, never the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from citewell.domain.answers import AnswerStatus

TRANSCRIPT_VERSION = "chat_transcript.v1"
ConversationId = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,100}$")]
RunId = Annotated[str, Meta(pattern="^[0-9]{8}T[0-9]{6}-[0-9a-f]{8}$")]
Key = Annotated[str, Meta(min_length=1, max_length=1_000)]
Keys = Annotated[tuple[Key, ...], Meta(max_length=200)]


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One question of a conversation; `reviewed` says that a person looked at what came of it."""

    question_id: Annotated[str, Meta(min_length=1, max_length=200)]
    question: Annotated[str, Meta(min_length=1, max_length=8_000)]
    run_id: RunId | None = None
    answer_status: AnswerStatus | None = None
    cited_keys: Keys = ()
    pinned_keys: Keys = ()
    reviewed: bool | None = None


@dataclass(frozen=True, slots=True)
class ChatTranscript:
    """A conversation that somebody wanted to keep."""

    conversation_id: ConversationId
    turns: Annotated[tuple[TranscriptTurn, ...], Meta(max_length=1_000)]
    schema_version: Literal["chat_transcript.v1"] = "chat_transcript.v1"


@dataclass(frozen=True, slots=True)
class TranscriptList:
    """The saved conversations, newest first; `unreadable` names files that are none."""

    transcripts: tuple[ChatTranscript, ...]
    unreadable: tuple[str, ...] = ()
