"""Reading what a model wrote: plain text with marks becomes sentences bound to passages. Pure, and tolerant.

A mark `[n.m]` binds to the m-th passage of source n, `[n]` to its whole window; a mark that points at nothing is kept
as such. The model's own list of sources, its links, images and HTML are left out: the engine numbers and names sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.answer.evidence import PreparedSource, PreparedSynthesis, Quote, inert, passages
from citewell.answer.passages import finds_nothing
from citewell.answer.values import dates_in, quantities_in
from citewell.check.verdict import Draft, DraftSentence, SentenceKind, Verdict
from citewell.check.verify import verify
from citewell.search.query import QueryPlan
from citewell.text.blocks import cells_of, is_row, is_rule, row_of
from citewell.text.canonical import folded_text
from citewell.text.sentences import sentences

MAX_ANSWER_CHARS = 40_000
MAX_SENTENCES = 120
MAX_MARKS = 8
_LOOP = 3

_NUMBER = r"\d{1,5}(?:\.\d{1,5})?"
_MARK = re.compile(
    rf"[\[【]\s*(?:(?:sources?|refs?|passages?)\s*)?\^?\s*({_NUMBER}(?:\s*(?:,|;|&|and|–|-)\s*\^?{_NUMBER}){{0,12}})"
    r"\s*(?:†[^\]】]{0,40})?[\]】]",
    re.IGNORECASE,
)
_MARKS = re.compile(rf"(?:\s*{_MARK.pattern})+", re.IGNORECASE)
# Marks behind a full stop belong to the sentence before it.
_MARKS_AFTER_STOP = re.compile(rf"(?<![.!?…])([.!?…]++[\"'”’»)]*+)((?:[ \t]*{_MARK.pattern})+)", re.IGNORECASE)
# Marks behind the last bar of a row belong to the row.
_MARKS_BEHIND_ROW = re.compile(rf"(?<=\S)[ \t]*\|((?:[ \t]*{_MARK.pattern})+)\s*$", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,5})\s*[–-]\s*(\d{1,5})$")
_SOURCES = re.compile(
    r"^\s*(?:#{1,6}\s*)?\**\s*(?:sources?|references?|citations?|bibliography|quellen)\s*\**\s*:?\s*\**\s*$",
    re.I | re.M,
)
_FENCE = re.compile(r"^\s*(?:```|~~~)[^\n]*$", re.MULTILINE)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.{1,120}?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"\s*\*\*([^*]{1,80})\*\*\s*:?\s*$")
_BULLET = re.compile(r"^\s*(?:[-*+•‣◦]\s+|\d{1,2}[.)]\s+|>\s*)")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(\s*<?[^()\s]{1,2000}>?(?:\s+\"[^\"\n]{0,200}\")?\s*\)")
_REFERENCE = re.compile(r"^\s{0,3}\[[^\]\n]{1,100}\]:\s+\S.*$", re.MULTILINE)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>|<!--.*?-->", re.DOTALL)
_ADDRESS = re.compile(r"\b(?:https?|ftp|file|data|javascript):[^\s<>\"'）)\]]+|\bwww\.[^\s<>\"'）)\]]+", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|`")
_SPACE_BEFORE_STOP = re.compile(r"\s+([.,;:!?…])")
_TURN = re.compile(r"\b(?:but|however|although|though|while|yet|instead|nevertheless)\b|;", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(?:i (?:can(?:no|')t|am unable to|won't|will not)|i'm (?:sorry|unable)|as an ai|i am sorry)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _WrittenSentence:
    """One sentence as it was written, its marks taken out of it."""

    text: str
    kind: SentenceKind
    marks: tuple[str, ...] = ()
    is_closed: bool = True
    header: str = ""


def read_answer(text: str, prepared: PreparedSynthesis, *, is_repair: bool = False, is_cut: bool = False) -> Draft:
    """The draft in a model's reply. Nothing is dropped silently: what cannot be bound is named in `problems`."""
    pieces = list(_pieces(text[:MAX_ANSWER_CHARS], prepared))
    if is_cut and pieces and not pieces[-1].is_closed:
        pieces.pop()
    said_once = _without_loops([_sentence(piece, prepared) for piece in pieces[:MAX_SENTENCES]])
    written = _without_empty_headings(said_once)
    bad = tuple(dict.fromkeys(mark for sentence in written for mark in sentence.bad_marks))
    said = [sentence for sentence in written if sentence.kind != "heading"]
    refused = bool(said) and all(sentence.kind == "gap" for sentence in said)
    return Draft(
        sentences=tuple(_refusal(sentence) for sentence in said) if refused else written,
        refused=refused,
        reason="the model found no answer in the evidence" if refused else "",
        repair=is_repair,
        written_by="model",
        bad_marks=bad,
        problems=tuple(_problems(said, bad, prepared, refused=refused)),
        is_cut=is_cut,
    )


def declines(text: str) -> bool:
    """Whether a reply is a refusal to answer at all rather than an answer."""
    return len(text) < 600 and _DECLINES.search(text) is not None and _MARK.search(text) is None


def _problems(
    said: list[DraftSentence], bad: tuple[str, ...], prepared: PreparedSynthesis, *, refused: bool
) -> Iterator[str]:
    if not said or (not refused and all(_is_echo(sentence.text, prepared) for sentence in said)):
        yield "there is no answer in the reply" if not said else "the reply only repeats the question or a title"
        return
    if bad:
        yield f"marks that are not in the evidence: {', '.join(bad[:8])} (it has [1] to [{len(prepared.sources)}])"
    if not refused and prepared.sources and not any(sentence.quotes for sentence in said):
        yield "no sentence has a mark"


def _is_echo(text: str, prepared: PreparedSynthesis) -> bool:
    """Whether a sentence is the question or the title of a source over again, which answers nothing."""
    said = _bare(text)
    return said == _bare(prepared.question) or any(said == _bare(source.title) for source in prepared.sources)


def _bare(text: str) -> str:
    return " ".join(re.findall(r"[\w'’]+", folded_text(text)))


def _without_loops(written: list[DraftSentence]) -> tuple[DraftSentence, ...]:
    """A sentence that comes round and round, once: small models lose themselves in loops."""
    count = Counter((sentence.kind, _bare(sentence.text), sentence.quotes) for sentence in written)
    kept: dict[object, DraftSentence] = {}
    for at, sentence in enumerate(written):
        key = (sentence.kind, _bare(sentence.text), sentence.quotes)
        kept.setdefault(key if count[key] >= _LOOP else at, sentence)
    return tuple(kept.values())


def _refusal(sentence: DraftSentence) -> DraftSentence:
    return DraftSentence(sentence.text, "refusal")


def _without_empty_headings(written: tuple[DraftSentence, ...]) -> tuple[DraftSentence, ...]:
    kept: list[DraftSentence] = []
    for sentence in reversed(written):
        over_table = bool(kept) and is_row(kept[-1].text) and not is_row(sentence.text)
        if sentence.kind == "heading" and (not kept or kept[-1].kind == "heading") and not over_table:
            continue
        kept.append(sentence)
    return tuple(reversed(kept))


def _pieces(text: str, prepared: PreparedSynthesis) -> Iterator[_WrittenSentence]:
    shown = _FENCE.sub("", _THOUGHT.sub("", text))
    if (listed := _SOURCES.search(shown)) is not None:
        shown = shown[: listed.start()]
    known = "\n".join(source.text for source in prepared.sources)
    shown = _IMAGE_OR_LINK.sub(r"\1", _REFERENCE.sub("", shown))
    shown = _ADDRESS.sub(lambda match: match[0] if match[0].rstrip(".,") in known else "(link left out)", shown)
    shown = _TAG.sub("", shown)
    lines = [_MARKS_BEHIND_ROW.sub(r" \1 |", line) for line in shown.splitlines() if line.strip()]
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if is_row(line) and at < len(lines) and is_rule(lines[at]):
            end = next((n for n in range(at + 1, len(lines)) if not is_row(lines[n])), len(lines))
            yield from _table_pieces(line, lines[at + 1 : end])
            at = end
            continue
        if heading := _HEADING.match(line) or _BOLD_LINE.match(line):
            yield _WrittenSentence(inert(_EMPHASIS.sub("", heading[1])).rstrip(":"), "heading")
            continue
        yield from _line_pieces(_BULLET.sub("", line, count=1), prepared.question)


def _table_pieces(header: str, rows: list[str]) -> Iterator[_WrittenSentence]:
    """A table: its header, and each row with the marks that stand anywhere in it; a column of marks alone goes."""
    marked = [tuple(mark for match in _MARK.finditer(row) for mark in _split_marks(match[1])) for row in rows]
    names, *cells = ([_cell(cell) for cell in cells_of(row)] for row in (header, *rows))
    kept = [at for at in range(len(names)) if any(at < len(row) and row[at] for row in cells)]
    head = row_of(tuple(names[at] for at in kept))
    if not kept:
        return
    yield _WrittenSentence(head, "heading")
    for row, marks in zip(cells, marked, strict=True):
        filled = tuple(row[at] if at < len(row) else "" for at in kept)
        if any(filled):
            yield _WrittenSentence(row_of(filled), "claim", marks, header=head)


def _cell(text: str) -> str:
    return inert(_SPACE_BEFORE_STOP.sub(r"\1", _EMPHASIS.sub("", _MARKS.sub("", text))).strip())


def _line_pieces(line: str, question: str) -> Iterator[_WrittenSentence]:
    moved = _MARKS_AFTER_STOP.sub(lambda match: f" {match[2].strip()}{match[1]}", line)
    for start, end in sentences(moved):
        whole = moved[start:end]
        marks = tuple(mark for match in _MARK.finditer(whole) for mark in _split_marks(match[1]))
        bare = " ".join(_EMPHASIS.sub("", _MARKS.sub("", whole)).split())
        bare = _SPACE_BEFORE_STOP.sub(r"\1", bare).strip()
        if not any(character.isalnum() for character in bare):
            continue
        kind: SentenceKind = "gap" if not marks and _is_gap(bare, question) else "claim"
        yield _WrittenSentence(bare, kind, marks, bare.rstrip("\"'”’»)")[-1:] in ".!?…。！？:")


def _is_gap(text: str, question: str) -> bool:
    """A sentence that only says what the evidence lacks, and slips in no fact of its own."""
    if not finds_nothing(text) or _TURN.search(text):
        return False
    asked = {value.value for value in quantities_in(question)} | {date.stated for date in dates_in(question)}
    stated = {value.value for value in quantities_in(text)} | {date.stated for date in dates_in(text)}
    return stated <= asked


def _split_marks(inside: str) -> Iterator[str]:
    for part in re.split(r"\s*(?:,|;|&|\band\b)\s*", inside, flags=re.IGNORECASE):
        mark = part.strip().lstrip("^")
        if (span := _RANGE.match(mark)) and 0 < int(span[2]) - int(span[1]) < MAX_MARKS:
            yield from (str(n) for n in range(int(span[1]), int(span[2]) + 1))
        elif span is not None:
            yield from (span[1], span[2])
        else:
            yield mark


def _sentence(piece: _WrittenSentence, prepared: PreparedSynthesis) -> DraftSentence:
    quotes: dict[Quote, None] = {}
    bad: list[str] = []
    for mark in dict.fromkeys(piece.marks):
        quote = _quote(mark, prepared)
        if quote is None:
            bad.append(f"[{mark}]")
        elif len(quotes) < MAX_MARKS:
            quotes[quote] = None
    return DraftSentence(piece.text, piece.kind, tuple(quotes), tuple(bad), header=piece.header)


def _quote(mark: str, prepared: PreparedSynthesis) -> Quote | None:
    number, _, passage = mark.partition(".")
    source = next((one for one in prepared.sources if one.n == int(number)), None)
    if source is None or not source.text.strip():
        return None
    spans = passages(source)
    if passage and 1 <= int(passage) <= len(spans):
        return _cut(source, *spans[int(passage) - 1])
    return _cut(source, spans[0][0], spans[-1][1]) if spans else None


def _cut(source: PreparedSource, start: int, end: int) -> Quote:
    base = source.span.start
    return Quote(source.source_key, source.span.content_hash, base + start, base + end, source.text[start:end])


# An answer as it comes: which of its sentences may be shown already. Pure.
#
# A sentence is shown once it is complete and its own gates pass: every mark points at evidence, and none of its
# passages says otherwise. What is held back, and what was shown and does not survive the final check, is the final
# answer's business.


_ENDS = frozenset(".!?…。！？\n")
# A mark that has begun and not ended.
_OPEN_MARK = re.compile(r"[\[【][^\]】\n]{0,40}$")


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence that passed its own gates while the answer was still being written."""

    index: int
    text: str
    verdict: Verdict
    sources: tuple[str, ...]


class SentenceStream:
    """Takes text piece by piece and gives the sentences that may be shown, in order, each once."""

    def __init__(self, prepared: PreparedSynthesis, plan: QueryPlan) -> None:
        self._prepared = prepared
        self._plan = plan
        self._text = ""
        self._judged = 0
        self._may_be_complete = False
        self.shown: list[ShownSentence] = []

    def feed(self, text: str) -> list[ShownSentence]:
        """What can be shown now that this text has come too."""
        if len(self._text) > MAX_ANSWER_CHARS:
            return []
        self._text += text
        self._may_be_complete = self._may_be_complete or not _ENDS.isdisjoint(text)
        # A mark often follows the full stop: a sentence is complete once the next one has begun.
        if not self._may_be_complete or _OPEN_MARK.search(self._text) or not any(map(str.isalpha, text)):
            return []
        self._may_be_complete = not _ENDS.isdisjoint(text)
        return self._pass(read_answer(self._text, self._prepared).sentences[:-1])

    def close(self) -> list[ShownSentence]:
        """The last sentence, once the model says that it is done."""
        return self._pass(read_answer(self._text, self._prepared).sentences)

    def _pass(self, written: Sequence[DraftSentence]) -> list[ShownSentence]:
        """Of the sentences that were not judged yet, those that hold."""
        judged = [self._judge(index, written[index]) for index in range(self._judged, len(written))]
        self._judged = max(self._judged, len(written))
        passed = [sentence for sentence in judged if sentence is not None]
        self.shown += passed
        return passed

    def _judge(self, index: int, sentence: DraftSentence) -> ShownSentence | None:
        alone = Draft((sentence,), refused=False, written_by="model")
        verdict = verify(self._prepared.question, alone, self._prepared, self._plan)
        checked = verdict.sentences[0]
        if checked.verdict == "contradicted" or sentence.bad_marks:
            return None
        sources = (checked.quote.source_key,) if checked.quote is not None else ()
        return ShownSentence(index, sentence.text, checked.verdict, sources)
