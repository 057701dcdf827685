"""An answer as a person reads it: the answer first, then each source once with the block it is quoted from.

Confidence, answer and refusal speak with one voice: where nothing answers, no likelihood is praised beside it, and no
reason is given that one of the passages shown would disprove. What only the program's makers care for needs `-v`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from citewell.answer.evidence import NearestPassage
from citewell.check.layout import AnswerBlock, blocks_of, remark_on, said_and_code, words_beneath
from citewell.check.verdict import CheckedSentence, Citation
from citewell.cli.console import (
    Line,
    StyledText,
    cells,
    indented,
    kept_in_place,
    note,
    one_line,
    page_width,
    paragraph_lines,
    print_lines,
    print_text,
    safe,
    style,
    table,
)
from citewell.cli.egress import web_line
from citewell.cli.excerpts import code_lines, place_of, quote_lines, row_of, shown_text
from citewell.runs.reports import CitedSource
from citewell.runs.run import RunResult
from citewell.search.rows import RELIABLE, Answerability, EvidenceRow
from citewell.text.blocks import cells_of

REFUSAL = "Nothing you saved answers this directly."
_NEITHER = "Neither what you saved nor what was found on the web answers this directly."
# How the coverage of a pack begins where there was nothing to look at, or nothing was found.
_EMPTY, _SAID = "The corpus is empty", ("The filters leave", "No direct evidence")
_ENDS = {
    "timeout_exceeded": "the run took as long as it may. Give it more with --timeout SECONDS.",
    "cost_limit_reached": "the ceiling for cost or tokens was reached.",
}
_FAILED_ROWS = 5
_QUOTED_LINES, _NEAREST_LINES, _REPEATED_LINES = 24, 6, 6
_MARGIN = 4
_WORDS_CHARS = 300
_REMARKED = {"contradicted": "red", "unsupported": "yellow", "partial": "yellow"}


def print_answer(
    result: RunResult, sources: Sequence[CitedSource] = (), *, verbose: bool = False, asked: bool = False
) -> None:
    """The answer and the quotes behind it; `asked` repeats the question above, `verbose` says how the run went."""
    if asked:
        print_text(style(one_line(result.question, 300), "bold"))
        print_text()
    if result.stop_reason == "verification_failed":
        failed = [gate.name for gate in result.gates if not gate.passed]
        why = "its sources contradict all of it" if failed == ["some_claim_stands"] else ", ".join(failed)
        print_text(f"The answer failed verification ({why}) and is not shown; it is only in the trace.")
        _print_evidence(result)
    if result.answer_status in ("unavailable", "error") and result.failure is not None:
        _print_failure(result)
    elif result.answer_status == "error" and result.stop_reason != "verification_failed":
        why = _ENDS.get(result.stop_reason, result.stop_reason.replace("_", " "))
        print_text(style(f"No answer was written: {why}", "red"))
        _print_evidence(result)
    if result.answer_status == "no_evidence":
        _print_refusal(result, verbose=verbose)
    else:
        _print_sentences(result, verbose=verbose)
    _print_sources(result, sources, verbose=verbose)
    for contradiction in result.contradictions:
        places = "".join(f" [{n}]" for n in contradiction.citations)
        values = " / ".join(one_line(value, 60) for value in contradiction.values)
        print_text(style(f"Sources disagree: {values}{places}", "yellow"))
    if "day_limit_reached" in result.warnings:
        said = "The day's limit for models (CITEWELL_MAX_COST_USD_DAY) is reached; it starts again at 00:00 UTC."
        print_text(style(said, "yellow"))
    if result.web is not None:
        print_text(style(web_line(result.web), "dim"))
    _print_end(result, verbose=verbose)


def _rows(result: RunResult) -> Sequence[EvidenceRow]:
    return result.pack.evidence if result.pack else ()


def _print_sentences(result: RunResult, *, verbose: bool) -> None:
    """The sentences with their marks: quotations one by one, what a model wrote each with its words beneath it."""
    if not result.sentences and result.answer_status not in ("error", "unavailable"):
        print_text("No answer.")
    if result.tool == "extractive":
        quotes = {citation.n: citation.quote for citation in result.citations}
        set_apart = [_quotation_lines(one, quotes) for one in result.sentences]
        is_airy = any(len(lines) > 1 for lines in set_apart)
        blocks = [(is_airy, lines) for lines in set_apart]
    else:
        blocks = [(one.is_apart, _block_lines(one, result.citations)) for one in blocks_of(result.sentences)]
    for number, (is_apart, lines) in enumerate(blocks):
        if number and is_apart:
            print_text()
        print_lines(lines)


def _block_lines(block: AnswerBlock, citations: Sequence[Citation]) -> list[Line]:
    """A block of what a model wrote."""
    if block.kind == "heading":
        return paragraph_lines([style(block.sentences[0].text, "bold")], page_width())
    if block.kind == "table":
        return _table_lines(block.sentences, citations)
    lines: list[Line] = []
    for number, one in enumerate(block.sentences):
        # What follows in an item stands under its text.
        lead = block.marker if number == 0 else " " * cells(block.marker)
        lines += _written_lines(one, lead, citations)
    return lines


def _written_lines(one: CheckedSentence, lead: str, citations: Sequence[Citation]) -> list[Line]:
    """A sentence with its marks and its remark, its code as it is, and beneath it the words it rests on."""
    said, code = said_and_code(one.text)
    remark = _remark(one)
    how = "dim" if one.verdict == "contradicted" else ""
    text = shown_text(said).strip("\n")
    text = f"~~{text}~~" if one.verdict == "contradicted" else text
    # Marks stay with the word before them.
    marks = [StyledText(f"\u00a0[{n}]", "cyan") for n in one.citations]
    pieces = [StyledText(kept_in_place(text) if marks else text, how), *marks]
    pieces += [StyledText(f" {remark}", _REMARKED.get(one.verdict, ""))] if remark else []
    margin = cells(lead)
    lines = indented(paragraph_lines(pieces, page_width() - margin), lead, " " * margin) if said else []
    if code and one.verdict != "contradicted":
        lines += indented(quote_lines(code.strip("\n"), page_width() - margin), " " * margin)
    lines += [] if said else [tuple(pieces)]
    return lines + _words_lines(one, citations, margin + _MARGIN)


def _remark(one: CheckedSentence) -> str:
    """The remark on a sentence; the words that contradict it stand beneath."""
    is_shown = one.verdict == "contradicted" and one.quote is not None
    return "(removed: its source says otherwise)" if is_shown and remark_on(one) else remark_on(one)


def _words_lines(
    one: CheckedSentence, citations: Sequence[Citation], margin: int, *, always: bool = False
) -> list[Line]:
    """The exact words under a sentence, each with its number where it has several, or `always`."""
    lines: list[Line] = []
    shown = words_beneath(one, citations)
    for n, quote in shown:
        mark = [StyledText(f"[{n}] ", "cyan")] if n is not None and (always or len(shown) > 1) else []
        text = shown_text(quote.text) if "`" in quote.text else shown_text(quote.text).replace("**", "")
        words = StyledText(f"«{one_line(text, _WORDS_CHARS)}»", "dim")
        lines += indented(paragraph_lines([*mark, words], page_width() - margin), " " * margin, " " * margin)
    return lines


def _table_lines(rows: Sequence[CheckedSentence], citations: Sequence[Citation]) -> list[Line]:
    """A table a model wrote, in columns, each row with its marks behind it; the words of its rows beneath."""
    header = cells_of(rows[0].text) if rows[0].kind == "heading" else ()
    told = [row for row in rows if row.kind != "heading"]
    marks = [" ".join([*(f"[{n}]" for n in row.citations), _remark(row)]).strip() for row in told]
    shown = [(*map(safe, cells_of(row.text)), mark) for row, mark in zip(told, marks, strict=True)]
    lines = table([safe(name) for name in header], shown, page_width())
    return lines + [line for row in told for line in _words_lines(row, citations, _MARGIN, always=True)]


def _quotation_lines(sentence: CheckedSentence, quotes: Mapping[int, str]) -> list[Line]:
    """A quotation with its marks; lines of code in it are set apart and left as they are."""
    code = frozenset[str]().union(*(code_lines(quotes.get(n, "")) for n in sentence.citations))
    *whole, last = shown_text(sentence.text).strip("\n").split("\n")
    lines = [line for text in whole for line in _laid_out([StyledText(text)], code)]
    marks = [StyledText(f"\u00a0[{n}]", "cyan") for n in sentence.citations]
    return lines + _laid_out([StyledText(kept_in_place(last) if marks else last), *marks], code)


def _laid_out(pieces: Sequence[StyledText], code: frozenset[str]) -> list[Line]:
    if pieces and pieces[0].text.strip() in code:
        return [(StyledText(f"    {safe(pieces[0].text)}"), *pieces[1:])]
    return paragraph_lines(pieces, page_width())


def _print_refusal(result: RunResult, *, verbose: bool) -> None:
    """Nothing answers: what comes nearest, or why there is nothing to show."""
    if result.tool != "extractive":
        _print_sentences(result, verbose=verbose)
        return
    said = f"{_NEITHER if _searched_the_web(result) else REFUSAL}{_in_another_language(result)}"
    if not result.nearest:
        print_text(said)
        print_text(_nothing_near(result))
        return
    print_text(f"{said} Nearest:")
    grouped: dict[str, list[NearestPassage]] = {}
    for passage in result.nearest:
        grouped.setdefault(passage.source_key, []).append(passage)
    for key, passages in grouped.items():
        row = row_of(key, passages[0].span, _rows(result))
        print_text()
        _print_source(passages[0].title, _where(key, row), key if verbose else "")
        for number, passage in enumerate(passages):
            if number:
                print_text(style("…", "dim"), indent=_MARGIN)
            lines = _cut(quote_lines(passage.quote, page_width() - _MARGIN), _NEAREST_LINES, key)
            print_lines(indented(lines, " " * _MARGIN, " " * _MARGIN))


def _in_another_language(result: RunResult) -> str:
    """That the question is in another language than what was found, where the refusal says so."""
    told = re.search(r" The question is in \w+, what (?:was found|you saved) in [\w ]+\.", result.answer)
    return told.group() if told else ""


def _searched_the_web(result: RunResult) -> bool:
    return result.web is not None and bool(result.web.providers)


def _nothing_near(result: RunResult) -> str:
    """Why nothing comes near, and what to do about it."""
    said = result.pack.coverage.recall_note if result.pack is not None else ""
    if said.startswith(_EMPTY) and not _searched_the_web(result):
        return "The corpus is empty. Add a folder or file: citewell add ~/path/to/your/notes"
    return said if said.startswith(_SAID) else "Try other words."


def _where(source_key: str, row: EvidenceRow | None) -> str:
    return (row.note_path or row.url if row is not None else None) or source_key


def _print_failure(result: RunResult) -> None:
    """The model gave no answer: why, what to do, and the evidence that was found all the same."""
    assert result.failure is not None
    print_text(style(f"No answer was written: {one_line(result.failure.message, 400)}", "red"))
    if result.failure.fix:
        print_text(one_line(result.failure.fix, 400))
    if result.sentences:
        print_text()
        print_text("Quoted from what you saved instead:")
        print_text()
    else:
        _print_evidence(result)


def _print_evidence(result: RunResult) -> None:
    rows = _rows(result)
    if rows:
        print_text()
        print_text("The evidence that was found (for an answer quoted from it: --model extractive):")
    for row in rows[:_FAILED_ROWS]:
        print_text()
        _print_source(row.title, _where(row.source_key, row))
        print_text(one_line(row.text, 300), indent=_MARGIN)


def _print_source(title: str, where: str, key: str = "") -> None:
    named = one_line(where, 200)
    print_text(style(kept_in_place(one_line(title, 100)), "bold"), "  ", style(f"{named}  {key}".rstrip(), "dim"))


def _print_sources(result: RunResult, changes: Sequence[CitedSource], *, verbose: bool) -> None:
    """Each source once, with everything that is quoted from it."""
    changed = {source.source_key: source.state for source in changes if source.state != "unchanged"}
    papers = result.web.papers if result.web is not None else ()
    retracted = {one.source_key for one in papers if one.paper.is_retracted}
    grouped: dict[str, list[Citation]] = {}
    for citation in result.citations:
        grouped.setdefault(citation.source_key, []).append(citation)
    for key, citations in grouped.items():
        print_text()
        first = citations[0]
        _print_source(first.title, first.note_path or first.url or key, key if verbose else "")
        if key in changed:
            print_text(style(f"This source has been {changed[key]} since.", "yellow"), indent=_MARGIN)
        if key in retracted:
            print_text(style("This paper was retracted.", "yellow"), indent=_MARGIN)
        if result.tool == "extractive" or verbose:
            _print_citations(citations, result)
        else:
            _print_places(citations, result)


def _print_places(citations: Sequence[Citation], result: RunResult) -> None:
    """Where in a source each number stands: its words are with the sentences."""
    places: dict[str, list[int]] = {}
    for citation in citations:
        places.setdefault(place_of(citation, _rows(result)), []).append(citation.n)
    for place, numbers in places.items():
        marks = StyledText(" ".join(f"[{n}]" for n in numbers), "cyan")
        print_lines(paragraph_lines([marks, StyledText(f"  {place}", "dim")], page_width()))


def _print_citations(citations: Sequence[Citation], result: RunResult) -> None:
    """The number of each quote, where it stands, and the quote: unless all of it is in the answer already."""
    above: list[StyledText] = []
    for citation, following in zip(citations, (*citations[1:], None), strict=True):
        place = place_of(citation, _rows(result))
        mark = StyledText(f"[{citation.n}]".ljust(_MARGIN), "cyan")
        if _is_whole(citation, result):
            above.append(mark)
            if following is None or not _is_whole(following, result) or place_of(following, _rows(result)) != place:
                _print_place(above, f"{place} (quoted above)".lstrip())
                above = []
            continue
        lines = _quoted(citation, result)
        if place:
            _print_place([mark], place)
            print_lines(indented(lines, " " * _MARGIN, " " * _MARGIN))
        else:
            print_lines((mark if not number else StyledText(" " * _MARGIN), *line) for number, line in enumerate(lines))


def _print_place(marks: Sequence[StyledText], place: str) -> None:
    margin = _MARGIN * len(marks)
    lines = paragraph_lines([StyledText(place, "dim")], page_width() - margin)
    print_lines(
        (*marks, *line) if not number else (StyledText(" " * margin), *line) for number, line in enumerate(lines)
    )


def _is_whole(citation: Citation, result: RunResult) -> bool:
    """Whether a quote stands word for word in the answer."""
    said = [word for one in result.sentences if citation.n in one.citations for word in _words(one.text)]
    return f" {' '.join(_words(citation.quote))} " in f" {' '.join(said)} "


def _decisive(citation: Citation, result: RunResult) -> list[tuple[int, int]]:
    """The spans of a quote on which the answer rests: each sentence's own, where several rest on it."""
    spans = [
        (sentence.quote.start, sentence.quote.end)
        for sentence in result.sentences
        if citation.n in sentence.citations and sentence.quote is not None
    ]
    if len(spans) < 2:
        spans = [(citation.highlight.start, citation.highlight.end)] if citation.highlight else []
    return [(start - citation.span.start, end - citation.span.start) for start, end in spans]


def _quoted(citation: Citation, result: RunResult) -> list[Line]:
    """The block that is quoted, what of it decides in bold, under what belongs to it and stands elsewhere."""
    width = page_width() - _MARGIN
    header = next((context.text for context in citation.context if context.kind == "table_header"), "")
    leads = [context.text for context in citation.context if context.kind in ("lead_in", "property")]
    lines = [line for lead in leads for line in paragraph_lines([StyledText(one_line(lead, 300), "dim")], width)]
    shown = _without_repeats(quote_lines(citation.quote, width, _decisive(citation, result), header))
    is_table = bool(header) or citation.quote.lstrip().startswith("|")
    return lines + _cut(shown, _QUOTED_LINES, citation.source_key, headed=is_table)


def _without_repeats(lines: Sequence[Line]) -> list[Line]:
    """Lines of a quote without the middle of what the answer has quoted at length already."""
    kept: list[Line] = []
    run: list[Line] = []
    for line in (*lines, None):
        if line is not None and _is_bold(line):
            run.append(line)
            continue
        whole = len(run) <= _REPEATED_LINES
        kept += run if whole else [*run[:2], (StyledText("… (as quoted above)", "dim"),), run[-1]]
        run = []
        if line is not None:
            kept.append(line)
    return kept


def _is_bold(line: Line) -> bool:
    words = [piece for piece in line if piece.text.strip(" -*")]
    return bool(words) and all(piece.how == "bold" for piece in words)


def _cut(lines: Sequence[Line], most: int, key: str, *, headed: bool = False) -> list[Line]:
    """The lines around what is bold, no more than `most` of them; what is left out is said. Tables stay headed."""
    if len(lines) <= most + 1:
        return list(lines)
    decisive = next((n for n, line in enumerate(lines) if any(piece.how == "bold" for piece in line)), 0)
    start = min(max(0, decisive - 2), len(lines) - most)
    kept = list(lines[start : start + most])
    left = len(lines) - most
    more = f"… {left} more {'line' if left == 1 else 'lines'}: citewell get {one_line(key, 200)}"
    told = paragraph_lines([StyledText(more, "dim")], page_width() - _MARGIN)
    above = [*(lines[:1] if headed else ()), (StyledText("…", "dim"),)] if start > headed else list(lines[:start])
    return [*above, *kept, *told]


def _words(text: str) -> list[str]:
    unfenced = re.sub(r"^\s*(?:```|~~~).*$", "", text, flags=re.MULTILINE)
    return re.findall(r"\w+", shown_text(unfenced).casefold())


def _print_end(result: RunResult, *, verbose: bool) -> None:
    estimate = result.pack.coverage.answerability if result.pack is not None else None
    if result.provenance:
        print_text()
        print_text(style(result.provenance, "dim"))
    ending = [_read_as(result), *([_likelihood(result, estimate)] if estimate is not None else [])]
    if result.tool != "extractive" or result.metrics.model_calls:
        ending.append(", ".join(filter(None, ("" if result.provenance else _writer(result), _spent(result)))))
    said = [part for part in ending if part]
    if said:
        if not result.provenance:
            print_text()
        print_text(style(" · ".join(said), "dim"))
    for warning in dict.fromkeys((*result.answer_warnings, *result.warnings)):
        if " " in warning and not verbose:
            note(f"citewell: {warning}")
    if verbose:
        _print_internals(result, estimate)


def _read_as(result: RunResult) -> str:
    """The question with its misspelled words put right, where it was read so."""
    variants = result.pack.query_plan.query_variants if result.pack is not None else ()
    meant = next((variant.query for variant in variants if variant.kind == "spelling"), "")
    return f"Read as: {one_line(meant, 100)}" if meant else ""


def _likelihood(result: RunResult, estimate: Answerability) -> str:
    """How sure the estimate is, in words that fit what was done."""
    if result.answer_status == "no_evidence":
        against = [reason for reason in estimate.reasons if not _is_disproved(reason, result.question, result.nearest)]
        return f"Why not: {'; '.join(against)}." if against and result.nearest else ""
    if result.answer_status not in ("ok", "ok_truncated"):
        return ""
    if estimate.probability < RELIABLE:
        return "Passages that may answer this" if result.tool == "extractive" else ""
    who = "What was found likely answers" if _searched_the_web(result) else "Your notes likely answer"
    return f"{who} this ({estimate.probability:.0%})"


def _is_disproved(reason: str, question: str, nearest: Iterable[NearestPassage]) -> bool:
    """Whether a word that is said to be missing stands in one of the passages that are shown."""
    missing = set(_words(reason)) & set(_words(question))
    shown = " ".join(f"{passage.title} {passage.quote}" for passage in nearest).casefold()
    return any(word in shown for word in missing)


def _print_internals(result: RunResult, estimate: Answerability | None) -> None:
    """How the run went, for who wants to know."""
    warnings = ", ".join(dict.fromkeys((*result.answer_warnings, *result.warnings)))
    parts = [result.stop_reason, warnings, f"{result.metrics.seconds:.2f} s", result.model]
    if estimate is not None:
        parts.append(f"estimate {estimate.probability:.2f}")
    print_text(style("; ".join(part for part in parts if part), "dim"))
    if result.trace_path:
        print_text(style(f"run {result.run_id}, trace in {result.trace_path}", "dim"))


def _spent(result: RunResult) -> str:
    metrics = result.metrics
    if not metrics.model_calls:
        return ""
    cost = f"{metrics.cost_usd:.4f} USD" if metrics.cost_usd is not None else "cost unknown"
    return f"{metrics.model_calls} model calls, {metrics.tokens} tokens, {cost}"


def _writer(result: RunResult) -> str:
    return f"{result.provider}:{result.model}"
