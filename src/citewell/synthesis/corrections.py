"""Corrections: which statement says that another one is wrong. Pure.

A correction says so ("Correction:", "was wrong", "superseded"), in its own words or in the sentence before it, is not
older than what it corrects, and names the statement it corrects: by its title, or by denying the value it gives. Two
statements that merely differ are a disagreement (`disagreements`), not a correction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citewell.synthesis.passages import Passage
from citewell.synthesis.values import dates_in, denials_in, quantities_in
from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word
from citewell.text.words import index_terms

_CUE = re.compile(
    r"\b(?:correction|corrections|corrected|corrects|correcting|erratum|errata|(?:was|were|is|got it) wrong|mistaken"
    r"|supersedes?|superseded|retracts?|retracted|turned out|in fact|contrary to)\b"
)
_LEAST_SHARED = 2


@dataclass(frozen=True, slots=True)
class Correction:
    """One statement and the older one it replaces."""

    by: Passage
    of: Passage


def is_correcting(passage: Passage) -> bool:
    """Whether a passage, or the sentence that leads into it, says that it corrects something."""
    tagged = any("correction" in tag for tag in passage.source.user_tags)
    said = folded_text(f"{passage.before} {passage.shown}")
    return bool(_CUE.search(said)) or (tagged and bool(denials_in(passage.shown)))


def corrections_among(passages: Sequence[Passage]) -> list[Correction]:
    """Every correction within these passages; each statement is corrected by the first that does."""
    found: list[Correction] = []
    correcting = [passage for passage in passages if is_correcting(passage)]
    for passage in passages:
        by = next((one for one in correcting if _corrects(one, passage)), None)
        if by is not None:
            found.append(Correction(by, passage))
    return found


def _corrects(by: Passage, of: Passage) -> bool:
    if by.source.source_key == of.source.source_key or is_correcting(of) or _is_older(by, of):
        return False
    shared = _content(by.shown) & _content(of.shown)
    said = f"{by.before} {by.shown}"
    denied = _denied(said)
    repeated = bool(denied & _values(of.shown)) and not _values(of.shown) & (_values(by.shown) - denied)
    return (repeated and len(shared) >= _LEAST_SHARED) or (_names_title(by, of) and bool(denied & _content(of.shown)))


def _is_older(by: Passage, of: Passage) -> bool:
    """Whether the first is known to be older; a note whose date is unknown may still be corrected."""
    return bool(by.source.dated and of.source.dated and by.source.dated[:10] < of.source.dated[:10])


def _denied(text: str) -> frozenset[str]:
    """Every value and content word that a text denies."""
    stretches = (text[denial.start : denial.end] for denial in denials_in(text))
    return frozenset(value for stretch in stretches for value in (*_values(stretch), *_content(stretch)))


def _values(text: str) -> frozenset[str]:
    """Numbers, dates and names that a text gives."""
    stated: Iterable[str] = (
        *(quantity.value for quantity in quantities_in(text)),
        *(date.stated for date in dates_in(text)),
    )
    return frozenset(stated)


def _content(text: str) -> frozenset[str]:
    return frozenset(form for form in index_terms(text, "en").split() if not is_stop_word(form) and len(form) > 2)


def _names_title(by: Passage, of: Passage) -> bool:
    title = folded_text(of.source.title).strip()
    return len(title) > 3 and title in folded_text(f"{by.before} {by.shown} {by.after}")
