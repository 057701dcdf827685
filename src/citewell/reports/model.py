"""A brief, what was found for it, and the report: the documents that scripts, agents and people get (Pydantic).

Frozen, and nothing unknown is taken. A run's log has the same as values of `reports/brief.py`; `reports/document.py`
makes these of them.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from citewell.check.verdict import CheckKind, Verdict
from citewell.errors import BadInput
from citewell.reports.brief import (
    DEFAULT_FLOOR,
    DEFAULT_SECONDS,
    DEFAULT_SUB_QUERIES,
    MAX_SNIPPET_CHARS,
    MAX_SUB_QUERIES,
    Brief,
    ClaimType,
    Family,
)
from citewell.runs.run import RunStatus

# As every door has it: something a person can see.
_SAYS_SOMETHING = re.compile(r"[^\s\x1c-\x1f\x85\ufeff]")
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(min_length=1, max_length=8_000)]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class _FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceToggles(_FrozenModel):
    """Which families of sources may be used; one takes part only where somebody can be asked for it."""

    knowledge: bool = True
    web: bool = True
    academic: bool = True
    code: bool = True

    @property
    def families(self) -> tuple[Family, ...]:
        return tuple(family for family in ("knowledge", "web", "academic", "code") if getattr(self, family))


class ProjectScope(_FrozenModel):
    """Which part of the corpus the brief is about."""

    project_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    collections: Annotated[tuple[Name, ...], Field(max_length=50)] = ()
    tags: Annotated[tuple[Name, ...], Field(max_length=50)] = ()


class BriefLimits(_FrozenModel):
    """What the run may spend."""

    max_cost_usd: Annotated[float, Field(gt=0, le=10_000)] | None = None
    max_seconds: Annotated[float, Field(ge=5, le=3_600)] = DEFAULT_SECONDS
    max_sub_queries: Annotated[int, Field(ge=1, le=MAX_SUB_QUERIES)] = DEFAULT_SUB_QUERIES


class ResearchBrief(_FrozenModel):
    """What a report is to be about."""

    question: Text
    context: Annotated[str, Field(max_length=20_000)] = ""
    sub_questions: Annotated[tuple[Text, ...], Field(max_length=MAX_SUB_QUERIES - 1)] = ()
    scope: ProjectScope = ProjectScope()
    sources: SourceToggles = SourceToggles()
    credibility_floor: Share = DEFAULT_FLOOR
    limits: BriefLimits = BriefLimits()

    @field_validator("question")
    @classmethod
    def _asks_something(cls, question: str) -> str:
        if not _SAYS_SOMETHING.search(question):
            raise ValueError("the question is empty")
        return question

    @field_validator("sub_questions")
    @classmethod
    def _each_asks(cls, asked: tuple[str, ...]) -> tuple[str, ...]:
        if any(not _SAYS_SOMETHING.search(one) for one in asked):
            raise ValueError("a sub-question is empty")
        return asked

    def as_value(self) -> Brief:
        """The brief as a run records it."""
        room = max(self.limits.max_sub_queries, len(self.sub_questions) + 1 if self.sub_questions else 1)
        return Brief(
            question=self.question,
            context=self.context,
            sub_questions=self.sub_questions,
            project_id=self.scope.project_id,
            collections=self.scope.collections,
            tags=self.scope.tags,
            sources=self.sources.families,
            credibility_floor=self.credibility_floor,
            max_cost_usd=self.limits.max_cost_usd,
            max_seconds=self.limits.max_seconds,
            max_sub_queries=room,
        )

    @classmethod
    def of_value(cls, brief: Brief) -> ResearchBrief:
        return cls(
            question=brief.question,
            context=brief.context,
            sub_questions=brief.sub_questions,
            scope=ProjectScope(project_id=brief.project_id, collections=brief.collections, tags=brief.tags),
            sources=SourceToggles(**{name: name in brief.sources for name in SourceToggles.model_fields}),
            credibility_floor=brief.credibility_floor,
            limits=BriefLimits(
                max_cost_usd=brief.max_cost_usd,
                max_seconds=brief.max_seconds,
                max_sub_queries=brief.max_sub_queries,
            ),
        )


class SubQuery(_FrozenModel):
    """One question that was looked into, and why."""

    index: Annotated[int, Field(ge=0)]
    query: str
    why: str = ""


class ResearchQueryPlan(_FrozenModel):
    sub_queries: tuple[SubQuery, ...]
    planned_by: str


class TextSpan(_FrozenModel):
    """`text[start:end]` of the canonical text with that hash, in code points."""

    content_hash: str
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    chunk_id: str = ""


class CorpusCitation(_FrozenModel):
    """A citation of something the user saved, as answers have it."""

    source_key: str
    title: str
    note_path: str | None = None
    url: str | None = None
    page: int | None = None
    quote: str
    span: TextSpan


class KnowledgeLocator(_FrozenModel):
    family: Literal["knowledge"] = "knowledge"
    citation: CorpusCitation


class WebLocator(_FrozenModel):
    """A page that was read; its text is kept under `source_key` for as long as the run."""

    family: Literal["web"] = "web"
    url: str
    title: str
    source_key: str
    span: TextSpan
    provider: str = ""
    author: str | None = None
    published: str | None = None
    fetched_at: str | None = None


class AcademicLocator(_FrozenModel):
    family: Literal["academic"] = "academic"
    url: str
    title: str
    source_key: str
    span: TextSpan
    provider: str = ""
    doi: str | None = None
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str | None = None
    fetched_at: str | None = None


class CodeLocator(_FrozenModel):
    family: Literal["code"] = "code"
    url: str
    title: str
    source_key: str
    span: TextSpan
    provider: str = ""
    repository: str | None = None
    fetched_at: str | None = None


Locator = Annotated[KnowledgeLocator | WebLocator | AcademicLocator | CodeLocator, Field(discriminator="family")]


class ResearchCitation(_FrozenModel):
    """Where a statement stands: the retained item it resolves to, the exact words, and the place."""

    n: Annotated[int, Field(ge=1)] | None = None
    ref_id: str
    quote: str
    locator: Locator


class RetrievedItem(_FrozenModel):
    """A passage that was found for a sub-query."""

    ref_id: str
    snippet: Annotated[str, Field(max_length=MAX_SNIPPET_CHARS)]
    content_hash: str
    relevance: Share
    citation: ResearchCitation
    # Set where it says what another item says; it is neither triaged nor written from.
    duplicate_of: str | None = None
    retained: bool = False


class SourceCredibility(_FrozenModel):
    """How far a source from outside is to be believed. The user's own documents are never judged."""

    ref_id: str
    source_key: str
    score: Share
    reasons: tuple[str, ...]
    kept: bool
    judged_by: str


class ReportSentence(_FrozenModel):
    """A sentence of the summary, its verdict and who checked it, and the exact words it rests on."""

    text: str
    verdict: Verdict
    confidence: Share
    citations: Annotated[tuple[ResearchCitation, ...], Field(min_length=1)]
    checked: CheckKind = "none"
    judge: str = ""
    words: tuple[str, ...] = ()


class ResearchClaim(ReportSentence):
    """A claim with its verdict and at least one citation."""

    type: ClaimType
    sub_query: int | None = None
    reason: str = ""


class ReportContradiction(_FrozenModel):
    """Sources that disagree."""

    about: str
    values: tuple[str, ...]
    newer: str | None = None


class FamilyMethodology(_FrozenModel):
    family: Family
    searches: int
    found: int
    retained: int
    cited: int


class SkippedSource(_FrozenModel):
    """A family that failed and was left out."""

    family: Family
    reason: str


class ReportMethodology(_FrozenModel):
    """How the report was made, in numbers."""

    sub_queries: int
    items_retrieved: int
    duplicates: int
    below_floor: int
    items_retained: int
    items_cited: int
    pages_read: int
    families: tuple[FamilyMethodology, ...]
    skipped: tuple[SkippedSource, ...] = ()


class ResearchReport(_FrozenModel):
    """The report: a summary, itself cited, and claims."""

    summary: str
    summary_sentences: Annotated[tuple[ReportSentence, ...], Field(min_length=1)]
    claims: Annotated[tuple[ResearchClaim, ...], Field(min_length=1)]
    withdrawn: tuple[ResearchClaim, ...] = ()
    gaps: tuple[str, ...] = ()
    contradictions: tuple[ReportContradiction, ...] = ()
    methodology: ReportMethodology

    @property
    def citations(self) -> tuple[ResearchCitation, ...]:
        """Every citation once, by its number."""
        claimed = [one for claim in (*self.claims, *self.withdrawn) for one in claim.citations]
        cited = [*(one for said in self.summary_sentences for one in said.citations), *claimed]
        return tuple({one.n or 0: one for one in sorted(cited, key=lambda one: one.n or 0)}.values())


class ResearchRun(_FrozenModel):
    """A run of a brief: the brief as it was, what was planned, found, judged and written."""

    run_id: str
    brief_id: str
    attempt: int
    status: RunStatus
    brief: ResearchBrief
    plan: ResearchQueryPlan | None = None
    # By the index of the sub-query.
    retrieved_items: dict[int, tuple[RetrievedItem, ...]] = Field(default_factory=dict)
    credibility: tuple[SourceCredibility, ...] = ()
    report: ResearchReport | None = None
    methodology: ReportMethodology | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    stop_reason: str | None = None
    created_by: str = ""
    created_at: str = ""
    model: str = ""
    cost_usd: float | None = None
    seconds: float = 0.0
    trace_path: str | None = None

    def document(self) -> dict[str, Any]:
        """The run as plain JSON data."""
        found: dict[str, Any] = self.model_dump(mode="json")
        return found


class ResearchRunSummary(_FrozenModel):
    """A run of a brief as a list shows it."""

    run_id: str
    brief_id: str
    project_id: str | None
    status: RunStatus
    created_at: str
    question: str
    claims: int
    citations: int


class ResearchRunList(_FrozenModel):
    runs: tuple[ResearchRunSummary, ...]


# Briefs in files: YAML or JSON. What is wrong is said with the file, the line and the field.


MAX_FILE_BYTES = 1_000_000


def read_brief(path: Path) -> ResearchBrief:
    """The brief in a file; raises BadInput."""
    text = _text(path)
    value, root = _yaml(path, text)
    if not isinstance(value, dict):
        raise _wrong(path, 1, "", "a brief is a mapping that has at least a `question`")
    try:
        # As JSON, so that a list stands for a tuple and a number is not taken for a text.
        return ResearchBrief.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise _wrong(path, _line(root, first["loc"]), _field(first["loc"]), _said(first)) from None


def brief_of(value: Any) -> ResearchBrief:
    """A brief that came with a request; raises BadInput that names the field."""
    try:
        return ResearchBrief.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = _field(first["loc"])
        named = f", field `{field}`" if field else ""
        raise BadInput(f"The brief does not fit{named}: {_said(first)}.", fix="See 'citewell schema brief'.") from None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"{path} is larger than {MAX_FILE_BYTES // 1_000_000} MB.", fix="Name a brief.")
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.", fix="Name a brief: a YAML or JSON file.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8.", fix="Save it as UTF-8.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", fix="Name a brief: a YAML or JSON file.") from None


def _yaml(path: Path, text: str) -> tuple[Any, yaml.Node | None]:
    """Every JSON document is YAML once its tabs are spaces."""
    loader = yaml.SafeLoader(text.replace("\t", " "))
    try:
        root = loader.get_single_node()
        if root is None:
            raise _wrong(path, 1, "", "the file is empty")
        return loader.construct_document(root), root
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise _wrong(path, mark.line + 1 if mark else 1, "", f"it is neither YAML nor JSON: {what}") from None
    finally:
        loader.dispose()


def _line(node: yaml.Node | None, steps: tuple[str | int, ...]) -> int:
    """The line on which the deepest part of a path stands that is there."""
    line = 1
    for step in steps:
        if isinstance(node, yaml.MappingNode):
            entry = next(((key, value) for key, value in node.value if key.value == step), None)
            if entry is None:
                return line
            line, node = entry[0].start_mark.line + 1, entry[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
    return line


def _field(steps: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in steps)


def _said(error: Any) -> str:
    """Why a value does not fit, in a sentence."""
    name = str(error["loc"][-1]) if error["loc"] else ""
    match error["type"]:
        case "extra_forbidden":
            known = _known(error["loc"][:-1])
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known are {', '.join(known)}"
            return f"there is no such field{hint}"
        case "missing":
            return f"a brief needs a `{name}`"
        case "value_error":
            return str(error["ctx"]["error"])
        case _:
            return str(error["msg"]).removeprefix("Value error, ")


def _known(steps: tuple[str | int, ...]) -> list[str]:
    model: Any = ResearchBrief
    for step in steps:
        model = model.model_fields[step].annotation if step in getattr(model, "model_fields", {}) else model
    return list(getattr(model, "model_fields", {}))


def _wrong(path: Path, line: int, field: str, what: str) -> BadInput:
    named = f", field `{field}`" if field else ""
    return BadInput(f"{path}, line {line}{named}: {what}.", fix="See 'citewell schema brief', or docs/reports.md.")
