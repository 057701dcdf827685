"""Runs over one small corpus and a scripted model server: what the tests of models in runs stand on."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from citewell import AddReport, Citewell, RunEvent, RunResult, Settings
from runner.test_runs import collect
from support.model_script import (
    ModelRequest,
    Reply,
    Script,
    says,
)
from support.model_server import ScriptedModelServer

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]
QUESTION = "Who lit the lamp?"
# In words of its own, which nothing but a judge can tell; as its passage has it; and against it.
GOOD = "Josiah Pell lit the lamp on 14 November 1859 {lit}."
VERBATIM = "The lamp was lit by Josiah Pell on 14 November 1859 {lit}."
FALSE = "The lamp was not lit by Josiah Pell on 14 November 1859 {lit}."
PRICES = "openai:test=1000/1000"


def mark(request: ModelRequest, words: str) -> str:
    """The mark of the passage that has these words, as the prompt shows it."""
    found = re.search(rf"^(⟦\d+\.\d+⟧) .*{re.escape(words)}", request.prompt, re.MULTILINE)
    assert found, f"{words!r} is not in the prompt:\n{request.prompt}"
    return found[1]


def writes(*drafts: str) -> Callable[[ModelRequest], Reply]:
    """Writes these drafts, one a call; `{lit}` becomes the mark of the passage that says who lit the lamp."""
    left = list(drafts)

    def reply(request: ModelRequest) -> Reply:
        draft = left.pop(0) if len(left) > 1 else left[0]
        return says(draft.replace("{lit}", mark(request, "lit by")).replace("{oil}", mark(request, "oil for the lamp")))

    return reply


def is_judging(request: ModelRequest) -> bool:
    """Whether a model is asked to judge sentences, not to write any."""
    return "You check sentences of an answer" in request.prompt


def shown_to_judge(request: ModelRequest) -> dict[str, Any]:
    """The object that a judge is sent: the question, and each sentence with its passages."""
    return dict(json.loads(request.body["messages"][-1]["content"]))


Verdict = tuple[str, str, str]


def judging(told: dict[str, Verdict] | Reply | str, write: Callable[[ModelRequest], Reply]) -> Script:
    """Writes as told, and judges: a verdict, words and wrong words for each sentence that has these words in it."""

    def reply(request: ModelRequest) -> Reply:
        if not is_judging(request):
            return write(request)
        if isinstance(told, Reply):
            return told
        return says(told if isinstance(told, str) else json.dumps(_verdicts(told, shown_to_judge(request))))

    return reply


def _verdicts(told: dict[str, Verdict], asked: dict[str, Any]) -> dict[str, Any]:
    found = []
    for one in asked["sentences"]:
        verdict, words, wrong = next(verdict for part, verdict in told.items() if part in one["sentence"])
        found.append({"n": one["n"], "verdict": verdict, "words": words, "wrong": wrong})
    return {"verdicts": found}


class Bench:
    """One corpus, one scripted model; nobody judges what it writes unless a judge is set."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def run(
        self,
        script: Script,
        question: str = QUESTION,
        *,
        deadline: float | None = None,
        choice: dict[str, Any] | None = None,
        url: str = "",
        **settings: Any,
    ) -> tuple[list[RunEvent], RunResult, Sequence[ModelRequest]]:
        with ScriptedModelServer(script) as server:
            chosen = {"model": "openai:test", "model_base_url": url or server.base_url, "judge": "off", **settings}
            engine = Citewell(Settings(data_dir=self.data_dir, **chosen))
            try:
                events, result = asyncio.run(collect(engine.stream(question, timeout=deadline, **(choice or {}))))
                assert engine.runs.replay(result.run_id).identical
            finally:
                engine.close()
        return events, result, server.requests


def decisions(events: list[RunEvent], name: str) -> list[dict[str, Any]]:
    return [event.body["data"] for event in events if event.kind == "decision_made" and event.body["name"] == name]


def displayed(events: list[RunEvent]) -> tuple[list[str], list[int]]:
    """The sentences shown while the answer was written, and the numbers of those taken back."""
    shown = [event.body["text"] for event in events if event.kind == "sentence_shown"]
    return shown, [index for event in events if event.kind == "sentence_retracted" for index in event.body["indexes"]]


def assert_evidence_stays(result: RunResult) -> None:
    assert result.pack is not None
    assert result.pack.evidence
    assert (result.answer, result.citations, result.sentences) == ("", (), ())
    assert result.failure is not None
    assert result.failure.message


def plans(reply: Reply | str, answer: str = GOOD) -> Callable[[ModelRequest], Reply]:
    def script(request: ModelRequest) -> Reply:
        if "You do not answer the question" in request.prompt:
            return says(reply) if isinstance(reply, str) else reply
        return writes(answer)(request)

    return script
