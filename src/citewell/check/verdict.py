"""Answers: sentences bound to exact passages, the verdict on each, and the citations they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from citewell.answer.evidence import NearestPassage, Quote
from citewell.search.rows import Answerability, Context
from citewell.text.documents import Span

# A `heading` orders an answer; a `gap` says that the evidence lacks something. Neither states a fact.
SentenceKind = Literal["claim", "refusal", "heading", "gap"]


Writer = Literal["extractive", "model"]


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """A sentence as it will be shown, with the passages it rests on."""

    text: str
    kind: SentenceKind
    quotes: tuple[Quote, ...] = ()
    # Marks that point at nothing in the evidence, as they were written.
    bad_marks: tuple[str, ...] = ()
    # What is cited, where it is more than the passages themselves: the whole block they stand in.
    block: Quote | None = None
    context: tuple[Context, ...] = ()
    # The words of the block that answer, where a reader found them.
    decides: Quote | None = None
    # For a row of a table a model wrote, the row that names its columns.
    header: str = ""
    # What stands before it in the answer: nothing, a space, a line break, a paragraph's, the marker of a list.
    lead: str = "\n"
    # The words that were copied for it, where they stand in the evidence; and those that stand nowhere.
    words: tuple[Quote, ...] = ()
    lost_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """What a synthesizer wrote, before anything was checked."""

    sentences: tuple[DraftSentence, ...]
    refused: bool
    reason: str = ""
    repair: bool = False
    written_by: Writer = "extractive"
    # Marks that point at nothing in the evidence, as they were written.
    bad_marks: tuple[str, ...] = ()
    # Why it cannot be used as it is: the one repair is told this.
    problems: tuple[str, ...] = ()
    is_cut: bool = False
    # How likely the evidence answers, as whoever wrote this found it on reading; and what comes near where it does not.
    answerability: Answerability | None = None
    nearest: tuple[NearestPassage, ...] = ()


AnswerStatus = Literal["ok", "ok_truncated", "no_evidence", "unavailable", "error"]
Verdict = Literal["supported", "partial", "unsupported", "contradicted", "not_a_claim"]
DisagreementKind = Literal["number", "date", "polarity"]


@dataclass(frozen=True, slots=True)
class Highlight:
    """The decisive part of a quote, in offsets of the same text as the quote's span."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered citation, in order of first use."""

    n: int
    source_key: str
    title: str
    note_path: str | None
    url: str | None
    quote: str
    span: Span
    page: int | None = None
    highlight: Highlight | None = None
    context: tuple[Context, ...] = ()


CheckKind = Literal["exact", "judged", "none"]


class SentenceCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who checked a sentence: its wording, a judge by name, or nobody.

    `words` are the exact words of a passage that decided, `wrong` those of the sentence that go too far.
    """

    kind: CheckKind
    judge: str = ""
    prompt_version: str = ""
    words: str = ""
    wrong: str = ""


UNCHECKED = SentenceCheck("none")


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of the answer, Markdown and all, with its verdict and the exact words behind it."""

    text: str
    verdict: Verdict
    citations: tuple[int, ...]
    quote: Quote | None = None
    reason: str = ""
    kind: SentenceKind = "claim"
    check: SentenceCheck = UNCHECKED
    lead: str = "\n"
    # The words that were copied for it, exact slices; each stands in one of its citations.
    words: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Gate:
    """One hard check of the whole answer."""

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StatedValue:
    """One side of a disagreement: what is stated, where, and by how many sources that do not copy one another."""

    value: str
    citations: tuple[int, ...]
    independent_sources: int
    source_keys: tuple[str, ...]
    dated: str | None = None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Sources that disagree on a number, a date or polarity for the same claim.

    `newer` is the value of the newest source, where the sources are dated and one is newer than the others.
    """

    about: str
    values: tuple[str, ...]
    citations: tuple[int, ...]
    note: str = ""
    kind: DisagreementKind = "number"
    stated: tuple[StatedValue, ...] = ()
    newer: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict on an answer: it may be shown only when every gate passed."""

    gates: tuple[Gate, ...]
    sentences: tuple[CheckedSentence, ...]
    citations: tuple[Citation, ...]
    warnings: tuple[str, ...]
    unsupported_rate: float
    contradictions: tuple[Contradiction, ...] = ()
    contradicted_rate: float = 0.0
    # What comes nearest to an answer, where this one may not be shown.
    nearest: tuple[NearestPassage, ...] = ()

    @property
    def passed(self) -> bool:
        return all(gate.passed for gate in self.gates)
