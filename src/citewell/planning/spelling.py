"""Which words of a question may be misspelled, and the question with another word put for one. Pure.

Handles, tags, keys, versions, numbers, anything in quotes, short words and scripts without spaces are taken as they
stand: of those, what is written is what is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from citewell.planning.normalizer import is_function_word, is_intent
from citewell.text.spelling import SHORTEST
from citewell.text.words import QueryToken, query_tokens


def doubtful_words(text: str, phrases: Iterable[str]) -> tuple[str, ...]:
    """The folded words that may be read as another where nothing has them."""
    quoted = {token.folded for phrase in phrases for token in query_tokens(phrase)}
    return tuple(
        dict.fromkeys(token.folded for token in query_tokens(text) if _is_plain(token) and token.folded not in quoted)
    )


def put_right(text: str, spelled: Mapping[str, str]) -> str:
    """The text with each of these folded words exchanged for another."""
    parts: list[str] = []
    at = 0
    for token in query_tokens(text):
        if token.folded in spelled and not token.is_compound:
            parts += [text[at : token.start], spelled[token.folded]]
            at = token.end
    return "".join((*parts, text[at:]))


def _is_plain(token: QueryToken) -> bool:
    is_word = not token.is_compound and not token.is_dense and token.folded.isalpha()
    return is_word and len(token.folded) >= SHORTEST and not is_function_word(token) and not is_intent(token)
