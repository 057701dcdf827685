"""Reading what a model wrote: Markdown with marks becomes sentences bound to exact words. Pure, and tolerant.

    The lamp was lit in 1859. ⟦2.3⟧ «first lit on 14 November 1859»

A mark names a passage (`⟦2.3⟧`) or a source (`⟦2⟧`); `[2.3]` is read too, outside of code. The words behind it are
looked for in the evidence: where they stand as an exact slice, they bind the sentence to their passage, also where the
mark pointed elsewhere; words that stand nowhere bind nothing. A mark without words binds to its passage.

A sentence keeps its Markdown, and code keeps every byte: only marks, and what the engine adds itself (sources, links,
HTML outside of code), are taken out. Sentences remember what stood before them, so that paragraphs, lists, tables and
blocks of code stay as they were written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from citewell.answer.evidence import PreparedSource, PreparedSynthesis, Quote, inert, passages
from citewell.answer.passages import finds_nothing
from citewell.answer.slices import MAX_WORDS_CHARS, find_anywhere, find_copied
from citewell.answer.values import dates_in, quantities_in
from citewell.check.tokens import content_stems
from citewell.check.verdict import Draft, DraftSentence, SentenceKind, Verdict
from citewell.check.verify import verify
from citewell.search.query import QueryPlan
from citewell.text.blocks import cells_of, is_row, is_rule, row_of
from citewell.text.canonical import UNSEEN, folded_text
from citewell.text.sentences import sentences

MAX_ANSWER_CHARS = 40_000
MAX_SENTENCES = 120
MAX_MARKS = 8
_LOOP = 3
# A passage longer than this is cited by the words that were copied from it.
_LONG_PASSAGE = 600

_NUMBER = r"\d{1,5}(?:[.:]\d{1,5})?"
_LIST = rf"\^?\s*({_NUMBER}(?:\s*(?:,|;|&|and|–|-)\s*\^?{_NUMBER}){{0,12}})"
_MARK = re.compile(rf"⟦\s*{_LIST}\s*⟧")
# Code, or a mark: what comes first in a line. Code does not reach over the words of a mark.
_CODE_OR_MARK = re.compile(rf"⟦\s*{_LIST}\s*⟧|(?<!`)(`+)(?!`)[^\n«]*?(?<!`)\2(?!`)")
# The other ways models write a mark. Glued to a word, `v[2]`, it is code unless nothing else in the reply is a mark.
_OTHER_MARK = re.compile(
    rf"(\w?)(?:\[|【)\s*(?:(?:sources?|refs?|passages?)\s*)?{_LIST}\s*(?:†[^\]】]{{0,40}})?(?:\]|】)(?!\()",
    re.IGNORECASE,
)
_WIDE = re.compile(r"[ \t]{80,}")
_UNCLOSED = re.compile(r"(?<=[.!?…])\s|\s*(?=⟦)")
_WORD_BEFORE = re.compile(r"[^\W\d_]{3,}$")
_RANGE = re.compile(r"(\d{1,5}\.)?(\d{1,5})\s*[–-]\s*(\d{1,5}\.)?(\d{1,5})$")
# While a line is read, code and marks are single characters that no text has.
_HIDDEN = 0xF0000
_IS_MARK = "\U000f8000-\U000fffff"
_MARKS_AFTER_STOP = re.compile(rf"(?<![.!?…])([.!?…]++[\"'”’»)*_]*+)((?:[ \t]*[{_IS_MARK}])+)")
_MARKS = re.compile(rf"(?<![ \t])(?:[ \t]*[{_IS_MARK}])+")
_MARKS_ALONE = re.compile(rf"[ \t]*(?:[-*+•][ \t]+)?(?:[ \t]*[{_IS_MARK}])+[ \t.]*$")
_MARKS_BEHIND_ROW = re.compile(rf"(?<=\S)[ \t]*\|((?:[ \t]*[{_IS_MARK}])+)\s*$")
# A mark that is a word of its sentence: `According to [1.8], the lamp …`, `[1.8] says that …`.
_NAMED = re.compile(
    rf"((?i:\b(?:according to|as per|per|see|in|from|by|of|laut|gemäß|nach|siehe|selon|d'après|voir))[ \t]+)"
    rf"([{_IS_MARK}])(?=[ \t]*[,\w])|(?:^|(?<=[.!?] ))([{_IS_MARK}])(?=[ \t]+[a-z])"
)
_SOURCES = re.compile(
    r"^\s*(?:#{1,6}\s*)?\**\s*(?:sources?|references?|citations?|bibliography|quellen)\s*\**\s*:?\s*\**\s*$", re.I
)
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[^`\n]*$")
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.{1,120}?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"\s*\*\*([^*]{1,80})\*\*\s*:?\s*$")
_ITEM = re.compile(r"^([ \t]*(?:[-*+•‣◦]|\d{1,2}[.)])[ \t]+|[ \t]*>[ \t]?)")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(\s*<?[^()\s]{1,2000}>?(?:\s+\"[^\"\n]{0,200}\")?\s*\)")
_REFERENCE = re.compile(r"^\s{0,3}\[[^\]\n]{1,100}\]:\s+\S.*$")
_TAG = re.compile(r"</?(?:[a-z][a-z0-9]{0,15})(?:\s[^<>]{0,500})?/?>|<!--.*?-->", re.DOTALL)
_ADDRESS = re.compile(r"\b(?:https?|ftp|file|data|javascript):[^\s<>\"'）)\]]+|\bwww\.[^\s<>\"'）)\]]+", re.IGNORECASE)
_SPACE_BEFORE_STOP = re.compile(r"(?<=\S)[ \t]+([.,;!?…])(?=\s|$)")
_ENDED = re.compile(r"[.!?…。！？:][\"'”’»)*_]*\s*$")
_TURN = re.compile(r"\b(?:but|however|although|though|while|yet|instead|nevertheless)\b|;", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(?:i (?:can(?:no|')t|am unable to|won't|will not)|i'm (?:sorry|unable)|as an ai|i am sorry)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A mark and the words copied behind it, if any."""

    number: str
    words: str = ""


@dataclass(slots=True)
class _Written:
    """One sentence as it was written, its marks taken out of it."""

    text: str
    kind: SentenceKind
    lead: str = ""
    marks: list[_Mark] = field(default_factory=list)
    header: str = ""
    is_closed: bool = True


def read_answer(text: str, prepared: PreparedSynthesis, *, is_repair: bool = False, is_cut: bool = False) -> Draft:
    """The draft in a model's reply. Nothing is dropped silently: what cannot be bound is named in `problems`."""
    pieces = _Reading(prepared).read(text[:MAX_ANSWER_CHARS])
    if is_cut and pieces and not pieces[-1].is_closed:
        pieces.pop()
    said_once = _without_loops([_sentence(piece, prepared) for piece in pieces[:MAX_SENTENCES]])
    written = _without_empty_headings(said_once)
    if written and written[0].lead.strip(" \n") == "":
        written = (replace(written[0], lead=""), *written[1:])
    bad = tuple(dict.fromkeys(mark for sentence in written for mark in sentence.bad_marks))
    said = [sentence for sentence in written if sentence.kind != "heading"]
    refused = bool(said) and all(sentence.kind == "gap" and not sentence.quotes for sentence in said)
    return Draft(
        sentences=tuple(DraftSentence(one.text, "refusal", lead=one.lead) for one in said) if refused else written,
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
    return len(text) < 600 and _DECLINES.search(text) is not None and not re.search(r"[\[⟦]\d", text)


def _problems(
    said: list[DraftSentence], bad: tuple[str, ...], prepared: PreparedSynthesis, *, refused: bool
) -> Iterator[str]:
    if not said or (not refused and all(_is_echo(sentence.text, prepared) for sentence in said)):
        yield "there is no answer in the reply" if not said else "the reply only repeats the question or a title"
        return
    if bad:
        yield f"marks that are not in the evidence: {', '.join(bad[:8])} (it has ⟦1⟧ to ⟦{len(prepared.sources)}⟧)"
    if not refused and prepared.sources and not any(sentence.quotes for sentence in said):
        copied = any(sentence.lost_words for sentence in said)
        yield "no words behind a mark stand in the evidence" if copied else "no sentence has a mark"


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


def _without_empty_headings(written: tuple[DraftSentence, ...]) -> tuple[DraftSentence, ...]:
    kept: list[DraftSentence] = []
    for sentence in reversed(written):
        over_table = bool(kept) and is_row(kept[-1].text) and not is_row(sentence.text)
        if sentence.kind == "heading" and (not kept or kept[-1].kind == "heading") and not over_table:
            continue
        kept.append(sentence)
    return tuple(reversed(kept))


class _Reading:
    """One reply, taken apart line by line; `hidden` are its pieces of code, `marks` its marks, in order."""

    def __init__(self, prepared: PreparedSynthesis) -> None:
        self.prepared = prepared
        self.known = "\n".join(source.text for source in prepared.sources)
        self.hidden: list[str] = []
        self.marks: list[list[_Mark]] = []
        self.pieces: list[_Written] = []
        self.reads_glued = True

    def read(self, reply: str) -> list[_Written]:
        text = UNSEEN.sub("", _THOUGHT.sub("", reply).replace("\r\n", "\n"))
        self.reads_glued = _MARK.search(text) is None
        lines, at, gap = text.split("\n"), 0, ""
        while at < len(lines):
            line, at = lines[at], at + 1
            if fence := _FENCE.match(line):
                end = next((n for n in range(at, len(lines)) if lines[n].strip().startswith(fence[2])), len(lines))
                closing = lines[end].rstrip() if end < len(lines) else fence[1] + fence[2]
                self._code("\n".join([line.rstrip(), *lines[at:end], closing]), gap, is_closed=end < len(lines))
                at, gap = end + 1, ""
                continue
            if self.pieces and len(line) < 200 and _SOURCES.match(line):
                break
            shown = self._shown(line)
            if not shown.strip():
                gap = "\n\n" if not line.strip() or gap else gap
            elif is_row(shown) and at < len(lines) and is_rule(lines[at]):
                end = next((n for n in range(at + 1, len(lines)) if not lines[n].strip().startswith("|")), len(lines))
                self._table(shown, [self._shown(one) for one in lines[at + 1 : end]])
                at, gap = end, ""
            elif heading := _HEADING.match(shown) or _BOLD_LINE.match(shown):
                text = self._restored(_MARKS.sub("", heading[1])).strip("*_ ").rstrip(":")
                self.pieces.append(_Written(inert(text), "heading", "\n\n"))
                gap = ""
            else:
                self._line(shown, gap)
                gap = ""
        return [piece for piece in self.pieces if any(map(str.isalnum, piece.text))]

    # What stands in a line

    def _shown(self, line: str) -> str:
        """A line without what the engine adds itself; its code and its marks are one character each."""
        line = _WIDE.sub(" ", self._hide_marks(line))
        if _REFERENCE.match(line):
            return ""
        line = _IMAGE_OR_LINK.sub(r"\1", line)
        line = _OTHER_MARK.sub(self._other_mark, line)
        line = _ADDRESS.sub(lambda match: match[0] if match[0].rstrip(".,") in self.known else "(link left out)", line)
        line = _MARKS_BEHIND_ROW.sub(r" \1 |", _TAG.sub("", line))
        return _NAMED.sub(self._named, line)

    def _hide(self, code: str) -> str:
        self.hidden.append(code)
        return chr(_HIDDEN + len(self.hidden) - 1)

    def _restored(self, text: str) -> str:
        return "".join(
            self.hidden[ord(one) - _HIDDEN] if _HIDDEN <= ord(one) < _HIDDEN + len(self.hidden) else one for one in text
        )

    def _hide_marks(self, line: str) -> str:
        """Code, and `⟦2.3⟧ «words»` whatever stands in the words, as one character each; what comes first counts."""
        parts: list[str] = []
        at = 0
        while match := _CODE_OR_MARK.search(line, at):
            parts.append(line[at : match.start()])
            if match[1] is None:
                parts.append(self._hide(match.group()))
                at = match.end()
            else:
                at, words = _words_behind(line, match.end())
                parts.append(self._mark(match[1], words))
        return "".join([*parts, line[at:]])

    def _other_mark(self, match: re.Match[str]) -> str:
        before = match[1]
        if before:
            word = _WORD_BEFORE.search(match.string, 0, match.start() + 1)
            numbers = [mark.split(".")[0] for mark in _split_marks(match[2])]
            known = all(number.isdigit() and 0 < int(number) <= len(self.prepared.sources) for number in numbers)
            if not (self.reads_glued and word and known):
                return match[0]
        return before + self._mark(match[2], "")

    def _mark(self, listed: str, words: str) -> str:
        numbers = list(_split_marks(listed))
        self.marks.append([_Mark(one, words if one == numbers[-1] else "") for one in numbers])
        return chr(0xF8000 + len(self.marks) - 1)

    def _marks_in(self, text: str) -> list[_Mark]:
        return [mark for one in text if ord(one) >= 0xF8000 for mark in self.marks[ord(one) - 0xF8000]]

    def _named(self, match: re.Match[str]) -> str:
        """A source that a sentence speaks of by its mark is called by its title."""
        sign = match[2] or match[3]
        number = self._marks_in(sign)[0].number.split(".")[0]
        source = next((one for one in self.prepared.sources if str(one.n) == number), None)
        return f"{match[1] or ''}“{inert(source.title)}” {sign}" if source is not None else match[0]

    # Lines become sentences

    def _code(self, code: str, gap: str, *, is_closed: bool) -> None:
        """A block of code belongs to the sentence that leads into it."""
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.kind != "heading" and not is_row(last.text):
            last.text += (gap or "\n") + code
            last.is_closed = is_closed
        else:
            self.pieces.append(_Written(code, "claim", gap or "\n", is_closed=is_closed))

    def _table(self, header: str, rows: list[str]) -> None:
        """A table: its header, and each row with the marks that stand anywhere in it; a column of marks alone goes."""
        names, *cells = (
            [self._restored(_MARKS.sub("", cell)).strip() for cell in cells_of(row)] for row in (header, *rows)
        )
        kept = [at for at in range(len(names)) if any(at < len(row) and row[at] for row in cells)]
        if not kept:
            return
        head = row_of(tuple(names[at] for at in kept))
        self.pieces.append(_Written(head, "heading", "\n\n"))
        for row, filled in zip(rows, cells, strict=True):
            text = row_of(tuple(filled[at] if at < len(filled) else "" for at in kept))
            if any(filled):
                self.pieces.append(_Written(text, "claim", "\n", self._marks_in(row), head))

    def _line(self, line: str, gap: str) -> None:
        if self.pieces and _MARKS_ALONE.match(line):
            self.pieces[-1].marks += self._marks_in(line)
            return
        item = _ITEM.match(line)
        lead, body = (item[1], line[item.end() :]) if item else ("", line.strip())
        last = self.pieces[-1] if self.pieces else None
        goes_on = not gap and not item and last is not None and not last.is_closed and last.kind != "heading"
        moved = _MARKS_AFTER_STOP.sub(lambda match: f" {match[2].strip()}{match[1]}", body)
        for number, (start, end) in enumerate(sentences(moved)):
            whole = moved[start:end]
            marks, bare = self._marks_in(whole), _SPACE_BEFORE_STOP.sub(r"\1", _MARKS.sub("", whole)).strip()
            bare = self._restored(bare)
            if not any(map(str.isalnum, bare)):
                if self.pieces:
                    self.pieces[-1].marks += marks
                continue
            if number == 0 and goes_on and last is not None:
                last.text, last.is_closed = f"{last.text} {bare}", bool(_ENDED.search(bare))
                last.marks += marks
                continue
            before = f"{gap or chr(10)}{lead}" if number == 0 else " "
            kind: SentenceKind = "gap" if _is_gap(bare, self.prepared.question) else "claim"
            self.pieces.append(_Written(bare, kind, before, marks, is_closed=bool(_ENDED.search(bare))))


def _words_behind(line: str, at: int) -> tuple[int, str]:
    """The words in guillemets directly behind a mark, and where they end; guillemets inside them count in pairs."""
    start = at
    while start < len(line) and line[start] in " \t":
        start += 1
    if start >= len(line) or line[start] != "«":
        return at, ""
    depth, stop = 1, min(len(line), start + MAX_WORDS_CHARS)
    for end in range(start + 1, stop):
        if line[end] in "«»":
            # German quotes point the other way: a sign opens where a word follows it and none stands before.
            opens = not line[end - 1].isalnum() and end + 1 < len(line) and line[end + 1].isalnum()
            depth += 1 if opens else -1
        if depth == 0:
            return end + 1, line[start + 1 : end].strip()
    # Never closed: words up to the next mark or the end of a sentence.
    close = _UNCLOSED.search(line, start)
    end = close.start() if close else len(line)
    return end, line[start + 1 : end].strip()


def _is_gap(text: str, question: str) -> bool:
    """A sentence that only says what the evidence lacks, and slips in no fact of its own."""
    if not finds_nothing(text) or _TURN.search(text):
        return False
    asked = {value.value for value in quantities_in(question)} | {date.stated for date in dates_in(question)}
    stated = {value.value for value in quantities_in(text)} | {date.stated for date in dates_in(text)}
    return stated <= asked


def _split_marks(inside: str) -> Iterator[str]:
    for part in re.split(r"\s*(?:,|;|&|\band\b)\s*", inside, flags=re.IGNORECASE):
        mark = part.strip().lstrip("^").replace(":", ".")
        span = _RANGE.match(mark)
        if span is None:
            yield mark
            continue
        before, first, last = span[1] or "", int(span[2]), int(span[4])
        if (span[3] or before) == before and 0 < last - first < MAX_MARKS:
            yield from (f"{before}{n}" for n in range(first, last + 1))
        else:
            yield from (f"{before}{span[2]}", f"{span[3] or ''}{span[4]}")


# Sentences are bound to passages


def _sentence(piece: _Written, prepared: PreparedSynthesis) -> DraftSentence:
    quotes: dict[Quote, None] = {}
    words: dict[Quote, None] = {}
    bad: list[str] = []
    lost: list[str] = []
    for mark in dict.fromkeys(piece.marks):
        number, _, passage = mark.number.partition(".")
        source = next((one for one in prepared.sources if one.n == int(number)), None)
        if mark.words:
            slices = _bound(mark.words, source, passage, prepared)
            if not slices:
                lost.append(mark.words)
            for one in slices[:MAX_MARKS]:
                words[one] = None
                quotes[_passage_around(one, prepared)] = None
            continue
        quote = _quote(source, passage, piece.text) if source is not None else None
        if quote is None:
            bad.append(f"⟦{mark.number}⟧")
        elif len(quotes) < MAX_MARKS:
            quotes[quote] = None
    return DraftSentence(
        piece.text,
        piece.kind,
        tuple(quotes)[:MAX_MARKS],
        tuple(bad),
        header=piece.header,
        lead=piece.lead,
        words=tuple(words),
        lost_words=tuple(lost),
    )


def _bound(words: str, source: PreparedSource | None, passage: str, prepared: PreparedSynthesis) -> list[Quote]:
    """Where copied words stand: in the passage of their mark, else in its source, else in any."""
    if source is not None and passage.isdigit():
        spans = passages(source)
        if 1 <= int(passage) <= len(spans) and (found := find_copied(words, source, *spans[int(passage) - 1])):
            return found
    return find_anywhere(words, prepared.sources, source)


def _passage_around(words: Quote, prepared: PreparedSynthesis) -> Quote:
    """The passages that copied words stand in; of a long one only the words."""
    source = next(
        one
        for one in prepared.sources
        if one.source_key == words.source_key and one.span.start <= words.start <= words.end <= one.span.end
    )
    low, high = words.start - source.span.start, words.end - source.span.start
    around = [(start, end) for start, end in passages(source) if start < high and end > low]
    start, end = min([low, *(one for one, _ in around)]), max([high, *(one for _, one in around)])
    return words if end - start > _LONG_PASSAGE else _cut(source, start, end)


def _quote(source: PreparedSource, passage: str, said: str) -> Quote | None:
    """The passage of a mark; of a whole source the one that shares most words with the sentence."""
    spans = passages(source)
    if not spans or not source.text.strip():
        return None
    if passage and 1 <= int(passage) <= len(spans):
        return _cut(source, *spans[int(passage) - 1])
    words = content_stems(said)
    shared = [len(words & content_stems(source.text[start:end])) for start, end in spans]
    best = max(range(len(spans)), key=lambda at: shared[at])
    return _cut(source, *spans[best]) if shared[best] else _cut(source, spans[0][0], spans[-1][1])


def _cut(source: PreparedSource, start: int, end: int) -> Quote:
    base = source.span.start
    return Quote(source.source_key, source.span.content_hash, base + start, base + end, source.text[start:end])


# An answer as it comes: which of its sentences may be shown already. Pure.
#
# A sentence is shown once it is complete and bound: every mark points at evidence, and its words stand there. A judge's
# verdict follows; what does not survive it is withdrawn, visibly.


_ENDS = frozenset(".!?…。！？\n»⟧")
# A mark, or the words behind it, that have begun and not ended; a block of code that is open.
_OPEN = re.compile(r"[\[【⟦][^\]】⟧\n]{0,40}$|⟧[ \t]*(?:«[^»]*)?$")


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence that is bound, while the answer is still being written."""

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
        self._read = 0
        self._may_be_complete = False
        self.shown: list[ShownSentence] = []

    def feed(self, text: str) -> list[ShownSentence]:
        """What can be shown now that this text has come too."""
        if len(self._text) > MAX_ANSWER_CHARS:
            return []
        self._text += text
        self._may_be_complete = self._may_be_complete or not _ENDS.isdisjoint(text)
        # A mark often follows the full stop: a sentence is complete once the next one has begun.
        if not self._may_be_complete or _OPEN.search(self._text) or not any(map(str.isalpha, text)):
            return []
        if self._text.count("```") % 2:
            return []
        self._may_be_complete = not _ENDS.isdisjoint(text)
        return self._pass(read_answer(self._text, self._prepared).sentences[:-1])

    def close(self) -> list[ShownSentence]:
        """The last sentence, once the model says that it is done."""
        return self._pass(read_answer(self._text, self._prepared).sentences)

    def _pass(self, written: Sequence[DraftSentence]) -> list[ShownSentence]:
        """Of the sentences that were not looked at yet, those that hold."""
        found = [self._checked(index, written[index]) for index in range(self._read, len(written))]
        self._read = max(self._read, len(written))
        passed = [sentence for sentence in found if sentence is not None]
        self.shown += passed
        return passed

    def _checked(self, index: int, sentence: DraftSentence) -> ShownSentence | None:
        alone = Draft((sentence,), refused=False, written_by="model")
        checked = verify(self._prepared.question, alone, self._prepared, self._plan).sentences[0]
        if checked.verdict == "contradicted" or sentence.bad_marks or (sentence.lost_words and not sentence.quotes):
            return None
        sources = tuple(dict.fromkeys(quote.source_key for quote in sentence.quotes))
        return ShownSentence(index, sentence.text, checked.verdict, sources)
