"""The judge: is this evidence enough, and if not, what is the one thing worth trying? And how evidence is merged. Pure.

It looks at required concepts, at which rows carry them together, and at how likely one of their sentences answers
(`answer/quote.py`), never at a raw score: a high score only says that common words coincide. It does not
read for the answer itself; the verifier does that.

Documents that only carry a tag of the question are enough where it asks for a tag and nothing else ("what is tagged
#kelp"). Where text is needed they make the evidence weak rather than absent, and say where to look next. A recall note
that says "no direct evidence" is worth one retry, however good the rows look.

Of what was read on the web it also says which pages count, whether they are enough, and what to ask next:

    two pages of one site that both say 1921   ->   one independent source for 1921; `deep` asks for another
    a page that says "ignore previous instructions"   ->   listed and left out

Enough is what the judge of every run calls enough; `deep` also wants two independent sites for each thing the question
is about, where there are any, and a second voice where two sides disagree. Copies were turned away before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.answer.evidence import prepare_synthesis
from citewell.answer.quote import extract
from citewell.answer.score import QuestionEvidence
from citewell.check.verdict import Contradiction
from citewell.check.verify import verify
from citewell.models.rerank import Signal
from citewell.runs.run import JudgeResult, MergeRecord, WeakRow
from citewell.search.inspect import Window
from citewell.search.names import CaseCounts, mentions_in
from citewell.search.pack import Coverage, ResearchPack, note_after_retry, says_no_direct_evidence
from citewell.search.plan import gap_queries
from citewell.search.query import Concept
from citewell.search.rows import UNLIKELY, Answerability, EvidenceRow
from citewell.text.canonical import folded_text
from citewell.text.urls import site_of
from citewell.web.credibility import credibility
from citewell.web.facts import Credibility, LeftOut, PageFacts, PaperFacts, ResearchIntent

TOP_ROWS = 5
# The share of required content words a single row must carry beside every anchor.
ENOUGH_CONTENT = 0.6
INJECTION = "injection_suspected"
# How much each thing may move a row: together less than half of what it was found by.
_CREDIBLE, _FRESH, _CORROBORATED, _CONTRADICTED = 0.3, 0.15, 0.1, 0.1
_MOST_NAMES = 3
_NEEDED_SITES = 2


def judge(
    pack: ResearchPack, likely: Answerability, *, retries_left: int, expansions_left: int, tried: Sequence[str]
) -> JudgeResult:
    """The verdict on a pack, given how likely it answers."""
    required = pack.query_plan.required
    rows = list({row.source_key: row for row in reversed(pack.evidence) if row.related_to is None}.values())[::-1]
    rows = rows[:TOP_ROWS]
    found, names = {row.source_key for row in rows}, tuple(concept.name for concept in required)
    # Documents that carry a tag of the question and that no word of it found.
    tagged = tuple(row for row in pack.exact_tag_evidence if row.source_key not in found)
    documents = "1 document carries" if len(tagged) == 1 else f"{len(tagged)} documents carry"
    by_tag = tuple(WeakRow(row.source_key, "found by its tag alone", row.relationship, names) for row in tagged)

    def enough(reason: str, missing: tuple[str, ...] = (), weak: tuple[WeakRow, ...] = ()) -> JudgeResult:
        return JudgeResult("enough_evidence", reason, missing, weak, answerability=likely)

    def weak_or(
        reason: str, missing: tuple[str, ...], weak: tuple[WeakRow, ...], variant: str, lookup: str
    ) -> JudgeResult:
        """Weak evidence: with a query left to try, or else the documents around one of them to be looked at."""
        result = JudgeResult("weak_evidence", reason, missing, weak, answerability=likely)
        if variant:
            return replace(result, retry_action="focused_retry", retry_variant=variant)
        if lookup and expansions_left:
            return replace(result, retry_action="related_expansion", expansion_lookup=lookup)
        return result

    if tagged and required and all(concept.protected == "tag" for concept in required):
        return enough(f"{documents} the tag that is asked for")
    if not rows:
        # With nothing found, the tags the question may mean are the last words left to try.
        variant = _untried([" ".join(pack.query_plan.tag_queries[:6])], tried) if retries_left else ""
        if tagged:
            reason = f"{documents} only a tag of the question; no text mentions what it asks"
            return weak_or(reason, names, by_tag, variant, tagged[0].source_key)
        result = weak_or("nothing in the corpus matches the question", names, (), variant, "")
        return replace(result, verdict="no_evidence")
    met = [concepts_met(row) for row in rows]
    missing = tuple(name for name in names if not any(name in own for own in met))
    strong = sum(_is_strong(own, required) for own in met)
    lacking = [tuple(name for name in names if name not in own) for own in met]
    weak = tuple(
        WeakRow(row.source_key, f"does not mention {', '.join(lacks)}", row.relationship, lacks)
        for row, own, lacks in zip(rows, met, lacking, strict=True)
        if not _is_strong(own, required)
    )
    anchors = [concept.name for concept in pack.query_plan.concepts if concept.role == "anchor"]
    # What is missing, together with the anchors: a query that was not tried yet.
    focused = [" ".join(dict.fromkeys((*anchors, *missing))), " ".join(dict.fromkeys(missing))]
    variant = _untried(focused, tried) if retries_left else ""
    has_anchors = not any(concept.role == "anchor" and concept.name in missing for concept in required)
    if strong and has_anchors and likely.probability >= UNLIKELY:
        if variant and says_no_direct_evidence(pack.coverage.recall_note):
            return weak_or(
                f"the recall note says that nothing was found for {', '.join(missing)}", missing, weak, variant, ""
            )
        return enough(f"{strong} of the top {len(rows)} rows carry what the question is about", missing, weak)
    if strong and likely.probability < UNLIKELY and likely.reasons:
        reason = f"the rows speak of the subject, but {likely.reasons[0]}"
    elif missing:
        reason = f"no row mentions {', '.join(missing)}"
    else:
        reason = f"what the question is about is spread over {len(rows)} rows and none carries it together"
    reason += f"; {documents} only a tag of it" if tagged else ""
    # What is tagged with what no text mentions leads further than what mentions only the rest.
    lookup = (tagged[0] if tagged and missing else rows[0]).source_key
    return weak_or(reason, missing, (*weak, *by_tag), variant, lookup)


def _is_strong(met: frozenset[str], required: Sequence[Concept]) -> bool:
    """Whether a row carries every anchor and most of the content on its own."""
    content = [concept.name in met for concept in required if concept.role == "content"]
    anchored = all(concept.name in met for concept in required if concept.role == "anchor")
    return anchored and (not content or sum(content) / len(content) >= ENOUGH_CONTENT)


def _untried(variants: Sequence[str], tried: Sequence[str]) -> str:
    asked = {query.casefold() for query in tried}
    return next((one for one in variants if one and one.casefold() not in asked), "")


# Merging: a retry, an expansion or an inspection adds to what is there and never replaces it.


def concepts_met(row: EvidenceRow) -> frozenset[str]:
    """The concepts a row was found to be about."""
    return frozenset(
        signal.name.removeprefix("concept:") for signal in row.signals if signal.name.startswith("concept:")
    )


def merge_retry(pack: ResearchPack, found: ResearchPack) -> tuple[ResearchPack, MergeRecord]:
    """A retry's row is accepted only if it matches an anchor or fills a concept that was missing."""
    anchors = {concept.name for concept in pack.query_plan.concepts if concept.role == "anchor"}
    missing = set(pack.coverage.missing_concepts)
    known = {row.source_key for row in pack.evidence}
    fresh = [row for row in found.evidence if row.source_key not in known]
    accepted = [row for row in fresh if concepts_met(row) & (anchors | missing) or not pack.evidence]
    kept = {row.source_key for row in accepted}
    rejected = [row.source_key for row in fresh if row.source_key not in kept]
    filled, before = {name for row in accepted for name in concepts_met(row)}, pack.coverage
    left = tuple(name for name in before.missing_concepts if name not in filled)
    coverage = replace(
        before,
        missing_concepts=left,
        evidence_count=before.evidence_count + len(accepted),
        recall_note=note_after_retry(before.recall_note, before.missing_concepts, left),
    )
    merged = replace(pack, evidence=(*pack.evidence, *accepted), coverage=coverage)
    return merged, _record(pack.evidence, accepted, rejected)


def merge_expansion(pack: ResearchPack, rows: Sequence[EvidenceRow], limit: int) -> tuple[ResearchPack, MergeRecord]:
    """Related rows come last, at most `limit`, none twice."""
    known = {row.source_key for row in pack.evidence}
    fresh = [row for row in rows if row.source_key not in known]
    accepted, rejected = fresh[:limit], [row.source_key for row in fresh[limit:]]
    merged = replace(pack, evidence=(*pack.evidence, *accepted))
    return merged, _record(pack.evidence, accepted, rejected)


def _record(before: Sequence[EvidenceRow], accepted: Sequence[EvidenceRow], rejected: Sequence[str]) -> MergeRecord:
    return MergeRecord(
        preserved=tuple(row.source_key for row in before),
        accepted=tuple(row.source_key for row in accepted),
        rejected=tuple(rejected),
    )


def merge_inspection(pack: ResearchPack, windows: Sequence[Window]) -> ResearchPack:
    """Each inspected row shows what was read, as one row for every window; a changed document stays as it was found."""
    read: dict[str, list[Window]] = {}
    for window in windows:
        read.setdefault(window.source_key, []).append(window)
    rows = [shown for row in pack.evidence for shown in _widened(row, read.get(row.source_key, ()))]
    return replace(pack, evidence=tuple(rows))


def _widened(row: EvidenceRow, windows: Sequence[Window]) -> Iterator[EvidenceRow]:
    inside = [one for one in windows if one.content_hash == row.span.content_hash]
    if row.related_to is not None or not any(one.start <= row.span.start and row.span.end <= one.end for one in inside):
        yield row
        return
    for one in inside:
        chunk_id = f"{one.content_hash[:12]}:{one.start}-{one.end}"
        span = replace(row.span, chunk_id=chunk_id, start=one.start, end=one.end)
        shown = replace(row, text=one.text, span=span, sections=one.sections, context=one.context)
        yield replace(shown, excerpt_kind="inspected") if span != row.span else row


# What was read on the web


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


@dataclass(frozen=True, slots=True)
class Weighed:
    """The rows of the pages that count, each with what is known of its page, and the pack with the corpus's own."""

    pack: ResearchPack
    rows: tuple[EvidenceRow, ...]
    credibility: tuple[Credibility, ...]
    left_out: tuple[LeftOut, ...]


def weigh(asked: WebEvidence) -> Weighed:
    """Which pages count, and what they add to the corpus's own evidence."""
    pages, papers = {page.source_key: page for page in asked.pages}, dict(asked.papers)
    verdicts = {key: credibility(page, papers.get(key)) for key, page in pages.items()}
    counted = {k: p for k, p in pages.items() if not {k, p.url, p.final_url} & set(asked.pinned)}
    refused = ((key, why_left_out(page, verdicts[key], asked.floor)) for key, page in counted.items())
    left_out = tuple(LeftOut(key, why) for key, why in refused if why)
    out = {one.source for one in left_out}
    rows = [
        _weighed(row, pages[row.source_key], verdicts[row.source_key], asked)
        for row in asked.found.evidence
        if row.source_key in pages and row.source_key not in out
    ]
    rows = _corroborated(rows, pages)
    pack = merged(asked.corpus, asked.found, rows, asked.rows)
    return Weighed(pack, tuple(rows), tuple(verdicts.values()), left_out)


def assess(asked: WebEvidence, weighed: Weighed, verdict: JudgeResult) -> WebAssessment:
    """Whether the pages are enough, by the judge's verdict and the voices they are; else what to ask next."""
    pages, pack, rows = {page.source_key: page for page in asked.pages}, weighed.pack, weighed.rows
    disagree = contradictions_in(asked.found.question, pack) if verdict.verdict == "enough_evidence" else ()
    # Where time matters, that older pages say something else is no reason against a newer one.
    if disagree and not asked.is_time_bound:
        pack = merged(asked.corpus, asked.found, _contradicted(rows, disagree), asked.rows)
    sites = _sites_by_concept(pack, pages, asked)
    thin = tuple(name for name, found in sites.items() if 0 < len(found) < _NEEDED_SITES)
    disputes = _disputes(asked.found.question, disagree, pages) if asked.is_deep else ()
    sufficient, reason = _is_enough(asked, verdict, thin, disputes, rows)
    gaps = tuple(dict.fromkeys((*verdict.missing_concepts, *(thin if asked.is_deep else ()), *disputes)))
    own = asked.corpus.evidence if asked.from_notes else ()
    names = () if sufficient else _new_names(asked, (*rows, *own))
    queries = () if sufficient else gap_queries(pack.query_plan, gaps, names, asked.tried, asked.max_queries)
    return WebAssessment(pack, weighed.credibility, weighed.left_out, sufficient, reason, gaps, queries)


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
        gain = _CORROBORATED * (1 - 0.5 ** len(others))
        counted.append(_moved(row, "corroboration", gain, f"{len(others)} other sites"))
    return counted


def _contradicted(rows: Sequence[EvidenceRow], found: Sequence[Contradiction]) -> list[EvidenceRow]:
    """Rows of which independent sources say otherwise lose a little: more the fewer are on their side."""
    against: dict[str, float] = {}
    for one in found:
        whole = sum(side.independent_sources for side in one.stated)
        for side in one.stated:
            share = 1 - side.independent_sources / whole if whole else 0.0
            against |= {key: max(share, against.get(key, 0.0)) for key in side.source_keys}
    return [
        _moved(row, "contradiction", -_CONTRADICTED * loss, f"{loss:.0%} of independent sources say otherwise")
        if (loss := against.get(row.source_key)) is not None
        else row
        for row in rows
    ]


def _moved(row: EvidenceRow, name: str, share: float, why: str) -> EvidenceRow:
    """A row that gains or loses a share of its score, and why."""
    signal = Signal(name, round(row.score * share, 6), why)
    return replace(row, score=round(row.score + signal.value, 6), signals=(*row.signals, signal))


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
    web = len({row.source_key for row in rows if row.url and row.note_path is None})
    read = f"{web} pages of the web were read for it; the web has more."
    return replace(
        mine,
        evidence_count=len(rows),
        by_kind=dict(Counter(row.kind for row in rows)),
        by_source_type=dict(Counter(row.source_type for row in rows)),
        corpus_chunks=mine.corpus_chunks + theirs.corpus_chunks,
        term_chunks={term: terms[term] for term in sorted({*mine.term_chunks, *theirs.term_chunks})},
        missing_concepts=missing,
        recall_note=f"{mine.recall_note} {read}".strip() if web else mine.recall_note,
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
    draft = extract(QuestionEvidence(prepared, pack.query_plan))
    return () if draft.refused else verify(question, draft, prepared, pack.query_plan).contradictions


def _is_enough(
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


def _new_names(asked: WebEvidence, rows: Sequence[EvidenceRow]) -> tuple[str, ...]:
    """Names that turn up beside what the question is about and are not in it: what a second hop asks for."""
    spelling = CaseCounts.of(row.text for row in rows)
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
