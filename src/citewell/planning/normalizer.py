"""The one normaliser: a question becomes clean search text, terms, tags and protected anchors. No model, no index.

Filler is stripped, source keys are taken out of the text; quoted phrases, handles, tags, dotted tokens and
single-letter names are kept whole. Every surface and every lane sees a question through this.
"""

from __future__ import annotations

import re
from itertools import pairwise

from citewell.domain.documents import KEY_PREFIXES
from citewell.domain.errors import BadInput
from citewell.domain.values import dataclass
from citewell.planning.vocabulary import (
    ENDING_WORDS,
    FILLER_ENDS,
    FILLER_STARTS,
    FRAME_WORDS,
    INTENT_WORDS,
    STARTING_WORDS,
)
from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word
from citewell.text.question_language import is_foreign_function_word, question_language
from citewell.text.words import QueryToken, query_tokens

MAX_QUESTION_CHARS = 8_000
_MAX_TAG_QUERIES = 24

QUOTED = re.compile(r'"([^"\n]{1,300})"|“([^”\n]{1,300})”|„([^“”\n]{1,300})[“”]|«([^»\n]{1,300})»|「([^」\n]{1,300})」')
SOURCE_KEY = re.compile(
    rf"(?<![\w/])(?:{'|'.join(sorted(set(KEY_PREFIXES.values())))}):[\w./~+-]*\w(?:@[0-9a-f]{{64}})?"
)

_ABBREVIATION = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_SPOKEN_ABBREVIATIONS = frozenset({"e.g", "i.e", "z.b", "d.h", "u.a", "p.ex", "a.k.a"})
# A line of so many words without a small letter is shouted: its capitals mark no names.
_SHOUTED_WORDS = 4


@dataclass(frozen=True, slots=True)
class Normalized:
    """A question as every later step sees it."""

    question: str
    text: str
    tokens: tuple[QueryToken, ...]
    phrases: tuple[str, ...]
    handles: tuple[str, ...]
    tags: tuple[str, ...]
    source_keys: tuple[str, ...]

    @property
    def content(self) -> tuple[QueryToken, ...]:
        """Tokens that say what the question is about; all of them where that would leave none."""
        meant = tuple(token for token in self.tokens if not is_frame(token) and not is_intent(token))
        return meant or tuple(token for token in self.tokens if not is_function_word(token)) or self.tokens


def check_question(question: str) -> str:
    """The question itself, or a clear refusal of an empty or enormous one."""
    if not question.strip():
        raise BadInput("The question is empty.", fix='Ask something, for example: citewell search "heat pump noise"')
    if len(question) > MAX_QUESTION_CHARS:
        raise BadInput(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION_CHARS:,} are taken.",
            fix="Put the text in a file, add it with 'citewell add FILE', and ask about it.",
        )
    return question


def normalize(question: str) -> Normalized:
    """A question normalised. The same question always gives the same result."""
    source_keys = tuple(dict.fromkeys(SOURCE_KEY.findall(question)))
    without_keys = SOURCE_KEY.sub(" ", question)
    phrases = tuple(dict.fromkeys(" ".join(filter(None, groups)).strip() for groups in QUOTED.findall(without_keys)))
    text = strip_filler(_lowered_if_shouted(" ".join(without_keys.split())))
    tokens = _without_foreign_frame(tuple(token for token in query_tokens(text) if not _is_noise(token)), text)
    return Normalized(
        question=question,
        text=text,
        tokens=tokens,
        phrases=tuple(phrase for phrase in phrases if phrase),
        handles=tuple(dict.fromkeys(token.folded for token in tokens if token.folded.startswith("@"))),
        tags=tuple(dict.fromkeys(token.folded[1:] for token in tokens if _is_tag(token))),
        source_keys=source_keys,
    )


def _without_foreign_frame(tokens: tuple[QueryToken, ...], text: str) -> tuple[QueryToken, ...]:
    """Without the function words of the question's language, where that is not English; all where nothing is left."""
    language = question_language(text)
    return tuple(token for token in tokens if not is_foreign_function_word(token.folded, language)) or tokens


def _lowered_if_shouted(text: str) -> str:
    words = [word for word in text.split() if any(character.isalpha() for character in word)]
    return text.lower() if len(words) >= _SHOUTED_WORDS and text == text.upper() else text


def strip_filler(text: str) -> str:
    """The question without the words people wrap around it; the whole question where nothing else is left."""
    stripped = text
    for _ in range(4):
        before = stripped
        stripped = without_filler_behind(without_filler_before(stripped)).strip(" ,;:")
        if stripped == before:
            break
    return stripped if query_tokens(stripped) else text


def without_filler_before(text: str) -> str:
    """A question without what people begin with: "can you tell me", "hey"."""
    word = _FIRST_WORD.match(text)
    return re.sub(FILLER_STARTS, "", text, count=1) if word and word[0].lower() in STARTING_WORDS else text


def without_filler_behind(text: str) -> str:
    """A question without what people add to its end: "in my notes", "please"."""
    lowered = text.lower()
    return re.sub(FILLER_ENDS, "", text, count=1) if any(word in lowered for word in ENDING_WORDS) else text


def is_exact(token: QueryToken) -> bool:
    """Whether a compound is a name of its own: `1.0.21`, `node.js`, `@ada`. Hyphenated words are just their words;
    counting them whole as well costs up to .02 nDCG@10 on technical collections. Nor is a decimal a name, or `U.S.`."""
    if not token.is_compound or is_abbreviation(token) or is_decimal(token):
        return False
    hyphenated = "-" in token.folded and token.folded[0] not in "@#"
    return not hyphenated or any(character.isdigit() for character in token.folded)


def is_abbreviation(token: QueryToken) -> bool:
    """Single letters with full stops between them: `e.g.`, `i.e.`, `U.S.`, `a.m.`."""
    return bool(_ABBREVIATION.fullmatch(token.folded))


def is_decimal(token: QueryToken) -> bool:
    """A plain number with a fraction: `0.4`, `3.14`; `1.0.21` and `v2.0` are names."""
    return bool(_DECIMAL.fullmatch(token.folded))


def is_function_word(token: QueryToken) -> bool:
    """Stop words carry no meaning, unless they are written as a name: `Vitamin C`, `Plan B`, `IT`."""
    if token.is_compound or token.is_dense:
        return token.folded in _SPOKEN_ABBREVIATIONS
    if len(token.text) == 1 and token.text.isalpha():
        return not (token.text.isupper() and token.text not in "IA")
    return is_stop_word(token.folded) and not (token.text.isupper() and len(token.text) > 1)


def is_intent(token: QueryToken) -> bool:
    return token.folded in INTENT_WORDS


def is_frame(token: QueryToken) -> bool:
    return token.folded in FRAME_WORDS or is_function_word(token)


def _is_noise(token: QueryToken) -> bool:
    return not any(character.isalnum() for character in token.folded)


def _is_tag(token: QueryToken) -> bool:
    return token.folded.startswith("#") and len(token.folded) > 1


def tag_queries(normalized: Normalized) -> tuple[str, ...]:
    """Tags the question may mean: those it names, its words, and neighbours joined by a hyphen or not at all."""
    words = [folded_text(token.text).lstrip("#@") for token in normalized.content if not token.is_dense]
    dense = [token.folded for token in normalized.content if token.is_dense]
    joined: list[str] = []
    for left, right in pairwise(words):
        joined += [f"{left}-{right}", f"{left}{right}", f"{left}_{right}", f"{left}/{right}"]
    return tuple(dict.fromkeys((*normalized.tags, *words, *dense, *joined)))[:_MAX_TAG_QUERIES]
