"""An answer as a person reads it: sentences with marks, then the passages they rest on."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.answers import Citation
from citewell.domain.run_reports import CitedSource
from citewell.domain.runs import RunResult
from citewell.surfaces.cli.console import one_line, print_text, safe, style

_FAILED_ROWS = 5
_QUOTED_LINES = 40
_VERDICTS = {
    "supported": ("supported", "green"),
    "partial": ("partly supported", "yellow"),
    "unsupported": ("not proven by its quote", "dim"),
    "contradicted": ("TAKEN BACK: its source says otherwise", "red"),
    "not_a_claim": ("", "dim"),
}


def print_answer(result: RunResult, sources: Sequence[CitedSource] = ()) -> None:
    """The answer, its sentences' verdicts, the quotes behind it, and how the run ended."""
    print_text(style(f"Question: {one_line(result.question, 300)}", "bold"))
    print_text()
    if result.stop_reason == "verification_failed":
        failed = ", ".join(gate.name for gate in result.gates if not gate.passed)
        print_text(f"The answer failed verification ({failed}) and is not shown; it is only in the trace.")
        _print_evidence(result)
    if result.answer_status in ("unavailable", "error") and result.failure is not None:
        _print_failure(result)
    for sentence in result.sentences:
        if sentence.kind == "heading":
            print_text()
            print_text(style(safe(sentence.text), "bold"))
            continue
        marks = "".join(f" [{n}]" for n in sentence.citations)
        word, colour = _VERDICTS[sentence.verdict]
        if result.tool == "extractive" and sentence.verdict == "supported":
            word = ""  # a quotation, word for word
        verdict = f"  {style(f'({word})', colour)}" if word else ""
        text = "\n".join(safe(line) for line in sentence.text.split("\n"))
        print_text(f"{text}{marks}{verdict}")
    if not result.sentences and result.answer_status not in ("error", "unavailable"):
        print_text("No answer.")
    _print_nearest(result)
    _print_citations(result, sources)
    for doubt in result.doubts:
        print_text(style(f"The reviewer doubts sentence {doubt.sentence} ({doubt.kind}): {doubt.why}", "yellow"))
    for contradiction in result.contradictions:
        places = "".join(f" [{n}]" for n in contradiction.citations)
        print_text(f"Sources disagree: {' / '.join(one_line(value, 60) for value in contradiction.values)}{places}")
    _print_end(result)


def _print_failure(result: RunResult) -> None:
    """The model gave no answer: why, what to do, and the evidence that was found all the same."""
    assert result.failure is not None
    print_text(style(f"No answer was written: {one_line(result.failure.message, 400)}", "red"))
    if result.failure.fix:
        print_text(one_line(result.failure.fix, 400))
    _print_evidence(result)


def _print_evidence(result: RunResult) -> None:
    rows = result.pack.evidence if result.pack else ()
    if rows:
        print_text()
        print_text("The evidence that was found (for an answer quoted from it: --model extractive):")
    for row in rows[:_FAILED_ROWS]:
        print_text(f"- {style(one_line(row.title, 80), 'bold')}  {style(row.source_key, 'cyan')}")
        print_text(f"    {one_line(row.text, 300)}")


def _print_citations(result: RunResult, sources: Sequence[CitedSource]) -> None:
    changed = {source.source_key: source.state for source in sources if source.state != "unchanged"}
    if result.citations:
        print_text()
    for citation in result.citations:
        where = citation.note_path or citation.url or ""
        print_text(
            f"[{citation.n}] {style(one_line(citation.title, 80), 'bold')}  {style(citation.source_key, 'cyan')}"
        )
        page = f"  p. {citation.page}" if citation.page is not None else ""
        print_text(style(f"    {one_line(where, 100)}{page}", "dim"))
        _print_quote(citation)
        if citation.source_key in changed:
            print_text(style(f"    This source has been {changed[citation.source_key]} since.", "yellow"))


def _print_quote(citation: Citation) -> None:
    """The block that is quoted, what of it decides in bold, under what belongs to it and stands elsewhere."""
    for context in citation.context:
        print_text(style(f"    {one_line(context.text, 200)}", "dim"))
    if citation.highlight is None:
        low = high = 0
    else:
        low, high = citation.highlight.start - citation.span.start, citation.highlight.end - citation.span.start
    at = 0
    for line in citation.quote.split("\n")[:_QUOTED_LINES]:
        first, last = max(low - at, 0), min(high - at, len(line))
        if first < last:
            shown = f"{safe(line[:first])}{style(line[first:last], 'bold')}{safe(line[last:])}"
        else:
            shown = safe(line)
        print_text(f"    {shown}".rstrip())
        at += len(line) + 1


def _print_nearest(result: RunResult) -> None:
    """What comes nearest where nothing answers."""
    if not result.nearest:
        return
    print_text("Nearest:")
    for passage in result.nearest:
        print_text(f"- {style(one_line(passage.title, 80), 'bold')}  {style(passage.source_key, 'cyan')}")
        print_text(f"    {one_line(passage.quote, 300)}")


def _print_end(result: RunResult) -> None:
    print_text()
    if result.pack is not None and result.pack.coverage.answerability is not None:
        print_text(style(f"Estimate: {one_line(result.pack.coverage.answerability.spoken, 300)}", "dim"))
    warnings = ", ".join(dict.fromkeys((*result.answer_warnings, *result.warnings)))
    by = result.model if result.tool == "extractive" else f"{result.provider}:{result.model}"
    spent = _spent(result)
    print_text(style(f"{result.stop_reason}; {warnings}; {result.metrics.seconds:.2f} s, {by}{spent}", "dim"))
    if result.trace_path:
        print_text(style(f"run {result.run_id}, trace in {result.trace_path}", "dim"))


def _spent(result: RunResult) -> str:
    metrics = result.metrics
    if not metrics.model_calls:
        return ""
    cost = f"{metrics.cost_usd:.4f} USD" if metrics.cost_usd is not None else "cost unknown"
    return f", {metrics.model_calls} model calls, {metrics.tokens} tokens, {cost}"
