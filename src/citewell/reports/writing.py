"""What a model is asked to write, and how its report is read: a summary, claims with their types, open questions. Pure.

## Summary
The lines were seeded late. ⟦1.2⟧ «seeded on 14 November»
## Claims
- fact: Line 3 was lost in March. ⟦2.1⟧ «we lost line 3 in the March storm»
- recommendation: Seed in October. ⟦4.3⟧ «next year in October»
## Open questions
- What the new lines cost is not in the evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.answer.draft import read_answer
from citewell.answer.evidence import PreparedSynthesis, inert, render_source
from citewell.answer.prompt import MARKING
from citewell.check.verdict import CheckedSentence, Contradiction, Draft, DraftSentence, Verdict, Verification
from citewell.models.messages import ChatRequest, PromptMessage
from citewell.reports.brief import (
    CLAIM_TYPES,
    MAX_SNIPPET_CHARS,
    BoundCitation,
    Brief,
    ClaimType,
    Duplicate,
    Family,
    FamilyCount,
    FamilyUse,
    ItemCredibility,
    Methodology,
    ReportItem,
    ReportPlan,
    ReportStatement,
    WrittenReport,
)
from citewell.reports.subqueries import shown_brief
from citewell.search.rows import EvidenceRow
from citewell.text.untrusted import TAG_RESEARCH_SOURCE, UNTRUSTED_DIRECTIVE, wrap_untrusted
from citewell.web.facts import PageFacts, PaperFacts

SUMMARY, CLAIMS, OPEN = "Summary", "Findings", "Open questions"
REPORT_PROMPT = "report.v2"
_RULES = f"""You write a report for a brief from numbered evidence.

- Say only what the evidence says. Bring in no knowledge of your own, not even to explain.
{MARKING}- Keep numbers, dates, names and negations exactly as they stand.
- Where sources disagree, give both sides with their marks and say which is newer.
- Write these sections, each with its heading on a line of its own:
## Summary
Two to five sentences that answer the brief.
## Claims
One claim a line, each one sentence, beginning with `- fact:`, `- analysis:`, `- comparison:` or `- recommendation:`.
Cover every sub-query the evidence speaks of.
## Open questions
What the brief asks and the evidence does not say, one plain sentence a line, without marks. Left out if there is none.
- Do not write addresses, links, keys or a list of sources: the engine adds them.
- {UNTRUSTED_DIRECTIVE}"""
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s*|\*\*)(?P<name>[^*#\n]{1,60}?)\W*$", re.MULTILINE)
_TYPED = re.compile(
    rf"^(?P<lead>\s*(?:[-*+•]|\d{{1,2}}[.)])?\s*)\**(?P<type>{'|'.join(CLAIM_TYPES)})\**\s*[:–-]\s*\**", re.I
)
_SECTIONS = (
    ("open", OPEN),
    ("gap", OPEN),
    ("unanswered", OPEN),
    ("claim", CLAIMS),
    ("finding", CLAIMS),
    ("key", CLAIMS),
)


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """A model's report as a draft, and the type of each claim by its text."""

    draft: Draft
    types: dict[str, ClaimType]


def report_request(
    brief: Brief, plan: ReportPlan, prepared: PreparedSynthesis, model: str, max_output_tokens: int, seconds: float,
    *, hosted: bool,
) -> ChatRequest:  # fmt: skip
    """Ask for the report: the rules, the brief, what was looked into, the evidence."""
    looked = "\n".join(f"- {inert(one.query)}" for one in plan.sub_queries)
    evidence = "\n".join(
        wrap_untrusted(TAG_RESEARCH_SOURCE, render_source(source, withhold_secrets=hosted).strip())
        for source in prepared.sources
    )
    asked = f"{shown_brief(brief)}\n\nSub-queries:\n{looked}\n\nEvidence:\n\n{evidence}"
    messages = (PromptMessage("system", _RULES), PromptMessage("user", asked))
    return ChatRequest("write", model, messages, max_output_tokens, seconds)


def read_report(reply: str, prepared: PreparedSynthesis, *, is_repair: bool, is_cut: bool) -> ReportDraft:
    """The draft in a reply; what keeps it from being a report is named in its `problems`."""
    types: dict[str, ClaimType] = {}
    sentences: list[DraftSentence] = []
    bad: list[str] = []
    lines = [(name, line) for name, body in _sections(reply) for line in _lines(name, body)]
    for number, (name, line) in enumerate(lines, start=1):
        typed = _TYPED.match(line)
        read = read_answer(_TYPED.sub(r"\g<lead>", line), prepared, is_cut=is_cut and number == len(lines))
        is_gap = name == OPEN or read.refused
        said = [_as_gap(one) if is_gap else one for one in read.sentences if one.kind != "heading"]
        if typed is not None:
            kind: ClaimType = next(one for one in CLAIM_TYPES if one == typed["type"].lower())
            types |= {one.text: kind for one in said if one.kind == "claim"}
        if said and not any(one.kind == "heading" and one.text == name for one in sentences):
            sentences.append(DraftSentence(name, "heading"))
        sentences += said
        bad += read.bad_marks
    draft = Draft(
        tuple(sentences),
        refused=False,
        repair=is_repair,
        written_by="model",
        bad_marks=tuple(dict.fromkeys(bad)),
        problems=tuple(_problems(sentences, bad, prepared)),
        is_cut=is_cut,
    )
    return ReportDraft(draft, types)


def parts_of(sentences: Sequence[DraftSentence]) -> dict[str, list[DraftSentence]]:
    """The sentences under each heading."""
    parts: dict[str, list[DraftSentence]] = {}
    current = SUMMARY
    for one in sentences:
        if one.kind == "heading":
            current = one.text
        else:
            parts.setdefault(current, []).append(one)
    return parts


def _sections(reply: str) -> list[tuple[str, str]]:
    """What stands under which heading; what stands above the first belongs to the summary."""
    found: dict[str, list[str]] = {SUMMARY: []}
    at, current = 0, SUMMARY
    for heading in _HEADING.finditer(reply):
        found.setdefault(current, []).append(reply[at : heading.start()])
        named = heading["name"].strip().casefold()
        current = next(
            (section for word, section in _SECTIONS if word in named), SUMMARY if "summar" in named else CLAIMS
        )
        at = heading.end()
    found.setdefault(current, []).append(reply[at:])
    return [(name, "\n".join(parts).strip()) for name, parts in found.items() if "".join(parts).strip()]


def _lines(name: str, body: str) -> list[str]:
    """A summary is read as a whole; of claims and open questions each line is one."""
    return [body] if name == SUMMARY else [line for line in body.split("\n") if line.strip()]


def _as_gap(sentence: DraftSentence) -> DraftSentence:
    return replace(sentence, kind="gap", quotes=(), block=None)


def _problems(sentences: Sequence[DraftSentence], bad: Sequence[str], prepared: PreparedSynthesis) -> list[str]:
    parts = parts_of(sentences)
    claims = [one for name, said in parts.items() if name != OPEN for one in said if one.kind == "claim"]
    found: list[str] = []
    if not claims:
        return ["there is no report in the reply"]
    if not any(one.kind == "claim" for one in parts.get(SUMMARY, ())):
        found.append("there is no summary under `## Summary`")
    if not any(one.kind == "claim" for one in parts.get(CLAIMS, ())):
        found.append("there are no claims under `## Claims`")
    if bad:
        listed = ", ".join(dict.fromkeys(bad))
        found.append(f"marks that are not in the evidence: {listed[:200]} (it has ⟦1⟧ to ⟦{len(prepared.sources)}⟧)")
    found += [f"without a mark: {one.text[:160]}" for one in claims if not one.quotes and not one.bad_marks][:6]
    return found


# From a verified draft to a report: statements with verdicts, citations bound to retained items, counts. Pure.


@dataclass(frozen=True, slots=True)
class ComposedReport:
    """A report that holds, or why there is none."""

    report: WrittenReport | None
    unresolved: tuple[str, ...] = ()


def compose_report(
    verification: Verification,
    plan: ReportPlan,
    types: Mapping[str, ClaimType],
    bound: tuple[BoundCitation, ...],
    loose: Sequence[int],
    *,
    by_model: bool,
) -> ComposedReport:
    """The report of a draft that was checked; what rests on no retained item (`loose`) keeps it from being one."""
    numbers = {one.citation.n for one in bound}
    summary: list[ReportStatement] = []
    claims: list[ReportStatement] = []
    gaps: list[str] = []
    unresolved = [f"[{n}] stands in no passage that was kept" for n in loose]
    section, queries = SUMMARY, {one.query: one.index for one in plan.sub_queries}
    looked_into = {queries[one.text] for one in verification.sentences if one.kind == "heading" and one.text in queries}
    for sentence in verification.sentences:
        if sentence.kind == "heading":
            section = sentence.text
            continue
        if sentence.kind == "gap" or section == OPEN:
            gaps += [sentence.text] if sentence.verdict != "contradicted" else []
            continue
        if sentence.verdict == "not_a_claim":
            continue
        if not set(sentence.citations) & numbers:
            unresolved.append(f"nothing that was kept is cited for: {sentence.text[:160]}")
            continue
        told = _statement(sentence, numbers, types, None if section == SUMMARY else queries.get(section))
        (summary if section == SUMMARY else claims).append(told)
    standing = [one for one in claims if one.verdict != "contradicted"]
    held = [one for one in summary if one.verdict != "contradicted"]
    if not held or not standing:
        unresolved.append("no claim stands" if held else "the summary cites nothing that holds")
    if unresolved:
        return ComposedReport(None, tuple(dict.fromkeys(unresolved)))
    withdrawn = [one for one in (*summary, *claims) if one.verdict == "contradicted"]
    missing = () if by_model else _unanswered(plan, looked_into)
    return ComposedReport(
        WrittenReport(
            tuple(held),
            tuple(standing),
            bound,
            tuple(dict.fromkeys(withdrawn)),
            tuple(dict.fromkeys((*gaps, *missing))),
            _disputes(verification.contradictions, standing),
        )
    )


def _disputes(found: Sequence[Contradiction], claims: Sequence[ReportStatement]) -> tuple[Contradiction, ...]:
    """Disagreements about one thing: what different sub-queries found is about different things. Each is told once."""
    asked: dict[int, set[int | None]] = {}
    for claim in claims:
        for n in claim.citations:
            asked.setdefault(n, set()).add(claim.sub_query)
    told: dict[tuple[str, ...], Contradiction] = {}
    for one in found:
        shared = [asked.get(n, set()) for n in one.citations]
        if shared and set.intersection(*shared):
            told.setdefault(one.values, one)
    return tuple(told.values())


# What is given as the confidence of a statement: by what a check came to; what nobody checked is in the middle.
_CONFIDENCE: dict[Verdict, float] = {
    "supported": 1.0,
    "partial": 0.5,
    "unsupported": 0.0,
    "contradicted": 0.0,
    "not_a_claim": 0.0,
}


def _statement(
    sentence: CheckedSentence, numbers: set[int], types: Mapping[str, ClaimType], sub_query: int | None
) -> ReportStatement:
    cited = tuple(n for n in sentence.citations if n in numbers)
    return ReportStatement(
        sentence.text,
        sentence.verdict,
        0.5 if sentence.check.kind == "none" else _CONFIDENCE[sentence.verdict],
        cited,
        types.get(sentence.text, "fact"),
        sub_query,
        sentence.reason,
        sentence.check,
        tuple(one.text for one in sentence.words),
    )


def _unanswered(plan: ReportPlan, answered: set[int]) -> tuple[str, ...]:
    """Sub-queries of which nothing was found; the question is answered by its parts, and nobody asked for a section."""
    return tuple(
        f"Nothing that was found speaks of: {one.query}"
        for one in plan.sub_queries
        if one.index not in answered and one.index > 0 and not one.places
    )


def count(
    plan: ReportPlan | None,
    families: Sequence[FamilyUse],
    searches: Mapping[str, int],
    items: Sequence[ReportItem],
    duplicates: Sequence[Duplicate],
    credibility: Sequence[ItemCredibility],
    retained: Sequence[str],
    report: WrittenReport | None,
    pages_read: int,
) -> Methodology:
    """How a report was made, in numbers."""
    kept = set(retained)
    cited = _cited(report.citations) if report else set()
    found = Counter(item.family for item in items)
    stayed = Counter(item.family for item in items if item.ref_id in kept)
    used = Counter(item.family for item in items if item.ref_id in cited)
    return Methodology(
        sub_queries=len(plan.sub_queries) if plan else 0,
        items_retrieved=len(items),
        duplicates=len(duplicates),
        below_floor=sum(not one.kept for one in credibility),
        items_retained=len(kept),
        items_cited=len(cited),
        pages_read=pages_read,
        families=tuple(
            FamilyCount(
                use.family,
                searches.get(use.family, 0),
                found[use.family],
                stayed[use.family],
                used[use.family],
            )
            for use in families
        ),
    )


def _cited(citations: Sequence[BoundCitation]) -> set[str]:
    return {one.ref_id for one in citations}


# What was found, as the items of a report: each with a name, its family, and how near it came. Pure.


def knowledge_items(sub_query: int, rows: Sequence[EvidenceRow]) -> tuple[ReportItem, ...]:
    """The rows of the corpus for a sub-query."""
    best = max((row.score for row in rows), default=0.0)
    return tuple(
        ReportItem(f"knowledge-{sub_query}-{n}", sub_query, "knowledge", _relevance(row, best), _cut(row))
        for n, row in enumerate(rows, start=1)
    )


def page_items(
    sub_query: int,
    rows: Sequence[EvidenceRow],
    pages: Mapping[str, PageFacts],
    families: Mapping[str, tuple[Family, str]],
    papers: Mapping[str, PaperFacts],
) -> tuple[ReportItem, ...]:
    """The passages of pages for a sub-query; `families` says of each page whence it came and who found it."""
    best = max((row.score for row in rows), default=0.0)
    found: list[ReportItem] = []
    for n, row in enumerate((one for one in rows if one.source_key in pages), start=1):
        page = pages[row.source_key]
        family, provider = families.get(row.source_key, ("web", ""))
        found.append(
            ReportItem(
                f"{family}-{sub_query}-{n}",
                sub_query,
                family,
                _relevance(row, best),
                # A page's own date, or none: when it was fetched says nothing of it.
                replace(_cut(row), dated=page.published),
                provider,
                replace(page, sketch=()),
                papers.get(row.source_key),
            )
        )
    return tuple(found)


def _relevance(row: EvidenceRow, best: float) -> float:
    return round(min(1.0, max(0.0, row.score / best)), 4) if best > 0 else 0.0


def _cut(row: EvidenceRow) -> EvidenceRow:
    """A row no longer than a snippet may be."""
    if len(row.text) <= MAX_SNIPPET_CHARS:
        return row
    span = replace(row.span, end=row.span.start + MAX_SNIPPET_CHARS)
    return replace(row, text=row.text[:MAX_SNIPPET_CHARS], span=span)
