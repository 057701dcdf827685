"""Packing: which evidence a synthesizer gets, in which order, within one budget of characters. Pure.

Question, plan and coverage always; primary evidence in rank order; a real reserve for one exact-tag example; a topic's
summary where there is room to spare; related rows last. Only the bottom-most included row is ever trimmed; what does
not fit is named. The summary is derived: it has no number, so that nothing can cite it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from citewell.search.conversation import parse_chat_prompt
from citewell.search.inspect import asked_properties
from citewell.search.pack import ResearchPack
from citewell.search.query import Concept, QueryPlan, put_right
from citewell.search.rows import Context, EvidenceRow
from citewell.text.blocks import whole_blocks_of
from citewell.text.canonical import UNSEEN
from citewell.text.documents import Role, SectionView, SourceType, Span
from citewell.text.secrets import kinds_of_secrets
from citewell.text.sentences import properties_of, sentences
from citewell.text.words import query_tokens


@dataclass(frozen=True, slots=True)
class Quote:
    """`text` is the stored canonical text with that hash at `start..end`, exactly."""

    source_key: str
    content_hash: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class NearestPassage:
    """A passage that comes near a question without answering it."""

    source_key: str
    title: str
    quote: str
    span: Span


@dataclass(frozen=True, slots=True)
class PreparedSource:
    """One source as synthesis sees it: numbered by the engine, one contiguous window, its role told."""

    n: int
    source_key: str
    title: str
    source_type: SourceType
    role: Role
    text: str
    span: Span
    note_path: str | None = None
    url: str | None = None
    dated: str | None = None
    user_tags: tuple[str, ...] = ()
    heading: str | None = None
    score: float = 0.0
    lane: Literal["primary", "exact_tag", "related"] = "primary"
    # The pages it stands on, for a source that has pages.
    pages: tuple[SectionView, ...] = ()
    # What stands above the window and belongs to it: headings, the line that leads in, the header of its table.
    context: tuple[Context, ...] = ()
    # Where in the window the properties stand that the question speaks of; the others are no passages.
    properties: tuple[tuple[int, int], ...] = ()

    def page_at(self, offset: int) -> int | None:
        """The number of the page on which this offset of the document stands."""
        return next((one.page for one in self.pages if one.start <= offset < one.end), None)


@dataclass(frozen=True, slots=True)
class Truncation:
    """What did not fit."""

    evidence_budget_chars: int
    evidence_chars_used: int
    dropped_source_keys: tuple[str, ...] = ()
    partially_trimmed_source_key: str | None = None

    @property
    def is_truncated(self) -> bool:
        return bool(self.dropped_source_keys or self.partially_trimmed_source_key)


@dataclass(frozen=True, slots=True)
class PreparedSynthesis:
    """Everything a synthesizer gets, and nothing else: `text` is the whole of it, character by character."""

    question: str
    sources: tuple[PreparedSource, ...]
    truncation: Truncation
    text: str
    term_weights: dict[str, float]
    unseen_terms: tuple[str, ...] = ()
    # Words of the question that nothing has, and what they are read as: `lnes` as `lines`.
    read_as: dict[str, str] = field(default_factory=dict)
    # The languages of the corpus, where the question is in none of them.
    other_languages: tuple[str, ...] = ()
    # Sources of which passages were kept from a hosted model, because a secret seems to stand in them.
    withheld_source_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near parts of documents come to the question in meaning: document, start, end. Empty without meaning."""

    parts: tuple[tuple[str, int, int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader found in a text: how likely (0 to 1) it answers, and the words `text[start:end]` that would."""

    answers: float
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Readings:
    """What a reader found in several texts. Empty where none was asked."""

    texts: tuple[str, ...] = ()
    found: tuple[Read, ...] = ()

    @property
    def by_text(self) -> dict[str, Read]:
        return dict(zip(self.texts, self.found, strict=True))


@dataclass(frozen=True, slots=True)
class EvidenceReserves:
    """How the characters of the evidence are shared out beside its rows (settings, not options of a request)."""

    exact_tag_reserved_chars: int = 2_000
    topic_brief_min_remaining_chars: int = 2_000
    topic_brief_summary_max_chars: int = 2_000


# A question as it was meant: words that nothing has, read as the nearest that something has. Pure.
#
# The pack says which words (its variant `spelling`). A word with a capital inside a question is a name, and a name that
# nothing has is told apart from all others: it stays as it is written, and so does what was given exactly.


def read_as(plan: QueryPlan) -> dict[str, str]:
    """The words of the question that are read as others: what is written, and what is meant."""
    meant = next((variant.query for variant in plan.query_variants if variant.kind == "spelling"), "")
    written, read = query_tokens(plan.text_query), query_tokens(meant)
    if len(written) != len(read):
        return {}
    shouted = plan.text_query == plan.text_query.title()
    return {
        one.folded: other.folded
        for number, (one, other) in enumerate(zip(written, read, strict=True))
        if one.folded != other.folded and (shouted or number == 0 or one.text[:1].islower())
    }


def as_meant(plan: QueryPlan, read: Mapping[str, str]) -> QueryPlan:
    """The plan with these words read as others."""
    if not read:
        return plan
    return replace(
        plan,
        text_query=put_right(plan.text_query, read),
        terms=tuple(dict.fromkeys(read.get(term, term) for term in plan.terms)),
        concepts=tuple(_meant(concept, read) for concept in plan.concepts),
    )


def _meant(concept: Concept, read: Mapping[str, str]) -> Concept:
    if concept.protected is not None:
        return concept
    return replace(
        concept,
        name=put_right(concept.name, read),
        terms=tuple(dict.fromkeys(read.get(term, term) for term in concept.terms)),
    )


# Evidence as a model is shown it: sources numbered by the engine, each passage with a mark, all of it inert. Pure.
#
# A mark is `⟦2⟧` (a source) or `⟦2.3⟧` (a passage of it): no code and hardly a text contains the brackets, and those of
# a stored text are rewritten, so none can forge a mark. Template tokens are rewritten too. Prose stands on one line;
# code keeps every byte, between its fences or in its backticks.


_FORGED_MARK = str.maketrans({"⟦": "[", "⟧": "]", "【": "[", "】": "]"})
_DEFUSED = str.maketrans("<[]|", "‹()¦")
_TOKEN = r"<\|[^|<>\n]{0,60}\|>|<</?SYS>>|\[/?INST\]|</?(?:start|end)_of_turn>"
_TEMPLATE_IN_CODE = re.compile(_TOKEN, re.IGNORECASE)
_TEMPLATE = re.compile(
    rf"{_TOKEN}|<\||</?s>|</?(?:system|assistant|user|tool|think|evidence)[^<>\n]{{0,40}}>", re.IGNORECASE
)
# A piece of code inside a line: as many backticks at its end as at its beginning.
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")


def inert(text: str) -> str:
    """A stored text as data on one line; what stands in backticks keeps its bytes."""
    seen = UNSEEN.sub("", text.replace("\r", "\n")).translate(_FORGED_MARK)
    parts: list[str] = []
    at = 0
    for code in CODE_SPAN.finditer(seen):
        parts += [_one_line(seen[at : code.start()]), _without_tokens(code.group(), _TEMPLATE_IN_CODE)]
        at = code.end()
    return "".join([*parts, _one_line(seen[at:])]).strip()


def inert_code(text: str) -> str:
    """A stored piece of code as data, line by line as it is."""
    seen = UNSEEN.sub("", text.replace("\r\n", "\n")).translate(_FORGED_MARK)
    return _without_tokens(seen, _TEMPLATE_IN_CODE)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", _without_tokens(text, _TEMPLATE))


def _without_tokens(text: str, tokens: re.Pattern[str]) -> str:
    return tokens.sub(lambda match: match[0].translate(_DEFUSED), text)


@lru_cache(maxsize=256)
def render_source(source: PreparedSource, *, withhold_secrets: bool = False) -> str:
    """A source as text: its number, what it is and where it stands, then its sentences with their marks.

    With `withhold_secrets` a passage in which a key, a token or a password seems to stand is named and not shown.
    """
    where = inert(source.note_path or source.url or "")
    details = ", ".join(part for part in (source.role, source.source_type, (source.dated or "")[:10]) if part)
    lines = [f"⟦{source.n}⟧ {inert(source.title)} ({details}) {inert(source.source_key)} {where}".rstrip()]
    code = set(code_in(source))
    for m, (start, end) in enumerate(passages(source), start=1):
        kinds = secrets_in(source, start, end) if withhold_secrets else ()
        text = source.text[start:end]
        shown = f"(withheld: {', '.join(kinds)})" if kinds else _fenced(text) if (start, end) in code else inert(text)
        lines.append(f"⟦{source.n}.{m}⟧ {shown}")
    return "\n".join(lines) + "\n\n"


def secrets_in(source: PreparedSource, start: int = 0, end: int | None = None) -> tuple[str, ...]:
    """The kinds of secrets in a passage; a private key goes on over many passages, so it counts for all of them."""
    kinds = kinds_of_secrets(source.text[start:end])
    return kinds or tuple(kind for kind in kinds_of_secrets(source.text) if kind == "private key")


def passages(source: PreparedSource) -> list[tuple[int, int]]:
    """The spans in the source's window that a model can point at, in the order of their marks.

    Front matter is none but for the properties that are asked for, nor is what says nothing: comments, lines of a
    template, definitions of links, rules and bare markers.
    """
    _, body = properties_of(source.text)
    code = code_in(source)
    spoken = (
        (start, end)
        for low, high in _between(body, len(source.text), code)
        for start, end in ((low + one, low + other) for one, other in sentences(source.text[low:high]))
        if _says_something(source.text[start:end])
    )
    return [*(one for one in source.properties if one[1] <= len(source.text)), *sorted([*spoken, *code])]


def code_in(source: PreparedSource) -> list[tuple[int, int]]:
    """The pieces of code of a source's window; a long one in parts of whole lines."""
    _, body = properties_of(source.text)
    blocks = [block for block in whole_blocks_of(source.text) if block.kind == "code" and block.start >= body]
    return [
        (low, high)
        for block in blocks
        for low, high in _in_lines(source.text, block.start, block.end)
        if any(map(str.isalnum, source.text[low:high].strip("`~\n ")))
    ]


def _in_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > _LONG_CODE:
        cut = text.rfind("\n", start + 1, start + _LONG_CODE) + 1 or start + _LONG_CODE
        yield start, cut
        start = cut
    yield start, end


def _between(start: int, end: int, taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for low, high in taken:
        yield start, max(start, low)
        start = max(start, high)
    yield start, end


def _fenced(text: str) -> str:
    """A piece of code between fences, which an indented one, or a part of a long one, lacks."""
    shown = inert_code(text).strip("\n")
    opens, closes = _FENCE.match(shown), _FENCE.match(shown.rsplit("\n", 1)[-1])
    if opens and closes and "\n" in shown:
        return shown
    return f"{'' if opens else '```' + chr(10)}{shown}{'' if closes and not opens else chr(10) + '```'}"


_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(?:`{3,}|~{3,})")
# A longer piece of code is shown in parts, each with a mark of its own.
_LONG_CODE = 1_500


_SAYS_NOTHING = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|^[ \t>]*\[[^\]\n]{1,200}\]:[ \t]*\S+[^\n]*$|^"
    r"[\W\d_]*(?:[\w -]{1,60}:[ \t]*)?(?:\{\{|<%)[^\n]*(?:\}\}|%>)\W*$",
    re.MULTILINE,
)
_BARE_MARKER = re.compile(r"[\W_]*(?:\d{1,3}|[A-Za-z])[.)\W_]*|[-*+>\s]*[\w -]{1,40}::\s*")


def _says_something(text: str) -> bool:
    said = _SAYS_NOTHING.sub("", text)
    return any(map(str.isalnum, said)) and not _BARE_MARKER.fullmatch(said)


MAX_EVIDENCE_CHARS = 24_000
# A trimmed row shorter than this shows too little to be worth its place.
_LEAST_TRIMMED_CHARS = 200


def prepare_synthesis(
    pack: ResearchPack,
    max_evidence_chars: int = MAX_EVIDENCE_CHARS,
    rules_chars: int = 0,
    reserves: EvidenceReserves | None = None,
    *,
    withhold_secrets: bool = False,
) -> PreparedSynthesis:
    """The synthesis input for a pack; the same pack always gives the same text.

    `rules_chars` of the budget go to the rules a model gets beside it: every character of a prompt counts.
    """
    kept = reserves or EvidenceReserves()
    head = _head(pack)
    primary = [row for row in pack.evidence if row.related_to is None]
    related = [row for row in pack.evidence if row.related_to is not None]
    shown = {row.source_key for row in primary}
    tagged = [row for row in pack.exact_tag_evidence if row.source_key not in shown]
    budget = _Budget(max_evidence_chars - rules_chars - len(head), pack.query_plan.text_query)
    example = _source(tagged[0], "exact_tag", pack.query_plan.text_query, 1) if tagged else None
    reserve = min(kept.exact_tag_reserved_chars, _cost_of(example)) if example else 0
    sources = [*budget.take(primary, "primary", keep_free=reserve)]
    sources += budget.take(tagged[:1], "exact_tag")
    before = len(sources)
    brief = _topic_summary(pack, budget.left, kept)
    budget.left -= len(brief)
    sources += budget.take([*tagged[1:], *related], "related")
    numbered = tuple(replace(source, n=n) for n, source in enumerate(sources, start=1))
    rendered = [render_source(source, withhold_secrets=withhold_secrets) for source in numbered]
    withheld = tuple(source.source_key for source in numbered if secrets_in(source)) if withhold_secrets else ()
    text = "".join((head, *rendered[:before], brief, *rendered[before:]))
    used = rules_chars + len(text)
    truncation = Truncation(max_evidence_chars, used, tuple(budget.dropped), budget.trimmed)
    asked = parse_chat_prompt(pack.question).current
    return PreparedSynthesis(
        *(asked, numbered, truncation, text, term_weights(pack), unseen_terms(pack)),
        read_as=read_as(pack.query_plan),
        other_languages=pack.coverage.other_languages,
        withheld_source_keys=withheld,
    )


def unseen_terms(pack: ResearchPack) -> tuple[str, ...]:
    """Terms of the question that no passage of the whole corpus has."""
    # In an order of their own: a pack read back from a record has its counts in another one.
    return tuple(sorted(term for term, count in pack.coverage.term_chunks.items() if count == 0))


def term_weights(pack: ResearchPack) -> dict[str, float]:
    """How much each term of the question says: the rarer in the corpus, the more."""
    total = max(pack.coverage.corpus_chunks, 1)
    # Rounded, so that no platform's logarithm differs in the last digit of a recorded run.
    return {
        term: round(math.log(1 + total / max(count, 1)), 6) for term, count in sorted(pack.coverage.term_chunks.items())
    }


def _cost_of(source: PreparedSource) -> int:
    """The characters a source takes, with two spare ones: its number may grow a digit once rows are renumbered."""
    return len(render_source(source)) + 2


class _Budget:
    """Characters left, and what did not fit; of the properties those count that are `asked` for."""

    def __init__(self, characters: int, asked: str) -> None:
        self.left = characters
        self._asked = asked
        self.dropped: list[str] = []
        self.trimmed: str | None = None

    def take(self, rows: Sequence[EvidenceRow], lane: str, keep_free: int = 0) -> list[PreparedSource]:
        """The best of these rows that fit; behind one that does not fit none is taken, however short it is."""
        taken: list[PreparedSource] = []
        is_full = False
        for row in rows:
            room = self.left - keep_free
            source = _source(row, lane, self._asked, len(taken) + 1)
            cost = _cost_of(source)
            if self.trimmed is None and not self.dropped and cost > room:
                fitting = len(row.text) - (cost - room)
                if fitting >= _LEAST_TRIMMED_CHARS:
                    self.trimmed = row.source_key
                    source = _trimmed(source, fitting)
                    cost = _cost_of(source)
            is_full = is_full or cost > room
            if is_full:
                self.dropped.append(row.source_key)
                continue
            self.left -= cost
            taken.append(source)
        return taken


def _source(row: EvidenceRow, lane: str, asked: str, n: int) -> PreparedSource:
    heading = next((section.heading for section in row.sections if section.heading), None)
    return PreparedSource(
        n=n,
        source_key=row.source_key,
        title=row.title,
        source_type=row.source_type,
        role=row.sections[0].role if row.sections and lane != "primary" else row.role,
        text=row.text,
        span=row.span,
        note_path=row.note_path,
        url=row.url,
        dated=row.dated,
        user_tags=row.user_tags,
        heading=heading,
        score=row.score,
        pages=tuple(section for section in row.sections if section.page is not None),
        context=row.context,
        properties=asked_properties(asked, row.text),
        lane="primary" if lane == "primary" else "exact_tag" if lane == "exact_tag" else "related",
    )


def _trimmed(source: PreparedSource, characters: int) -> PreparedSource:
    text = source.text[:characters].rstrip()
    return replace(source, text=text, span=replace(source.span, end=source.span.start + len(text)))


def _topic_summary(pack: ResearchPack, left: int, kept: EvidenceReserves) -> str:
    """The summary of the topic, whole lines of it, where enough room is left; marked as what it is."""
    if pack.topic_brief is None or not pack.topic_brief.summary or left < kept.topic_brief_min_remaining_chars:
        return ""
    head = f"Topic brief: {pack.topic_brief.topic} (derived, for orientation only; not a source, not to be cited)\n"
    room = min(kept.topic_brief_summary_max_chars, left - len(head) - 2)
    summary = pack.topic_brief.summary
    if len(summary) > room:
        summary = summary[: max(0, summary.rfind("]\n", 0, room) + 1)]
    return f"{head}{summary}\n\n" if summary else ""


def _asked(question: str) -> str:
    """The question and the ones before it; nothing that was answered before ever stands in a prompt."""
    prompt = parse_chat_prompt(question)
    earlier = "".join(f"\n- {inert(one)}" for one in prompt.recent[-8:])
    return f"{inert(prompt.current)}\nEarlier questions:{earlier}" if earlier else inert(prompt.current)


def _head(pack: ResearchPack) -> str:
    plan = pack.query_plan
    concepts = ", ".join(f"{concept.name} ({concept.role})" for concept in plan.concepts)
    asked = _asked(pack.question)
    return f"Question: {asked}\nLooking for: {inert(concepts)}\nCoverage: {pack.coverage.recall_note}\n\nEvidence:\n\n"


# The evidence of several searches as one: each window once, numbered anew. Pure.


def merge_prepared(question: str, parts: Sequence[PreparedSynthesis]) -> PreparedSynthesis:
    """The prepared evidence of several searches as one."""
    windows: dict[tuple[str, int, int], PreparedSource] = {}
    for part in parts:
        for source in part.sources:
            windows.setdefault((source.source_key, source.span.start, source.span.end), source)
    sources = tuple(replace(source, n=n) for n, source in enumerate(windows.values(), start=1))
    weights = {term: weight for part in parts for term, weight in part.term_weights.items()}
    dropped = tuple(dict.fromkeys(key for part in parts for key in part.truncation.dropped_source_keys))
    budget = sum(part.truncation.evidence_budget_chars for part in parts)
    used = sum(part.truncation.evidence_chars_used for part in parts)
    withheld = tuple(dict.fromkeys(key for part in parts for key in part.withheld_source_keys))
    truncation = Truncation(budget, used, dropped)
    return PreparedSynthesis(question, sources, truncation, "", weights, withheld_source_keys=withheld)


def merge_packs(packs: Sequence[ResearchPack]) -> ResearchPack | None:
    """The rows of several packs as one pack, each document once."""
    if not packs:
        return None
    rows = {row.source_key: row for pack in reversed(packs) for row in reversed(pack.evidence)}
    tagged = {row.source_key: row for pack in packs for row in pack.exact_tag_evidence}
    ordered = tuple(dict.fromkeys(row.source_key for pack in packs for row in pack.evidence))
    return replace(
        packs[0], evidence=tuple(rows[key] for key in ordered), exact_tag_evidence=tuple(tagged.values()), next_steps=()
    )
