"""Proposing cases from what was recorded: keys, status and plan, and no sentence of the answer or of what it quotes.

A proposal keeps what a run did, so that it is noticed when that changes; what a reviewer says instead (`expect`,
`forbid`, `status`) makes it a case that fails until the answer is right. Each comes with a twin that is asked without a
planning model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import yaml

from citewell.check.verdict import AnswerStatus
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError, NotFound
from citewell.evals.cases import EvalCase, load_file
from citewell.runs.events import RunEvent, RunStarted, finished_event
from citewell.runs.run import RunRequest, RunResult
from citewell.runs.trace import Trace
from citewell.runs.transfer import import_run
from citewell.search.pack import ResearchPack
from citewell.store.port import Filters

TRANSCRIPT_SCHEMA = "chat_transcript.v1"
_TOP_KEYS = 2
_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Review:
    """What a person who looked at the run says of it; what is left out stays as the run had it."""

    expect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    status: AnswerStatus | None = None
    texts: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == Review()


@dataclass(frozen=True, slots=True)
class _RunRecord:
    """What a proposal is made from."""

    question: str
    name: str
    status: AnswerStatus
    cited: tuple[str, ...]
    history: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    profile: str = "local"
    pack: ResearchPack | None = None
    rejected: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)


def propose(engine: Citewell, source: str, review: Review) -> list[EvalCase]:
    """Cases from a run (an id, `last`, a folder, an exported file) or from a transcript."""
    path = Path(source)
    if path.is_file() and path.suffix == ".json":
        return [case for one in _transcript(engine, path) for case in _cases(one, review)]
    return list(_cases(_run(engine, source), review))


def _run(engine: Citewell, source: str) -> _RunRecord:
    if Path(source).exists():
        return _of_trace(import_run(Path(source)))
    run_id = engine.runs.find(source)
    folder = engine.settings.data_dir / "research-runs" / run_id
    if folder.exists():
        return _of_trace(import_run(folder))
    return _of_result(engine.runs.result(run_id), engine)


def _of_trace(trace: Trace) -> _RunRecord:
    asked = _asked(trace.events)
    return _RunRecord(
        question=trace.question,
        name=trace.run_id,
        status=trace.synthesis.status,
        cited=_unique(one.source_key for one in trace.synthesis.citations),
        history=_questions(asked),
        pinned=asked.conversation.pinned or tuple(trace.chat_continuity.get("pinned_evidence_keys", ())),
        profile=trace.profile,
        pack=trace.pack,
        rejected=_turned_away(trace.events),
        filters=asked.filters,
    )


def _of_result(result: RunResult, engine: Citewell) -> _RunRecord:
    events = engine.run_store.checked_events(result.run_id)
    asked = _asked(events)
    return _RunRecord(
        question=result.question,
        name=result.run_id,
        status=result.answer_status,
        cited=_unique(one.source_key for one in result.citations),
        history=_questions(asked),
        pinned=asked.conversation.pinned,
        profile=result.profile,
        pack=result.pack,
        rejected=tuple(result.explored.rejected),
        filters=asked.filters,
    )


def _asked(events: Sequence[RunEvent]) -> RunRequest:
    """What was asked of a run, from how it started."""
    started = events[0].event
    assert isinstance(started, RunStarted)
    return started.request


def _questions(asked: RunRequest) -> tuple[str, ...]:
    return tuple(prior.question for prior in asked.conversation.history)


def _turned_away(events: Sequence[RunEvent]) -> tuple[str, ...]:
    """What a run found and did not take, as its end tells it."""
    ended = finished_event(events)
    # Not as a value: the end of a record of 0.1.0 is no whole result.
    explored = (ended.body.get("result") or {}).get("explored") or {} if ended else {}
    return tuple(map(str, explored.get("rejected") or ()))


def _unique(values: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _transcript(engine: Citewell, path: Path) -> Iterator[_RunRecord]:
    """Every turn of a saved conversation; where its run is still on record, with what that tells."""
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(f"{path} cannot be read as a transcript: {error}.", fix="Name a saved conversation.") from None
    turns = document.get("turns") if isinstance(document, dict) else None
    if not isinstance(turns, list) or document.get("schema_version") != TRANSCRIPT_SCHEMA:
        raise BadInput(
            f"{path} is no {TRANSCRIPT_SCHEMA}.", fix="Name a file of chat-transcripts, a run, or the folder of one."
        )
    asked: list[str] = []
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, dict) or not isinstance(turn.get("question"), str):
            raise BadInput(f"{path}: turn {number} has no `question`.", fix="Use the file as it was saved.")
        yield _turn(engine, turn, tuple(asked), number)
        asked.append(turn["question"])


def _turn(engine: Citewell, turn: dict[str, Any], history: tuple[str, ...], number: int) -> _RunRecord:
    reviewed = turn.get("reviewed")
    keys = tuple(map(str, reviewed)) if isinstance(reviewed, list) else ()
    recorded = _RunRecord(
        question=turn["question"],
        name=str(turn.get("question_id") or f"turn-{number}"),
        status=turn.get("answer_status") or "ok",
        cited=tuple(map(str, turn.get("cited_keys") or ())),
        history=history,
        pinned=tuple(map(str, turn.get("pinned_keys") or ())),
        reviewed=keys,
    )
    try:
        known = _run(engine, str(turn["run_id"])) if turn.get("run_id") else None
    except (NotFound, CitewellError):
        known = None
    return replace(known, history=history, name=recorded.name, reviewed=keys) if known else recorded


def _cases(one: _RunRecord, review: Review) -> Iterator[EvalCase]:
    """The case and its twin without a planner; where no model planned, the twin alone says it all."""
    plan = one.pack.query_plan if one.pack else None
    planned = plan is not None and plan.planner_status not in ("off", "skipped_by_policy")
    name = _name(one)
    if planned:
        assert plan is not None
        yield _case(
            one,
            review,
            f"{name}-planner-on",
            disable_planner=False,
            expect_planner=plan.planner_status,
            expect_query_variants=tuple(one.query for one in plan.query_variants if one.kind == "planner"),
        )
        # What the rules alone would have found first is not known.
        yield _case(one, review, f"{name}-planner-off", disable_planner=True, expect_top_keys=())
        return
    yield _case(one, review, name, expect_concepts=_concepts(one))
    yield _case(one, review, f"{name}-planner-off", disable_planner=True, expect_concepts=_concepts(one))


def _concepts(one: _RunRecord) -> tuple[str, ...]:
    """What the question must be understood to be about; a follow-up takes that from its conversation."""
    return tuple(concept.name for concept in one.pack.query_plan.required) if one.pack else ()


def _case(one: _RunRecord, review: Review, name: str, **planning: Any) -> EvalCase:
    unwanted = set(review.forbid)
    cited = tuple(key for key in one.cited if key not in unwanted)
    noise = tuple(key for key in one.rejected if key not in (*one.cited, *review.expect, *one.reviewed, *one.pinned))
    wanted = _unique((*review.expect, *one.reviewed))
    rows = _unique(row.source_key for row in one.pack.evidence) if one.pack else ()
    top = tuple(key for key in rows if key not in unwanted)[:_TOP_KEYS]
    status = review.status or ("ok" if review.expect and one.status == "no_evidence" else one.status)
    answered = status in ("ok", "ok_truncated")
    as_it_was = review.is_empty and answered
    filters = one.filters
    expected = {
        # What the run found first and cited, where nobody says that it was the wrong thing.
        "expect_top_keys": tuple(key for key in top[:1] if key in cited) if as_it_was else (),
        **planning,
    }
    return EvalCase(
        question=one.question,
        id=name,
        family=one.pack.query_plan.family if one.pack else None,
        note=" ".join(("proposed from a run; review it, then remove this line", *_not_carried(filters))),
        history=one.history,
        pinned=one.pinned,
        collections=filters.collections,
        source_types=filters.source_types,
        filter_tags=filters.tags,
        profile=one.profile if one.profile != "local" else None,  # type: ignore[arg-type]
        expect_answer_status=status,
        expect_source_keys=wanted,
        any_source_keys=top if as_it_was else (),
        expect_citation_source_keys=wanted if wanted and answered else cited if as_it_was else (),
        forbid_citation_source_keys=_unique((*review.forbid, *noise)),
        expect_text=review.texts,
        max_unsupported_rate=0.0 if answered else None,
        **expected,
    )


def _not_carried(filters: Filters) -> Iterator[str]:
    """Limits of a run that a case cannot have: anyone who reviews it should know."""
    held = {
        "only": filters.only,
        "since": filters.since,
        "until": filters.until,
        "not_in": filters.exclude_paths,
        "not_from": filters.exclude_domains,
    }
    if left := [name for name, value in held.items() if value]:
        yield f"(the run was also limited by {', '.join(left)}, which a case cannot be)"


def _name(one: _RunRecord) -> str:
    words = _WORDS.findall(one.question.casefold())[:6]
    return f"{'-'.join(words) or 'case'}-{one.name[-8:]}"


def as_yaml(cases: Sequence[EvalCase], *, indent: int = 0, head: bool = True) -> str:
    """Cases as a YAML file, or as the items that go on a list."""
    documents = [msgspec.to_builtins(case) for case in cases]
    items: str = yaml.safe_dump(documents, sort_keys=False, allow_unicode=True, width=110)
    left = " " * indent
    body = "".join(f"{left}{line}\n" if line else "\n" for line in items.splitlines())
    return f"schema_version: eval_cases.v1\ncases:\n{body}" if head else body


def write_cases(cases: Sequence[EvalCase], path: Path) -> None:
    """Write cases to a new file, or put them after those of a file; nothing that is there is changed."""
    if not path.exists():
        _write(path, _as_file(cases, path))
        return
    before = load_file(path)
    known = {one.case.id for one in before.cases}
    if twice := [case.id for case in cases if case.id in known]:
        raise BadInput(f"{path} has a case {twice[0]} already.", fix="Edit it there, or name another file.")
    text = path.read_text("utf-8-sig")
    after = _appended_json(text, cases) if path.suffix == ".json" else _appended_yaml(text, cases)
    aside = path.with_name(f".{path.stem}.new{path.suffix}")
    _write(aside, after)
    try:
        held = [one.case for one in load_file(aside).cases]
        if held != [*(one.case for one in before.cases), *cases]:
            raise BadInput(f"Cases cannot be added to {path} as it is written.", fix="Name another file.")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _as_file(cases: Sequence[EvalCase], path: Path) -> str:
    if path.suffix == ".json":
        document = {"schema_version": "eval_cases.v1", "cases": msgspec.to_builtins(list(cases))}
        return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
    if path.suffix not in (".yaml", ".yml"):
        raise BadInput(f"{path.name} does not say what to write.", fix="Let it end in .yaml or .json.")
    return as_yaml(cases)


def _appended_json(text: str, cases: Sequence[EvalCase]) -> str:
    document = msgspec.json.decode(text)
    entries = document if isinstance(document, list) else document["cases"]
    entries += msgspec.to_builtins(list(cases))
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _appended_yaml(text: str, cases: Sequence[EvalCase]) -> str:
    """The items after the last one, in its column: comments and layout of what is there stay."""
    items = re.findall(r"^( *)- ", text, re.MULTILINE)
    indent = min(map(len, items), default=0)
    return text.rstrip("\n") + "\n" + as_yaml(cases, indent=indent, head=False)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", fix="Name another file.") from None
