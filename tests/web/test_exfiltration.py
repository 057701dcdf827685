"""Models that carry whatever they are shown into their queries: no text of a note reaches a search provider.

The model here puts everything of its prompt into well-formed queries, in every disguise. What it is never shown it
cannot carry: the model that plans or advises sees no note, and of one that has read a note no word leaves.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, Settings
from citewell.reports import ResearchBrief
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer
from web.loopback_internet import Internet, loopback_internet

ASKED = "Did the keeper Ada Lindqvist leave the Halvard light?"
# The page and the note say the opposite of each other, so that a deep run asks further about just this.
DENIED = "The keeper Ada Lindqvist did not leave the Halvard light in 1903."
STATED = "The keeper Ada Lindqvist did leave the Halvard light in 1903, says the harbour book."
PRIVATE = ("zanzibarine", "xyzzyplugh", "stair", "quuxington", "diagnosis")
NOTE = (
    f"# Halvard light\n\n{DENIED}\n\nThe diagnosis of Quuxington came in 1911, with Zanzibarine.\n\n"
    "Xyzzyplugh keeps the spare key under the third stair.\n\n## Ferry to Halvard\n\nWhen does it sail in winter?\n"
)
Disguise = Callable[[str], list[str]]


def _pieces(text: str, size: int = 100) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


DISGUISES: dict[str, Disguise] = {
    "as it stands": lambda text: re.findall(r"[^.\n|]{12,110}", text),
    "a word each": lambda text: sorted(set(re.findall(r"\w{5,}", text)), key=lambda word: word.lower() not in PRIVATE),
    "reversed": lambda text: _pieces(text[::-1]),
    "base64": lambda text: _pieces(base64.b64encode(text.encode()).decode()),
    "hex": lambda text: _pieces(text.encode().hex()),
}


def _undone(query: str) -> Iterator[str]:
    """What a query says, and what it would say in each of the disguises."""
    yield query
    yield query[::-1]
    for word in query.split():
        for undo in (base64.b64decode, bytes.fromhex):
            try:
                yield undo(word[: len(word) // 4 * 4]).decode("utf-8", "replace")
            except (ValueError, binascii.Error):
                continue


def carried(queries: Sequence[str]) -> set[str]:
    """The private words that left in any disguise."""
    said = " ".join(text for query in queries for text in _undone(query)).lower()
    return {word for word in PRIVATE if word in said}


class Carrier:
    """A model that puts what it is shown into queries, and keeps its prompts by what they ask for."""

    def __init__(self, disguise: Disguise) -> None:
        self._disguise = disguise
        self.prompts: dict[str, list[str]] = {"plan": [], "advise": [], "topics": [], "write": []}

    def __call__(self, request: ModelRequest) -> Reply:
        prompt = request.prompt
        shown = request.body["messages"][-1]["content"]
        queries = self._disguise(shown)
        # The last part of what was shown first: a note's body comes after its title.
        queries = [*queries[::-1][:6], *queries[:2]]
        if "You steer a bounded search" in prompt:
            self.prompts["advise"].append(prompt)
            told = {"nextAction": "search_more", "queries": queries[:4], "coverageGaps": queries[:4]}
            return says(json.dumps({**told, "targetSourceTypes": [], "confidence": 0.5, "reason": "more"}))
        if "You do not answer the question" in prompt:
            self.prompts["plan"].append(prompt)
            concepts = [{"name": query[:60], "terms": [query[:60]]} for query in queries]
            return says(json.dumps({"variants": queries, "concepts": concepts}))
        if "You plan the research for a report" in prompt:
            self.prompts["plan"].append(prompt)
            return says(json.dumps([{"query": query, "why": query} for query in queries]))
        if "You read a person's note" in prompt:
            self.prompts["topics"].append(prompt)
            kinds = ("concept", "question", "claim")
            named = [{"topic": q, "context": q, "type": kinds[at % 3]} for at, q in enumerate(queries)]
            return says(json.dumps([{"topic": "the ferry to Halvard", "type": "concept"}, *named]))
        self.prompts["write"].append(prompt)
        return says("")


@pytest.fixture
def net() -> Iterator[Internet]:
    with loopback_internet() as internet:
        internet.add("book.example", "/keeper", "Keeper of the Halvard light", STATED, "2020-01-01")
        yield internet


OpenEngine = Callable[..., Citewell]


@pytest.fixture
def opened(tmp_path: Path, net: Internet) -> Iterator[OpenEngine]:
    engines: list[Citewell] = []

    def opening(**settings: Any) -> Citewell:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "Light.md").write_text(NOTE, "utf-8")
        chosen = {**net.settings, "judge": "off", "embeddings": "off", **settings}
        engine = Citewell(Settings(data_dir=tmp_path / "data", **chosen), resolve=net.names)
        engines.append(engine)
        list(engine.corpus.sync(vault))
        return engine

    yield opening
    for engine in engines:
        engine.close()


def models(server: ScriptedModelServer) -> dict[str, str]:
    return {"model": "openai:carrier", "planner_model": "openai:carrier", "openai_url": server.base_url}


@pytest.mark.attack("P2")
@pytest.mark.parametrize("profile", ["chat", "deep"])
@pytest.mark.parametrize("disguise", ["as it stands", "base64"])
def test_a_planner_that_carries_all_it_sees_has_seen_no_note(
    disguise: str, profile: str, opened: OpenEngine, net: Internet
) -> None:
    carrier = Carrier(DISGUISES[disguise])
    with ScriptedModelServer(carrier) as server:
        engine = opened(**models(server))
        engine.runs.wait(engine.start(ASKED, profile=profile))
    assert carrier.prompts["plan"]
    assert carrier.prompts["advise"]
    assert carried([*carrier.prompts["plan"], *carrier.prompts["advise"]]) == set()
    assert carried(net.searched) == set()
    assert carried([asked.path for asked in net.origin.asked]) == set()
    # The controls: the note was found and shown to the model that writes, and the model's queries were sent.
    assert "zanzibarine" in carried(carrier.prompts["write"])
    assert len(net.searched) > 1


@pytest.mark.attack("P2")
def test_what_notes_and_pages_disagree_about_is_asked_in_words_of_the_page(opened: OpenEngine, net: Internet) -> None:
    engine = opened()
    result = engine.runs.wait(engine.start(ASKED, profile="deep"))
    assert any(DENIED in one.values for one in result.contradictions)  # the control: they are seen to disagree
    assert any("says the harbour" in query for query in net.searched)
    assert carried(net.searched) == set()


@pytest.mark.attack("P2")
@pytest.mark.parametrize("disguise", DISGUISES)
def test_of_a_model_that_has_read_a_note_no_word_leaves(disguise: str, opened: OpenEngine, net: Internet) -> None:
    carrier = Carrier(DISGUISES[disguise])
    with ScriptedModelServer(carrier) as server:
        engine = opened(**models(server))
        result = engine.note("Light.md", dry_run=True)
    assert carried(carrier.prompts["topics"]) == set(PRIVATE)  # the control: it has read all of it
    assert carried([topic.topic for topic in result.topics])  # and named it as topics
    assert set(net.searched) <= {"Halvard light", "Ferry to Halvard"}
    assert "Ferry to Halvard" in net.searched  # what the model named and the note is called so is looked up


@pytest.mark.attack("P2")
@pytest.mark.parametrize("disguise", ["as it stands", "hex"])
def test_a_model_that_plans_a_report_has_seen_the_brief_alone(disguise: str, opened: OpenEngine, net: Internet) -> None:
    carrier = Carrier(DISGUISES[disguise])
    with ScriptedModelServer(carrier) as server:
        engine = opened(**models(server))
        service = engine.reports()
        service.wait(service.start(ResearchBrief(question=ASKED, credibility_floor=0.2)))
    assert carrier.prompts["plan"]
    assert carried(carrier.prompts["plan"]) == set()
    assert carried(net.searched) == set()
    assert "zanzibarine" in carried(carrier.prompts["write"])
    assert len(net.searched) > 1


@pytest.mark.attack("P2")
@pytest.mark.attack("X1")
@pytest.mark.parametrize("profile", ["chat", "deep", "report"])
def test_what_looks_like_a_key_is_not_sent_though_it_stands_in_the_question(
    profile: str, opened: OpenEngine, net: Internet
) -> None:
    key = "sk-proj-4f9d8a7b6c5e4d3f2a1b0c9d8e7f6a5b4c3d2e1f"
    engine = opened()
    question = f"When was the Halvard light first lit? Is {key} still good?"
    if profile == "report":
        service = engine.reports()
        service.wait(service.start(ResearchBrief(question=question, credibility_floor=0.2)))
    else:
        engine.runs.wait(engine.start(question, profile=profile))
    assert not any(key in query or key[8:] in query for query in net.searched)
