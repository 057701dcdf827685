"""`eval corpus`: questions made from a folder of the user's own, asked, and why they fail where they do.

The folder is indexed in a data folder beside the user's; nothing of theirs is changed. A question is `right` where the
answer cites the document it was made from and holds what was wanted. Else it was `not_found` (its document is not among
the rows), `wrong_part` (it is, and another part of it is shown), `wrong_choice` (the part is there, and the answer is
made of something else), or `refused` (the part is there, and nothing was answered).
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from citewell.engine import Citewell
from citewell.errors import BadInput
from citewell.evals.cases import EvalCase
from citewell.evals.results import (
    CorpusKindRow,
    CorpusQuestion,
    CorpusReport,
    EvalProgress,
    NotIndexed,
    Outcome,
    QuestionKind,
)
from citewell.evals.suite import corpus_engine
from citewell.runs.run import RunResult
from citewell.settings import Settings
from citewell.store.port import AddReport
from citewell.text.blocks import Block, headings_above, whole_blocks_of
from citewell.text.languages import detect_language, is_stop_word
from citewell.text.sentences import properties_of, sentences

# Questions made from somebody's own notes: from headings, properties, definitions and single sentences. Pure.
#
# Example:
#     text: # Heat pump
#
# The heat pump was installed on 17 March 2023 by Warmstone.
#     question: heat pump installed Warmstone
#     wanted: 17 March 2023
#
# The sentence of a cloze is held out: the question has its rarest words and not their order, and never the value that
# is wanted. Which passages are asked about follows from their text alone, so that a report can be compared with an
# earlier one.


_VALUE = re.compile(
    r"(?<![\w.])(?:[£$€]\s?)?\d[\d.,:/-]*\d(?:\s?(?:%|°C|[kKMG]?[Wwgmbl]h?|years?|days?|hours?))?(?!\w)"
)
_DEFINES = re.compile(r"(?P<name>[^\W\d_][\w .+'’-]{1,48}?) (?:is|are) (?:an?|the) (?P<rest>[^.!?\n]{20,})")
_WORD = re.compile(r"[^\W\d_][\w'’-]{2,}")
_MARKS = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]|\[([^\]]*)\]\([^)]*\)|[*_`~#>]+")
_PLAIN_KEYS = re.compile(
    r"(?:tags?|aliases|cssclass(?:es)?|date|created|modified|updated|id|uid|layout|permalink|draft|slug)", re.I
)
_MOST_WORDS = 6
_LEAST_WORDS = 4
_SHORT_HEADING = 2
_MOST_NOTES = 12
_LEAST_SAID = 5
_EMBED = re.compile(r"!\[\[[^\]]*\]\]|!\[[^\]]*\]\([^)]*\)")
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnNote:
    """A document as questions are made from it."""

    source_key: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question, the passage it was made from, and what an answer must hold; empty: any part of the passage."""

    kind: QuestionKind
    question: str
    source_key: str
    start: int
    end: int
    wanted: str = ""


def questions_from(notes: Sequence[OwnNote], most: int) -> list[OwnQuestion]:
    """At most so many questions, evenly of each kind and drawn evenly from the notes."""
    rarity = Counter(word for note in notes for word in {one.casefold() for one in _WORD.findall(note.text)})
    found: dict[QuestionKind, list[OwnQuestion]] = {"heading": [], "property": [], "definition": [], "cloze": []}
    titles = Counter(note.title.casefold() for note in notes)
    for note in notes:
        # What two notes are called names neither of them.
        is_named = titles[note.title.casefold()] == 1
        blocks = whole_blocks_of(note.text)
        for one in (
            *(_properties(note) if is_named else ()),
            *_headings(note, blocks, is_named=is_named),
            *_sentences(note, blocks, rarity),
        ):
            found[one.kind].append(one)
    unique = _once(found)
    return _evenly(unique, most)


def _once(found: dict[QuestionKind, list[OwnQuestion]]) -> dict[QuestionKind, list[OwnQuestion]]:
    """Without questions that several passages could have been asked: nobody could say which is meant."""
    counts = Counter(one.question.casefold() for several in found.values() for one in several)
    return {
        kind: sorted((one for one in several if counts[one.question.casefold()] == 1), key=_draw)
        for kind, several in found.items()
    }


def _draw(one: OwnQuestion) -> str:
    return hashlib.sha256(f"{one.source_key}\n{one.question}".encode("utf-8", "surrogatepass")).hexdigest()


def _evenly(found: dict[QuestionKind, list[OwnQuestion]], most: int) -> list[OwnQuestion]:
    """In turn from each kind, one of a document before a second of it."""
    queues = {kind: _spread(several) for kind, several in found.items()}
    chosen: list[OwnQuestion] = []
    while len(chosen) < most and any(queues.values()):
        for queue in queues.values():
            if queue and len(chosen) < most:
                chosen.append(queue.pop(0))
    return chosen


def _spread(several: Sequence[OwnQuestion]) -> list[OwnQuestion]:
    seen: Counter[str] = Counter()
    placed: list[tuple[int, int, OwnQuestion]] = []
    for number, one in enumerate(several):
        placed.append((seen[one.source_key], number, one))
        seen[one.source_key] += 1
    return [one for _, _, one in sorted(placed, key=lambda entry: entry[:2])]


def _properties(note: OwnNote) -> Iterator[OwnQuestion]:
    spans, _ = properties_of(note.text)
    for start, end in spans:
        key, _, value = note.text[start:end].partition(":")
        key, plain = key.strip().strip("\"'"), _plain(value).removeprefix("- ").strip(" \"'")
        if (
            _PLAIN_KEYS.fullmatch(key)
            or not 1 < len(plain) <= 60
            or "\n" in value.strip()
            or plain.startswith(("[", "{"))
        ):
            continue
        if plain.casefold() not in note.title.casefold():
            yield OwnQuestion("property", f"What is the {key} of {note.title}?", note.source_key, start, end, plain)


def _headings(note: OwnNote, blocks: Sequence[Block], *, is_named: bool) -> Iterator[OwnQuestion]:
    paths = headings_above(blocks)
    first = next((number for number, block in enumerate(blocks) if block.kind == "heading"), None)
    for number, block in enumerate(blocks):
        # The heading on top names the whole note and no part of it.
        if block.kind != "heading" or (number == first and block.level == 1):
            continue
        heading = _plain(note.text[block.start : block.end]).strip()
        below = [one for at, one in enumerate(blocks) if number in paths[at] and at != number and one.kind != "heading"]
        said = _EMBED.sub(" ", " ".join(note.text[one.start : one.end] for one in below))
        if (
            len(_WORD.findall(said)) < _LEAST_SAID
            or not _WORD.search(heading)
            or heading.casefold() == note.title.casefold()
        ):
            continue
        # A heading of a word or two ("Setup") says what it is about only beside its title.
        words = len(_WORD.findall(heading))
        if words <= _SHORT_HEADING and not is_named:
            continue
        asked = heading if words > _SHORT_HEADING else f"{note.title}: {heading}"
        yield OwnQuestion("heading", asked, note.source_key, block.start, below[-1].end)


def _sentences(note: OwnNote, blocks: Sequence[Block], rarity: Counter[str]) -> Iterator[OwnQuestion]:
    languages = (detect_language(note.text) or "en", "en")
    for block in blocks:
        if block.kind not in ("paragraph", "item"):
            continue
        for start, end in sentences(note.text[block.start : block.end]):
            at, until = block.start + start, block.start + end
            sentence = note.text[at:until]
            if "http" in sentence or not 30 <= len(sentence) <= 400:
                continue
            yield from _definition(note, at, until, sentence, rarity, languages)
            yield from _cloze(note, at, until, sentence, rarity, languages)


def _definition(
    note: OwnNote, start: int, end: int, sentence: str, rarity: Counter[str], languages: tuple[str, ...]
) -> Iterator[OwnQuestion]:
    found = _DEFINES.match(_plain(sentence).lstrip("- \t"))
    if found is None:
        return
    name = _ARTICLE.sub("", found["name"].strip())
    words = [word.casefold() for word in name.split()]
    if not words or len(words) > 4 or any(is_stop_word(word, languages) or not _WORD.fullmatch(word) for word in words):
        return
    # A word that many notes have ("example") is not what a reader would ask for.
    if min(rarity[word] for word in words) <= _MOST_NOTES:
        yield OwnQuestion("definition", f"What is {name}?", note.source_key, start, end)


def _cloze(
    note: OwnNote, start: int, end: int, sentence: str, rarity: Counter[str], languages: tuple[str, ...]
) -> Iterator[OwnQuestion]:
    values = [found[0].strip() for found in _VALUE.finditer(sentence)]
    if len(values) != 1 or len(values[0]) < 2:
        return
    plain = _plain(sentence).replace(values[0], " ")
    words = [word for word in dict.fromkeys(_WORD.findall(plain)) if not is_stop_word(word.casefold(), languages)]
    if len(words) < _LEAST_WORDS:
        return
    kept = set(sorted(words, key=lambda word: (rarity[word.casefold()], word))[:_MOST_WORDS])
    question = " ".join(sorted(kept, key=lambda word: hashlib.sha256(word.encode()).digest()))
    yield OwnQuestion("cloze", question, note.source_key, start, end, values[0])


def _plain(text: str) -> str:
    """Text without the marks of Markdown, links by what they show."""
    return " ".join(_MARKS.sub(lambda match: match[1] or match[2] or "", text).split())


_READ_AT_ONCE = 50
_WHY: dict[Outcome, str] = {
    "right": "",
    "not_found": "{key} is not among the rows",
    "wrong_part": "{key} is row {rank}, but another part of it is shown",
    "wrong_choice": "the passage is in row {rank}; the answer cites {cited}",
    "refused": "the passage is in row {rank}; nothing was answered",
    "error": "the run ended with {stop}",
}
_OTHER_PART = "the passage is in row {rank}; the answer quotes another part of {key}"


def evaluate_corpus(
    path: Path, settings: Settings, *, most: int = 60, collection: str | None = None
) -> Iterator[EvalProgress | CorpusReport]:
    """Index a folder, ask what its notes can be asked, and report; the report comes last."""
    root = path.expanduser().resolve()
    if not root.exists():
        raise BadInput(f"There is no folder {path}.", fix="Name the folder of your notes.")
    started = time.perf_counter()
    engine = corpus_engine(root, settings)
    try:
        yield EvalProgress(0, most, f"indexing {root.name}")
        added = _add(engine, root, collection or root.name)
        asked = questions_from(list(_notes(engine)), most)
        if not asked:
            raise BadInput(f"Nothing in {path} can be asked about.", fix="It needs notes with headings or sentences.")
        done: list[CorpusQuestion] = []
        for one in asked:
            yield EvalProgress(len(done), len(asked), one.question)
            done.append(_ask(engine, one))
        yield _report(path, engine, added, done, time.perf_counter() - started)
    finally:
        engine.close()


def _add(engine: Citewell, root: Path, collection: str) -> AddReport:
    for event in engine.corpus.sync(root, collection=collection):
        if isinstance(event, AddReport):
            if engine.settings.embeddings == "on":
                for _ in engine.corpus.encode():
                    pass
            return event
    raise AssertionError("a sync ends with its report")


def _notes(engine: Citewell) -> Iterator[OwnNote]:
    keys = sorted(key for info in engine.store.collections() for key in engine.store.keys_under(str(Path(info.root))))
    for at in range(0, len(keys), _READ_AT_ONCE):
        for view in engine.corpus.get(*keys[at : at + _READ_AT_ONCE], content_mode="full").documents:
            yield OwnNote(view.source_key, view.title, view.text or "")


def _ask(engine: Citewell, one: OwnQuestion) -> CorpusQuestion:
    run_id = engine.start(one.question, surface="eval", planner=False)
    result = engine.runs.wait(run_id)
    rows = result.pack.evidence if result.pack else ()
    rank = next((number for number, row in enumerate(rows, start=1) if row.source_key == one.source_key), None)
    cited = tuple(dict.fromkeys(citation.source_key for citation in result.citations))
    outcome = _outcome(one, result, rank)
    told = _OTHER_PART if outcome == "wrong_choice" and one.source_key in cited else _WHY[outcome]
    said = told.format(key=one.source_key, rank=rank, cited=", ".join(cited[:2]) or "nothing", stop=result.stop_reason)
    return CorpusQuestion(
        *(one.kind, one.question, one.source_key, one.start, one.end, one.wanted, outcome, rank, cited),
        run_id=run_id,
        why=said,
    )


def _outcome(one: OwnQuestion, result: RunResult, rank: int | None) -> Outcome:
    if result.answer_status in ("error", "unavailable"):
        return "error"
    if _is_right(one, result):
        return "right"
    if rank is None:
        return "not_found"
    if not _is_shown(one, result):
        return "wrong_part"
    return "refused" if result.answer_status == "no_evidence" else "wrong_choice"


def _is_right(one: OwnQuestion, result: RunResult) -> bool:
    """The passage is quoted, or its document is and says what was wanted."""
    own = [citation for citation in result.citations if citation.source_key == one.source_key]
    if one.wanted:
        return bool(own) and one.wanted.casefold() in result.answer.casefold()
    return any(citation.span.start < one.end and one.start < citation.span.end for citation in own)


def _is_shown(one: OwnQuestion, result: RunResult) -> bool:
    rows = result.pack.evidence if result.pack else ()
    return any(
        row.source_key == one.source_key and row.span.start < one.end and one.start < row.span.end for row in rows
    )


def _report(
    path: Path, engine: Citewell, added: AddReport, done: Sequence[CorpusQuestion], seconds: float
) -> CorpusReport:
    outcomes = Counter(one.outcome for one in done)
    kinds = [kind for kind in get_args(QuestionKind) if any(one.kind == kind for one in done)]
    rows = [_row(kind, [one for one in done if one.kind == kind]) for kind in kinds]
    lost = tuple(NotIndexed(one.path, one.reason) for one in added.problems)
    return CorpusReport(
        path=str(path),
        documents=engine.store.document_count(),
        passed=outcomes["right"],
        failed=len(done) - outcomes["right"],
        seconds=round(seconds, 1),
        by_kind=(*rows, _row("all", done)),
        outcomes={**{name: outcomes[name] for name in get_args(Outcome) if outcomes[name]}, "not_indexed": len(lost)},
        not_indexed=lost,
        advice=tuple(_advice(outcomes, lost)),
        cases=tuple(sorted(done, key=lambda one: one.outcome == "right")),
    )


def _row(kind: str, asked: Sequence[CorpusQuestion]) -> CorpusKindRow:
    count = len(asked)
    counts = Counter(one.outcome for one in asked)
    found = sum(one.rank is not None for one in asked)
    return CorpusKindRow(
        kind=kind,
        asked=count,
        found=round(found / count, 4),
        first=round(sum(one.rank == 1 for one in asked) / count, 4),
        right_part=round((found - counts["wrong_part"]) / count, 4),
        right=round(counts["right"] / count, 4),
        outcomes={str(name): counted for name, counted in counts.items()},
    )


def _advice(outcomes: Counter[Outcome], lost: Sequence[NotIndexed]) -> Iterator[str]:
    """What to do about the failures, the most frequent first."""
    said: dict[Outcome, str] = {
        "not_found": "Documents are not found: search by meaning may find them (`citewell embed`), as may `aliases:`.",
        "wrong_part": "Another part of the document is shown: raise CITEWELL_MAX_CHARS_PER_DOC, or cut long notes.",
        "wrong_choice": "The passage is found, something else is quoted: a model may choose better (docs/models.md).",
        "refused": "The passage is found and not taken for an answer: a model may answer where quoting refuses.",
        "error": "Runs ended in an error: look at one with 'citewell runs show'.",
    }
    if lost:
        yield f"{len(lost)} files were not indexed: 'citewell status --problems' says why."
    for name, count in outcomes.most_common():
        if name in said:
            yield f"{count}: {said[name]}"


def as_cases(report: CorpusReport, *, limit: int | None = None) -> list[EvalCase]:
    """The questions of a report as cases, so that a folder keeps its own suite."""
    return [
        EvalCase(
            question=one.question,
            id=f"{one.kind}-{number}",
            note=f"made from {one.source_key}; {one.outcome} when it was made",
            disable_planner=True,
            expect_source_keys=(one.source_key,),
            expect_citation_source_keys=(one.source_key,) if one.outcome == "right" else (),
            expect_text=(one.wanted,) if one.wanted and one.outcome == "right" else (),
        )
        for number, one in enumerate(report.cases[:limit], start=1)
    ]


def with_written(report: CorpusReport, path: Path) -> CorpusReport:
    return replace(report, written=str(path))
