"""Claims: whether a sentence says what its quotes say. Pure, and the same for an extracted or a model's sentence.

It compares content words (weighted by how rare they are in the evidence), numbers with their units, dates, names and
denial. It does not understand: a paraphrase in quite other words is called partial, and a sentence that puts the right
words into a wrong relation ("A sold B" for "B sold A") passes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citewell.domain.answers import PreparedSource, PreparedSynthesis, Quote, Verdict
from citewell.synthesis.lead_ins import is_dated_falsely, without_lead_in
from citewell.synthesis.meanings import same_meaning, verb_forms
from citewell.synthesis.names import Spelling, names_in
from citewell.synthesis.values import NUMBER_WORDS, Date, Quantity, dates_in, denials_in, quantities_in
from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word
from citewell.text.sentences import sentences
from citewell.text.words import index_terms, stem

SUPPORTED_AT = 0.75
PARTIAL_AT = 0.4
# The share of a claim's weight that may stand only where the quote denies it.
_DENIED_SHARE = 0.4
_MAX_COMPARED = 400

_NUMBER_STEMS = frozenset(stem(word, "en") for word in NUMBER_WORDS.values())
_WORDS = re.compile(r"[\w'’]+")


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one sentence, and what is missing where it is not supported."""

    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rarity:
    """How much a word of the evidence says: the fewer sentences have it, the more."""

    counts: dict[str, int]
    total: int

    @classmethod
    def of(cls, prepared: PreparedSynthesis) -> Rarity:
        counts: Counter[str] = Counter()
        total = 0
        for source in prepared.sources:
            for start, end in sentences(source.text):
                counts.update(content_stems(source.text[start:end]))
                total += 1
        return cls(dict(counts), total)

    def weight(self, stems: Iterable[str]) -> float:
        # Summed in a fixed order: floating-point sums depend on it.
        return math.fsum(math.log(1 + (self.total + 1) / (self.counts.get(one, 0) + 1)) for one in sorted(stems))


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text that carry meaning; numbers are compared apart."""
    return frozenset(
        form
        for form in index_terms(text, "en").split()
        if not is_stop_word(form) and not form[0].isdigit() and form not in _NUMBER_STEMS
    )


def is_claim(text: str) -> bool:
    """Whether a sentence states anything that could be wrong: not a question, not a bare transition."""
    said = without_lead_in(text).strip()
    if said.endswith("?") or not content_stems(said):
        return bool(quantities_in(said)) and not said.endswith("?")
    return len(content_stems(said)) > 2 or bool(quantities_in(said) or dates_in(said)) or not said.endswith(":")


def check_claim(text: str, quotes: Sequence[Quote], sources: Sequence[PreparedSource], rarity: Rarity) -> Check:
    """Compare a sentence with the passages it cites; titles and headings of their sources may complete a name."""
    said = without_lead_in(text)
    if is_dated_falsely(text, list(sources)):
        return Check("unsupported", "the date in front is not that of the source")
    if not is_claim(said) and not quotes:
        return Check("not_a_claim")
    if not quotes:
        return Check("unsupported", "no passage is cited")
    quoted = "\n".join(quote.text for quote in quotes)
    if _spoken(said) == _spoken(quoted):
        return Check("supported")
    wrong = [*_missing_numbers(said, quoted), *_missing_dates(said, quoted)]
    if wrong:
        return Check("unsupported", f"not in the quote: {', '.join(wrong)}")
    if denial := _denial_differs(said, quoted, rarity):
        return Check("unsupported", denial)
    return _by_words(said, quoted, sources, rarity)


def _by_words(said: str, quoted: str, sources: Sequence[PreparedSource], rarity: Rarity) -> Check:
    titles = " ".join(f"{source.title} {source.heading or ''}" for source in sources)
    known = content_stems(f"{quoted} {titles}")
    stems = content_stems(said)
    missing = frozenset(one for one in stems - known if not (verb_forms(one) | same_meaning(one)) & known)
    total = rarity.weight(stems)
    # A word that carries no weight of its own is no support: it must stand in the quote.
    share = 1 - rarity.weight(missing) / total if total else float(set(_spoken(said)) <= set(_spoken(quoted)))
    names = _missing_names(said, known)
    named = f"not in the quote: {', '.join(names or sorted(missing)[:8])}"
    if names:
        return Check("partial" if share >= SUPPORTED_AT else "unsupported", named)
    if share >= SUPPORTED_AT:
        return Check("supported")
    return Check("partial" if share >= PARTIAL_AT else "unsupported", named)


def _spoken(text: str) -> list[str]:
    return _WORDS.findall(folded_text(text))


def _missing_numbers(said: str, quoted: str) -> list[str]:
    given = quantities_in(quoted)
    dated = {str(part) for date in dates_in(quoted) for part in (date.year, date.day) if part}
    return [
        said[quantity.start : quantity.end]
        for quantity in quantities_in(said)
        if not any(_is_same(quantity, other) for other in given) and quantity.value not in dated
    ]


def _is_same(one: Quantity, other: Quantity) -> bool:
    """The same number, and not of two known units."""
    if one.value != other.value:
        return False
    return one.measure is None or other.measure is None or one.unit == other.unit


def _missing_dates(said: str, quoted: str) -> list[str]:
    given = dates_in(quoted)
    bare = {quantity.value for quantity in quantities_in(quoted)}
    return [said[date.start : date.end] for date in dates_in(said) if not _is_given(date, given, bare)]


def _is_given(date: Date, given: Sequence[Date], bare: set[str]) -> bool:
    if any(date.is_stated_by(other) for other in given):
        return True
    return not date.month and str(date.year) in bare


def _missing_names(said: str, known: frozenset[str]) -> list[str]:
    names = dict.fromkeys(names_in(said, Spelling.of(said)))
    return [name for name in names if not set(index_terms(name, "en").split()) <= known]


def _denial_differs(said: str, quoted: str, rarity: Rarity) -> str:
    """One of them denies what the other states."""
    denies = [one for one in denials_in(said) if one.is_plain]
    if denies and not denials_in(_nearest_sentence(said, quoted)):
        return f"the quote does not deny this ({denies[0].word!r})"
    denied = [one for one in denials_in(quoted) if one.is_plain]
    if denies or not denied:
        return ""
    inside = "\n".join(quoted[one.start : one.end] for one in denied)
    outside = _outside(quoted, [(one.start, one.end) for one in denied])
    stems = content_stems(said)
    only_denied = (stems & content_stems(inside)) - content_stems(outside)
    values = _values(said) & (_values(inside) - _values(outside))
    if values or rarity.weight(only_denied) >= _DENIED_SHARE * rarity.weight(stems) > 0:
        return f"the quote denies this ({denied[0].word!r})"
    return ""


def _nearest_sentence(said: str, quoted: str) -> str:
    """The sentence of the quotes that shares most with what is said; all of them where none shares most of it."""
    stems = content_stems(said)
    spans = list(sentences(quoted))[:_MAX_COMPARED]
    nearest = max(spans, key=lambda span: len(stems & content_stems(quoted[slice(*span)])), default=None)
    if nearest is None or 2 * len(stems & content_stems(quoted[slice(*nearest)])) < len(stems):
        return quoted
    return quoted[slice(*nearest)]


def _outside(text: str, spans: Sequence[tuple[int, int]]) -> str:
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept.append(text[at : max(at, start)])
        at = max(at, end)
    return " ".join([*kept, text[at:]])


def _values(text: str) -> frozenset[str]:
    return frozenset([quantity.value for quantity in quantities_in(text)] + [date.stated for date in dates_in(text)])
