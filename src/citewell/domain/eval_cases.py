"""Eval cases: a question and what must hold of what comes of it (`eval_cases.v1`).

    cases:
      - id: first-lighting
        family: timeline
        question: When was the Orrin Head Light first lit?
        expect_answer_status: ok
        expect_citation_source_keys: [note:skelday/vault/reading/orrin-head-first-lighting]
        forbid_text: [first lit in 1861]

Keys are source keys, or the paths of notes in their collection. Texts are compared without case and with white space
collapsed. What an assertion means is said in `docs/evals.md`, field by field.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from citewell.domain.answers import AnswerStatus
from citewell.domain.queries import FamilyName
from citewell.domain.runs import RunProfile, StopReason

CASES_SCHEMA = "eval_cases.v1"

OptionProfileName = Literal["cli", "web"]
Texts = tuple[str, ...]


class Gold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an answer stands: a file of the collection, and an exact piece of its text."""

    path: str
    quote: str = ""
    page: int | None = None


class Earlier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An earlier question of the conversation, known by its id."""

    question: str
    id: str = ""


class ResearchRubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a report is held to: shares between 0 and 1."""

    claim_coverage: float = 1.0
    citation_resolution: float = 1.0
    source_credibility: float = 0.0


class ResearchBriefSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A brief and what its report must claim. A question that is left out is the one of the case."""

    question: str = ""
    sub_questions: Texts = ()
    expected_claims: Texts = ()
    credibility_floor: float = 0.5
    rubric: ResearchRubric = ResearchRubric()


class EvalCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question and its assertions. What is left out is not asserted."""

    question: str
    id: str = ""
    family: FamilyName | None = None
    note: str = ""
    # Why it fails today: it is asked and told, and does not count as failed until it has passed once.
    known_failing: str = ""
    tags: Texts = ()
    # How it is asked.
    history: tuple[str | Earlier, ...] = ()
    pinned: Texts = ()
    collections: Texts = ()
    source_types: Texts = ()
    filter_tags: Texts = ()
    profile: RunProfile | None = None
    option_profile: OptionProfileName | None = None
    limit: int | None = None
    # true: without a planning model only; false: with one only; left out: both arms are held to the assertions.
    disable_planner: bool | None = None
    planner_model: str | None = None
    # What is found.
    min_evidence: int | None = None
    expect_source_keys: Texts = ()
    any_source_keys: Texts = ()
    expect_top_keys: Texts = ()
    forbid_source_keys: Texts = ()
    expect_exact_tags: Texts = ()
    expect_matched_terms: Texts = ()
    forbid_missing_terms: Texts = ()
    min_retrieval_signals: int | dict[str, float] | None = None
    # How it was planned.
    expect_planner: bool | str | None = None
    expect_query_terms: Texts = ()
    expect_query_variants: Texts = ()
    forbid_query_variants: Texts = ()
    expect_concepts: Texts = ()
    forbid_concepts: Texts = ()
    expect_planner_error_contains: str | None = None
    # What is said.
    expect_text: Texts = ()
    forbid_text: Texts = ()
    max_latency_ms: float | None = None
    expect_answer_status: AnswerStatus | None = None
    expect_citation_source_keys: Texts = ()
    forbid_citation_source_keys: Texts = ()
    max_unsupported_rate: float | None = None
    expect_stop_reason: StopReason | None = None
    expect_inspected_keys: Texts = ()
    # Statements held against the evidence by the verifier: some row must support each, or none may.
    expect_supported: Texts = ()
    forbid_supported: Texts = ()
    # A labelled question: accepted strings, how many of them are needed, and where they stand.
    answers: Texts = ()
    need: int = 1
    ordered: bool = False
    gold: tuple[Gold, ...] = ()
    answerable: bool | None = None
    # Kept from labelled questions; they say where one comes from.
    vault: str = ""
    kind: str = ""
    half: str = ""
    # With `kind: research`: recorded as a report, replayed, and graded.
    brief: ResearchBriefSpec | None = None


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file of cases. `corpus` names what they ask about, where that is not the corpus of the data folder."""

    cases: tuple[EvalCase, ...]
    schema_version: Literal["eval_cases.v1"] = "eval_cases.v1"
    about: str = ""
    # `sample` is the bundled corpus; anything else a folder, from where the file lies.
    corpus: str = ""
    collection: str = ""


# Assertions about an answer: they say nothing of evidence alone.
ANSWER_FIELDS = (
    "expect_answer_status",
    "expect_citation_source_keys",
    "forbid_citation_source_keys",
    "max_unsupported_rate",
    "expect_stop_reason",
    "expect_inspected_keys",
)
# What the report names beside an assertion that has no value to compare with.
PLANNER_FIELDS = ("expect_planner", "expect_planner_error_contains")

_NOT_ASSERTED = frozenset(
    (
        *(
            "question",
            "id",
            "family",
            "note",
            "known_failing",
            "tags",
            "history",
            "pinned",
            "collections",
            "source_types",
        ),
        *("filter_tags", "profile", "option_profile", "limit", "disable_planner", "planner_model"),
        *("need", "ordered", "vault", "kind", "half", "brief"),
    )
)
ASSERTIONS: tuple[str, ...] = tuple(name for name in EvalCase.__struct_fields__ if name not in _NOT_ASSERTED)


def asserted(case: EvalCase) -> dict[str, Any]:
    """What a case asserts, by the name of the field."""
    values = {name: getattr(case, name) for name in ASSERTIONS}
    return {name: value for name, value in values.items() if value not in (None, ())}
