"""`citewell bench`: measures worked out by hand on a tiny collection, peers beside it, clear words for bad input."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from citewell import BadInput, Settings, Unavailable, json_schema
from citewell.cli.main import run
from citewell.evals.bench import (
    PACK,
    PEERS,
    BenchReport,
    BenchRow,
    CollectionDocument,
    JudgedCollection,
    bench_collection,
    find_collections,
    load_collection,
    missing_peers,
    reciprocal_rank_fusion,
    run_bench,
    write_notes,
)
from citewell.search.lookup import SearchMode

DOCUMENTS = {
    "d1": ("Kelp", "Kelp kelp kelp is seeded in autumn."),
    "d2": ("Farm", "On the farm they dry what they grow, and some of it is kelp from the voe."),
    "d3": ("Lamp", "The lamp was lit in 1859."),
    "d4": ("Oil", "The oil came from Leith."),
}
# q1 finds d1 before d2, and d2 alone is relevant; q2 finds what it should; q3 asks for what no document says.
QUERIES = {"q1": "kelp", "q2": "lamp lit", "q3": "turbine", "q4": "never judged"}
JUDGEMENTS = ("q1\td2\t1", "q2\td3\t2", "q3\td4\t1", "q4\td1\t0")

Collection = Callable[..., Path]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """Writes a collection, with parts replaced where a test says so."""

    def write(name: str = "tiny", **parts: str) -> Path:
        folder = tmp_path / "collections" / name
        (folder / "qrels").mkdir(parents=True)
        corpus = [json.dumps({"_id": key, "title": title, "text": text}) for key, (title, text) in DOCUMENTS.items()]
        queries = [json.dumps({"_id": key, "text": text}) for key, text in QUERIES.items()]
        (folder / "corpus.jsonl").write_text(parts.get("corpus", "\n".join(corpus) + "\n"), "utf-8")
        (folder / "queries.jsonl").write_text(parts.get("queries", "\n".join(queries) + "\n"), "utf-8")
        qrels = "query-id\tcorpus-id\tscore\n" + "\n".join(JUDGEMENTS) + "\n"
        (folder / "qrels" / "test.tsv").write_text(parts.get("qrels", qrels), "utf-8")
        return folder

    return write


def report(folder: Path, data: Path, **options: object) -> BenchReport:
    *_, last = run_bench([folder], Settings(data_dir=data, embeddings="off"), **options)  # type: ignore[arg-type]
    assert isinstance(last, BenchReport)
    return last


def measures(row: BenchRow) -> tuple[float, float, float, float]:
    return row.ndcg_10, row.recall_10, row.recall_100, row.mrr_10


def test_the_measures_are_those_worked_out_by_hand(collection: Collection, tmp_path: Path) -> None:
    found = report(collection(), tmp_path / "data")
    (row,) = found.collections
    # q1: the one relevant document is second, 1/log2(3); q2: first; q3: not found.
    ndcg = (1 / math.log2(3) + 1 + 0) / 3
    assert measures(row) == pytest.approx((ndcg, 2 / 3, 2 / 3, (1 / 2 + 1 + 0) / 3), abs=1e-5)
    assert (row.name, row.system, row.mode, row.docs, row.queries) == ("tiny", "citewell", "lexical", 4, 3)
    assert 0 < row.p50_ms <= row.p95_ms
    assert found.warnings == ()


def test_the_users_own_data_folder_is_not_touched(collection: Collection, tmp_path: Path) -> None:
    report(collection(), tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_peers_are_measured_on_the_same_queries(collection: Collection, tmp_path: Path) -> None:
    found = report(collection(), tmp_path / "data", with_peers=True)
    absent = {peer.system for peer in found.missing_peers}
    assert [row.system for row in found.collections] == ["citewell", *(name for name in PEERS if name not in absent)]
    assert {(row.docs, row.queries) for row in found.collections} == {(4, 3)}
    assert {row.mrr_10 for row in found.collections} == {0.5}


def test_a_peer_that_is_not_installed_is_named_with_the_way_to_get_it(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bm25s" else find_spec(name))
    assert run(["--data-dir", str(tmp_path / "data"), "bench", str(collection()), "--peers", "--json"]) == 0
    output = capfd.readouterr()
    document = json.loads(output.out)
    assert "bm25s" in {peer["system"] for peer in document["missing_peers"]}
    assert "bm25s" not in {row["system"] for row in document["collections"]}
    assert "bm25s is not installed and was not measured: pip install 'citewell[bench]'" in output.err


@pytest.mark.parametrize("system", PEERS)
def test_every_peer_finds_word_forms_and_takes_any_query(system: str) -> None:
    if system in {peer.system for peer in missing_peers()}:
        pytest.skip(f"{system} is not installed")
    documents = load_documents()
    search = PEERS[system](documents)
    assert search("seeding kelp", 10) == ["d1", "d2"]
    assert search("kelp", 1) == ["d1"]
    assert search('lamps AND NOT "unbalanced (', 10)[0] == "d3"
    assert (search("turbine", 10), search("?!", 10)) == ([], [])


def load_documents() -> list[CollectionDocument]:
    return [CollectionDocument(key, title, text) for key, (title, text) in DOCUMENTS.items()]


def test_fusion_adds_one_over_sixty_plus_the_rank() -> None:
    words = {"q": ["a", "b", "c"]}
    meaning = {"q": ["c", "b"]}
    search = reciprocal_rank_fusion([lambda query, depth: words[query], lambda query, depth: meaning[query]])
    # a: 1/61; b: 1/62 + 1/62; c: 1/63 + 1/61.
    assert search("q", 10) == ["c", "b", "a"]
    assert search("q", 1) == ["c"]


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_lane_without_its_model_is_unavailable(collection: Collection, tmp_path: Path, mode: SearchMode) -> None:
    settings = Settings(data_dir=tmp_path / "data", embeddings_model=str(tmp_path / "nowhere"))
    with pytest.raises(Unavailable, match=r"semantic lane|nowhere"):
        list(run_bench([collection()], settings, mode=mode))


def test_the_command_prints_one_document_that_fits_its_schema(
    collection: Collection, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_EMBEDDINGS_MODEL", str(tmp_path / "nowhere"))
    collection("one")
    folder = collection("two").parent
    assert run(["--data-dir", str(tmp_path / "data"), "bench", str(folder), "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    jsonschema.validate(document, json_schema("bench"))
    assert [row["name"] for row in document["collections"]] == ["one", "two"]
    assert run(["bench", str(folder), "--mode", "semantic", "--json"]) == 4
    assert json.loads(capfd.readouterr().out)["error"]["code"] == "unavailable"
    assert run(["bench", str(tmp_path / "nowhere"), "--json"]) == 2


def test_without_json_there_is_a_line_for_each_row(collection: Collection, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(collection())]) == 0
    header, row = capfd.readouterr().out.splitlines()
    assert dict(zip(header.split("\t"), row.split("\t"), strict=True))["nDCG@10"] == "0.544"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"corpus": '{"_id": "d1", "text": "a"}\n{"_id": "d2", "te\n'}, "corpus.jsonl line 2 is not JSON"),
        ({"corpus": '\n\n["d1"]\n'}, "corpus.jsonl line 3 is not a JSON object"),
        ({"corpus": '{"_id": "d1"}\n'}, "corpus.jsonl line 1 has no 'text'"),
        ({"corpus": '{"text": "a"}\n'}, "corpus.jsonl line 1 has no '_id'"),
        ({"corpus": "[" * 100_000}, "corpus.jsonl line 1 is nested too deeply"),
        ({"corpus": ""}, "corpus.jsonl is empty"),
        ({"queries": '{"_id": "q1", "text": 7}\n'}, "queries.jsonl line 1 has no 'text'"),
        ({"queries": ""}, "no query with a relevant document"),
        ({"qrels": ""}, "judges no document relevant"),
        ({"qrels": "query-id\tcorpus-id\tscore\nq1\td1\t0\n"}, "judges no document relevant"),
        ({"qrels": "query-id\tcorpus-id\tscore\nq1 d1 1\n"}, "test.tsv line 2 is not 'query-id"),
        ({"qrels": "query-id\tcorpus-id\tscore\nq1\td1\thigh\n"}, "test.tsv line 2 is not 'query-id"),
    ],
)
def test_what_is_not_as_the_layout_says_is_refused_by_file_and_line(
    collection: Collection, parts: dict[str, str], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        load_collection(collection(**parts))


def test_bytes_that_are_not_text_are_refused_by_line(collection: Collection) -> None:
    folder = collection()
    (folder / "queries.jsonl").write_bytes(b'{"_id": "q1", "text": "kelp"}\n\xff\xfe\n')
    with pytest.raises(BadInput, match=r"queries.jsonl line 2 is not UTF-8"):
        load_collection(folder)


def test_a_line_that_is_too_long_is_refused_before_it_is_read_whole(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.evals.bench.MAX_LINE_BYTES", 1_000)
    with pytest.raises(BadInput, match=r"corpus.jsonl line 1 is longer than 1,000 bytes"):
        load_collection(collection(corpus=json.dumps({"_id": "d1", "text": "a" * 2_000})))


def test_a_collection_that_is_too_large_is_refused(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewell.evals.bench.MAX_DOCUMENTS", 3)
    with pytest.raises(BadInput, match="more than 3 lines"):
        load_collection(collection(queries='{"_id": "q1", "text": "kelp"}\n'))


def test_missing_files_and_folders_without_collections_are_named(collection: Collection, tmp_path: Path) -> None:
    folder = collection()
    (folder / "queries.jsonl").unlink()
    (chosen,) = find_collections(folder)
    with pytest.raises(BadInput, match=r"tiny has no queries\.jsonl"):
        load_collection(chosen)
    (tmp_path / "empty").mkdir()
    for path, message in ((tmp_path / "empty", "no collection"), (folder / "corpus.jsonl", "not a folder")):
        with pytest.raises(BadInput, match=message):
            find_collections(path)


def test_what_makes_figures_differ_from_published_ones_is_said(collection: Collection, tmp_path: Path) -> None:
    folder = collection(qrels="q1\td2\t1\nq1\tgone\t1\n")
    found = report(folder, tmp_path / "data")
    assert found.warnings == ("tiny: 1 documents judged relevant are not in corpus.jsonl and count as not found",)
    assert found.collections[0].recall_10 == 0.5


def test_documents_are_spread_over_folders_and_any_text_can_be_written(collection: Collection, tmp_path: Path) -> None:
    loaded = load_collection(collection())
    many = JudgedCollection("many", loaded.documents * 500, loaded.queries, loaded.judgements)
    names = write_notes(many, tmp_path / "notes")
    assert len(names) == 2_000
    assert sorted(path.name for path in (tmp_path / "notes").iterdir()) == ["0000", "0001"]
    odd = load_collection(collection("odd", corpus='{"_id": 7, "title": "a\\"b", "text": "\\ud800 x"}\n'))
    (name,) = write_notes(odd, tmp_path / "odd")
    assert (tmp_path / "odd" / name).read_text("utf-8") == '---\ntitle: "a\\"b"\n---\n? x\n'


def test_the_evidence_of_packs_is_measured_as_a_search_is(collection: Collection, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", embeddings="off")
    events = bench_collection(
        load_collection(collection()), settings, mode="lexical", with_peers=False, with_packs=True
    )
    rows = {row.system: row for row in events if isinstance(row, BenchRow)}
    assert rows.keys() == {"citewell", PACK}
    assert (rows[PACK].mode, rows[PACK].ndcg_10) == ("lexical", rows["citewell"].ndcg_10)
    assert 0 < rows[PACK].ndcg_10 < 1
