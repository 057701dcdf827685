"""One lexical index of part `scale`, built or searched in a process of its own, so that its memory is its own.

`lexical_child.py build|search|pack SYSTEM FOLDER`: FOLDER has `documents/*.jsonl` and `questions.json`; the index goes
beside them. It prints one JSON object. `citewell` is the Citewell with whatever lexical index it has; `pack` asks it
each question twice, for one search and for a whole research pack.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from citewell.engine import Citewell
from citewell.evals.bench import percentile, plain_text, query_words
from citewell.settings import Settings

DEPTH = 10
WARM_UP = 20
PACKS = 100
Ask = Callable[[str], int]


def main() -> None:
    action, system, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    (folder / system).mkdir(exist_ok=True)
    if action == "build":
        count, seconds = BUILD[system](folder)
        print(json.dumps({"documents": count, "seconds": seconds}))
        return
    questions: list[str] = json.loads((folder / "questions.json").read_text("utf-8"))
    if action == "pack":
        print(json.dumps(compare_pack(folder / system, questions)))
        return
    ask = SEARCH[system](folder / system)
    latencies: list[float] = []
    found = 0
    for question in [*questions[:WARM_UP], *questions]:
        started = time.perf_counter()
        found += ask(question) > 0
        latencies.append((time.perf_counter() - started) * 1000)
    measured = latencies[WARM_UP:]
    resident = _resident_mb()
    print(json.dumps({"p50": percentile(measured, 0.5), "p95": percentile(measured, 0.95), "resident_mb": resident}))


def _resident_mb() -> float:
    """What this process holds now, pages of mapped index files included."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def _batches(folder: Path) -> Iterator[list[tuple[str, str]]]:
    """Title and text of each document, a file at a time."""
    for path in sorted((folder / "documents").glob("*.jsonl")):
        entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        yield [(plain_text(entry["title"]), plain_text(entry["text"])) for entry in entries]


def build_citewell(folder: Path) -> tuple[int, float]:
    engine = Citewell(Settings(data_dir=folder / "citewell"))
    started = time.perf_counter()
    for _ in engine.corpus.sync(folder / "documents"):
        pass
    seconds = time.perf_counter() - started
    count = engine.corpus.stats().documents
    engine.close()
    return count, seconds


def build_tantivy(folder: Path) -> tuple[int, float]:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", stored=True)
    builder.add_text_field("body", stored=False, tokenizer_name="en_stem", index_option="freq")
    index = tantivy.Index(builder.build(), path=str(folder / "tantivy"))
    writer = index.writer()
    count, seconds = 0, 0.0
    for batch in _batches(folder):
        started = time.perf_counter()
        for title, text in batch:
            writer.add_document(tantivy.Document(number=count, body=f"{title} {text}"))
            count += 1
        seconds += time.perf_counter() - started
    started = time.perf_counter()
    writer.commit()
    writer.wait_merging_threads()
    seconds += time.perf_counter() - started
    index.reload()
    return index.searcher().num_docs, seconds


def build_fts5(folder: Path) -> tuple[int, float]:
    connection = apsw.Connection(str(folder / "sqlite-fts5" / "index.db"))
    for statement in (
        "PRAGMA journal_mode = WAL",
        "CREATE VIRTUAL TABLE docs USING fts5(title, body, content = '', tokenize = 'porter unicode61')",
    ):
        connection.execute(statement).fetchall()
    count, seconds = 0, 0.0
    for batch in _batches(folder):
        numbered = [(count + number, title, text) for number, (title, text) in enumerate(batch)]
        started = time.perf_counter()
        with connection:
            connection.executemany("INSERT INTO docs(rowid, title, body) VALUES (?, ?, ?)", numbered)
        seconds += time.perf_counter() - started
        count += len(batch)
    stored = connection.execute("SELECT count(*) FROM docs_docsize").fetchall()[0][0]
    assert isinstance(stored, int)
    connection.close()
    return stored, seconds


def search_citewell(folder: Path) -> Ask:
    engine = Citewell(Settings(data_dir=folder))
    return lambda question: len(engine.search(question, limit=DEPTH).results)


def compare_pack(folder: Path, questions: list[str]) -> dict[str, float]:
    """The middle of what a search and a pack take, the two in turn, so that both see the same machine."""
    engine = Citewell(Settings(data_dir=folder))
    searches: list[float] = []
    packs: list[float] = []
    for question in [*questions[:WARM_UP], *questions[:PACKS]]:
        engine.search(question)  # whoever comes first reads the postings from disk: neither of the two
        started = time.perf_counter()
        engine.search(question)
        between = time.perf_counter()
        engine.pack(question)
        searches.append((between - started) * 1000)
        packs.append((time.perf_counter() - between) * 1000)
    engine.close()
    searched, packed = searches[WARM_UP:], packs[WARM_UP:]
    return {
        "search_p50": percentile(searched, 0.5),
        "pack_p50": percentile(packed, 0.5),
        "pack_p95": percentile(packed, 0.95),
    }


def search_tantivy(folder: Path) -> Ask:
    import tantivy

    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()

    def ask(question: str) -> int:
        hits = searcher.search(index.parse_query(" ".join(query_words(question)), ["body"]), DEPTH).hits
        return len([searcher.doc(address)["number"][0] for _, address in hits])

    return ask


def search_fts5(folder: Path) -> Ask:
    connection = apsw.Connection(str(folder / "index.db"))
    ranked = "SELECT rowid FROM docs WHERE docs MATCH ? ORDER BY bm25(docs, 2.0, 1.0) LIMIT ?"

    def ask(question: str) -> int:
        match = " OR ".join(f'"{word}"' for word in query_words(question))
        return len(connection.execute(ranked, (match, DEPTH)).fetchall())

    return ask


BUILD = {"tantivy": build_tantivy, "sqlite-fts5": build_fts5, "citewell": build_citewell}
SEARCH = {"tantivy": search_tantivy, "sqlite-fts5": search_fts5, "citewell": search_citewell}

if __name__ == "__main__":
    main()
