"""Weighing what was read on the web: which pages count, whether they are enough, what to ask next. Pure.

    two pages of one site that both say 1921   ->   one independent source for 1921; `deep` asks for another
    a page that says "ignore previous instructions"   ->   listed and left out

Enough is what the judge of every run calls enough; `deep` also wants two independent sites for each thing the question
is about, where there are any, and a second voice where two sides disagree. Copies were turned away before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.corpus.mentions import Spelling, mentions_in
from citewell.domain.answers import Contradiction
from citewell.domain.evidence import EvidenceRow, Signal
from citewell.domain.packs import Coverage, ResearchPack
from citewell.domain.runs import JudgeResult
from citewell.domain.web import Credibility, LeftOut, PageFacts, PaperFacts, ResearchIntent
from citewell.evidence.credibility import credibility
from citewell.flows.judge import judge
from citewell.flows.merge import concepts_met
from citewell.planning.web_queries import gap_queries
from citewell.synthesis.extract import extract
from citewell.synthesis.packing import prepare_synthesis
from citewell.synthesis.verify import verify
from citewell.text.folding import folded_text
from citewell.text.urls import site_of

INJECTION = "injection_suspected"


@dataclass(frozen=True, slots=True)
class WebEvidence:
    """What was read, and what it is weighed by."""

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


# How much each thing may move a row: together less than half of what it was found by.
_CREDIBLE, _FRESH, _CORROBORATED, _CONTRADICTED = 0.3, 0.15, 0.1, 0.1
_MOST_NAMES = 3
_NEEDED_SITES = 2


def assess(asked: WebEvidence) -> WebAssessment:
    """What the pages come to."""
    pages = {page.source_key: page for page in asked.pages}
    papers = dict(asked.papers)
    verdicts = {key: credibility(page, papers.get(key)) for key, page in pages.items()}
    left_out = tuple(_not_counting(asked, pages, verdicts))
    out = {one.source for one in left_out}
    rows = [
        _weighed(row, pages[row.source_key], verdicts[row.source_key], asked)
        for row in asked.found.evidence
        if row.source_key in pages and row.source_key not in out
    ]
    rows = _corroborated(rows, pages)
    pack = merged(asked.corpus, asked.found, rows, asked.rows)
    verdict = judge(pack, retries_left=0, expansions_left=0, tried=())
    disagree = contradictions_in(asked.found.question, pack) if verdict.verdict == "enough_evidence" else ()
    # Where time matters, that older pages say something else is no reason against a newer one.
    if disagree and not asked.is_time_bound:
        pack = merged(asked.corpus, asked.found, _contradicted(rows, disagree), asked.rows)
    sites = _sites_by_concept(pack, pages, asked)
    thin = tuple(name for name, found in sites.items() if 0 < len(found) < _NEEDED_SITES)
    disputes = _disputes(asked.found.question, disagree, pages) if asked.is_deep else ()
    sufficient, reason = _verdict(asked, verdict, thin, disputes, rows)
    gaps = tuple(dict.fromkeys((*verdict.missing_concepts, *(thin if asked.is_deep else ()), *disputes)))
    own = asked.corpus.evidence if asked.from_notes else ()
    names = () if sufficient else _names(asked, (*rows, *own))
    queries = () if sufficient else gap_queries(pack.query_plan, gaps, names, asked.tried, asked.max_queries)
    return WebAssessment(pack, tuple(verdicts.values()), left_out, sufficient, reason, gaps, queries)


def _not_counting(
    asked: WebEvidence, pages: Mapping[str, PageFacts], verdicts: Mapping[str, Credibility]
) -> Iterator[LeftOut]:
    for key, page in pages.items():
        if {key, page.url, page.final_url} & set(asked.pinned):
            continue
        if why := why_left_out(page, verdicts[key], asked.floor):
            yield LeftOut(key, why)


def why_left_out(page: PageFacts, verdict: Credibility, floor: float) -> str:
    """Why a page that was read does not count; empty where it does."""
    if page.injections:
        return f"{INJECTION}: {page.injections[0]}"
    if "walled" in page.flags:
        return "walled: there is hardly more than a request to sign in or accept something"
    if verdict.score < floor:
        return f"low_credibility: {verdict.score} ({', '.join(verdict.reasons)})"
    return ""


def _weighed(row: EvidenceRow, page: PageFacts, verdict: Credibility, asked: WebEvidence) -> EvidenceRow:
    """A row with what is known of its page; a date of the page's own, or none."""
    signals = [
        Signal("credibility", round(row.score * _CREDIBLE * (verdict.score - 0.5), 6), ", ".join(verdict.reasons))
    ]
    if asked.is_time_bound:
        rank = _freshness(page, asked.pages)
        signals.append(Signal("freshness", round(row.score * _FRESH * rank, 6), page.published or "no date"))
    score = round(row.score + sum(signal.value for signal in signals), 6)
    return replace(row, dated=page.published, score=score, signals=(*row.signals, *signals))


def _freshness(page: PageFacts, pages: Sequence[PageFacts]) -> float:
    """From 1 for the newest to 0 for the oldest; a page without a date is as good as the oldest."""
    dates = sorted({one.published[:10] for one in pages if one.published})
    if not page.published or len(dates) < 2:
        return 0.0
    return dates.index(page.published[:10]) / (len(dates) - 1)


def _corroborated(rows: Sequence[EvidenceRow], pages: Mapping[str, PageFacts]) -> list[EvidenceRow]:
    """Rows of which other sites carry the same concepts gain a little, each further site less than the one before."""
    counted: list[EvidenceRow] = []
    for row in rows:
        own, met = site_of(pages[row.source_key].final_url), concepts_met(row)
        others = {
            site
            for other in rows
            if (site := site_of(pages[other.source_key].final_url)) != own and met and met <= concepts_met(other)
        }
        gain = round(row.score * _CORROBORATED * (1 - 0.5 ** len(others)), 6)
        signal = Signal("corroboration", gain, f"{len(others)} other sites")
        counted.append(replace(row, score=round(row.score + gain, 6), signals=(*row.signals, signal)))
    return counted


def _contradicted(rows: Sequence[EvidenceRow], found: Sequence[Contradiction]) -> list[EvidenceRow]:
    """Rows of which independent sources say otherwise lose a little: more the fewer are on their side."""
    against: dict[str, float] = {}
    for one in found:
        whole = sum(side.independent_sources for side in one.stated)
        for side in one.stated:
            share = 1 - side.independent_sources / whole if whole else 0.0
            against |= {key: max(share, against.get(key, 0.0)) for key in side.source_keys}
    return [_with_loss(row, against[row.source_key]) if row.source_key in against else row for row in rows]


def _with_loss(row: EvidenceRow, share: float) -> EvidenceRow:
    loss = -round(row.score * _CONTRADICTED * share, 6)
    signal = Signal("contradiction", loss, f"{share:.0%} of independent sources say otherwise")
    return replace(row, score=round(row.score + loss, 6), signals=(*row.signals, signal))


def merged(corpus: ResearchPack, found: ResearchPack, rows: Sequence[EvidenceRow], most: int) -> ResearchPack:
    """The user's evidence and the pages' in one pack, best first; counts are those of both."""
    together = [*corpus.evidence, *rows]
    ordered = sorted(enumerate(together), key=lambda pair: (-pair[1].score, pair[0]))
    kept = tuple(row for _, row in ordered)[:most]
    return replace(corpus, evidence=kept, coverage=_coverage(corpus, found, kept))


def _coverage(corpus: ResearchPack, found: ResearchPack, rows: Sequence[EvidenceRow]) -> Coverage:
    mine, theirs = corpus.coverage, found.coverage
    terms = Counter(mine.term_chunks)
    for term, count in theirs.term_chunks.items():
        terms[term] += count
    met = {name for row in rows for name in concepts_met(row)}
    missing = tuple(concept.name for concept in corpus.query_plan.required if concept.name not in met)
    return replace(
        mine,
        evidence_count=len(rows),
        by_kind=dict(Counter(row.kind for row in rows)),
        by_source_type=dict(Counter(row.source_type for row in rows)),
        corpus_chunks=mine.corpus_chunks + theirs.corpus_chunks,
        term_chunks={term: terms[term] for term in sorted({*mine.term_chunks, *theirs.term_chunks})},
        missing_concepts=missing,
        recall_note=_recall_note(mine, rows),
    )


def _recall_note(mine: Coverage, rows: Sequence[EvidenceRow]) -> str:
    web = len({row.source_key for row in rows if row.url and row.note_path is None})
    return (
        f"{mine.recall_note} {web} pages of the web were read for it; the web has more.".strip()
        if web
        else mine.recall_note
    )


def _sites_by_concept(pack: ResearchPack, pages: Mapping[str, PageFacts], asked: WebEvidence) -> dict[str, set[str]]:
    """Who speaks of each thing the question is about; the user's own documents count, unless they are to be checked."""
    sites: dict[str, set[str]] = {concept.name: set() for concept in pack.query_plan.required}
    for row in pack.evidence:
        page = pages.get(row.source_key)
        if page is None and "verify" in asked.intents:
            continue
        speaker = site_of(page.final_url) if page is not None else site_of(row.url) if row.url else row.source_key
        for name in concepts_met(row) & sites.keys():
            sites[name].add(speaker)
    return sites


def _disputes(question: str, found: Sequence[Contradiction], pages: Mapping[str, PageFacts]) -> tuple[str, ...]:
    """The contradiction check: what an answer would state as disputed while one side has a single voice.

    What is disputed becomes a query: it is named by the question, or by what a page says, never by a note's sentence.
    """
    named: list[str] = []
    for one in found:
        if any(side.independent_sources < _NEEDED_SITES for side in one.stated):
            said = [side.value for side in one.stated if pages.keys() & set(side.source_keys)]
            named.append(one.about if one.kind != "polarity" else (said or [question])[0])
    return tuple(name[:80] for name in named)


def contradictions_in(question: str, pack: ResearchPack) -> tuple[Contradiction, ...]:
    """What the sources of a pack would contradict each other in, in an answer made of them."""
    prepared = prepare_synthesis(pack)
    draft = extract(prepared, pack.query_plan)
    return () if draft.refused else verify(question, draft, prepared, pack.query_plan).contradictions


def _verdict(
    asked: WebEvidence, verdict: JudgeResult, thin: Sequence[str], disputes: Sequence[str], rows: Sequence[EvidenceRow]
) -> tuple[bool, str]:
    if verdict.verdict != "enough_evidence":
        return False, verdict.reason
    if asked.intents and not rows:
        return False, "the question asks for sources from outside, and none was found yet"
    if asked.is_deep and thin:
        return False, f"only one independent source speaks of {', '.join(thin)}"
    if disputes:
        return False, f"sources disagree, and one side has a single voice: {disputes[0]}"
    if "verify" in asked.intents and thin:
        return False, f"only one outside source speaks of {', '.join(thin)}"
    return True, verdict.reason


def _names(asked: WebEvidence, rows: Sequence[EvidenceRow]) -> tuple[str, ...]:
    """Names that turn up beside what the question is about and are not in it: what a second hop asks for."""
    spelling = Spelling.of(row.text for row in rows)
    question = folded_text(asked.found.question)
    tried = " ".join(asked.tried).casefold()
    counts: Counter[str] = Counter()
    for row in rows[:6]:
        if not concepts_met(row):
            continue
        names = {mention.name for mention in mentions_in(row.text, "en", spelling) if not mention.is_weak}
        counts.update(name for name in names if 3 < len(name) <= 60)
    fresh = [name for name in counts if folded_text(name) not in question and name.casefold() not in tried]
    return tuple(sorted(fresh, key=lambda name: (-counts[name], -len(name.split()), name))[:_MOST_NAMES])
