"""Diagnosis: what is configured, what works, what is missing, and the fix for each. It changes nothing."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import apsw

from citewell.errors import CitewellError, NotFound, StoreUnusable, Unavailable
from citewell.models.chat import check_model
from citewell.models.embeddings import is_endpoint, is_made_by
from citewell.models.endpoints import EXTRACTIVE, Endpoint, PriceList, names_model, resolve
from citewell.models.entailment import BUILTIN, is_automatic, judge_called, judge_folder, open_judge, open_reader
from citewell.models.faults import look_up
from citewell.models.minilm import minilm_id
from citewell.models.rerank import CrossEncoder
from citewell.readers.image import INSTALL, has_ocr
from citewell.runs.day_spending import DaySpending
from citewell.runs.store import RunStore, SqliteRuns
from citewell.settings import Settings, SettingView, unused_settings, view_settings
from citewell.store.port import CorpusStore, VectorCoverage
from citewell.store.sqlite import check_sound
from citewell.version import __version__

CheckState = Literal["ok", "warning", "missing", "error"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `doctor`: what was looked at, what was found, and the fix."""

    name: str
    state: CheckState
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    version: str
    data_dir: str
    checks: tuple[Check, ...]
    settings: tuple[SettingView, ...]


OpenCorpus = Callable[[], CorpusStore]
OpenRuns = Callable[[], RunStore]

SAFE_SQLITE = (3, 51, 3)
_LOW_DISK_BYTES = 500_000_000
_SHOWN_SECRETS = 3
_SHOWN_RUNS = 3
# The latest runs whose record is verified entry by entry: some hundredths of a second each.
_RUNS_VERIFIED = 50
_READERS = (
    ("trafilatura", "saved web pages"),
    ("pypdfium2", "PDF"),
    ("yaml", "front matter of notes"),
    ("Stemmer", "stems of words"),
)


def examine(settings: Settings, open_corpus: OpenCorpus, open_runs: OpenRuns, today: str) -> DoctorReport:
    """Look at everything a user may have to put right."""
    checks = (
        *_platform(),
        *_data_folder(settings),
        *_guarded("corpus", _corpus(settings, open_corpus)),
        *_guarded("runs", _runs(settings, open_runs)),
        *_readers(),
        *_ocr(),
        *_model(settings),
        *_guarded("models: spent today", _spent_today(settings, open_runs, today)),
        *_guarded("semantic lane", _lanes(settings, open_corpus)),
        *_unused(settings),
    )
    return DoctorReport(__version__, str(settings.data_dir), checks, view_settings(settings))


def _platform() -> Iterator[Check]:
    yield Check("python", "ok", platform.python_version())
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version >= SAFE_SQLITE:
        yield Check("sqlite", "ok", apsw.sqlite_lib_version())
    else:
        fix = "Reinstall the apsw package: its wheel brings a current SQLite."
        yield Check("sqlite", "error", f"{apsw.sqlite_lib_version()} can corrupt a database on a WAL reset", fix)


def _data_folder(settings: Settings) -> Iterator[Check]:
    folder = settings.data_dir
    if not folder.exists():
        yield Check("data folder", "missing", f"{folder} does not exist yet", "It is made by the first 'citewell add'.")
        return
    if not os.access(folder, os.W_OK):
        detail = f"{folder} is not writable: what is in it can be searched and read, and nothing can be added"
        yield Check("data folder", "error", detail, "Change its permissions or use --data-dir.")
        return
    free = shutil.disk_usage(folder).free
    if free < _LOW_DISK_BYTES:
        yield Check("data folder", "warning", f"{folder}: only {free // 1_000_000} MB free", "Free some disk space.")
    else:
        yield Check("data folder", "ok", str(folder))


def _guarded(name: str, checks: Iterator[Check]) -> Iterator[Check]:
    """These checks as far as they come: what a damaged file makes of one is told, and the next thing is looked at."""
    try:
        yield from checks
    except CitewellError as error:
        yield Check(name, "error", error.message, error.fix)
    except Exception as error:  # noqa: BLE001 - a damaged file can make anything fail, and this is where it is told
        fix = "Restore it from a backup: citewell restore ARCHIVE"
        yield Check(name, "error", f"cannot be read: {type(error).__name__}: {error}", fix)


def _corpus(settings: Settings, open_corpus: OpenCorpus) -> Iterator[Check]:
    if not settings.corpus_path.exists():
        yield Check("corpus", "missing", "nothing has been added yet", "citewell add ~/path/to/your/notes")
        return
    corpus = open_corpus()
    try:
        problems = corpus.check_integrity()
        documents = corpus.document_count()
        if problems:
            fix = "Restore it from a backup, or move corpus.db away and add your folders again."
            yield Check("corpus", "error", "; ".join(problems), fix)
        elif documents == 0:
            yield Check("corpus", "missing", "no documents", "citewell add ~/path/to/your/notes")
        else:
            yield Check("corpus", "ok", f"{documents} documents, {corpus.chunk_count()} chunks")
        yield from _guarded("collections", _roots(corpus))
        yield from _guarded("secrets in documents", _secrets(corpus))
    finally:
        corpus.close()


def _secrets(corpus: CorpusStore) -> Iterator[Check]:
    found = corpus.secrets()
    if not found:
        yield Check("secrets in documents", "ok", "nothing that looks like a key, token or password")
        return
    named = "; ".join(f"{entry.path}: {entry.kind}" for entry in found[:_SHOWN_SECRETS])
    more = f" and {len(found) - _SHOWN_SECRETS} more" if len(found) > _SHOWN_SECRETS else ""
    fix = "Move them to a password manager, or leave them out with --exclude; all: citewell status --secrets"
    yield Check("secrets in documents", "warning", f"{named}{more}", fix)


def _roots(corpus: CorpusStore) -> Iterator[Check]:
    for info in corpus.collections():
        if Path(info.root).is_dir():
            yield Check(f"collection {info.name}", "ok", f"{info.documents} documents from {info.root}")
        else:
            fix = f"Mount or restore it; to forget its documents: citewell remove {info.root}"
            yield Check(f"collection {info.name}", "warning", f"{info.root} is not there", fix)


def _runs(settings: Settings, open_runs: OpenRuns) -> Iterator[Check]:
    if settings.database_url:
        yield from _shared_runs(settings, open_runs)
        return
    if not settings.runs_path.exists():
        yield Check("runs", "ok", "no run recorded yet")
        return
    name = settings.runs_path.name
    fix = f"Restore it from a backup, or move {name} (and {name}-wal) away: its runs are lost, your documents are not."
    try:
        problems, recorded, _ = _looked_through(open_runs)
    except StoreUnusable as error:
        yield Check("runs", "error", error.message, fix)
        return
    yield _told_of_runs(problems, f"{recorded} recorded", fix)


def _shared_runs(settings: Settings, open_runs: OpenRuns) -> Iterator[Check]:
    """Runs in PostgreSQL: whether they can be reached, and what is there and what is not."""
    problems, recorded, place = _looked_through(open_runs)
    moved = "runs and reports are there, documents in corpus.db and traces in research-runs of the data folder"
    fix = "Restore the database from a backup of its server, or delete these runs."
    yield _told_of_runs(problems, f"{recorded} recorded in {place}: {moved}", fix)
    if settings.runs_path.exists():
        detail = f"{settings.runs_path.name} is here too, and its runs are not shown while CITEWELL_DATABASE_URL is set"
        yield Check("runs of before", "warning", detail, "Take them along: citewell migrate --to postgres")


def _told_of_runs(problems: list[str], sound: str, fix: str) -> Check:
    if not problems:
        return Check("runs", "ok", sound)
    more = f" and {len(problems) - _SHOWN_RUNS} more" if len(problems) > _SHOWN_RUNS else ""
    return Check("runs", "error", " ".join(problems[:_SHOWN_RUNS]) + more, fix)


def _looked_through(open_runs: OpenRuns) -> tuple[list[str], int, str]:
    """What is wrong with the store of runs or with the record of a late one, how many runs it has, and where it is."""
    runs = open_runs()
    try:
        if isinstance(runs, SqliteRuns):
            with runs.database.read() as connection:
                check_sound(connection, runs.database.path)
        page = runs.latest(_RUNS_VERIFIED)
        problems = [f"The entry of run {run_id} in the list of runs cannot be read." for run_id in page.unreadable]
        for run in page.runs:
            try:
                runs.checked_events(run.run_id)
            except StoreUnusable:
                raise
            except NotFound:
                continue  # pruned meanwhile, or never begun: no damage
            except CitewellError as error:
                problems.append(error.message)
        return problems, runs.count(), runs.place
    finally:
        runs.close()


def _readers() -> Iterator[Check]:
    for module, what in _READERS:
        if importlib.util.find_spec(module) is None:
            yield Check(f"reader: {what}", "error", f"the package {module} is missing", "Install citewell again.")
        else:
            yield Check(f"reader: {what}", "ok", module)


def _ocr() -> Iterator[Check]:
    if has_ocr():
        yield Check("reader: images", "ok", "rapidocr: their text is read on this machine")
    else:
        yield Check("reader: images", "missing", "no OCR: images are listed but not read", f"Install it: {INSTALL}")


def _model(settings: Settings) -> Iterator[Check]:
    if settings.model == EXTRACTIVE:
        yield Check("model", "ok", "extractive: answers are quoted from your documents, no model is called")
    else:
        yield from _endpoint("model", settings.model, settings)
    if settings.planner_model:
        yield from _endpoint("planner model", settings.planner_model, settings)


def _endpoint(what: str, model: str, settings: Settings) -> Iterator[Check]:
    """A model that is configured: where it is, whether it answers, whether its key and price are known."""
    try:
        endpoint = check_model(model, settings)
        price = PriceList(settings.prices).price(endpoint)
    except CitewellError as error:
        yield Check(what, "error", error.message, error.fix)
        return
    yield _reachable(what, endpoint)
    if endpoint.key_withheld:
        yield Check(f"{what}: key", "warning", endpoint.key_withheld, "Use one provider, or one that needs no key.")
    elif endpoint.key and endpoint.is_hosted and endpoint.base_url.startswith("http:"):
        fix = f"Use https in {endpoint.url_setting}."
        yield Check(f"{what}: key", "warning", f"sent to {endpoint.origin} without encryption", fix)
    elif endpoint.key:
        yield Check(f"{what}: key", "ok", "set")
    elif endpoint.is_hosted and endpoint.provider.needs_key:
        yield Check(f"{what}: key", "missing", f"{endpoint.provider.name} needs one", "Set CITEWELL_MODEL_API_KEY.")
    if price is None:
        fix = f"Set CITEWELL_PRICES={endpoint.model}=INPUT/OUTPUT (USD for a million tokens)."
        yield Check(f"{what}: price", "missing", "unknown: no cost can be shown or limited", fix)
    else:
        where = {"setting": "as you set it", "catalogue": "by the catalogue", "local": "a local model"}[price.source]
        figures = f"{price.input_usd:g}/{price.output_usd:g} USD for a million tokens in/out"
        yield Check(f"{what}: price", "ok", f"{figures}, {where}")


def _spent_today(settings: Settings, open_runs: OpenRuns, today: str) -> Iterator[Check]:
    """How much of the ceiling for a day is taken, where one is set."""
    limit = settings.max_cost_usd_day
    if not limit:
        return
    spent = 0.0
    if settings.database_url or settings.runs_path.exists():
        store = open_runs()
        try:
            spent = DaySpending(store.sessions).spent(today) / 1e9
        finally:
            store.close()
    yield Check("models: spent today", "ok", f"{spent:.6g} of {limit:g} USD on {today} (UTC)")


def _reachable(what: str, endpoint: Endpoint) -> Check:
    kind = "hosted: your questions and evidence are sent there" if endpoint.is_hosted else "local"
    shown = f"{endpoint.model} at {endpoint.origin} ({kind})"
    found = look_up(endpoint)
    if found.problem:
        return Check(what, "error", f"{shown}: {found.problem}", found.fix)
    return Check(what, "ok", shown)


def _lanes(settings: Settings, open_corpus: OpenCorpus) -> Iterator[Check]:
    if settings.embeddings == "off":
        yield Check("semantic lane", "ok", "off: search is by words")
    else:
        yield _semantic_lane(settings, open_corpus)
    if settings.reranker:
        yield _reranker(settings)
    yield _judge(settings)
    yield _reader(settings)
    yield Check("network", "ok", _network(settings))


def _unused(settings: Settings) -> Iterator[Check]:
    for name in unused_settings(settings):
        yield Check(
            f"setting {name}", "warning", "set, but nothing uses it yet", f"Unset {name}, or leave it for later."
        )


def _network(settings: Settings) -> str:
    """Who is sent something, beyond this machine and its own network."""
    used = [settings.model, settings.planner_model, settings.review_model]
    used += [settings.embeddings_model] if settings.embeddings != "off" else []
    try:
        hosted = [model for model in used if ":" in model and resolve(model, settings).is_hosted]
    except CitewellError:
        hosted = []
    if not hosted:
        return "never used: no search provider and no hosted model is enabled"
    return f"used for {', '.join(dict.fromkeys(hosted))} alone: no search provider is enabled"


def _reranker(settings: Settings) -> Check:
    encoder = CrossEncoder(Path(settings.reranker))
    try:
        encoder.open()
    except CitewellError as error:
        return Check("reranker", "missing", f"{error.message} Rows are ranked without it.", error.fix)
    return Check("reranker", "ok", f"{encoder.name}: looks at the best rows again")


class _SmallModel(Protocol):
    def open(self) -> str: ...


def _judge(settings: Settings) -> Check:
    """Who judges the sentences that a model writes; nobody is no fault, and is said."""
    if names_model(settings.judge):
        return Check("judge", "ok", f"{settings.judge.strip()} reads each sentence a model writes against its passages")
    if is_automatic(settings.judge) and judge_folder(settings) is None:
        who = judge_called(settings)
        fix = "A small judge reads them on this machine: citewell models list"
        return Check("judge", "ok", f"{who} reads each sentence it wrote against its passages. {fix}")
    return _small_model("judge", settings.judge, lambda: open_judge(settings), "sentences are not judged")


def _reader(settings: Settings) -> Check:
    """The model that finds answers in passages; without one the rules choose."""
    without = "passages are chosen by rules alone"
    return _small_model("reader of answers", settings.reader, lambda: open_reader(settings), without)


def _small_model(name: str, chosen: str, find: Callable[[], _SmallModel | None], without: str) -> Check:
    """Whether the model of a folder can be used, and what happens without it."""
    try:
        model = find()
        if model is None:
            return Check(name, "ok", f"{'none is built in' if chosen == BUILTIN else 'off'}: {without}")
        return Check(name, "ok", model.open())
    except CitewellError as error:
        return Check(name, "warning", f"{error.message} {without[0].upper()}{without[1:]}.", error.fix)


def _semantic_lane(settings: Settings, open_corpus: OpenCorpus) -> Check:
    """Whether the lane that is switched on has its model, and vectors that this model made."""
    try:
        model = _embedding_model(settings)
    except CitewellError as error:
        return Check("semantic lane", "missing", f"{settings.embeddings}, but {error.message}", error.fix)
    if not settings.corpus_path.exists():
        return Check("semantic lane", "ok", f"{settings.embeddings}: {model.name}, nothing to encode yet")
    try:
        coverage = _vector_coverage(open_corpus)
    except CitewellError as error:
        return Check("semantic lane", "error", error.message, error.fix)
    chunks = coverage.encoded + coverage.left
    if coverage.encoded and not model.made(coverage.model):
        of = f"the vectors of {coverage.encoded:,} chunks were made by {coverage.model}, the model is now {model.name}"
        fix = "Until then search is by words. Make them anew: citewell embed"
        return Check("semantic lane", "warning", f"{settings.embeddings}, but {of}", fix)
    seen = f"{settings.embeddings}: sees {coverage.encoded:,} of {chunks:,} chunks"
    if coverage.left:
        return Check("semantic lane", "warning", seen, "Encode the others: citewell embed")
    return Check("semantic lane", "ok", f"{seen} ({coverage.model or model.name})")


def _vector_coverage(open_corpus: OpenCorpus) -> VectorCoverage:
    corpus = open_corpus()
    try:
        return corpus.vectors.coverage()
    finally:
        corpus.close()


@dataclass(frozen=True, slots=True)
class _LaneModel:
    """The model the settings choose, and whether a model id that vectors carry is its own."""

    name: str
    made: Callable[[str], bool]


def _embedding_model(settings: Settings) -> _LaneModel:
    """The model of the lane, where it is there; raises a CitewellError with the way to get it."""
    if not is_endpoint(settings.embeddings_model):
        own = minilm_id(settings.embeddings_model, settings.data_dir / "models")
        return _LaneModel(own, lambda model_id: model_id == own)
    endpoint = check_model(settings.embeddings_model, settings)
    found = look_up(endpoint)
    if found.problem:
        raise Unavailable(f"{endpoint.model}: {found.problem}", fix=found.fix)
    return _LaneModel(endpoint.model, lambda model_id: is_made_by(endpoint, model_id))
