"""How an answer is laid out, for every surface: paragraphs, items, tables and code, marks and remarks. Pure.

Only exceptions are remarked on, in words: a sentence that its source contradicts is struck out with the reason, one
that a judge did not find, or found in part, says so. What nobody checked carries no remark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from citewell.answer.evidence import Quote
from citewell.check.verdict import CheckedSentence, Citation
from citewell.text.blocks import cells_of, is_row, row_of, rule_under, struck, with_note

_CODE_BLOCK = re.compile(r"(?:\n\s*|^[ \t]*)(?:```|~~~)")
_ITEM = re.compile(r"([ \t]*)(?:[-*+•‣◦]|\d{1,2}[.)])[ \t]+$")
_LONGEST_REMARK = 70

Text = Callable[[str], str]


def _same(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """What is set together: the sentences of a paragraph or an item, the rows of a table, a heading."""

    kind: Literal["heading", "paragraph", "item", "table"]
    sentences: tuple[CheckedSentence, ...]
    # Of an item, how far it is indented and its mark: `  - `, `2. `.
    marker: str = ""
    # Whether an empty line stands before it.
    is_apart: bool = False


def blocks_of(sentences: Iterable[CheckedSentence]) -> list[AnswerBlock]:
    """An answer in its blocks, as its sentences remember what stood before them."""
    found: list[AnswerBlock] = []
    for one in sentences:
        last = found[-1] if found else None
        if is_row(one.text):
            goes_on = last is not None and last.kind == "table" and one.kind != "heading"
            kind: Literal["table", "heading", "paragraph"] = "table"
        else:
            kind = "heading" if one.kind == "heading" else "paragraph"
            is_text = last is not None and last.kind in ("paragraph", "item")
            goes_on = is_text and kind == "paragraph" and "\n" not in one.lead
        if last is not None and goes_on:
            found[-1] = AnswerBlock(last.kind, (*last.sentences, one), last.marker, last.is_apart)
            continue
        marker = one.lead.rpartition("\n")[2]
        is_apart = "\n\n" in one.lead or "heading" in (kind, last.kind if last else "")
        if kind == "paragraph" and _ITEM.match(marker):
            found.append(AnswerBlock("item", (one,), marker, is_apart))
        else:
            found.append(AnswerBlock(kind, (one,), is_apart=is_apart or kind == "table"))
    return found


def said_and_code(text: str) -> tuple[str, str]:
    """A sentence and the block of code it leads into, fences and the line breaks before them and all."""
    block = _CODE_BLOCK.search(text)
    return (text[: block.start()], text[block.start() :]) if block else (text, "")


def unfenced(code: str) -> str:
    """A block of code without its fences."""
    return "\n".join(code.strip("\n").split("\n")[1:-1])


def words_beneath(one: CheckedSentence, citations: Sequence[Citation]) -> list[tuple[int | None, Quote]]:
    """The exact words that are shown with a sentence, each with the citation they stand in.

    Those that a judge decided by, where it objects; else those that were copied for it, or the passage it rests on.
    """
    is_objected = one.verdict in ("contradicted", "partial") and one.quote is not None
    words = () if is_objected else one.words
    shown = words or ((one.quote,) if one.quote is not None else ())
    # A sentence that is word for word there has its words already.
    said = _letters(one.text) if one.check.kind == "exact" and not is_objected else ""
    fresh = (quote for quote in dict.fromkeys(shown) if not said or _letters(quote.text) not in said)
    return [(next((n.n for n in citations if _holds(n, quote)), None), quote) for quote in fresh]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _holds(citation: Citation, quote: Quote) -> bool:
    span = citation.span
    same = (citation.source_key, span.content_hash) == (quote.source_key, quote.content_hash)
    return same and span.start <= quote.start <= quote.end <= span.end


def answer_markdown(sentences: Sequence[CheckedSentence], shown: Text = _same, *, heading: str = "## {}") -> str:
    """The whole answer; `shown` is done to every text that came from a model or a document."""
    parts: list[str] = []
    for block in blocks_of(sentences):
        parts.append("\n\n" if block.is_apart else "\n")
        if block.kind == "table":
            parts.append("\n".join(sentence_markdown(row, shown) for row in block.sentences))
            continue
        parts.append(block.marker)
        before: CheckedSentence | None = None
        for one in block.sentences:
            # What is remarked on has a line of its own, so that nobody reads the remark as one on its neighbour.
            parted = before is not None and bool(remark_on(one) or remark_on(before) or "\n" in before.text)
            parts.append("" if before is None else "\n" + " " * len(block.marker) if parted else one.lead)
            parts.append(sentence_markdown(one, shown, heading=heading))
            before = one
    return "".join(parts).strip("\n")


def sentence_markdown(one: CheckedSentence, shown: Text = _same, *, heading: str = "## {}") -> str:
    """A sentence with its marks and its remark: a row has them in its last cell, a block of code above it."""
    marks = " ".join(f"[{n}]" for n in one.citations)
    remark = remark_on(one)
    is_removed = one.verdict == "contradicted"
    if is_row(one.text):
        text = row_of(tuple(shown(cell) for cell in cells_of(one.text)))
        if one.kind == "heading":
            return f"{text}\n{rule_under(text)}"
        note = " ".join(filter(None, (marks, shown(remark).replace("|", "¦"))))
        return with_note(struck(text) if is_removed else text, note)
    if one.kind == "heading":
        return heading.format(shown(one.text))
    said, code = said_and_code(one.text)
    text = f"~~{shown(said)}~~" if is_removed else shown(said)
    told = " ".join(filter(None, (text, marks, shown(remark) if remark else "")))
    if is_removed or not code:
        return told
    return f"{told}{shown(code)}" if said else f"{shown(code)}\n{told}".rstrip()


def remark_on(one: CheckedSentence) -> str:
    """What is said behind a sentence that is an exception; else nothing."""
    if one.kind not in ("claim", "gap") or one.check.kind == "none":
        return ""
    where = " ".join(f"[{n}]" for n in one.citations) or "any source"
    match one.verdict:
        case "contradicted":
            return f"(removed: {_short(one.reason or 'its source says otherwise')})"
        case "unsupported":
            why = f": {_short(one.reason)}" if one.check.kind == "exact" and one.reason else ""
            return f"(not found in {where}{why})"
        case "partial":
            wrong = f": not “{_short(one.check.wrong)}”" if one.check.wrong else ""
            return f"(only partly in {where}{wrong})"
        case _:
            return ""


def _short(text: str) -> str:
    plain = " ".join(text.replace("(", "‹").replace(")", "›").split())
    return plain if len(plain) <= _LONGEST_REMARK else plain[: _LONGEST_REMARK - 1].rstrip() + "…"


def provenance(sentences: Sequence[CheckedSentence], writer: str, judge: str, sources: int) -> str:
    """One line under an answer: who wrote it, from how much, and what was and was not checked."""
    some = "1 source" if sources == 1 else f"{sources} sources"
    if not writer:
        return f"Quoted word for word from {some}." if sources else ""
    claims = [one for one in sentences if one.kind == "claim" and one.verdict != "not_a_claim"]
    if not claims:
        return f"Written by {writer}."
    exact = sum(one.check.kind == "exact" and one.verdict == "supported" for one in claims)
    judged = [one for one in claims if one.check.kind == "judged"]
    counts = {
        "said by their source": sum(one.verdict == "supported" for one in judged),
        "only partly": sum(one.verdict == "partial" for one in judged),
        "not found": sum(one.verdict == "unsupported" for one in judged),
        "removed": sum(one.verdict == "contradicted" for one in claims),
    }
    told = [f"{exact} word for word"] if exact else []
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    name = f"{judge} itself" if judge == writer else judge
    whole = f"all {len(judged)}" if len(judged) == len(claims) > 1 else str(len(judged))
    told += [f"{name} judged {whole}: {said}"] if judged else []
    unread = len([one for one in claims if one.check.kind == "none"])
    if unread == len(claims):
        told.append("no judge read it; the quotes are exact")
    elif unread:
        told.append(f"{unread} not judged")
    if len(told) == 1 and len(judged) == len(claims):
        return f"Written by {writer} from {some}; {told[0]}."
    if len(told) == 1 and unread == len(claims):
        return f"Written by {writer} from {some}; {told[0]}."
    return f"Written by {writer} from {some}. Of {len(claims)} sentences: {'; '.join(told)}."
