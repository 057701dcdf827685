"""The judge: is this evidence enough, and if not, what is the one thing worth trying? Pure, typed, on its own.

It looks at required concepts, at which rows carry them together, and at how likely one of their sentences answers
(`synthesis/answerability.py`), never at a raw score: a high score only says that common words coincide. It does not
read for the answer itself; the verifier does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.evidence import UNLIKELY, Answerability, EvidenceRow
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import Concept
from citewell.domain.runs import JudgeResult, WeakRow
from citewell.runner.merge import concepts_met
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
    if not rows:
        return _retry_or(
            JudgeResult("no_evidence", "nothing in the corpus matches the question", _names(required)),
            _loosest_variant(pack, tried) if retries_left else None,
        )
    missing = tuple(concept.name for concept in required if not any(_meets(row, concept) for row in rows))
    weak = tuple(_weak_row(row, required) for row in rows if not _is_strong(row, required))
    strong = len(rows) - len(weak)
    if strong and not _missing_anchors(required, missing) and likely.probability >= UNLIKELY:
        reason = f"{strong} of the top {len(rows)} rows carry what the question is about"
        return JudgeResult("enough_evidence", reason, missing, weak)
    result = JudgeResult("weak_evidence", _why_weak(missing, rows, likely, strong), missing, weak)
    variant = _focused_variant(pack, missing, tried) if retries_left else None
    if variant is not None:
        return _retry_or(result, variant)
    if expansions_left:
        lookup = rows[0].source_key
        return JudgeResult("weak_evidence", result.reason, missing, weak, "related_expansion", None, lookup)
    return result


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
