"""Topic briefs over small real corpora: what they start from, what they hold, and that they never become evidence."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys

import msgspec
import pytest

from citewell import BadInput, Citewell, Filters, RunResult, Settings, TopicBrief
from citewell.evals.suite import sample_corpus
from conftest import AddPath, Write, sqlite_corpus

NOTES: dict[str, str | bytes] = {
    "Kelp farm.md": "---\ntags: [kelp, farm]\n---\n# Kelp farm\nThe kelp lines of Solveig Haraldsen hang in Selwick"
    " Voe. See [[Harvest log]] and [[Solveig Haraldsen]].",
    "People/Solveig Haraldsen.md": "---\ntags: person\naliases: [Sol, '@kelpwife']\n---\nSkipper and kelp farmer.",
    "Harvest log.md": "---\ntags: kelp\n---\nCut forty kilos of kelp with Sol at Selwick Voe in June.",
    "Kitchen.md": "Boil the stock with seaweed. Related to [[Harvest log]].",
    "Heat pump.md": "The heat of the pump is loud at night.",
    "Heat.md": "The heat of summer was terrible for everyone.",
    "page.txt": "A visitor wrote that kelp smells of iodine.",
    "昆布.md": "---\naliases: [konbu]\n---\n# 昆布\n利尻の昆布は出汁によい。[[沢田恵美]]に聞いた。",
    "People/沢田恵美.md": "---\ntags: [人物]\n---\n昆布の研究者。",
}


def seeds(brief: TopicBrief) -> set[str]:
    return {node.source_key or "" for node in brief.nodes if node.is_seed}


def test_a_brief_has_seeds_neighbours_entities_and_pivots(corpus: Citewell) -> None:
    brief = corpus.corpus.topic_brief("kelp")
    assert seeds(brief) == {
        *("note:vault/kelp-farm", "note:vault/harvest-log", "note:vault/people/solveig-haraldsen", "text:vault/page"),
    }
    (kitchen,) = [node for node in brief.nodes if node.kind == "document" and not node.is_seed]
    assert kitchen.source_key == "note:vault/kitchen"
    found = {(edge.source, edge.target, edge.relationship) for edge in brief.edges}
    assert ("note:vault/kitchen", "note:vault/harvest-log", "backlink") in found
    assert ("note:vault/kelp-farm", "note:vault/harvest-log", "links_to") in found
    assert ("note:vault/people/solveig-haraldsen", "entity:solveig haraldsen", "same_entity") in found
    person = brief.entities[0]
    assert (person.name, person.kind) == ("Solveig Haraldsen", "person")
    assert {alias.name for alias in person.aliases} >= {"Sol"}
    assert brief.pivots[0].label in ("Solveig Haraldsen", "Kelp farm")
    assert (brief.seed_limit, brief.related_limit, brief.source_types) == (12, 8, ("vault_note", "text"))


def test_every_sentence_of_the_summary_stands_in_the_document_it_names(corpus: Citewell) -> None:
    brief = corpus.corpus.topic_brief("kelp")
    head, _, body = brief.summary.partition("\n")
    assert head.startswith("Derived from ")
    lines = re.findall(r"(.+?) \[((?:note|text):[^\]]+)\](?:\n|$)", body, re.DOTALL)
    assert len(lines) == 4
    for sentence, key in lines:
        (document,) = corpus.corpus.get(key, content_mode="full").documents
        assert sentence in document.text


def test_a_topic_of_two_words_is_not_every_document_with_one_of_them(corpus: Citewell) -> None:
    assert seeds(corpus.corpus.topic_brief("heat pump")) == {"note:vault/heat-pump"}


def test_an_alias_leads_to_what_is_said_under_the_other_names(corpus: Citewell) -> None:
    assert seeds(corpus.corpus.topic_brief("kelpwife")) >= {
        "note:vault/people/solveig-haraldsen",
        "note:vault/kelp-farm",
    }


def test_scripts_without_capitals_and_spaces_work(corpus: Citewell) -> None:
    brief = corpus.corpus.topic_brief("昆布")
    assert seeds(brief) == {"note:vault/昆布", "note:vault/people/沢田恵美"}
    assert ("沢田恵美", "person") in {(entity.name, entity.kind) for entity in brief.entities}
    assert "昆布の研究者。 [note:vault/people/沢田恵美]" in brief.summary


def test_filters_hold_for_seeds_and_neighbours(corpus: Citewell) -> None:
    brief = corpus.corpus.topic_brief("kelp", filters=Filters(tags=("kelp",)))
    documents = {node.source_key for node in brief.nodes if node.kind == "document"}
    assert documents == {"note:vault/kelp-farm", "note:vault/harvest-log"}
    assert corpus.corpus.topic_brief("kelp", filters=Filters(source_types=("text",))).source_types == ("text",)


def test_limits_are_kept_and_checked(corpus: Citewell) -> None:
    brief = corpus.corpus.topic_brief("kelp", seed_limit=1, related_limit=0)
    assert len([node for node in brief.nodes if node.kind == "document"]) == 1
    for seed_limit, related_limit in ((0, 8), (21, 8), (12, 99), (12, -1)):
        with pytest.raises(BadInput):
            corpus.corpus.topic_brief("kelp", seed_limit=seed_limit, related_limit=related_limit)
    for wrong in ("  ", "kelp " * 100):
        with pytest.raises(BadInput):
            corpus.corpus.topic_brief(wrong)
    long = corpus.pack("kelp " * 1_500, topic_brief=True)
    assert long.topic_brief is not None


def test_an_empty_corpus_a_single_document_and_an_unknown_topic_are_no_errors(
    engine: Citewell, vault: Write, add_path: AddPath
) -> None:
    assert engine.corpus.topic_brief("kelp").nodes == ()
    add_path(vault({"One.md": "Kelp is cut in June by Dr Agnes Tulloch."}))
    brief = engine.corpus.topic_brief("kelp")
    assert [node.id for node in brief.nodes] == ["note:vault/one", "entity:agnes tulloch"]
    assert [(edge.relationship, edge.weight) for edge in brief.edges] == [("mentions", 1)]
    unknown = engine.corpus.topic_brief("zirconium")
    assert (unknown.summary, unknown.nodes, unknown.edges, unknown.entities) == ("", (), (), ())


# In a pack


def test_a_question_for_an_overview_brings_its_brief(corpus: Citewell) -> None:
    pack = corpus.pack("What do I know about kelp?")
    assert (pack.mode, pack.query_plan.topic, pack.query_plan.include_topic_brief) == (
        *("topic_brief_and_evidence", "kelp", True),
    )
    assert pack.topic_brief == corpus.corpus.topic_brief("kelp")
    assert (pack.coverage.topic_nodes, pack.coverage.topic_edges) == (
        *(len(pack.topic_brief.nodes), len(pack.topic_brief.edges)),
    )


def test_a_brief_comes_when_asked_for_and_stays_away_when_not(corpus: Citewell) -> None:
    plain = corpus.pack("Where do the kelp lines hang?")
    assert (plain.mode, plain.topic_brief, plain.coverage.topic_nodes) == ("evidence_only", None, 0)
    named = corpus.pack("Where do the lines hang?", topic="kelp")
    assert named.topic_brief is not None
    assert named.topic_brief.topic == "kelp"
    asked = corpus.pack("kelp lines", topic_brief=True)
    assert asked.topic_brief is not None
    assert asked.topic_brief.topic == "kelp lines"
    refused = corpus.pack("What do I know about kelp?", topic_brief=False)
    assert (refused.mode, refused.topic_brief) == ("evidence_only", None)
    assert plain.evidence == corpus.pack("Where do the kelp lines hang?", topic_brief=True).evidence


# In a run


def ask(engine: Citewell, question: str, **options: object) -> RunResult:
    async def last() -> RunResult:
        seen = [event async for event in engine.stream(question, **options)]
        assert isinstance(seen[-1], RunResult)
        return seen[-1]

    return asyncio.run(last())


def test_a_run_with_a_brief_is_replayed_without_the_corpus(corpus: Citewell) -> None:
    result = ask(corpus, "What do I know about kelp?")
    assert result.pack is not None
    assert result.pack.topic_brief == corpus.corpus.topic_brief("kelp")
    corpus.close()
    for path in corpus.settings.data_dir.glob("corpus.db*"):
        path.unlink()
    other = Citewell(Settings(data_dir=corpus.settings.data_dir))
    try:
        assert other.runs.replay(result.run_id).identical
        shown = other.runs.replay(result.run_id, tolerant=True)
        assert (shown.identical, shown.notes) == (True, ())
    finally:
        other.close()


def test_what_only_the_brief_says_is_never_cited(corpus: Citewell) -> None:
    result = ask(corpus, "What do I know about kelp?", filters=Filters())
    assert result.pack is not None
    rows = {row.source_key for row in (*result.pack.evidence, *result.pack.exact_tag_evidence)}
    assert {citation.source_key for citation in result.citations} <= rows
    assert result.flow.holds
    assert "Derived from" not in result.answer


def test_purging_a_document_forgets_the_runs_whose_brief_speaks_of_it(corpus: Citewell) -> None:
    result = ask(corpus, "What do I know about kelp?", limit=1)
    assert result.pack is not None
    assert result.pack.topic_brief is not None
    rows = {row.source_key for row in (*result.pack.evidence, *result.pack.exact_tag_evidence)}
    (only_briefed, *_) = sorted(seeds(result.pack.topic_brief) - rows - {"note:vault/people/solveig-haraldsen"})
    assert only_briefed in result.pack.topic_brief.summary
    assert corpus.corpus.remove(only_briefed, purge=True).purged_runs == (result.run_id,)


# Always the same

_PROGRAM = """
import sys
from pathlib import Path
import msgspec
from citewell.engine import Citewell
from citewell.settings import Settings
engine = Citewell(Settings(data_dir=Path(sys.argv[1])))
shown = [engine.corpus.topic_brief(topic) for topic in ("kelp", "tide gauge", "Big Maggie")]
shown += [engine.corpus.entity_map(name) for name in ("kelpwife", "Kirkhaven", "Ewan Ross")]
sys.stdout.buffer.write(msgspec.json.encode(shown))
"""


@pytest.mark.slow
def test_briefs_and_maps_of_the_sample_corpus_are_the_same_bytes_under_any_hash_seed(
    engine: Citewell, add_path: AddPath
) -> None:
    add_path(sample_corpus())
    made = [
        subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(engine.settings.data_dir)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "42")
    ]
    assert len(set(made)) == 1
    kelp = msgspec.json.decode(made[0])[0]
    assert len(kelp["nodes"]) <= 40
    assert len(kelp["edges"]) <= 80


def _bindings(sql: str) -> int:
    numbered = re.findall(r"\?(\d+)", sql)
    return max(map(int, numbered)) if numbered else sql.count("?")


def test_the_queries_behind_go_by_an_index(corpus: Citewell) -> None:
    """None of them reads a table from end to end, but the small ones they are handed."""
    with sqlite_corpus(corpus).database.read() as connection:
        pass  # it is the one that the next reader gets
    seen: list[str] = []
    connection.trace_v2(1, lambda event: seen.append(event["sql"]))
    try:
        corpus.corpus.topic_brief("kelp")
        corpus.corpus.entity_map("kelpwife")
    finally:
        connection.trace_v2(0, None)
    plans = [
        str(row[3])
        for sql in dict.fromkeys(sql for sql in seen if sql.lstrip().startswith("SELECT"))
        for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * _bindings(sql), can_cache=False)
        if re.search(r"\blinks\b|link_names", sql)
    ]
    assert plans
    scanned = [
        plan for plan in plans if plan.startswith("SCAN") and not re.search("json_each|subquery|VIRTUAL", plan, re.I)
    ]
    assert scanned == []
