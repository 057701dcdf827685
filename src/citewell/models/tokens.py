"""Tokens, estimated: for reserving money before a call, and for calls whose provider reports none. Pure.

The rule: three ASCII characters are one token, three bytes of anything else are two. So English counts about half more
than it is; code and German up to a fifth less; a Chinese or Japanese character counts 2 and a Cyrillic or Arabic letter
1.3, which is what a small vocabulary (SmolLM2, 49,000 entries) makes of them; larger ones make fewer.
"""

from __future__ import annotations

from collections.abc import Iterable

from citewell.domain.chat import ChatMessage

# Each message is framed by a few tokens that no text shows.
FRAME_TOKENS = 8


def estimate_tokens(text: str) -> int:
    """About as many tokens as a small vocabulary makes of this text."""
    size = len(text.encode("utf-8", "surrogatepass"))
    ascii_chars = size if text.isascii() else sum(character < "\x80" for character in text)
    return -(-(ascii_chars + 2 * (size - ascii_chars)) // 3)


def estimate_prompt(messages: Iterable[ChatMessage]) -> int:
    """The same for all of these messages together."""
    return sum(estimate_tokens(message.content) + FRAME_TOKENS for message in messages)
