"""`bench`: test collections through Citewell, lane by lane, and peers over the same documents in the same run.

Every document becomes one note, so what is measured is what a user gets. Each judged query is asked twice: for 10, on
the clock, and for 100. Nothing of the user's own corpus is touched: the index lives in a temporary folder.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import json
import math
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import apsw

from citewell.engine import Citewell
from citewell.errors import BadInput, StoreFull, Unavailable
from citewell.models.embeddings import OpenEmbedder
from citewell.search.lanes import EncodeProgress
from citewell.search.lookup import SearchMode
from citewell.search.query import MAX_QUESTION_CHARS
from citewell.settings import Settings
from citewell.store.port import AddReport
from citewell.text.languages import stop_words

# What `bench` reports: one row for each system and lane on each collection, all measured in one run.


BenchStage = Literal["indexing", "encoding", "asking"]


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One system on one collection. Measures at 10 come from a search for 10, those at 100 from a search for 100."""

    name: str
    system: str
    mode: SearchMode
    ndcg_10: float
    recall_10: float
    recall_100: float
    mrr_10: float
    p50_ms: float
    p95_ms: float
    docs: int
    queries: int
    index_seconds: float


@dataclass(frozen=True, slots=True)
class MissingPeer:
    """A peer that could not be measured, and how to get it."""

    system: str
    fix: str


@dataclass(frozen=True, slots=True)
class BenchReport:
    collections: tuple[BenchRow, ...]
    missing_peers: tuple[MissingPeer, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchProgress:
    """How far a benchmark has come on one collection."""

    collection: str
    system: str
    stage: BenchStage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class VerifierAuroc:
    """How often a supported claim ranks above one of the other kind; None where the file has none of either."""

    refuted: float | None
    unsupported: float | None


@dataclass(frozen=True, slots=True)
class VerifierReport:
    """What `bench-verifier` reports. A catch is a claim labelled unsupported or refuted that was not let pass."""

    n: int
    supported: int
    refuted: int
    unsupported: int
    precision: float
    recall: float
    f1: float
    false_alarm_rate: float
    auroc: VerifierAuroc
    pairs_per_second: float
    # For each label, how many claims got each verdict.
    called: dict[str, dict[str, int]] = field(default_factory=dict)
    # The judge whose opinion went into the verdicts; empty: rules alone.
    judge: str = ""


# Public test collections in BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.
#
# A collection is held in memory as a whole, so its size is bounded; what is not as the layout says is refused by the
# name of its file and line. Queries without a relevant document are left out, as the measures ask.


MAX_DOCUMENTS = 2_000_000
MAX_LINE_BYTES = 32_000_000
_A_FOLDER = 1_000  # notes in one folder: very large ones are slow to list on some file systems
_LAYOUT = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
_WANTED = f"A collection has {', '.join(_LAYOUT)}."


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    doc_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedCollection:
    """A collection with the queries that have judgements."""

    name: str
    documents: tuple[CollectionDocument, ...]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]


def is_collection(folder: Path) -> bool:
    return (folder / "corpus.jsonl").is_file() and (folder / "qrels" / "test.tsv").is_file()


def find_collections(folder: Path) -> list[Path]:
    """The collections a user named: the folder itself, or every collection directly in it."""
    if not folder.is_dir():
        reason = "is not a folder" if folder.exists() else "does not exist"
        raise BadInput(f"{folder} {reason}.", fix="Name the folder of a collection, or a folder of them.")
    if any((folder / name).exists() for name in _LAYOUT):
        return [folder]
    try:
        found = sorted(path for path in folder.iterdir() if is_collection(path))
    except OSError as error:
        raise BadInput(f"{folder} cannot be read: {error.strerror}.", fix="Check its permissions.") from None
    if not found:
        raise BadInput(f"{folder} holds no collection.", fix=_WANTED)
    return found


def load_collection(folder: Path) -> JudgedCollection:
    """Read a collection; queries without a relevant document are left out."""
    missing = [name for name in _LAYOUT if not (folder / name).is_file()]
    if missing:
        raise BadInput(
            f"{folder.name} has no {' and no '.join(missing)}.", fix=f"A collection has {', '.join(_LAYOUT)}."
        )
    judgements = _read_judgements(folder / "qrels" / "test.tsv")
    queries = {query_id: text for query_id, _, text in _read_texts(folder / "queries.jsonl") if query_id in judgements}
    if not queries:
        raise BadInput(
            f"{folder.name} has no query with a relevant document.",
            fix="The first column of qrels/test.tsv names ids of queries.jsonl; the third is above 0 where relevant.",
        )
    documents = tuple(CollectionDocument(*fields) for fields in _read_texts(folder / "corpus.jsonl"))
    if not documents:
        raise BadInput(f"{folder.name}/corpus.jsonl is empty.", fix="It has one JSON object a line: _id, title, text.")
    return JudgedCollection(folder.name, documents, queries, {key: judgements[key] for key in queries})


def _read_judgements(path: Path) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = line.split("\t")
        if number == 1 and len(fields) >= 3 and not _is_grade(fields[2]):
            continue  # the header
        if len(fields) < 3 or not _is_grade(fields[2]):
            raise _bad_line(path, number, "is not 'query-id, tab, corpus-id, tab, score'")
        if int(fields[2]) > 0:
            judgements.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    if not judgements:
        raise BadInput(
            f"{path.parent.parent.name}/qrels/test.tsv judges no document relevant.",
            fix="It has one line a judgement: query-id, tab, corpus-id, tab, score.",
        )
    return judgements


def _is_grade(field: str) -> bool:
    digits = field.strip().removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 6


def _read_texts(path: Path) -> Iterator[tuple[str, str, str]]:
    """The id, title and text of each line."""
    for count, (number, line) in enumerate(_lines(path)):
        entry = _object(path, number, line)
        identifier, text = entry.get("_id"), entry.get("text")
        title = entry.get("title") or ""
        if isinstance(identifier, bool) or not isinstance(identifier, str | int) or identifier == "":
            raise _bad_line(path, number, "has no '_id'")
        if not isinstance(text, str) or not isinstance(title, str):
            raise _bad_line(path, number, "has no 'text', or one that is not a string")
        if count == MAX_DOCUMENTS:
            raise BadInput(
                f"{path.name} has more than {MAX_DOCUMENTS:,} lines, which is more than is measured in one run.",
                fix="Measure a part of it.",
            )
        yield str(identifier), title, text


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise _bad_line(path, number, f"is not JSON: {error}") from None
    except RecursionError:
        raise _bad_line(path, number, "is nested too deeply") from None
    if not isinstance(entry, dict):
        raise _bad_line(path, number, "is not a JSON object")
    return entry


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers; one of them at a time."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise _bad_line(path, number, f"is longer than {MAX_LINE_BYTES:,} bytes")
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError:
                    raise _bad_line(path, number, "is not UTF-8") from None
                if text.strip():
                    yield number, text
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read: {error.strerror}.", fix="Check its permissions.") from None


def _bad_line(path: Path, number: int, what: str) -> BadInput:
    return BadInput(f"{path.name} line {number} {what}.", fix="Fix or remove that line.")


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Each line of a file of JSON objects."""
    for number, line in _lines(path):
        yield _object(path, number, line)


def write_notes(collection: JudgedCollection, folder: Path) -> dict[str, str]:
    """Write each document as a Markdown note; which document each file holds."""
    names: dict[str, str] = {}
    for number, document in enumerate(collection.documents):
        name = f"{number // _A_FOLDER:04d}/{number:07d}.md"
        if number % _A_FOLDER == 0:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        title = json.dumps(document.title or "untitled", ensure_ascii=False)
        content = f"---\ntitle: {title}\n---\n{document.text}\n"
        # A lone surrogate, which JSON can name, has no place in a file.
        (folder / name).write_bytes(content.encode("utf-8", "replace"))
        names[name] = document.doc_id
    return names


def thinned(collection: JudgedCollection, most: int) -> JudgedCollection:
    """The same documents with at most so many queries, evenly drawn."""
    ids = sorted(collection.queries)
    kept = ids[:: max(1, -(-len(ids) // most))]
    return replace(collection, queries={query_id: collection.queries[query_id] for query_id in kept})


# Ranking measures, as the public benchmarks define them. Pure.


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain: Σ grade / log2(rank + 1), against the best possible order."""
    gain = sum(grades.get(doc_id, 0) / math.log2(rank + 2) for rank, doc_id in enumerate(ranking[:depth]))
    best = sorted(grades.values(), reverse=True)[:depth]
    ideal = sum(grade / math.log2(rank + 2) for rank, grade in enumerate(best))
    return gain / ideal if ideal else 0.0


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """The share of relevant documents among the first `depth`."""
    return len(set(ranking[:depth]) & grades.keys()) / len(grades) if grades else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """One over the rank of the first relevant document."""
    return next((1 / (rank + 1) for rank, doc_id in enumerate(ranking[:depth]) if doc_id in grades), 0.0)


def auroc(yes: Sequence[float], no: Sequence[float]) -> float:
    """How often something of the first kind ranks above something of the second; ties count half."""
    if not yes or not no:
        return 0.5
    ranked = sorted([(value, 1) for value in yes] + [(value, 0) for value in no])
    won, below, at = 0.0, 0, 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        ours = sum(kind for _, kind in ranked[at:end])
        theirs = end - at - ours
        won += ours * (below + theirs / 2)
        below += theirs
        at = end
    return won / (len(yes) * len(no))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))] if ordered else 0.0


# Peers: other search engines over the same documents, measured in the same run. Citewell runs without any of them.
#
# Each is set up the way its users would for English text, whole and in memory: that favours the peer, which neither
# writes to disk nor cuts out passages.


INSTALL = "pip install 'citewell[bench]'"
RRF_K = 60
RRF_DEPTH = 100
_WORD = re.compile(r"\w+")
# The long list that our own queries leave out too.
_STOP_WORDS = stop_words("en")

# A query and how many documents to return at most; ids of documents, best first.
Search = Callable[[str, int], list[str]]
Build = Callable[[Sequence[CollectionDocument]], Search]


def bm25s_stemmed(documents: Sequence[CollectionDocument]) -> Search:
    """bm25s: stemmed, stop words out."""
    bm25s = _import("bm25s")
    stemmer = _import("Stemmer").Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords=sorted(_STOP_WORDS), stemmer=stemmer, show_progress=False)

    retriever = bm25s.BM25()
    retriever.index(tokens([f"{entry.title} {entry.text}" for entry in documents]), show_progress=False)
    ids = [entry.doc_id for entry in documents]

    def search(query: str, depth: int) -> list[str]:
        found, scores = retriever.retrieve(tokens([query]), k=min(depth, len(ids)), show_progress=False)
        return [ids[int(index)] for index, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def sqlite_fts5(documents: Sequence[CollectionDocument]) -> Search:
    """SQLite FTS5: porter, any word may match, the title counts twice. In memory, so no file is shared with anyone."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE docs USING fts5(title, body, tokenize = 'porter unicode61')").fetchall()
    with connection:
        connection.executemany(
            "INSERT INTO docs(rowid, title, body) VALUES (?, ?, ?)",
            ((number, plain_text(entry.title), plain_text(entry.text)) for number, entry in enumerate(documents)),
        )
    ids = [entry.doc_id for entry in documents]
    ranked = "SELECT rowid FROM docs WHERE docs MATCH ? ORDER BY bm25(docs, 2.0, 1.0) LIMIT ?"

    def search(query: str, depth: int) -> list[str]:
        words = query_words(query)
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        return [ids[row[0]] for row in connection.execute(ranked, (match, depth))]

    return search


def tantivy_stemmed(documents: Sequence[CollectionDocument]) -> Search:
    """tantivy: its English stemmer, any word may match. Title and text are one field, which ranks better than two."""
    tantivy = _import("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", stored=True)
    builder.add_text_field("body", stored=False, tokenizer_name="en_stem", index_option="freq")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for number, entry in enumerate(documents):
        writer.add_document(tantivy.Document(number=number, body=plain_text(f"{entry.title} {entry.text}")))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    ids = [entry.doc_id for entry in documents]

    def search(query: str, depth: int) -> list[str]:
        words = query_words(query)
        if not words:
            return []
        hits = searcher.search(index.parse_query(" ".join(words), ["body"]), depth).hits
        return [ids[searcher.doc(address)["number"][0]] for _, address in hits]

    return search


# In the order they are shown.
PEERS: dict[str, Build] = {"bm25s": bm25s_stemmed, "sqlite-fts5": sqlite_fts5, "tantivy": tantivy_stemmed}


def missing_peers() -> tuple[MissingPeer, ...]:
    """The peers that are not installed, each with the way to get it."""
    needed = {"bm25s": "bm25s", "tantivy": "tantivy"}
    return tuple(MissingPeer(system, INSTALL) for system, module in needed.items() if not _is_installed(module))


def reciprocal_rank_fusion(lanes: Sequence[Search]) -> Search:
    """Reciprocal rank fusion: a document's score is Σ 1 / (60 + rank) over the lanes that found it.

    The usual way to combine a keyword and a vector search, hence the peer of a hybrid lane.
    """

    def search(query: str, depth: int) -> list[str]:
        scores: defaultdict[str, float] = defaultdict(float)
        for lane in lanes:
            for rank, doc_id in enumerate(lane(query, max(depth, RRF_DEPTH)), start=1):
                scores[doc_id] += 1 / (RRF_K + rank)
        return sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))[:depth]

    return search


def query_words(query: str) -> list[str]:
    """The words to search for, repeats kept. In lower case: AND, OR and NOT are operators."""
    words = _WORD.findall(query.lower())
    return [word for word in words if word not in _STOP_WORDS] or words


def plain_text(text: str) -> str:
    """Text that UTF-8 can carry."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Unavailable(f"{module} is not installed.", fix=INSTALL) from None


WARM_UP = 3
PACK = "citewell pack"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Events = Iterator[BenchProgress | BenchRow | str]


def run_bench(
    folders: Sequence[Path],
    settings: Settings,
    *,
    mode: SearchMode | None = None,
    with_peers: bool = False,
    max_queries: int | None = None,
) -> Iterator[BenchProgress | BenchReport]:
    """Measure collections one after another; the report comes last. Without a mode, every lane there is."""
    rows: list[BenchRow] = []
    warnings: list[str] = []
    with temporary_folder() as models:
        # One model for all collections: opening it anew would build its graph anew.
        shared = Citewell(replace(settings, data_dir=models, database_url=""))
        for folder in folders:
            collection = load_collection(folder)
            if max_queries is not None:
                collection = thinned(collection, max_queries)
            for event in bench_collection(
                collection, settings, mode=mode, with_peers=with_peers, open_embedder=lambda: shared.embedder
            ):
                if isinstance(event, BenchProgress):
                    yield event
                elif isinstance(event, BenchRow):
                    rows.append(event)
                else:
                    warnings.append(f"{folder.name}: {event}")
    yield BenchReport(tuple(rows), missing_peers() if with_peers else (), tuple(warnings))


def bench_collection(
    collection: JudgedCollection,
    settings: Settings,
    *,
    mode: SearchMode | None,
    with_peers: bool,
    open_embedder: OpenEmbedder | None = None,
    with_packs: bool = False,
) -> Events:
    """One collection: progress, the row of each system, and warnings; packs are asked as the settings say."""
    yield from _doubts(collection)
    with temporary_folder() as folder:
        engine = Citewell(replace(settings, data_dir=folder / "data", database_url=""), open_embedder=open_embedder)
        try:
            modes = _lanes(engine, mode, with_peers=with_peers)
            yield BenchProgress(collection.name, "citewell", "indexing", 0, len(collection.documents))
            names = write_notes(collection, folder / "notes")
            started = time.perf_counter()
            yield from _index(engine, folder / "notes", collection)
            if "semantic" in modes or "hybrid" in modes:
                yield from _encode(engine, collection)
            if engine.settings.summaries == "on":
                for _ in engine.corpus.summarize():
                    pass
            seconds = time.perf_counter() - started
            lanes = {lane: _lane(engine, names, lane) for lane in modes}
            for lane, search in lanes.items():
                if mode in (None, lane):
                    yield from measure(collection, "citewell", lane, search, seconds)
            if with_packs:
                lane = "lexical" if engine.settings.embeddings == "off" else "hybrid"
                yield from measure(collection, PACK, lane, _packs(engine, names), seconds)
            if with_peers:
                yield from _measure_peers(collection, lanes.get("semantic"))
        finally:
            engine.close()


def _doubts(collection: JudgedCollection) -> Iterator[str]:
    """What makes the figures differ from published ones."""
    known = {document.doc_id for document in collection.documents}
    lost = {doc_id for grades in collection.judgements.values() for doc_id in grades} - known
    if lost:
        yield f"{len(lost):,} documents judged relevant are not in corpus.jsonl and count as not found"
    if len(known) < len(collection.documents):
        yield f"{len(collection.documents) - len(known):,} ids in corpus.jsonl are not unique"
    long = sum(len(query) > MAX_QUESTION_CHARS for query in collection.queries.values())
    if long:
        yield f"{long:,} queries were cut to {MAX_QUESTION_CHARS:,} characters"


def _lanes(engine: Citewell, mode: SearchMode | None, *, with_peers: bool) -> list[SearchMode]:
    """The lanes to ask: the one asked for, or each that is switched on; a hybrid's peer needs the semantic lane too."""
    if mode == "lexical" or (mode is None and engine.settings.embeddings == "off"):
        return ["lexical"]
    _ = engine.embedder  # at once: without a model there is nothing to measure
    if mode is None:
        return list(get_args(SearchMode))
    return ["semantic", "hybrid"] if mode == "hybrid" and with_peers else [mode]


def _encode(engine: Citewell, collection: JudgedCollection) -> Events:
    for event in engine.corpus.encode():
        if isinstance(event, EncodeProgress):
            yield BenchProgress(collection.name, "citewell", "encoding", event.done, event.total)


def _index(engine: Citewell, notes: Path, collection: JudgedCollection) -> Events:
    total = len(collection.documents)
    for event in engine.corpus.sync(notes, collection="bench"):
        if not isinstance(event, AddReport):
            yield BenchProgress(collection.name, "citewell", "indexing", event.done, total)
        elif event.documents < total:
            yield f"{total - event.documents:,} of {total:,} documents could not be indexed"


def _lane(engine: Citewell, names: dict[str, str], mode: SearchMode) -> Search:
    def search(query: str, depth: int) -> list[str]:
        rows = engine.search(query, limit=depth, mode=mode).results
        return [names[row.note_path] for row in rows if row.note_path]

    return search


def _packs(engine: Citewell, names: dict[str, str]) -> Search:
    """The evidence of a research pack, as a run without a model would plan it."""

    def search(query: str, depth: int) -> list[str]:
        rows = engine.pack(query, limit=depth, include_related=False, planner=False).evidence
        return [names[row.note_path] for row in rows if row.note_path]

    return search


def _measure_peers(collection: JudgedCollection, semantic: Search | None) -> Events:
    absent = {peer.system for peer in missing_peers()}
    for system, build in PEERS.items():
        if system in absent:
            continue
        yield BenchProgress(collection.name, system, "indexing", 0, len(collection.documents))
        started = time.perf_counter()
        search = build(collection.documents)
        seconds = time.perf_counter() - started
        yield from measure(collection, system, "lexical", search, seconds)
        if system == "sqlite-fts5" and semantic:
            fused = reciprocal_rank_fusion((search, semantic))
            yield from measure(collection, "rrf60(sqlite-fts5, semantic)", "hybrid", fused, seconds)


def measure(
    collection: JudgedCollection, system: str, mode: SearchMode, search: Search, index_seconds: float
) -> Events:
    """Ask every query for 10, on the clock, and for 100; the last event is the row."""
    total = len(collection.queries)
    first_ten: list[list[str]] = []
    first_hundred: list[list[str]] = []
    latencies: list[float] = []
    queries = [query[:MAX_QUESTION_CHARS] for query in collection.queries.values()]
    for query in queries[:WARM_UP]:
        _ask(search, query, 10)
    for number, query in enumerate(queries):
        started = time.perf_counter()
        first_ten.append(_ask(search, query, 10))
        latencies.append((time.perf_counter() - started) * 1000)
        first_hundred.append(_ask(search, query, 100))
        if number % 50 == 0:
            yield BenchProgress(collection.name, system, "asking", number, total)
    grades = [collection.judgements[query_id] for query_id in collection.queries]
    ten = list(zip(first_ten, grades, strict=True))
    yield BenchRow(
        name=collection.name,
        system=system,
        mode=mode,
        ndcg_10=_rounded([ndcg(ranking, graded) for ranking, graded in ten]),
        recall_10=_rounded([recall(ranking, graded, 10) for ranking, graded in ten]),
        recall_100=_rounded([recall(found, graded, 100) for found, graded in zip(first_hundred, grades, strict=True)]),
        mrr_10=_rounded([reciprocal_rank(ranking, graded) for ranking, graded in ten]),
        p50_ms=round(percentile(latencies, 0.5), 3),
        p95_ms=round(percentile(latencies, 0.95), 3),
        docs=len(collection.documents),
        queries=total,
        index_seconds=round(index_seconds, 3),
    )


def _ask(search: Search, query: str, depth: int) -> list[str]:
    return search(query, depth) if query.strip() else []


def _rounded(values: Sequence[float]) -> float:
    return round(mean(values), 5)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; a full disk is said as such."""
    try:
        with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
            yield Path(folder)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise StoreFull(
            "No room left in the temporary folder for the collection.", fix="Free some space, or set TMPDIR elsewhere."
        ) from error


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """How well a judge tells supported claims from the others, and how fast.

    Refuted ones are ranked by entailment less contradiction, unsupported ones by entailment. `called` counts, for each
    label, what the judge finds likeliest.
    """

    judge: str
    n: int
    auroc: VerifierAuroc
    called: dict[str, dict[str, int]]
    pairs_per_second: float
    # The share of claims it is right about: a supported one is found, another is not.
    right: float
