"""What a judge is asked of a draft: its sentences, each with the text it rests on. Pure.

Asked is what a model wrote and what its quotes do not say word for word; a sentence that is quoted needs no opinion.
The text is the quotes of a sentence under the titles of their sources, so that a passage that says "it" has a subject.

Example:
    sentence: Pell kept the lamp for twelve years.
    quote:    He tended it from 1859 until 1871.   (from "Josiah Pell")
    asked:    does "Josiah Pell\n\nHe tended it from 1859 until 1871." entail the sentence?
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.answers import Draft, DraftSentence, PreparedSource, PreparedSynthesis, Quote
from citewell.domain.judging import ClaimPair
from citewell.synthesis.checking.table_rows import read_out
from citewell.synthesis.gates import source_of
from citewell.synthesis.instructions import is_instruction
from citewell.synthesis.markup import readable
from citewell.text.sentences import sentences

# Pairs of one draft; an answer that has more is judged as far as this.
MAX_PAIRS = 48
# Characters of one text; the quotes of a sentence beyond it are not read.
MAX_EVIDENCE_CHARS = 6_000
_BETWEEN = "\n\n"
# A quote that can be looked at, with its source.
Held = tuple[Quote, PreparedSource]


def pairs_to_judge(draft: Draft, prepared: PreparedSynthesis) -> tuple[ClaimPair, ...]:
    """The sentences of a draft that a judge could say something of, each once."""
    if draft.refused or draft.written_by != "model":
        return ()
    pairs = [
        pair_of(spoken(sentence), held)
        for sentence in draft.sentences
        if (held := _held(sentence, prepared)) and not _is_quoted(sentence.text, held)
    ]
    return tuple(dict.fromkeys(pairs))[:MAX_PAIRS]


def spoken(sentence: DraftSentence) -> str:
    """A sentence as it is said; a row of a table is read out under its header."""
    return read_out(sentence.text, sentence.header) if sentence.header else sentence.text


def pair_of(text: str, held: Sequence[Held]) -> ClaimPair:
    """A sentence and what it rests on, as a judge is given them."""
    titles = dict.fromkeys(" – ".join(filter(None, (source.title, source.heading))) for _, source in held)
    quotes = dict.fromkeys(quote.text for quote, _ in held)
    return texts_as_pair(text, [*titles, *quotes])


def texts_as_pair(claim: str, texts: Sequence[str]) -> ClaimPair:
    """A statement and texts as a judge is given them: without markup, and not longer than it is worth."""
    plain = ("\n".join(filter(None, map(readable, text.splitlines()))) for text in texts)
    return ClaimPair(readable(claim), _BETWEEN.join(filter(None, plain))[:MAX_EVIDENCE_CHARS])


def _held(sentence: DraftSentence, prepared: PreparedSynthesis) -> list[Held]:
    """The quotes of a sentence that stand in the evidence and give no orders, as verification takes them."""
    if sentence.kind == "refusal":
        return []
    found = [(quote, source) for quote in sentence.quotes if (source := source_of(quote, prepared))]
    return [(quote, source) for quote, source in found if not is_instruction(quote.text)]


def _is_quoted(text: str, held: Sequence[Held]) -> bool:
    """Whether a quote has the sentence whole and to the letter: a part of one may say something else."""
    said = readable(text).rstrip(".!")
    return any(
        said in (readable(quote.text).rstrip(".!"), readable(quote.text[start:end]).rstrip(".!"))
        for quote, _ in held
        for start, end in sentences(quote.text)
    )
