"""Tokens, estimated: for reserving money before a call, and for calls whose provider reports none. Pure.

The rule: three ASCII characters, or two bytes of anything else, are one token. English is nearer four characters, so
the estimate is about a third too high there; a Chinese or Japanese character (three bytes) counts 1.5, where tokenizers
of today use 0.7 to 1.3 and old ones 2; a Cyrillic or Arabic letter counts 1. Rather too much is reserved.
"""

from __future__ import annotations

from collections.abc import Iterable

from citewell.domain.chat import ChatMessage

# Each message is framed by a few tokens that no text shows.
FRAME_TOKENS = 8


def estimate_tokens(text: str) -> int:
    """At least as many tokens as this text usually has."""
    if text.isascii():
        return -(-len(text) // 3)
    ascii_chars = sum(character < "\x80" for character in text)
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_chars
    return -(-(2 * ascii_chars + 3 * other_bytes) // 6)


def estimate_prompt(messages: Iterable[ChatMessage]) -> int:
    """At least as many tokens as these messages usually have together."""
    return sum(estimate_tokens(message.content) + FRAME_TOKENS for message in messages)
