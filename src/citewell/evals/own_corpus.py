"""`eval corpus`: questions made from a folder of the user's own, asked, and why they fail where they do.

The folder is indexed in a data folder beside the user's; nothing of theirs is changed. A question is `right` where the
answer cites the document it was made from and holds what was wanted. Else it was `not_found` (its document is not among
the rows), `wrong_part` (it is, and another part of it is shown), `wrong_choice` (the part is there, and the answer is
made of something else), or `refused` (the part is there, and nothing was answered).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from citewell.domain.errors import BadInput
from citewell.domain.eval_cases import EvalCase
from citewell.domain.eval_reports import (
    CorpusKindRow,
    CorpusQuestion,
    CorpusReport,
    EvalProgress,
    NotIndexed,
    Outcome,
    QuestionKind,
)
from citewell.domain.library import AddReport
from citewell.domain.runs import RunResult
from citewell.engine import Citewell
from citewell.evals.own_questions import OwnNote, OwnQuestion, questions_from
from citewell.evals.suite import corpus_engine
from citewell.settings import Settings

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
