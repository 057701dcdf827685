"""What a case asserts, held against what came of its question. Pure.

Example:
    case: expect_top_keys [note:a, note:b]
    rows: note:b, note:a, note:c
    result: holds; the first two rows are these two, in any order
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.answer.passages import OUTDATED
from citewell.check.claim import check_text
from citewell.check.tokens import content_stems
from citewell.evals.cases import ANSWER_FIELDS, PLANNER_FIELDS, EvalCase, ResearchBriefSpec, asserted
from citewell.evals.results import ArmName, EvalFailure
from citewell.reports.model import ResearchCitation, ResearchReport, ResearchRun, RetrievedItem, TextSpan
from citewell.runs.run import RunResult
from citewell.search.pack import ResearchPack
from citewell.search.rows import EvidenceRow
from citewell.text.canonical import folded_text

_SHOWN = 5
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What came of a question: its evidence, and where it was a whole run its result."""

    pack: ResearchPack | None
    latency_ms: float
    result: RunResult | None = None
    # What is wrong with the record of the run; empty for a sound one.
    trace_faults: tuple[str, ...] = ()
    # Where the case has a brief: what its report does not reach.
    grade_failures: tuple[EvalFailure, ...] = ()

    @property
    def rows(self) -> tuple[EvidenceRow, ...]:
        return self.pack.evidence if self.pack else ()

    @property
    def all_rows(self) -> tuple[EvidenceRow, ...]:
        return (*self.rows, *(self.pack.exact_tag_evidence if self.pack else ()))


Found = Iterator[EvalFailure]


def failures(case: EvalCase, asked: CaseOutcome, arm: ArmName) -> tuple[EvalFailure, ...]:
    """Every assertion of the case that does not hold."""
    found = [EvalFailure("trace", fault) for fault in asked.trace_faults]
    skipped = not_checked(case, asked, arm)
    for name, wanted in asserted(case).items():
        if name not in skipped:
            found += _CHECKS[name](case, asked, wanted)
    return tuple(found)


def not_checked(case: EvalCase, asked: CaseOutcome, arm: ArmName) -> tuple[str, ...]:
    """Assertions that say nothing of this arm: of answers where none was asked for, of a model that took no part."""
    left_out: set[str] = set()
    if asked.result is None:
        left_out |= {*ANSWER_FIELDS, "answers"}
    if arm == "planner_off" and case.disable_planner is not True:
        left_out |= set(PLANNER_FIELDS)
    return tuple(name for name in asserted(case) if name in left_out)


def matches(entry: str, source_key: str, note_path: str | None) -> bool:
    """Whether a key of a case means a document: its source key, or its path in the collection."""
    return entry in (source_key, note_path)


def _keys(rows: Iterable[EvidenceRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.source_key for row in rows))


def _has(entry: str, rows: Iterable[EvidenceRow]) -> bool:
    return any(matches(entry, row.source_key, row.note_path) for row in rows)


def _listed(values: Sequence[str]) -> str:
    if not values:
        return "nothing"
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + more


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _min_evidence(case: EvalCase, asked: CaseOutcome, wanted: int) -> Found:
    if len(asked.rows) < wanted:
        yield EvalFailure("min_evidence", f"{len(asked.rows)} rows, fewer than {wanted}", wanted, len(asked.rows))


def _expect_source_keys(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    if missing := [key for key in wanted if not _has(key, asked.all_rows)]:
        found = _keys(asked.all_rows)
        yield EvalFailure(
            "expect_source_keys", f"{_listed(missing)} not found; there is {_listed(found)}", wanted, found
        )


def _any_source_keys(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    if not any(_has(key, asked.all_rows) for key in wanted):
        found = _keys(asked.all_rows)
        yield EvalFailure(
            "any_source_keys", f"none of {_listed(wanted)} was found; there is {_listed(found)}", wanted, found
        )


def _expect_top_keys(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    top = list({row.source_key: row for row in asked.rows}.values())[: len(wanted)]
    if missing := [key for key in wanted if not _has(key, top)]:
        yield EvalFailure(
            "expect_top_keys",
            f"{_listed(missing)} not among the first {len(wanted)}; these are {_listed(_keys(top))}",
            *(wanted, _keys(top)),
        )


def _forbid_source_keys(case: EvalCase, asked: CaseOutcome, unwanted: Sequence[str]) -> Found:
    if there := [key for key in unwanted if _has(key, asked.all_rows)]:
        yield EvalFailure("forbid_source_keys", f"{_listed(there)} was found", unwanted, there)


def _said(asked: CaseOutcome) -> str:
    """What is said: the answer of a run, else the texts of the evidence."""
    if asked.result is None:
        return _folded("\n".join(f"{row.title}\n{row.text}" for row in asked.all_rows))
    return _folded(asked.result.answer)


def _expect_text(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    said = _said(asked)
    if missing := [text for text in wanted if _folded(text) not in said]:
        where = "the answer" if asked.result is not None else "the evidence"
        yield EvalFailure("expect_text", f"{where} lacks {_quoted(missing)}", wanted, _start(asked))


def _forbid_text(case: EvalCase, asked: CaseOutcome, unwanted: Sequence[str]) -> Found:
    """What an answer quotes as since corrected is not what it says."""
    result = asked.result
    said = (
        _said(asked)
        if result is None
        else _folded(" ".join(one.text for one in result.sentences if not one.text.startswith(OUTDATED)))
    )
    if there := [text for text in unwanted if _folded(text) in said]:
        where = "the answer" if result is not None else "the evidence"
        yield EvalFailure("forbid_text", f"{where} says {_quoted(there)}", unwanted, _start(asked))


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f"“{text}”" for text in texts)


def _start(asked: CaseOutcome) -> str:
    return asked.result.answer[:200] if asked.result is not None else ""


def _tag(text: str) -> str:
    return text.lstrip("#").casefold()


def _expect_exact_tags(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    counted = asked.pack.coverage.exact_tag_matches if asked.pack else ()
    found = [one.tag for one in counted if one.count]
    missing = [tag for tag in wanted if _tag(tag) not in {_tag(one) for one in found}]
    if missing:
        message = f"{_listed(missing)} not matched as a tag; matched is {_listed(found)}"
        yield EvalFailure("expect_exact_tags", message, wanted, found)


def _expect_matched_terms(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    found = tuple(dict.fromkeys(term for row in asked.all_rows for term in row.matched_terms))
    if missing := _lacking(wanted, found):
        message = f"no row matches {_listed(missing)}; matched is {_listed(found)}"
        yield EvalFailure("expect_matched_terms", message, wanted, found)


def _forbid_missing_terms(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    if not asked.rows:
        yield EvalFailure("forbid_missing_terms", "there are no rows", wanted, ())
    elif missing := _holding(wanted, asked.rows[0].missing_terms):
        message = f"the best row, {asked.rows[0].source_key}, lacks {_listed(missing)}"
        yield EvalFailure("forbid_missing_terms", message, wanted, missing)


def _lacking(wanted: Sequence[str], found: Iterable[str]) -> list[str]:
    folded = {_folded(one) for one in found}
    return [one for one in wanted if _folded(one) not in folded]


def _holding(wanted: Sequence[str], found: Iterable[str]) -> list[str]:
    folded = {_folded(one) for one in found}
    return [one for one in wanted if _folded(one) in folded]


def _min_retrieval_signals(case: EvalCase, asked: CaseOutcome, wanted: int | dict[str, float]) -> Found:
    signals = {signal.name: signal.value for signal in asked.rows[0].signals} if asked.rows else {}
    if isinstance(wanted, int):
        if len(signals) < wanted:
            message = f"the best row has {len(signals)} signals, fewer than {wanted}"
            yield EvalFailure("min_retrieval_signals", message, wanted, signals)
        return
    for name, least in wanted.items():
        if signals.get(name, float("-inf")) < least:
            found = signals.get(name)
            message = f"the best row's {name} is {'missing' if found is None else found}, not at least {least}"
            yield EvalFailure("min_retrieval_signals", message, wanted, signals)


def _expect_planner(case: EvalCase, asked: CaseOutcome, wanted: bool | str) -> Found:
    if asked.pack is None:
        yield EvalFailure("expect_planner", "nothing was planned", wanted)
        return
    plan = asked.pack.query_plan
    holds = (plan.planner_status == "used") == wanted if isinstance(wanted, bool) else False
    if not holds and (isinstance(wanted, bool) or wanted not in (plan.planner, plan.planner_status)):
        message = f"planned by {plan.planner} ({plan.planner_status}), not as {wanted}"
        yield EvalFailure("expect_planner", message, wanted, plan.planner)


def _expect_planner_error_contains(case: EvalCase, asked: CaseOutcome, wanted: str) -> Found:
    error = (asked.pack.query_plan.planner_error if asked.pack else None) or ""
    if _folded(wanted) not in _folded(error):
        message = f"the planner's error is “{error}” and does not say “{wanted}”"
        yield EvalFailure("expect_planner_error_contains", message, wanted, error)


def _plan_list(name: str, of: Callable[[ResearchPack], Iterable[str]], *, is_there: bool) -> Callable[..., Found]:
    """Names of the plan that must be there, or must not."""

    def check(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
        found = tuple(of(asked.pack)) if asked.pack else ()
        wrong = _lacking(wanted, found) if is_there else _holding(wanted, found)
        if wrong:
            said = "not in the plan" if is_there else "in the plan"
            yield EvalFailure(name, f"{_listed(wrong)} {said}; it has {_listed(found)}", wanted, found)

    return check


def _max_latency_ms(case: EvalCase, asked: CaseOutcome, most: float) -> Found:
    if asked.latency_ms > most:
        yield EvalFailure(
            "max_latency_ms", f"took {asked.latency_ms:.0f} ms, more than {most:.0f}", most, asked.latency_ms
        )


def _expect_answer_status(case: EvalCase, asked: CaseOutcome, wanted: str) -> Found:
    assert asked.result is not None
    found = asked.result.answer_status
    if found != wanted:
        yield EvalFailure("expect_answer_status", f"{found} ({asked.result.stop_reason}), not {wanted}", wanted, found)


def _cites(entry: str, result: RunResult) -> bool:
    return any(matches(entry, one.source_key, one.note_path) for one in result.citations)


def _cited(result: RunResult) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.source_key for one in result.citations))


def _expect_citation_source_keys(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    assert asked.result is not None
    if missing := [key for key in wanted if not _cites(key, asked.result)]:
        found = _cited(asked.result)
        message = f"{_listed(missing)} not cited; cited is {_listed(found)}"
        yield EvalFailure("expect_citation_source_keys", message, wanted, found)


def _forbid_citation_source_keys(case: EvalCase, asked: CaseOutcome, unwanted: Sequence[str]) -> Found:
    assert asked.result is not None
    if there := [key for key in unwanted if _cites(key, asked.result)]:
        yield EvalFailure("forbid_citation_source_keys", f"{_listed(there)} is cited", unwanted, there)


def _max_unsupported_rate(case: EvalCase, asked: CaseOutcome, most: float) -> Found:
    assert asked.result is not None
    rate = asked.result.metrics.unsupported_rate
    if rate > most:
        yield EvalFailure("max_unsupported_rate", f"{rate:.2f} of the sentences are not supported", most, rate)


def _expect_stop_reason(case: EvalCase, asked: CaseOutcome, wanted: str) -> Found:
    assert asked.result is not None
    if asked.result.stop_reason != wanted:
        found = asked.result.stop_reason
        yield EvalFailure("expect_stop_reason", f"stopped with {found}, not {wanted}", wanted, found)


def _expect_inspected_keys(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    assert asked.result is not None
    found = asked.result.explored.inspected_keys
    by_key = {row.source_key: row.note_path for row in asked.all_rows}
    missing = [key for key in wanted if not any(matches(key, one, by_key.get(one)) for one in found)]
    if missing:
        message = f"{_listed(missing)} was not read closely; read was {_listed(found)}"
        yield EvalFailure("expect_inspected_keys", message, wanted, found)


def _supported_by(statement: str, asked: CaseOutcome) -> tuple[str, ...]:
    """The rows that support a statement, as the verifier reads them."""
    return tuple(row.source_key for row in asked.all_rows if check_text(statement, row.text).verdict == "supported")


def _expect_supported(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    if lost := [statement for statement in wanted if not _supported_by(statement, asked)]:
        yield EvalFailure("expect_supported", f"no row supports {_quoted(lost)}", wanted, ())


def _forbid_supported(case: EvalCase, asked: CaseOutcome, unwanted: Sequence[str]) -> Found:
    for statement in unwanted:
        if rows := _supported_by(statement, asked):
            yield EvalFailure("forbid_supported", f"{_listed(rows)} is taken to support “{statement}”", unwanted, rows)


def _answerable(case: EvalCase, asked: CaseOutcome, wanted: bool) -> Found:
    if asked.result is None:
        return
    refused = asked.result.answer_status == "no_evidence"
    if refused == wanted:
        message = "refused, though it can be answered" if wanted else "answered, though nothing answers it"
        yield EvalFailure("answerable", message, wanted, asked.result.answer_status)


def _answers(case: EvalCase, asked: CaseOutcome, wanted: Sequence[str]) -> Found:
    """As the labelled questions have it: `a||b` are spellings of one, a leading `=` compares punctuation too."""
    assert asked.result is not None
    places = [place for place in (_place(one, asked.result.answer) for one in wanted) if place >= 0]
    if len(places) < case.need:
        message = f"{len(places)} of {len(wanted)} accepted strings are in the answer, and {case.need} are needed"
        yield EvalFailure("answers", message, wanted, asked.result.answer[:200])
    elif case.ordered and places != sorted(places):
        yield EvalFailure("answers", "the accepted strings stand in another order", wanted, asked.result.answer[:200])


def _place(accepted: str, answer: str) -> int:
    """Where the first spelling of an accepted string stands in an answer; -1 where none does."""
    found = [
        _folded(answer).find(_folded(one[1:])) if one.startswith("=") else _words(answer).find(_words(one))
        for one in accepted.split("||")
    ]
    return min((place for place in found if place >= 0), default=-1)


def _words(text: str) -> str:
    return " " + _NOT_WORDS.sub(" ", text.casefold()).strip() + " "


def _gold(case: EvalCase, asked: CaseOutcome, wanted: Sequence[Any]) -> Found:
    """One of the gold passages is found; in a run that answered, one of their files is cited."""
    paths = tuple(dict.fromkeys(gold.path for gold in wanted))
    if asked.result is not None and asked.result.answer_status not in ("ok", "ok_truncated"):
        return
    if asked.result is not None:
        if not any(_cites(path, asked.result) for path in paths):
            found = _cited(asked.result)
            yield EvalFailure("gold", f"none of {_listed(paths)} is cited; cited is {_listed(found)}", paths, found)
    elif not any(_has(path, asked.all_rows) for path in paths):
        found = _keys(asked.all_rows)
        yield EvalFailure("gold", f"none of {_listed(paths)} was found; there is {_listed(found)}", paths, found)


def _variants(pack: ResearchPack) -> Iterable[str]:
    return (variant.query for variant in pack.query_plan.query_variants)


def _concepts(pack: ResearchPack) -> Iterable[str]:
    return (concept.name for concept in pack.query_plan.concepts)


_CHECKS: dict[str, Callable[[EvalCase, CaseOutcome, Any], Iterator[EvalFailure]]] = {
    "min_evidence": _min_evidence,
    "expect_source_keys": _expect_source_keys,
    "any_source_keys": _any_source_keys,
    "expect_top_keys": _expect_top_keys,
    "forbid_source_keys": _forbid_source_keys,
    "expect_exact_tags": _expect_exact_tags,
    "expect_matched_terms": _expect_matched_terms,
    "forbid_missing_terms": _forbid_missing_terms,
    "min_retrieval_signals": _min_retrieval_signals,
    "expect_planner": _expect_planner,
    "expect_query_terms": _plan_list("expect_query_terms", lambda pack: pack.query_plan.terms, is_there=True),
    "expect_query_variants": _plan_list("expect_query_variants", _variants, is_there=True),
    "forbid_query_variants": _plan_list("forbid_query_variants", _variants, is_there=False),
    "expect_concepts": _plan_list("expect_concepts", _concepts, is_there=True),
    "forbid_concepts": _plan_list("forbid_concepts", _concepts, is_there=False),
    "expect_planner_error_contains": _expect_planner_error_contains,
    "expect_text": _expect_text,
    "forbid_text": _forbid_text,
    "max_latency_ms": _max_latency_ms,
    "expect_answer_status": _expect_answer_status,
    "expect_citation_source_keys": _expect_citation_source_keys,
    "forbid_citation_source_keys": _forbid_citation_source_keys,
    "max_unsupported_rate": _max_unsupported_rate,
    "expect_stop_reason": _expect_stop_reason,
    "expect_inspected_keys": _expect_inspected_keys,
    "expect_supported": _expect_supported,
    "forbid_supported": _forbid_supported,
    "answers": _answers,
    "gold": _gold,
    "answerable": _answerable,
}


# Grading a report against what its brief should have brought out. Pure.
#
#     expected: "The lamp burned 812 gallons of oil in 1859."
#     claim:    "The Orrin Head lamp burned 812 gallons of colza oil in 1859."   ->   covered
#
# A claim covers what is expected where it says it, or its quotes do, as the verifier reads them. Citations resolve
# where the item they name was kept and holds the quote. Credibility is that of the cited sources from outside; where
# there are none, it is 1.


@dataclass(frozen=True, slots=True)
class ResearchGrade:
    """How a report did, each as a share between 0 and 1."""

    claim_coverage: float
    citation_resolution: float
    source_credibility: float
    missing_claims: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()


def grade_research_run(run: ResearchRun, spec: ResearchBriefSpec) -> ResearchGrade:
    """The grade of a run; without a report nothing is covered and nothing resolves."""
    if run.report is None:
        covered = 0.0 if spec.expected_claims else 1.0
        return ResearchGrade(covered, 0.0, 0.0, spec.expected_claims)
    missing = tuple(one for one in spec.expected_claims if not _is_covered(one, run.report))
    unresolved = tuple(_unresolved(run, run.report))
    cited = run.report.citations
    return ResearchGrade(
        claim_coverage=_share(len(spec.expected_claims) - len(missing), len(spec.expected_claims)),
        citation_resolution=_share(len(cited) - len(unresolved), len(cited)),
        source_credibility=_credibility(run, cited),
        missing_claims=missing,
        unresolved=unresolved,
    )


def failures_of(grade: ResearchGrade, spec: ResearchBriefSpec) -> Iterator[EvalFailure]:
    """What the rubric asks for and the grade does not reach."""
    rubric = spec.rubric
    if grade.claim_coverage < rubric.claim_coverage:
        told = "; ".join(grade.missing_claims)
        yield EvalFailure(
            "claim_coverage", f"{grade.claim_coverage:.2f}; not claimed: {told}", rubric.claim_coverage, told
        )
    if grade.citation_resolution < rubric.citation_resolution:
        told = "; ".join(grade.unresolved) or "there is no report"
        yield EvalFailure(
            "citation_resolution", f"{grade.citation_resolution:.2f}: {told}", rubric.citation_resolution, told
        )
    if grade.source_credibility < rubric.source_credibility:
        yield EvalFailure(
            "source_credibility",
            f"{grade.source_credibility:.2f} is below {rubric.source_credibility:.2f}",
            rubric.source_credibility,
            grade.source_credibility,
        )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def _is_covered(expected: str, report: ResearchReport) -> bool:
    wanted = folded_text(expected).strip(" .")
    told = [(one.text, one.citations) for one in report.claims]
    told += [(one.text, one.citations) for one in report.summary_sentences]
    texts = [" ".join((text, *(one.quote for one in citations))) for text, citations in told]
    words = content_stems(expected)
    return any(
        wanted in folded_text(text)
        or (words <= content_stems(text) and check_text(expected, text).verdict != "contradicted")
        for text in texts
    )


def _unresolved(run: ResearchRun, report: ResearchReport) -> Iterator[str]:
    kept = {item.ref_id: item for items in run.retrieved_items.values() for item in items if item.retained}
    for citation in report.citations:
        item = kept.get(citation.ref_id)
        if item is None or not _holds(item, citation):
            yield f"[{citation.n}] {citation.ref_id}"


def _holds(item: RetrievedItem, citation: ResearchCitation) -> bool:
    """Whether the quote is what the item has at that place; what stands above its window came with the item."""
    own, cited = _span(item.citation), _span(citation)
    if own.content_hash != cited.content_hash or not citation.quote:
        return False
    inside = own.start <= cited.start <= cited.end <= own.end
    return not inside or item.snippet[cited.start - own.start : cited.end - own.start] == citation.quote


def _span(citation: ResearchCitation) -> TextSpan:
    locator = citation.locator
    return locator.citation.span if locator.family == "knowledge" else locator.span


def _credibility(run: ResearchRun, cited: tuple[ResearchCitation, ...]) -> float:
    scores = {one.ref_id: one.score for one in run.credibility}
    outside = {one.ref_id for one in cited if one.locator.family != "knowledge"}
    if not outside:
        return 1.0
    return round(sum(scores.get(ref, 0.0) for ref in outside) / len(outside), 4)
