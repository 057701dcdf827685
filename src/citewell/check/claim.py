"""What the wording of a passage decides about a sentence, and no more: says it word for word, or denies it so. Pure.

A sentence that stands in a passage to the letter, whole or as a clause of its own, is supported: `exact`. One that
stands there but for a number, a name, a contrary or a denial is contradicted. About everything else the wording decides
nothing: whether a paraphrase is true needs someone who reads, a judge (`check/judge.py`).

It does not know what governs a clause from afar ("The report that … was wrong."), nor whether a source is right.

Example:
    claim:   The kelp longlines sit 1.8 m below the surface.
    passage: Correction: the kelp longlines sit 1.8 m below the surface, not 3 m.
    verdict: supported

Example:
    claim:   The lamp was lit in 1860.
    passage: The lamp was lit in 1859.
    verdict: contradicted
    reason:  the passage has '1859' where this has '1860'

Example:
    claim:   The keeper lit the lamp before dark.
    passage: At dusk the lamp was lit by the keeper.
    verdict: unsupported
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from citewell.answer.evidence import PreparedSource, Quote
from citewell.answer.passages import is_told_falsely, readable, without_lead_in
from citewell.answer.values import NUMBER_WORDS, dates_in, quantities_in
from citewell.check.lexicon import contraries, moves_against
from citewell.check.tokens import content_stems, read_sentences
from citewell.check.verdict import Verdict
from citewell.text.blocks import cells_of
from citewell.text.canonical import folded_text
from citewell.text.words import stem

BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """What the wording decides: `unsupported` where that is nothing. `start` and `end` count in the joined quotes."""

    verdict: Verdict
    reason: str = ""
    # The share of the sentence's words that the passages have: it orders sentences and decides nothing.
    support: float = 0.0
    start: int = 0
    end: int = 0


def check_claim(
    text: str, quotes: Sequence[Quote], sources: Sequence[PreparedSource], *, by_model: bool = False
) -> ClaimCheck:
    """Compare a sentence with the passages it cites.

    The engine's own words in front of a quotation are read past; a model that writes them has to prove them.
    """
    if not by_model and is_told_falsely(text, list(sources)):
        return ClaimCheck("unsupported", "the date or title in front is not that of the source")
    said = text if by_model else without_lead_in(text)
    if not quotes:
        return ClaimCheck("unsupported", "no passage is cited") if is_claim(said) else ClaimCheck("not_a_claim")
    return check_text(said, joined(quotes))


def check_written(
    text: str, header: str, quotes: Sequence[Quote], sources: Sequence[PreparedSource], *, by_model: bool
) -> ClaimCheck:
    """A sentence, or a row of a table under its header, beside what it cites."""
    if header:
        return check_table_row(text, header, quotes, sources)
    return check_claim(text, quotes, sources, by_model=by_model)


def joined(quotes: Sequence[Quote]) -> str:
    """The quotes as one text; a blank line keeps the sentences of two of them apart."""
    return BETWEEN.join(quote.text for quote in quotes)


def is_claim(text: str) -> bool:
    """Whether a sentence states anything that could be wrong: not a bare question, not a bare transition."""
    said = without_lead_in(text).strip()
    if said.endswith("?"):
        return bool(quantities_in(said) or dates_in(said))
    if not content_stems(said):
        return bool(quantities_in(said))
    return len(content_stems(said)) > 2 or bool(quantities_in(said) or dates_in(said)) or not said.endswith(":")


def check_text(said: str, quoted: str) -> ClaimCheck:
    """Compare a sentence with a text."""
    if (row := check_row(said, quoted)) is not None:
        verdict: Verdict = "supported" if row.holds else "contradicted"
        return ClaimCheck(verdict, row.reason, float(row.holds), row.start, row.end)
    words = exact_words(readable(said))
    if words and words == exact_words(readable(quoted)) and not (away := _set_aside(said, quoted, 0, len(quoted))):
        return ClaimCheck("supported", "", 1.0, 0, len(quoted))
    denied: ClaimCheck | None = None
    nearest = ClaimCheck("unsupported", support=_share(said, quoted))
    for sentence in read_sentences(quoted):
        found, reason = _beside(words, sentence.text)
        if not found:
            continue
        away = _set_aside(said, quoted, sentence.start, sentence.end)
        if found == "supported" and not away:
            return ClaimCheck("supported", "", 1.0, sentence.start, sentence.end)
        if away:
            nearest = replace(nearest, reason=away, start=sentence.start, end=sentence.end)
        elif denied is None:
            denied = ClaimCheck("contradicted", reason, 0.0, sentence.start, sentence.end)
    return denied or nearest


def _share(said: str, quoted: str) -> float:
    stems = content_stems(said)
    return round(0.99 * len(stems & content_stems(quoted)) / len(stems), 4) if stems else 0.0


# Word for word: the words of a sentence as they are written, numbers with their sign and without their commas.


_WORD = re.compile(
    r"(?:(?<![\w.,])[-−–+±<>≤≥~])?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?:(?<![\w.,])[-−–+±<>≤≥~])?\d+(?:[.,:]\d+)*(?!\w)"
    r"|[-−](?=[€$£]\d)|[^\W_]+(?:['’.][^\W_]+)*|[%°€$£#&@+=<>^]"
)
_DIGITS = {word: digits for digits, word in NUMBER_WORDS.items()}
_DROPPED = frozenset(("a", "an", "the"))
_NOT = frozenset("not never no none cannot nicht kein keine keinen nie niemals pas jamais".split())
_HELPERS = frozenset(("do", "does", "did", "to"))
# In front of a clause, words that make it no statement of its own; behind it, words that limit it.
_GOVERNS = frozenset(
    """if unless whether not never no nobody nothing hardly myth false wrong untrue denies denied deny doubt
    doubts doubted claims claimed claim says said say believes believed believe thinks thought think hopes
    hoped expects expected plans sample rumour rumor planned wants wanted may might could would should until
    before lest suppose supposing assume assuming imagine falls wenn ob nicht kein behauptet sagt glaubt si
    pas dit prétend example instead formerly previously once""".split()
)
_LIMITS = frozenset(
    """if unless except until provided but although though only according instead when while where which who
    whose because so than or as in on at for with without by under after before during within from to of per
    wenn falls außer nur sofern sauf sous apart besides""".split()
)
# What a clause follows that stands for itself; behind a comma it may depend on what stands before.
_CLAUSE_BEGIN = re.compile(r"[;:]|\.(?=\s)|\s[-—–]\s")
_CLAUSE_END = re.compile(r"[,;:()—–]|\s-\s|\.(?=\s)")
_OPENS = frozenset('"“„«‘')
# A difference contradicts only where this much else is the same.
_LEAST_SAME = 4


def exact_words(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared: folded, articles left out, `twelve` as `12`, `isn't` as `is not`."""
    return tuple(word for word, _, _ in _words(text))


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _WORD.finditer(text):
        written = match.group()
        word = folded_text(written).replace("’", "'")
        if word[-1:].isdigit() and any(map(str.isdigit, word)):
            word = re.sub(r",(?=\d{3})", "", word).replace("−", "-").replace("–", "-")
            word = word.rstrip("0").rstrip(".") if re.fullmatch(r"[-+]?\d+\.\d+", word) else word
        if word.endswith("n't") and len(word) > 3:
            stem = {"can't": "can", "won't": "will", "shan't": "shall"}.get(word, word[:-3])
            yield stem, match.start(), match.end()
            word = "not"
        elif word == "cannot":
            yield "can", match.start(), match.end()
            word = "not"
        if word not in _DROPPED:
            yield _DIGITS.get(word, word), match.start(), match.end()


def _beside(said: tuple[str, ...], sentence: str) -> tuple[Verdict | None, str]:
    """A sentence's words beside a sentence of the passage: its wording, a denial of it, or neither."""
    shown = readable(sentence)
    told = list(_words(shown))
    if not said or not told or len(said) > 120:
        return None, ""
    words = [word for word, _, _ in told]
    starts, ends = _clause_bounds(shown, told)
    # From the first word on that governs what follows, nothing is a statement of its own.
    free = next((at for at, word in enumerate(words) if word in _GOVERNS), len(words))
    for at in range(len(words) - len(said) + 1):
        if at <= free and at in starts and at + len(said) in ends and tuple(words[at : at + len(said)]) == said:
            after = words[at + len(said) : at + len(said) + 1]
            opening = shown[told[at - 1][2] if at else 0 : told[at][1]]
            is_spoken = bool(_OPENS.intersection(opening)) and bool(at or after)
            if not is_spoken and not _LIMITS.intersection(after):
                return "supported", ""
    reason = _only_difference(said, words, (at for at in sorted(starts) if at <= free), ends)
    return ("contradicted", reason) if reason else (None, "")


def _clause_bounds(text: str, told: Sequence[tuple[str, int, int]]) -> tuple[frozenset[int], frozenset[int]]:
    """The places where a clause begins, and where one ends, counted in words."""
    between = [(at, text[told[at - 1][2] : told[at][1]]) for at in range(1, len(told))]
    starts = (at for at, signs in between if _CLAUSE_BEGIN.search(signs))
    ends = (at for at, signs in between if _CLAUSE_END.search(signs))
    return frozenset((0, *starts)), frozenset((*ends, len(told)))


def _only_difference(said: tuple[str, ...], words: Sequence[str], starts: Iterable[int], ends: frozenset[int]) -> str:
    """The one thing that a sentence changes of a clause: a number, a denial or a contrary; empty for anything else."""
    for low in starts:
        for size in range(max(_LEAST_SAME, len(said) - 2), len(said) + 3):
            if low + size not in ends:
                continue
            told = words[low : low + size]
            shorter = min(size, len(said))
            head = next((at for at in range(shorter) if told[at] != said[at]), shorter)
            tail = next((at for at in range(shorter - head) if told[-1 - at] != said[-1 - at]), shorter - head)
            if head + tail >= _LEAST_SAME and (
                reason := _contrary(told[head : size - tail], said[head : len(said) - tail])
            ):
                return reason
    return ""


def _contrary(there: Sequence[str], here: Sequence[str]) -> str:
    is_value = len(there) == len(here) == 1 and there[0][-1:].isdigit() and here[0][-1:].isdigit()
    ours, theirs = (stem(one[0], "en") if len(one) == 1 else "" for one in (here, there))
    opposed = bool(ours and theirs) and (ours in contraries(theirs) or moves_against(ours, theirs))
    if is_value or opposed:
        return f"the passage has '{there[0]}' where this has '{here[0]}'"
    denied, plain = (there, here) if _NOT & set(there) else (here, there)
    if _NOT & set(denied) and not _NOT & set(plain) and _denies(denied, plain):
        return "the passage denies this" if denied is there else "the passage does not deny this"
    return ""


def _denies(denied: Sequence[str], plain: Sequence[str]) -> bool:
    """Whether words are others with a denial: `did not accept` and `accepted`, in the same tense."""
    verb = [word for word in denied if word not in _NOT | _HELPERS]
    if not plain and not verb:
        return "did" not in denied
    same = len(verb) == len(plain) == 1 and stem(verb[0], "en") == stem(plain[0], "en")
    return same and ("did" in denied) == plain[0].endswith("ed")


# What a text shows and does not state: struck out, unticked, commented out, asked, or removed right after. Pure.
#
# Example:
#     claim:   The boiler was replaced last year.
#     passage: ~~The boiler was replaced last year.~~
#     verdict: unsupported
#     reason:  the passage has it struck out
#
# Example:
#     claim:   Call the plumber about the boiler.
#     passage: - [ ] Call the plumber about the boiler
#     verdict: supported


_STRUCK = re.compile(r"~~(?=\S)(.{1,2000}?)~~|<(?:del|s|strike)>(.{1,2000}?)</(?:del|s|strike)>", re.S)
_COMMENT = re.compile(r"%%(.{1,2000}?)%%|<!--(.{1,2000}?)-->", re.S)
_REMOVED_AFTER = re.compile(
    r"\s*(?:[\[(]?(?:edit|update|correction|corrected|erratum|nachtrag|korrektur)\b\s*[:–-]"
    r"|no[,:—-]|(?:wrong|false|not true|scratch that"
    r"|(?:that|this)(?:'s| is| was) (?:a myth|wrong|not true|false|incorrect|no longer)|(?:it )?turned out"
    r"|das stimmt nicht|stimmt nicht|c'est faux)\b)"
)
_SHOWN_AS = re.compile(
    r"\W*(?:(?:quiz|exercise|question|myth|mythos|mythe|joke|rumou?r|true or false|wahr oder falsch|vrai ou faux"
    r"|fill in|multiple choice)\b[^:.;]{0,40}[:–]|(?:false|falsch|wrong|fiction|hypothetical(?:ly)?)\s*[:–-])"
)


def _set_aside(said: str, quoted: str, start: int, end: int) -> str:
    """In words, why a sentence of a text states nothing though it is there; empty where it states it."""
    text = quoted[start:end]
    if _is_within(_STRUCK, quoted, start, end):
        return "the passage has it struck out"
    if _is_within(_COMMENT, quoted, start, end) and not _is_within(_COMMENT, said, 0, len(said)):
        return "the passage has it commented out"
    if text.rstrip(' *_)"”’').endswith("?") and not said.rstrip().endswith("?"):
        return "the passage asks this"
    if _SHOWN_AS.match(folded_text(text)) and not _SHOWN_AS.match(folded_text(said)):
        return "the passage does not state this"
    return "the passage takes it back right after" if _REMOVED_AFTER.match(folded_text(quoted[end : end + 80])) else ""


def _is_within(pattern: re.Pattern[str], text: str, start: int, end: int) -> bool:
    middle = (start + end) // 2
    return any(match.start() <= middle < match.end() for match in pattern.finditer(text))


# What no judge outweighs: a quotation that the passages do not have word for word, and a number before a word that they
# have with other numbers only. Pure. Numbers that stand alone are not objected to: sums, shares and durations are
# reckoned, and on labelled pairs that rule objected to 7 to 16% of what is true.


_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n]{2,2000})[\"”“»]")
_LEAST_QUOTED = 3
_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?)\s*")
_LABELLED = re.compile(r"(?<![\w.,:/-])(\d+(?:[.,]\d+)*)[ \u00a0-]?([^\W\d_]{3,})")
_CODE = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)|`[^`\n]+`", re.DOTALL)


def objection(said: str, known: str) -> str:
    """What a sentence has that its sources, their titles and the question have otherwise; else empty."""
    bare = _CODE.sub(" ", said)
    if quotation := unquoted(bare, known):
        return f"not word for word in the source: “{quotation[:200]}”"
    told: dict[str, set[str]] = {}
    for value, label in _LABELLED.findall(known):
        told.setdefault(stem(folded_text(label), "en"), set()).add(_digits(value))
    numbers = {_digits(value) for value in re.findall(r"\d+(?:[.,]\d+)*", known)}
    for value, label in _LABELLED.findall(bare):
        others = told.get(stem(folded_text(label), "en"), set())
        if others and _digits(value) not in numbers:
            return f"the source has {' and '.join(sorted(others)[:3])} {label}, not {value}"
    return ""


def _digits(value: str) -> str:
    plain = re.sub(r",(?=\d{3}(?!\d))", "", value)
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def unquoted(said: str, quoted: str) -> str:
    """The first quotation of a sentence that the text does not have word for word, or nothing."""
    told = _plain(quoted)
    for match in _QUOTED.finditer(said[:20_000]):
        words = match[1].strip().rstrip(".,;:!?")
        if len(words.split()) < _LEAST_QUOTED:
            continue
        if not all(_plain(part) in told for part in _ELLIPSIS.split(words) if part):
            return match[1].strip()
    return ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[\w'%€$£°.,-]+", folded_text(readable(text)).replace("’", "'"))).replace(" ,", ",")


# A row of a table read out under its header: `Year: 2023; Weight: 3.4 t`. Pure.
#
# It is verbatim where every part is a header of the table with the cell under it, all of one row; nothing is composed
# from cells that do not belong together.
#
# Example:
#     claim:   Boat: Ada; Built: 1902
#     passage: | Boat | Built |\n|---|---|\n| Ada | 1902 |\n| Bell | 1911 |
#     verdict: supported
#
# Example:
#     claim:   Boat: Ada; Built: 1911
#     passage: | Boat | Built |\n|---|---|\n| Ada | 1902 |\n| Bell | 1911 |
#     verdict: contradicted
#     reason:  the table has '1902' under 'Built'


_RULE = re.compile(r"[|:\-\s]+")
_CELL = re.compile(r"(?<!\\)\|")
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Whether a row says it, what it has instead, and its place."""

    holds: bool
    reason: str
    start: int
    end: int


def read_out(row: str, header: str) -> str:
    """A row of a table as it is read out under its header."""
    pairs = zip(cells_of(header), cells_of(row), strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def check_row(said: str, quoted: str) -> RowCheck | None:
    """What the tables of a text say of a row read out; None where the sentence is none, or no table has its header."""
    parts = [part.partition(": ") for part in said.rstrip(".").split("; ")]
    if not parts or not all(name and sign for name, sign, _ in parts):
        return None
    claimed = [(_folded(name), _folded(value)) for name, _, value in parts]
    rows = list(_rows(quoted))
    nearest: RowCheck | None = None
    for header, _, _ in rows:
        places = [header.index(name) if name in header else None for name, _ in claimed]
        if None in places:
            continue
        for cells, start, end in rows:
            if cells is header or len(cells) < len(header):
                continue
            wrong = [(at, n) for n, at in enumerate(places) if at is not None and cells[at] != claimed[n][1]]
            if not wrong:
                return RowCheck(True, "", start, end)
            at, n = wrong[0]
            if n and nearest is None:  # the row that begins alike
                reason = f"the table has '{cells[at]}' under '{parts[n][0]}'"
                nearest = RowCheck(False, reason, start, end)
    return nearest


def _rows(text: str) -> Iterator[tuple[list[str], int, int]]:
    at = found = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare.count("|") > 1 and not _RULE.fullmatch(bare) and found < _MOST_ROWS:
            found += 1
            start = at + line.index(bare)
            yield [_folded(cell) for cell in _CELL.split(bare.strip("|"))], start, start + len(bare)
        at += len(line)


def _folded(cell: str) -> str:
    return folded_text(readable(cell.strip()))


def check_table_row(row: str, header: str, quotes: Sequence[Quote], sources: Sequence[PreparedSource]) -> ClaimCheck:
    """A row of a table a model wrote, as a row of a quoted table."""
    if not quotes:
        return ClaimCheck("unsupported", "no passage is cited")
    text = joined(quotes)
    # A row alone may be cited: the table it stands in names its columns.
    whole = BETWEEN.join(dict.fromkeys(source.text for source in sources))
    if (found := check_row(read_out(row, header), whole)) is not None:
        verdict: Verdict = "supported" if found.holds else "contradicted"
        return ClaimCheck(verdict, found.reason, float(found.holds), 0, len(text))
    return replace(check_text(read_out(row, header), text), start=0, end=len(text))
