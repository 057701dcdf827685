"""What a run can do and what it can see, as values.

An *io* action reaches outside and its observation is recorded; a *compute* action is pure, so a replay does it again
and compares the digest. Control observations come from the person or the clock.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from citewell.briefs.composing import Composed
from citewell.briefs.quoting import QuotedQuery
from citewell.domain.answers import (
    Citation,
    Doubt,
    Draft,
    Entails,
    Likeness,
    Opinion,
    PreparedSynthesis,
    Readings,
    Verification,
)
from citewell.domain.briefs import (
    STRATEGY_NAMES,
    Brief,
    ClaimType,
    Duplicate,
    ItemCredibility,
    ReportItem,
    ReportPlan,
)
from citewell.domain.chat import ChatProblem, ChatPurpose, ChatReply, ChatRequest, Usage
from citewell.domain.documents import DocumentView
from citewell.domain.evidence import EvidenceRow, GivenRow
from citewell.domain.judging import ClaimPair
from citewell.domain.lanes import SemanticUse
from citewell.domain.notes import NoteChange, NoteDepth, NoteLink, NoteTask, NoteText, NoteTopic, OfferedPages
from citewell.domain.packs import ResearchPack, RetrievalReport
from citewell.domain.queries import Filters, Limits, QueryPlan
from citewell.domain.runs import STAGE_GROUPS, Control, Conversation, EvidenceReserves, JudgeResult, Stage, StageGroup
from citewell.domain.surveys import TopicSurvey
from citewell.domain.topics import TopicBrief
from citewell.domain.web import (
    Credibility,
    FetchProblem,
    LeftOut,
    PageFacts,
    PaperFacts,
    ResearchIntent,
    SearchHit,
    SentRequest,
)
from citewell.notes.composing import TopicFindings
from citewell.planning.planner import Merged

# Actions


@dataclass(frozen=True, slots=True)
class MakePlan:
    question: str
    filters: Filters
    limits: Limits
    topic: str | None
    topic_brief: bool | None = None
    conversation: Conversation = field(default_factory=Conversation)


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Search every variant of a plan and build the pack; the first pass never includes related rows."""

    question: str
    plan: QueryPlan
    attempt: int
    semantic: SemanticUse = "off"
    # The user's own retrieval source, where one is chosen; left out of the action's name elsewhere.
    source: str = ""


@dataclass(frozen=True, slots=True)
class ReadGiven:
    """Read rows anew that somebody gave by their place."""

    question: str
    plan: QueryPlan
    rows: tuple[GivenRow, ...]


@dataclass(frozen=True, slots=True)
class BriefTopic:
    """Gather the brief of a topic; it goes beside the evidence and never into it."""

    topic: str
    filters: Filters
    seed_limit: int
    related_limit: int


@dataclass(frozen=True, slots=True)
class Inspect:
    """Read more of the top rows: around what each of them shows, in its place of the same order."""

    lookups: tuple[str, ...]
    query: str
    max_chars: int
    shown: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Expand:
    """Follow the links of one row."""

    lookup: str
    limit: int
    max_chars: int


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a model: planning, writing, repairing or reviewing."""

    request: ChatRequest


@dataclass(frozen=True, slots=True)
class MergePlan:
    """Read a planning model's reply and add what is good in it to the plan."""

    plan: QueryPlan
    reply: str
    model: str


@dataclass(frozen=True, slots=True)
class JudgeCoverage:
    pack: ResearchPack
    retries_left: int
    expansions_left: int
    tried: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prepare:
    pack: ResearchPack
    max_evidence_chars: int
    rules_chars: int = 0
    withhold_secrets: bool = False
    reserves: EvidenceReserves = field(default_factory=EvidenceReserves)
    # Whether passages are to be chosen for a comparison by meaning.
    by_meaning: bool = False


@dataclass(frozen=True, slots=True)
class Compare:
    """How near these texts come to the question in meaning, by the embedding model."""

    question: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadAnswers:
    """Ask the reader which of these texts answer the question, for at most so many seconds."""

    reader: str
    question: str
    texts: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Extract:
    """Answer from the prepared evidence without a model."""

    prepared: PreparedSynthesis
    plan: QueryPlan
    likeness: Likeness = field(default_factory=Likeness)
    # Whether the answer is ordered under headings; left out of the action's name where it is not.
    in_sections: bool = False
    # What a reader found; left out of the action's name where none was asked.
    readings: Readings = field(default_factory=Readings)


@dataclass(frozen=True, slots=True)
class ReadDraft:
    """Read what a model wrote: sentences, marks, what they point at."""

    reply: str
    prepared: PreparedSynthesis
    is_repair: bool
    is_cut: bool


@dataclass(frozen=True, slots=True)
class JudgeClaims:
    """Ask the judge whether quotes entail the sentences that rest on them, for at most so many seconds."""

    judge: str
    pairs: tuple[ClaimPair, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair and what the judge said of it."""

    pair: ClaimPair
    entails: Entails


@dataclass(frozen=True, slots=True)
class Verify:
    question: str
    draft: Draft
    prepared: PreparedSynthesis
    plan: QueryPlan
    max_citations: int = 8
    # What a judge said of its sentences; left out of the action's name where there is nothing (`action_digest`).
    scores: tuple[JudgedPair, ...] = ()
    # The user's own verifier, where one is chosen.
    verifier: str = ""


@dataclass(frozen=True, slots=True)
class ReadReview:
    """Read what a reviewing model doubts, and what it thinks of the unproven."""

    reply: str
    verification: Verification


@dataclass(frozen=True, slots=True)
class KeepTexts:
    """Keep the texts an answer cites for as long as the run exists."""

    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReadNote:
    """Read the note a run is about, without what we wrote in it and with what it embeds."""

    task: NoteTask


@dataclass(frozen=True, slots=True)
class ExtractTopics:
    """What a note is about, by its layout and words."""

    note: NoteText
    focus: str | None


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """Read the topics a model named."""

    reply: str


@dataclass(frozen=True, slots=True)
class FindPassages:
    """What the evidence says of a topic, word for word."""

    topic: NoteTopic
    prepared: PreparedSynthesis
    plan: QueryPlan
    depth: NoteDepth
    note: NoteText


@dataclass(frozen=True, slots=True)
class LinkNotes:
    """How documents are linked from the note."""

    task: NoteTask
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComposeSection:
    """The section as Markdown, of findings that hold."""

    note: NoteText
    findings: tuple[TopicFindings, ...]
    citations: tuple[Citation, ...]
    evidence: tuple[PreparedSynthesis, ...]
    related: tuple[str, ...]
    links: tuple[NoteLink, ...]
    offered: tuple[OfferedPages, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteSection:
    """Put the section into the note, if that is still the one that was read (`basis`); or say what would change."""

    task: NoteTask
    lines: tuple[str, ...]
    basis: str


@dataclass(frozen=True, slots=True)
class SearchWeb:
    """Ask one provider one query; `configured` sites are let through or kept out."""

    provider: str
    query: str
    limit: int
    seconds: float
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    # The most its reply may have; None: what any reply may have.
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Fetch a page that a search found or a person named, and keep what it says."""

    url: str
    seconds: float
    max_bytes: int
    # How much of its text is kept; None: all of it.
    max_chars: int | None = None
    # Sites that may be read and sites that may not, wherever the address leads.
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeepSnippets:
    """Keep what a provider showed of pages that are not read."""

    hits: tuple[SearchHit, ...]


@dataclass(frozen=True, slots=True)
class RankPages:
    """Find the passages of the pages that were read for the question."""

    question: str
    plan: QueryPlan
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AssessWeb:
    """Weigh what was read: what counts, whether it is enough, what to ask next."""

    corpus: ResearchPack
    found: ResearchPack
    pages: tuple[PageFacts, ...]
    papers: tuple[tuple[str, PaperFacts], ...]
    is_deep: bool
    is_time_bound: bool
    intents: tuple[ResearchIntent, ...]
    floor: float
    pinned: tuple[str, ...]
    tried: tuple[str, ...]
    rows: int
    max_queries: int
    # Whether names in the user's own documents may be asked for.
    from_notes: bool = False


@dataclass(frozen=True, slots=True)
class WebAssessment:
    """What the pages come to: the evidence with them, what does not count, what is missing, what to ask next."""

    pack: ResearchPack
    credibility: tuple[Credibility, ...]
    left_out: tuple[LeftOut, ...]
    sufficient: bool
    reason: str
    gaps: tuple[str, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanBrief:
    """Which questions are looked into for a brief, by rules; with a survey, also what the corpus holds on its topic."""

    brief: Brief
    planner: str
    survey: TopicSurvey | None = None


@dataclass(frozen=True, slots=True)
class SurveyTopic:
    """Find the documents that speak of a topic, and their sections."""

    topics: tuple[str, ...]
    filters: Filters


@dataclass(frozen=True, slots=True)
class ReadBriefPlan:
    """Read the sub-queries a model proposed."""

    brief: Brief
    reply: str
    model: str


@dataclass(frozen=True, slots=True)
class DedupeItems:
    """Find the items that say what another one says."""

    items: tuple[ReportItem, ...]
    deduplicator: str


@dataclass(frozen=True, slots=True)
class TriageItems:
    """How far the sources from outside are to be believed, by rules."""

    items: tuple[ReportItem, ...]
    floor: float
    triage: str


@dataclass(frozen=True, slots=True)
class ReadTriage:
    """Read what a model says of the sources it was shown."""

    items: tuple[ReportItem, ...]
    verdicts: tuple[ItemCredibility, ...]
    floor: float
    reply: str
    model: str


@dataclass(frozen=True, slots=True)
class QuoteReport:
    """A report without a model: what the evidence says of each sub-query, word for word."""

    queries: tuple[QuotedQuery, ...]
    # The user's own synthesizer, where one is chosen.
    synthesizer: str = ""


@dataclass(frozen=True, slots=True)
class ReadReport:
    """Read the report a model wrote."""

    reply: str
    prepared: PreparedSynthesis
    is_repair: bool
    is_cut: bool


@dataclass(frozen=True, slots=True)
class BindReport:
    """Bind each citation of a checked report to the retained item it stands in."""

    verification: Verification
    retained: tuple[ReportItem, ...]
    plan: ReportPlan
    types: dict[str, ClaimType]
    by_model: bool
    binder: str


Action = (
    MakePlan
    | Ask
    | MergePlan
    | Retrieve
    | ReadGiven
    | BriefTopic
    | Inspect
    | Expand
    | JudgeCoverage
    | Prepare
    | Compare
    | Extract
    | ReadDraft
    | ReadAnswers
    | JudgeClaims
    | Verify
    | ReadReview
    | KeepTexts
    | ReadNote
    | ExtractTopics
    | ReadTopics
    | FindPassages
    | LinkNotes
    | ComposeSection
    | WriteSection
    | SearchWeb
    | ReadPage
    | KeepSnippets
    | RankPages
    | AssessWeb
    | PlanBrief
    | SurveyTopic
    | ReadBriefPlan
    | DedupeItems
    | TriageItems
    | ReadTriage
    | QuoteReport
    | ReadReport
    | BindReport
)
ActionKind = Literal["io", "compute"]
DeadlineScope = Literal["gathering", "writing", "everything"] | StageGroup

WEB_ACTIONS = (SearchWeb, ReadPage, KeepSnippets, RankPages)
IO_ACTIONS = (
    *(Ask, Retrieve, ReadGiven, BriefTopic, Inspect, Expand, Compare, ReadAnswers, JudgeClaims, KeepTexts),
    *(ReadNote, LinkNotes, WriteSection, SurveyTopic),
    *WEB_ACTIONS,
)


def kind_of(action: Action) -> ActionKind:
    return "io" if isinstance(action, IO_ACTIONS) or is_own_strategy(action) else "compute"


def is_own_strategy(action: Action) -> bool:
    """Whether a strategy of the user's own does it: what it says is recorded, and not done again on a replay."""
    match action:
        case PlanBrief():
            return action.planner not in STRATEGY_NAMES["planner"]
        case DedupeItems():
            return action.deduplicator not in STRATEGY_NAMES["deduplicator"]
        case TriageItems():
            return action.triage not in STRATEGY_NAMES["triage"]
        case BindReport():
            return action.binder not in STRATEGY_NAMES["binder"]
        case QuoteReport():
            return bool(action.synthesizer)
        case Verify():
            return bool(action.verifier)
        case _:
            return False


STAGES: dict[type[Any], Stage] = {
    MakePlan: "plan",
    MergePlan: "plan",
    Retrieve: "retrieve",
    ReadGiven: "retrieve",
    BriefTopic: "retrieve",
    Inspect: "inspect_top",
    JudgeCoverage: "judge_coverage",
    Expand: "optional_expand_or_retry",
    Prepare: "prepare_synthesis",
    Compare: "prepare_synthesis",
    ReadAnswers: "prepare_synthesis",
    Extract: "synthesize",
    ReadDraft: "synthesize",
    JudgeClaims: "verify",
    Verify: "verify",
    ReadReview: "verify",
    KeepTexts: "persist_trace",
    ReadNote: "plan",
    ExtractTopics: "plan",
    ReadTopics: "plan",
    FindPassages: "synthesize",
    LinkNotes: "verify",
    ComposeSection: "verify",
    WriteSection: "persist_trace",
    SearchWeb: "search",
    ReadPage: "read",
    KeepSnippets: "read",
    RankPages: "evaluate",
    AssessWeb: "evaluate",
    PlanBrief: "plan",
    SurveyTopic: "plan",
    ReadBriefPlan: "plan",
    DedupeItems: "evaluate",
    TriageItems: "evaluate",
    ReadTriage: "evaluate",
    QuoteReport: "synthesize",
    ReadReport: "synthesize",
    BindReport: "verify",
}


ASK_STAGES: dict[ChatPurpose, Stage] = {
    "plan": "plan",
    "topics": "plan",
    "write": "synthesize",
    "repair": "synthesize",
    "review": "verify",
    "evaluate": "evaluate",
    "triage": "evaluate",
}


def stage_of(action: Action) -> Stage:
    """The stage an action belongs to; a second retrieval is the retry."""
    if isinstance(action, Retrieve) and action.attempt > 1:
        return "optional_expand_or_retry"
    if isinstance(action, Ask):
        return ASK_STAGES[action.request.purpose]
    return STAGES[type(action)]


def group_of(action: Action) -> StageGroup:
    """What a profile gives time to that this action belongs to."""
    return STAGE_GROUPS[stage_of(action)]


# The code of a failure that is nothing but time.
STAGE_TIMEOUT = "stage_timeout"

# Observations


@dataclass(frozen=True, slots=True)
class PlanMade:
    plan: QueryPlan


@dataclass(frozen=True, slots=True)
class Replied:
    """What a model answered."""

    reply: ChatReply


@dataclass(frozen=True, slots=True)
class AskFailed:
    """A model that gave no usable reply, and what was spent on it."""

    problem: ChatProblem
    message: str
    fix: str
    usage: Usage
    cost_usd: float | None
    attempts: int


@dataclass(frozen=True, slots=True)
class PlanMerged:
    merged: Merged


@dataclass(frozen=True, slots=True)
class Retrieved:
    pack: ResearchPack
    report: RetrievalReport | None = None


@dataclass(frozen=True, slots=True)
class GivenRead:
    """What the store has of the given rows; `refused` says which it does not have, and why."""

    pack: ResearchPack
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TopicBriefed:
    brief: TopicBrief


@dataclass(frozen=True, slots=True)
class Inspected:
    views: tuple[DocumentView, ...]


@dataclass(frozen=True, slots=True)
class Expanded:
    rows: tuple[EvidenceRow, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    result: JudgeResult


@dataclass(frozen=True, slots=True)
class Prepared:
    prepared: PreparedSynthesis
    to_compare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """The similarities, in the order of the texts; none, and why, where there is no model that can tell."""

    similarities: tuple[float, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AnswersRead:
    """How likely each text answers, in the order of the texts."""

    answers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Drafted:
    draft: Draft


@dataclass(frozen=True, slots=True)
class ClaimsJudged:
    """What the judge said of each pair, in their order."""

    scores: tuple[Entails, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    verification: Verification


@dataclass(frozen=True, slots=True)
class Reviewed:
    doubts: tuple[Doubt, ...]
    error: str = ""
    opinions: tuple[Opinion, ...] = ()


@dataclass(frozen=True, slots=True)
class TextsKept:
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteSeen:
    note: NoteText


@dataclass(frozen=True, slots=True)
class TopicsFound:
    """The topics of a note; `error` says why a model's reply held none."""

    topics: tuple[NoteTopic, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class NotesLinked:
    links: tuple[NoteLink, ...]


@dataclass(frozen=True, slots=True)
class SectionComposed:
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionWritten:
    change: NoteChange


@dataclass(frozen=True, slots=True)
class WebSearched:
    """What a provider found, in its order, and the requests it took."""

    hits: tuple[SearchHit, ...]
    requests: tuple[SentRequest, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class PageKept:
    """A page that was read and is kept."""

    page: PageFacts
    requests: tuple[SentRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class SnippetsKept:
    pages: tuple[PageFacts, ...]


@dataclass(frozen=True, slots=True)
class WebFailed:
    """A search or a page that came to nothing: its class, and the requests it took."""

    problem: FetchProblem
    message: str
    requests: tuple[SentRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class PagesRanked:
    pack: ResearchPack


@dataclass(frozen=True, slots=True)
class WebWeighed:
    assessment: WebAssessment


@dataclass(frozen=True, slots=True)
class TopicSurveyed:
    survey: TopicSurvey


@dataclass(frozen=True, slots=True)
class BriefPlanned:
    """What is looked into for a brief; `error` says why a model's reply held no plan."""

    plan: ReportPlan | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ItemsDeduped:
    duplicates: tuple[Duplicate, ...]


@dataclass(frozen=True, slots=True)
class ItemsTriaged:
    """The verdicts; `to_ask` names the items that are worth a model's look."""

    verdicts: tuple[ItemCredibility, ...]
    to_ask: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class ReportRead:
    """A model's report as a draft, with the type of each claim by its text."""

    draft: Draft
    types: dict[str, ClaimType]


@dataclass(frozen=True, slots=True)
class ReportComposed:
    composed: Composed


@dataclass(frozen=True, slots=True)
class ActionFailed:
    """An action that could not be done; the run decides what that means."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Somebody wants the run to stop."""


@dataclass(frozen=True, slots=True)
class FinishRequested:
    """Somebody wants an answer now, from what is there."""


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The time for a part of the run is over: gathering, writing, everything, or a group of stages."""

    scope: DeadlineScope = "gathering"


Observation = (
    PlanMade
    | Replied
    | AskFailed
    | PlanMerged
    | Retrieved
    | GivenRead
    | TopicBriefed
    | Inspected
    | Expanded
    | Judged
    | Prepared
    | Compared
    | AnswersRead
    | Drafted
    | ClaimsJudged
    | Verified
    | Reviewed
    | TextsKept
    | NoteSeen
    | TopicsFound
    | NotesLinked
    | SectionComposed
    | SectionWritten
    | WebSearched
    | PageKept
    | SnippetsKept
    | WebFailed
    | PagesRanked
    | WebWeighed
    | BriefPlanned
    | TopicSurveyed
    | ItemsDeduped
    | ItemsTriaged
    | ReportRead
    | ReportComposed
    | ActionFailed
    | CancelRequested
    | FinishRequested
    | DeadlinePassed
)
CONTROLS = (CancelRequested, FinishRequested, DeadlinePassed)
# What a run sees when somebody asks something of it.
CONTROL_OBSERVATIONS: dict[Control, type[CancelRequested] | type[FinishRequested]] = {
    "cancel": CancelRequested,
    "finish": FinishRequested,
}

OBSERVATIONS: dict[str, type[Any]] = {
    entry.__name__: entry
    for entry in (
        PlanMade,
        Replied,
        AskFailed,
        PlanMerged,
        Retrieved,
        GivenRead,
        TopicBriefed,
        Inspected,
        Expanded,
        Judged,
        Prepared,
        Compared,
        AnswersRead,
        Drafted,
        ClaimsJudged,
        Verified,
        Reviewed,
        TextsKept,
        NoteSeen,
        TopicsFound,
        NotesLinked,
        SectionComposed,
        SectionWritten,
        WebSearched,
        PageKept,
        SnippetsKept,
        WebFailed,
        PagesRanked,
        WebWeighed,
        BriefPlanned,
        TopicSurveyed,
        ItemsDeduped,
        ItemsTriaged,
        ReportRead,
        ReportComposed,
        ActionFailed,
        CancelRequested,
        FinishRequested,
        DeadlinePassed,
    )
}


def digest(value: object) -> str:
    """The hash of a value's canonical JSON, the same for a value and for what is read back from its JSON."""
    return hashlib.sha256(msgspec.json.encode(msgspec.to_builtins(value), order="deterministic")).hexdigest()


_OWN_NAMES: tuple[tuple[type[Any], str], ...] = (
    (Retrieve, "source"),
    (Verify, "verifier"),
    (QuoteReport, "synthesizer"),
)


def action_digest(action: Action) -> str:
    """The name under which an action's observation is filed.

    What was added to an action since counts only where it is used, so that earlier records keep their names.
    """
    body = msgspec.to_builtins(action)
    if isinstance(action, Verify) and not action.scores:
        del body["scores"]
    for kind, name in _OWN_NAMES:
        if isinstance(action, kind) and not body[name]:
            del body[name]
    prepared = body.get("prepared")
    if isinstance(prepared, dict) and not prepared.get("other_languages"):
        prepared.pop("other_languages", None)
    if isinstance(action, PlanBrief) and action.survey is None:
        del body["survey"]
    if isinstance(action, ReadPage) and action.max_chars is None:
        del body["max_chars"]
    if isinstance(action, ReadPage) and not (action.allow or action.deny):
        del body["allow"], body["deny"]
    if isinstance(action, AssessWeb) and not action.from_notes:
        del body["from_notes"]
    if isinstance(action, SearchWeb) and action.max_bytes is None:
        del body["max_bytes"]
    if isinstance(action, ComposeSection) and not action.offered:
        del body["offered"]
    if isinstance(action, Extract) and not action.in_sections:
        del body["in_sections"]
    if isinstance(action, Extract) and not action.readings.texts:
        del body["readings"]
    return digest([type(action).__name__, body])


def encode_observation(observation: Observation) -> dict[str, Any]:
    return {"type": type(observation).__name__, "value": msgspec.to_builtins(observation)}


def decode_observation(body: dict[str, Any]) -> Observation:
    observation: Observation = msgspec.convert(body["value"], OBSERVATIONS[body["type"]])
    return observation
