"""Chat-shaped prompts: a question together with what came before it, under fixed headings.

Earlier questions may lend their words; titles of earlier evidence only hint at the focus and never become search text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.errors import BadInput

# How many earlier questions a follow-up is told.
SESSION_TURNS = 8


@dataclass(frozen=True, slots=True)
class PriorQuestion:
    """An earlier question of a conversation; its id is whatever the caller knows it by."""

    id: str
    question: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What came before a question. Earlier questions may lend their words; titles only hint at the focus."""

    history: tuple[PriorQuestion, ...] = ()
    pinned: tuple[str, ...] = ()
    title_hints: tuple[str, ...] = ()


# A question that nothing came before.
_ALONE = Conversation()
_HEADINGS = {
    "current question:": "current",
    "recent user questions:": "recent",
    "prior evidence titles for query focus:": "titles",
    "prior evidence titles:": "titles",
    "prior evidence:": "titles",
    "prior answer:": "titles",
    "prior answers:": "titles",
    "pinned evidence keys:": "pinned",
}
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A prompt taken apart; a plain question is its own `current`."""

    current: str
    recent: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


def parse_chat_prompt(prompt: str) -> ChatPrompt:
    """Take a prompt apart at its headings."""
    parts: dict[str, list[str]] = {}
    part = "before"
    for line in prompt.split("\n"):
        heading, rest = _heading(line)
        if heading is not None:
            part = heading
            line = rest
        if line.strip():
            parts.setdefault(part, []).append(_BULLET.sub("", line).strip())
    if part == "before":
        return ChatPrompt(prompt.strip())
    return ChatPrompt(
        # Without its heading, the question is what stands before the others; what was shown before never becomes it.
        current="\n".join(parts.get("current") or parts.get("before") or ()),
        recent=tuple(parts.get("recent", ())),
        titles=tuple(parts.get("titles", ())),
        pinned=tuple(key for line in parts.get("pinned", ()) for key in re.split(r"[,\s]+", line) if key),
    )


def prompt_of(question: str, conversation: Conversation = _ALONE) -> ChatPrompt:
    """A question with what came before it, as planning reads them."""
    recent = tuple(prior.question for prior in conversation.history)
    return ChatPrompt(question, recent, conversation.title_hints, conversation.pinned)


def conversation_of(prompt: ChatPrompt) -> Conversation:
    """What a chat-shaped prompt says of the questions before it, as values; they are known by their number."""
    history = tuple(PriorQuestion(f"q{number}", text) for number, text in enumerate(prompt.recent, start=1))
    return Conversation(history, prompt.pinned, prompt.titles)


def checked_prompt(prompt: str) -> ChatPrompt:
    """A prompt taken apart, or a clear refusal of one that holds everything but a question."""
    parsed = parse_chat_prompt(prompt)
    if not parsed.current.strip():
        raise BadInput("The question is empty.", fix="Write the question under 'Current question:'.")
    return parsed


def _heading(line: str) -> tuple[str | None, str]:
    stripped = line.strip().lstrip("#* ").rstrip("*")
    lowered = stripped.lower()
    for heading, name in _HEADINGS.items():
        if lowered.startswith(heading):
            return name, stripped[len(heading) :].lstrip("* ")
    return None, line


def asked_in(prompt: str, conversation: Conversation | None) -> tuple[str, Conversation]:
    """The question of a prompt and what came before it: from its headings, and from what the caller says."""
    parsed = checked_prompt(prompt)
    told = conversation_of(parsed)
    if conversation is None:
        return parsed.current, told
    merged = Conversation(
        (*told.history, *conversation.history),
        tuple(dict.fromkeys((*told.pinned, *conversation.pinned))),
        tuple(dict.fromkeys((*told.title_hints, *conversation.title_hints))),
    )
    return parsed.current, merged
