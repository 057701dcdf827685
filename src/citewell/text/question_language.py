"""Which language a question is in, and which of its words carry no meaning: by the lists of `stop-words`.

A question is short, so every function word counts, where a document is told by the commonest ones (`language`). English
keeps its own list: that of the library holds words such as "able" and "system", which people search for.
"""

from __future__ import annotations

import re
from functools import cache

from citewell.text.folding import folded_text
from citewell.text.language import LANGUAGE_NAMES, is_function_word_anywhere, stop_words

_WORD = re.compile(r"[^\W\d_]+")
# Below this share of function words a question is a list of keywords, of no language.
_LEAST_SHARE = 0.3


@cache
def function_words(language: str) -> frozenset[str]:
    """The folded function and question words of a language that has a stemmer; English as the library has it."""
    from stop_words import get_stop_words

    name = LANGUAGE_NAMES.get(language)
    if name is None:
        return frozenset()
    return frozenset(folded_text(word) for word in get_stop_words(name.lower())) | stop_words(language)


def question_language(text: str) -> str | None:
    """The language of a question, or None where its words do not tell; English wins a tie."""
    words = _WORD.findall(folded_text(text))
    english = stop_words("en")
    if sum(word in english for word in words) * 2 >= len(words) > 0:
        return "en"
    if not any(map(is_function_word_anywhere, words)):
        return None  # keywords: the long lists need not be read
    counts = {language: sum(word in function_words(language) for word in words) for language in LANGUAGE_NAMES}
    best = max(counts, key=lambda language: counts[language], default="en")
    enough = counts[best] >= 2 and counts[best] >= _LEAST_SHARE * len(words)
    tied = sum(count == counts[best] for count in counts.values()) > 1 and best != "en"
    return best if enough and not tied else None


def is_foreign_function_word(folded: str, language: str | None) -> bool:
    """Whether a word of a question in another language than English carries no meaning there."""
    return language not in (None, "en") and folded in function_words(language or "")
