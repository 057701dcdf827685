"""Running eval cases through the public Citewell: each with and without a planning model, failures first.

The arm without a planner always runs: it is the baseline. The arm with one is skipped where no model is set. Cases
over a corpus of their own (`corpus:`) are asked in a data folder beside the user's, which is kept, so that the runs of
a failure can be looked at and the next time only what changed is indexed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

from citewell.ask import OPTION_PROFILES, Ask, PriorTurn, narrowed
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError, Unavailable
from citewell.evals.assertions import CaseOutcome, failures, failures_of, grade_research_run, not_checked
from citewell.evals.cases import Earlier, EvalCase, LoadedFile, LocatedCase, ResearchBriefSpec, load_cases
from citewell.evals.results import (
    ArmName,
    ArmStatus,
    CaseStatus,
    EvalArm,
    EvalCaseReport,
    EvalFailure,
    EvalKind,
    EvalProgress,
    EvalReport,
    PlannerNote,
    TopRow,
)
from citewell.models.endpoints import EXTRACTIVE
from citewell.reports.model import ProjectScope, ResearchBrief
from citewell.runs.folder import read_trace
from citewell.runs.run import RunResult
from citewell.search.pack import ResearchPack
from citewell.settings import Settings
from citewell.store.port import Filters, checked_filters
from citewell.text.documents import SOURCE_TYPES, SourceType

# The bundled sample corpus: one person's saved world, for the demo, the docs and the evals.


def sample_corpus() -> Path:
    """The folder of the sample corpus inside the installed package."""
    return Path(str(resources.files("citewell.evals"))) / "sample_corpus"


_TOP = 3
_ORDER: dict[CaseStatus, int] = {"failed": 0, "known_failing": 1, "skipped": 2, "passed": 3}


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """What a caller may choose about a suite."""

    kind: EvalKind = "research"
    collections: tuple[str, ...] = ()
    with_planner: bool = True


def run_suite(
    files: Sequence[LoadedFile], settings: Settings, options: SuiteOptions
) -> Iterator[EvalProgress | EvalReport]:
    """Ask every case; the report comes last."""
    started = time.perf_counter()
    total = sum(len(file.cases) for file in files)
    reports: list[EvalCaseReport] = []
    places: list[str] = []
    for name, group in _by_corpus(files).items():
        engine, own = _open(name, settings)
        places.append(str(engine.settings.data_dir))
        try:
            if own is not None:
                yield EvalProgress(len(reports), total, f"indexing {own.name}")
                _index(engine, own)
            for file in group:
                collections = options.collections or ((file.collection,) if file.collection and own is None else ())
                for one in file.cases:
                    yield EvalProgress(len(reports), total, one.case.id)
                    reports.append(_run_case(engine, one, options, collections))
        finally:
            engine.close()
    ordered = sorted(reports, key=lambda report: _ORDER[report.status])
    counts = {status: sum(report.status == status for report in reports) for status in _ORDER}
    yield EvalReport(
        kind=options.kind,
        passed=counts["passed"],
        failed=counts["failed"],
        skipped=counts["skipped"],
        seconds=round(time.perf_counter() - started, 2),
        cases=tuple(ordered),
        data_dir=", ".join(places),
        known_failing=counts["known_failing"],
        now_passing=tuple(report.id for report in reports if report.passes_by_now),
    )


def _by_corpus(files: Sequence[LoadedFile]) -> dict[str, list[LoadedFile]]:
    """Files that ask about the same corpus together; its name, or empty for the one of the data folder."""
    groups: dict[str, list[LoadedFile]] = {}
    for file in files:
        name = file.corpus
        if name and name != "sample":
            name = str((file.path.parent / name).resolve())
            if not Path(name).is_dir():
                raise BadInput(f"{file.path}: the corpus {file.corpus} is no folder.", fix="Name one, or `sample`.")
        groups.setdefault(name, []).append(file)
    return groups


def _open(name: str, settings: Settings) -> tuple[Citewell, Path | None]:
    """The engine of a corpus, and the folder that is to be indexed first where it is not the user's own."""
    if not name:
        return Citewell(settings), None
    root = sample_corpus() if name == "sample" else Path(name)
    return corpus_engine(root, settings), root


def corpus_engine(root: Path, settings: Settings) -> Citewell:
    """An engine for a folder that is not the user's corpus, in a data folder of its own beside theirs."""
    mark = hashlib.sha256(str(root).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    place = settings.data_dir / "evals" / f"{root.name}-{mark}"
    return Citewell(replace(settings, data_dir=place, database_url=""))


def _index(engine: Citewell, root: Path) -> None:
    collection = "skelday" if root == sample_corpus() else root.name
    for _ in engine.corpus.sync(root, collection=collection):
        pass
    if engine.settings.embeddings == "on":
        for _ in engine.corpus.encode():
            pass


def _run_case(
    engine: Citewell, one: LocatedCase, options: SuiteOptions, collections: tuple[str, ...]
) -> EvalCaseReport:
    arms = tuple(_arms(engine, one.case, options, collections))
    if one.case.known_failing:
        arms = tuple(replace(arm, status="known_failing") if arm.status == "failed" else arm for arm in arms)
    held = {arm.status for arm in arms}
    worst: tuple[CaseStatus, ...] = ("failed", "known_failing", "passed")
    status: CaseStatus = next((status for status in worst if status in held), "skipped")
    family: str = one.case.family or ""
    family = family or next((arm.planner.family for arm in arms if arm.planner), "general")
    place = (one.case.id, str(one.file), one.line)
    return EvalCaseReport(*place, one.case.question, family, status, arms, one.case.known_failing)


def _arms(engine: Citewell, case: EvalCase, options: SuiteOptions, collections: tuple[str, ...]) -> Iterator[EvalArm]:
    off = _arm(engine, case, options.kind, "planner_off", collections)
    if case.disable_planner is False and off.status != "skipped":
        off = replace(off, status="shown", failures=())
    yield off
    if case.disable_planner is True:
        return
    if not options.with_planner:
        yield EvalArm("planner_on", "skipped", "only the arm without a planner was asked for")
    elif reason := _no_planner(engine.settings, case):
        yield EvalArm("planner_on", "skipped", reason)
    else:
        yield _arm(engine, case, options.kind, "planner_on", collections)


def _no_planner(settings: Settings, case: EvalCase) -> str:
    named = case.planner_model or settings.planner_model or settings.model
    if named in ("", EXTRACTIVE):
        return "no model is set that could plan (CITEWELL_PLANNER_MODEL)"
    return ""


def _arm(engine: Citewell, case: EvalCase, kind: EvalKind, arm: ArmName, collections: tuple[str, ...]) -> EvalArm:
    try:
        asked = _ask(engine, case, kind, arm, collections)
    except (BadInput, Unavailable) as error:
        if arm == "planner_on":
            return EvalArm(arm, "skipped", f"the planning model cannot be asked: {error.message}")
        return EvalArm(arm, "failed", failures=(EvalFailure("run", f"{error.message} {error.fix}".strip()),))
    except CitewellError as error:
        return EvalArm(arm, "failed", failures=(EvalFailure("run", f"{error.message} {error.fix}".strip()),))
    found = (*asked.grade_failures, *failures(case, asked, arm))
    status: ArmStatus = "failed" if found else "passed"
    result, pack = asked.result, asked.pack
    return EvalArm(
        arm=arm,
        status=status,
        failures=found,
        not_checked=not_checked(case, asked, arm),
        run_id=result.run_id if result else None,
        trace_path=str(engine.settings.data_dir / result.trace_path) if result and result.trace_path else None,
        latency_ms=round(asked.latency_ms, 1),
        answer_status=result.answer_status if result else None,
        stop_reason=result.stop_reason if result else None,
        cited_keys=tuple(dict.fromkeys(one.source_key for one in result.citations)) if result else (),
        evidence_keys=tuple(row.source_key for row in pack.evidence) if pack else (),
        top=_top(pack),
        planner=_planner_note(pack),
    )


def _ask(engine: Citewell, case: EvalCase, kind: EvalKind, arm: ArmName, collections: tuple[str, ...]) -> CaseOutcome:
    """Put the question as the case says; the clock runs from asking to the result."""
    with_planner = arm == "planner_on"
    ask = Ask(
        case.question,
        **{**narrowed(_filters(case, collections)), **_options(case, kind)},
        planner=with_planner,
        planner_model=case.planner_model if with_planner else None,
        history=tuple(
            PriorTurn(id=one.id, question=one.question) if isinstance(one, Earlier) else one for one in case.history
        ),
        pinned=case.pinned,
        surface="eval",
    )
    started = time.perf_counter()
    if case.brief is not None and kind == "research":
        return _report(engine, case, case.brief, arm, collections)
    if kind == "mcp":
        return CaseOutcome(engine.pack(ask, option_profile=case.option_profile or "cli"), _since(started))
    result = engine.research(ask, profile=case.profile or "local")
    return CaseOutcome(result.pack, _since(started), result, tuple(trace_faults(engine, result)))


def _report(
    engine: Citewell, case: EvalCase, spec: ResearchBriefSpec, arm: ArmName, collections: tuple[str, ...]
) -> CaseOutcome:
    """Run the brief of a case, play its record back, and grade the report."""
    from citewell.reports.strategies import ResearchConfig

    brief = ResearchBrief(
        question=spec.question or case.question,
        sub_questions=spec.sub_questions,
        credibility_floor=spec.credibility_floor,
        scope=ProjectScope(collections=case.collections or collections, tags=case.filter_tags),
    )
    service = engine.reports(ResearchConfig(planner="llm" if arm == "planner_on" else "rules"))
    started = time.perf_counter()
    run = service.wait(service.start(brief, created_by="eval", fresh=True, surface="eval"))
    took, result = _since(started), engine.runs.result(run.run_id)
    wrong = list(failures_of(grade_research_run(run, spec), spec))
    if not engine.runs.replay(run.run_id).identical:
        wrong.append(EvalFailure("replay", "the replay of the run is another report", True, False))
    return CaseOutcome(result.pack, took, result, tuple(trace_faults(engine, result)), tuple(wrong))


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def trace_faults(engine: Citewell, result: RunResult) -> Iterator[str]:
    """What is wrong with the record of a run: every one leaves a sound trace that says what its result says."""
    if result.trace_path is None:
        yield "the run left no trace"
        return
    try:
        trace = read_trace(engine.settings.data_dir / result.trace_path)
    except CitewellError as error:
        yield error.message
        return
    if (trace.run_id, trace.surface, trace.question) != (result.run_id, "eval", result.question):
        yield "the trace tells of another run"
    if (trace.stop_reason, trace.synthesis.status) != (result.stop_reason, result.answer_status):
        yield "the trace tells of another end than the result"
    if [event.sequence for event in trace.events] != list(range(len(trace.events))):
        yield "events of the trace are missing"
    if trace.events[-1].kind != "run_finished":
        yield f"the trace ends with {trace.events[-1].kind}"
    if not result.flow.holds:
        yield f"cited without having been found: {', '.join(result.flow.strays)}"
    yield from _quotes_that_differ(engine, result)


def _quotes_that_differ(engine: Citewell, result: RunResult) -> Iterator[str]:
    for citation in result.citations:
        place = f"{citation.source_key}@{citation.span.content_hash}"
        (document,) = engine.corpus.get(place, content_mode="full").documents
        if (document.text or "")[citation.span.start : citation.span.end] != citation.quote:
            yield f"the quotation of {citation.source_key} is not what stands there"


def _filters(case: EvalCase, collections: tuple[str, ...]) -> Filters:
    if unknown := [kind for kind in case.source_types if kind not in SOURCE_TYPES]:
        raise BadInput(f"There is no source type {unknown[0]}.", fix=f"Choose from: {', '.join(SOURCE_TYPES)}.")
    return checked_filters(
        Filters(
            source_types=tuple(cast(SourceType, kind) for kind in case.source_types),
            tags=case.filter_tags,
            collections=case.collections or collections,
        )
    )


def _options(case: EvalCase, kind: EvalKind) -> dict[str, Any]:
    """Rows and windows as the case says; of a profile a run takes these, and adds linked documents by itself."""
    if kind == "mcp" or case.option_profile is None:
        return {"limit": case.limit}
    named = OPTION_PROFILES[case.option_profile]
    return {
        "limit": named.limit if case.limit is None else case.limit,
        "max_chars_per_doc": named.max_chars_per_doc,
    }


def _top(pack: ResearchPack | None) -> tuple[TopRow, ...]:
    return tuple(
        TopRow(
            row.source_key,
            round(row.score, 4),
            {signal.name: round(signal.value, 4) for signal in row.signals},
            row.missing_terms,
        )
        for row in (pack.evidence[:_TOP] if pack else ())
    )


def _planner_note(pack: ResearchPack | None) -> PlannerNote | None:
    if pack is None:
        return None
    plan = pack.query_plan
    return PlannerNote(
        planner=plan.planner,
        status=plan.planner_status,
        family=plan.family,
        model=plan.planner_model,
        error=plan.planner_error,
        variants=tuple(f"{variant.kind}: {variant.query}" for variant in plan.query_variants),
        concepts=tuple(concept.name for concept in plan.concepts if concept.required),
    )


# Watching what a suite depends on: the files of cases, and the notes they ask about.
#
# The first moment comes when the watch has begun, so that nothing that changes while the cases are asked is missed.
# What the program itself writes (its data, its reports) is not a change.


_SETTLE_MS, _WAKE_MS = 300, 200


@dataclass(frozen=True, slots=True)
class WatchedFiles:
    """What is followed: files or folders of cases, folders of notes, and of those the ones of the user's own corpus."""

    cases: tuple[Path, ...]
    notes: tuple[Path, ...] = ()
    own: tuple[Path, ...] = ()

    @property
    def places(self) -> tuple[Path, ...]:
        """What there is of it to be watched; a file is seen from its folder, since saving often replaces it."""
        named = (path if path.is_dir() else path.parent for path in (*self.cases, *self.notes))
        return tuple(dict.fromkeys(path for path in named if path.is_dir()))

    def touches(self, path: Path) -> bool:
        return any(path == place or place in path.parents for place in (*self.cases, *self.notes))


def watched(paths: Sequence[Path], settings: Settings) -> WatchedFiles:
    """What the cases in these files depend on now; of files that are wrong, only themselves."""
    cases = tuple(path.resolve() for path in paths)
    try:
        files = load_cases(paths)
    except CitewellError:
        return WatchedFiles(cases)
    named = [(file.path.parent / file.corpus).resolve() for file in files if file.corpus not in ("", "sample")]
    own: tuple[Path, ...] = ()
    if any(not file.corpus for file in files):
        engine = Citewell(settings)
        own = tuple(Path(one.root) for one in engine.corpus.collections().collections)
        engine.close()
    return WatchedFiles(cases, (*named, *own), own)


def moments(paths: Sequence[Path], settings: Settings, ignored: Iterable[Path]) -> Iterator[bool]:
    """Each moment at which the cases are to be asked: at first, then whenever something changed and came to rest.

    Whether notes of the user's own corpus changed is what is told.
    """
    from watchfiles import watch

    out = {path.resolve() for path in (settings.data_dir, *ignored)}
    while True:
        # Whatever is followed anew is asked at once: it may have changed before the watch had begun.
        following, has_begun = watched(paths, settings), False
        for changed in watch(
            *following.places, debounce=_SETTLE_MS, rust_timeout=_WAKE_MS, yield_on_timeout=True, raise_interrupt=True
        ):
            touched = [path for path in (Path(name) for _, name in changed) if not out & {path, *path.parents}]
            touched = [path for path in touched if following.touches(path)]
            if has_begun and not touched:
                continue
            has_begun = True
            yield any(root in path.parents for path in touched for root in following.own)
            if watched(paths, settings).places != following.places:
                break


def bring_up_to_date(settings: Settings) -> None:
    """Sync the folders of the user's corpus; one that is not there stays as it was."""
    engine = Citewell(settings)
    try:
        for one in engine.corpus.collections().collections:
            if Path(one.root).is_dir():
                for _ in engine.corpus.sync(Path(one.root)):
                    pass
    finally:
        engine.close()
