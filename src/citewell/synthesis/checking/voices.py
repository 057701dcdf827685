"""The other voice of a sentence: active for passive, and passive for active. Pure.

Each yields the claim with its words in the order of the sentence, aligned anew; whether it then keeps the wording is
decided as for any other (`wording`). Every word of meaning has to be the sentence's own.

Example:
    claim:   Maria Kern designed the bridge in 1902.
    passage: The bridge was designed by Maria Kern in 1902.
    verdict: supported

Example:
    claim:   Lomax acquired Brightwell.
    passage: Lomax was acquired by Brightwell.
    verdict: contradicted
    reason:  the quote has the two sides of 'acquired' the other way round
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from citewell.synthesis.checking.claim_alignment import ClaimAlignment, carries_meaning
from citewell.synthesis.checking.tokens import Token
from citewell.synthesis.checking.word_alignment import align_words
from citewell.synthesis.lexicon.word_lists import word_list

COMPARING = ("than", "als")


def in_other_voice(alignment: ClaimAlignment) -> Iterator[ClaimAlignment]:
    """The claim in the voice of the sentence, where that is the other and all its words are the sentence's."""
    for tokens in (*_as_passive(alignment), *_as_active(alignment)):
        words = align_words(tokens, alignment.sentence.tokens, alignment.close)
        if words is None:
            continue
        if all(same or not carries_meaning(one) for one, same in zip(tokens, words.is_same, strict=True)):
            claim = replace(alignment.matched.claim, tokens=tokens)
            yield replace(alignment, matched=replace(alignment.matched, claim=claim), words=words)


def _agent_at(tokens: Sequence[Token]) -> int | None:
    """The place of `by` in `was designed by`."""
    for at in range(3, len(tokens) - 1):
        verb, be = tokens[at - 1], tokens[at - 2]
        if tokens[at].folded == "by" and verb.is_content and be.folded in word_list("being"):
            return at
    return None


def _as_passive(alignment: ClaimAlignment) -> Iterator[tuple[Token, ...]]:
    """An active claim as the passive sentence has it."""
    told, said = alignment.sentence.tokens, alignment.claim.tokens
    by = _agent_at(told)
    if by is None or _agent_at(said) is not None:
        return
    forms = {
        one.stem
        for one in said
        if told[by - 1].stem == one.stem or told[by - 1].stem in alignment.close.get(one.stem, {})
    }
    verb = next((at for at, one in enumerate(said) if one.stem in forms), None)
    if not verb:
        return
    undergoing = {one.stem for one in told[: by - 2]}
    end = verb + 1
    while end < len(said) and (said[end].stem in undergoing or not carries_meaning(said[end])):
        if said[end].folded in word_list("prepositions"):
            break
        end += 1
    yield (*said[verb + 1 : end], told[by - 2], said[verb], told[by], *said[:verb], *said[end:])


def _as_active(alignment: ClaimAlignment) -> Iterator[tuple[Token, ...]]:
    """A passive claim as the active sentence has it."""
    said = alignment.claim.tokens
    by = _agent_at(said)
    if by is None or _agent_at(alignment.sentence.tokens) is not None:
        return
    end = next((at for at in range(by + 1, len(said)) if said[at].folded in word_list("prepositions")), len(said))
    yield (*said[by + 1 : end], said[by - 1], *said[: by - 2], *said[end:])
