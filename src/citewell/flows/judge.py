"""The judge: is this evidence enough, and if not, what is the one thing worth trying? Pure, typed, on its own.

It looks at required concepts, at which rows carry them together, and at how likely one of their sentences answers
(`synthesis/answerability.py`), never at a raw score: a high score only says that common words coincide. It does not
read for the answer itself; the verifier does that.

Documents that only carry a tag of the question are enough where it asks for a tag and nothing else ("what is tagged
#kelp"). Where text is needed they make the evidence weak rather than absent, and say where to look next. A recall note
that says "no direct evidence" is worth one retry, however good the rows look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.evidence import UNLIKELY, Answerability, EvidenceRow
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import Concept
from citewell.domain.runs import JudgeResult, WeakRow
from citewell.flows.merge import concepts_met
from citewell.packs.coverage import says_no_direct_evidence
from citewell.synthesis.answerability import estimate

TOP_ROWS = 5
# The share of required content words a single row must carry beside every anchor.
ENOUGH_CONTENT = 0.6


def judge(pack: ResearchPack, *, retries_left: int, expansions_left: int, tried: Sequence[str]) -> JudgeResult:
    """The verdict on a pack, with the estimate it rests on."""
    likely = estimate(pack)
    result = _verdict(pack, likely, retries_left=retries_left, expansions_left=expansions_left, tried=tried)
    return replace(result, answerability=likely)


def _verdict(
    pack: ResearchPack, likely: Answerability, *, retries_left: int, expansions_left: int, tried: Sequence[str]
) -> JudgeResult:
    required = pack.query_plan.required
    rows = [row for row in pack.evidence if row.related_to is None][:TOP_ROWS]
    tagged = _only_tagged(pack, rows)
    if tagged and required and all(concept.protected == "tag" for concept in required):
        return JudgeResult("enough_evidence", f"{_documents(tagged)} the tag that is asked for")
    if not rows:
        loosest = _loosest_variant(pack, tried) if retries_left else None
        if not tagged:
            nothing = JudgeResult("no_evidence", "nothing in the corpus matches the question", _names(required))
            return _retry_or(nothing, loosest)
        return _tags_alone(tagged, required, loosest, expansions_left)
    missing = tuple(concept.name for concept in required if not any(_meets(row, concept) for row in rows))
    weak = tuple(_weak_row(row, required) for row in rows if not _is_strong(row, required))
    strong = len(rows) - len(weak)
    variant = _focused_variant(pack, missing, tried) if retries_left else None
    if strong and not _missing_anchors(required, missing) and likely.probability >= UNLIKELY:
        if variant is not None and says_no_direct_evidence(pack.coverage.recall_note):
            reason = f"the recall note says that nothing was found for {', '.join(missing)}"
            return _retry_or(JudgeResult("weak_evidence", reason, missing, weak), variant)
        reason = f"{strong} of the top {len(rows)} rows carry what the question is about"
        return JudgeResult("enough_evidence", reason, missing, weak)
    reason = _why_weak(missing, rows, likely, strong)
    if tagged:
        reason += f"; {_documents(tagged)} only a tag of it"
    result = JudgeResult("weak_evidence", reason, missing, (*weak, *_weak_tags(tagged, required)))
    if variant is not None:
        return _retry_or(result, variant)
    # What is tagged with what no text mentions leads further than what mentions only the rest.
    return _expand_or(result, (tagged[0] if tagged and missing else rows[0]).source_key, expansions_left)


def _only_tagged(pack: ResearchPack, rows: Sequence[EvidenceRow]) -> tuple[EvidenceRow, ...]:
    """Documents that carry a tag of the question and that no word of it found."""
    found = {row.source_key for row in rows}
    return tuple(row for row in pack.exact_tag_evidence if row.source_key not in found)


def _documents(rows: Sequence[EvidenceRow]) -> str:
    return "1 document carries" if len(rows) == 1 else f"{len(rows)} documents carry"


def _weak_tags(tagged: Sequence[EvidenceRow], required: Sequence[Concept]) -> tuple[WeakRow, ...]:
    return tuple(
        WeakRow(row.source_key, "found by its tag alone", row.relationship, _names(required)) for row in tagged
    )


def _tags_alone(
    tagged: Sequence[EvidenceRow], required: Sequence[Concept], variant: str | None, expansions_left: int
) -> JudgeResult:
    """Nothing but tags: there is something on the subject, and no text of it was found."""
    reason = f"{_documents(tagged)} only a tag of the question; no text mentions what it asks"
    result = JudgeResult("weak_evidence", reason, _names(required), _weak_tags(tagged, required))
    if variant is not None:
        return _retry_or(result, variant)
    return _expand_or(result, tagged[0].source_key, expansions_left)


def _expand_or(result: JudgeResult, lookup: str, expansions_left: int) -> JudgeResult:
    """The same, with the documents around one of them to be looked at, where that is still allowed."""
    if not expansions_left:
        return result
    return replace(result, retry_action="related_expansion", expansion_lookup=lookup)


def _names(concepts: Sequence[Concept]) -> tuple[str, ...]:
    return tuple(concept.name for concept in concepts)


def _meets(row: EvidenceRow, concept: Concept) -> bool:
    return concept.name in concepts_met(row)


def _is_strong(row: EvidenceRow, required: Sequence[Concept]) -> bool:
    """A row that carries every anchor and most of the content on its own."""
    anchors = [concept for concept in required if concept.role == "anchor"]
    content = [concept for concept in required if concept.role == "content"]
    if not all(_meets(row, concept) for concept in anchors):
        return False
    met = sum(_meets(row, concept) for concept in content)
    return not content or met / len(content) >= ENOUGH_CONTENT


def _weak_row(row: EvidenceRow, required: Sequence[Concept]) -> WeakRow:
    missing = tuple(concept.name for concept in required if not _meets(row, concept))
    return WeakRow(row.source_key, f"does not mention {', '.join(missing)}", row.relationship, missing)


def _missing_anchors(required: Sequence[Concept], missing: Sequence[str]) -> tuple[str, ...]:
    return tuple(concept.name for concept in required if concept.role == "anchor" and concept.name in missing)


def _why_weak(missing: Sequence[str], rows: Sequence[EvidenceRow], likely: Answerability, strong: int) -> str:
    if strong and likely.probability < UNLIKELY and likely.reasons:
        return f"the rows speak of the subject, but {likely.reasons[0]}"
    if missing:
        return f"no row mentions {', '.join(missing)}"
    return f"what the question is about is spread over {len(rows)} rows and none carries it together"


def _retry_or(result: JudgeResult, variant: str | None) -> JudgeResult:
    if variant is None:
        return result
    return JudgeResult(
        result.verdict, result.reason, result.missing_concepts, result.weak_rows, "focused_retry", variant
    )


def _focused_variant(pack: ResearchPack, missing: Sequence[str], tried: Sequence[str]) -> str | None:
    """What is missing, together with the anchors: a query that was not tried yet."""
    anchors = [concept.name for concept in pack.query_plan.concepts if concept.role == "anchor"]
    for words in ((*anchors, *missing), tuple(missing)):
        variant = " ".join(dict.fromkeys(words))
        if variant and variant.casefold() not in {query.casefold() for query in tried}:
            return variant
    return None


def _loosest_variant(pack: ResearchPack, tried: Sequence[str]) -> str | None:
    """With nothing found, the tags the question may mean are the last words left to try."""
    variant = " ".join(pack.query_plan.tag_queries[:6])
    return variant if variant and variant.casefold() not in {query.casefold() for query in tried} else None
