"""Runs to be cut: questions, profiles, what the model does, options, and how they end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from doors.cases import (
    CASES,
    GOOD,
    LAMP,
    LIT,
    PAGES,
    VAGUE,
    VAULT,
    Case,
    marked,
    notes_model,
    plans,
    writes,
    written_and_judged,
)
from reports import lighthouse
from support.model_script import ModelRequest, Reply, Script, fails, judges, says, silent

_PASSAGE = re.compile(r"^(⟦\d+\.\d+⟧) (?!#|tags:|---)(.+?)[.]?$", re.MULTILINE)
QUESTIONS = {
    "passengers": "How many passengers did the Halvard carry?",
    "oil": "Where did the oil for the lamp come from?",
    "keeper": "Who kept the Orrin Head Light?",
    "overview": "Tell me about the lamp",
    "two-things": "Who lit the lamp, and where did its oil come from?",
    "negated": "Which ferry did not carry 212 passengers?",
}
NOT_FOUND = tuple(replace(page, found_by="zeppelin") for page in PAGES)
JUDGED = {"judge": "builtin", "reader": "builtin"}


def repeats(request: ModelRequest) -> Reply:
    """Writes the first passage of its evidence down again."""
    if judged := judges(request):
        return judged
    found = _PASSAGE.search(request.prompt)
    return says(f"{found[2]} {found[1]}." if found else "The evidence does not say.")


def on_the_web(written: Reply | None = None) -> Callable[[], Script]:
    """A model that has read enough, whatever was read, and writes this, or what the keeper's page says."""
    enough = {"nextAction": "finalize", "queries": [], "coverageGaps": [], "confidence": 0.9, "reason": "enough"}
    draft = "The Halvard light was first lit in 1871 {first lit in 1871 by its keeper}."

    def reply(request: ModelRequest) -> Reply:
        if "nextAction" in request.prompt:
            return says(json.dumps(enough))
        return judges(request) or written or says(marked(draft, request.prompt))

    return lambda: reply


def _by_question() -> dict[str, Case]:
    """Every question quoted, written by a model, and refused by one."""
    found: dict[str, Case] = {}
    for name, question in QUESTIONS.items():
        found[f"{name}-quoted"] = Case(question=question)
        found[f"{name}-written"] = Case(question=question, script=lambda: repeats)
        found[f"{name}-refused"] = Case(question=question, script=lambda: says("The evidence does not say."))
    return found


_BY_OPTION = {
    "by-tag": Case(options={"tags": ["lighthouse"]}),
    "by-topic": Case(options={"topic": "lamp", "topic_brief": True}),
    "one-row": Case(question=QUESTIONS["two-things"], options={"limit": 1}),
    "few-characters": Case(options={"max_evidence_chars": 500}, script=lambda: repeats),
    "judged": Case(settings=JUDGED),
    "judged-model": Case(settings=JUDGED, script=lambda: written_and_judged),
    "judged-by-another": Case(settings={"judge": "openai:other"}, script=lambda: written_and_judged),
    "judged-in-riddles": Case(settings=JUDGED, script=writes(GOOD, "It stands.")),
    "judged-by-nobody": Case(settings={"judge": "off"}, script=lambda: written_and_judged),
    "planner-in-riddles": Case(question=VAGUE, script=plans("no JSON"), settings={"planner_model": "openai:test"}),
    "few-tokens": Case(script=writes(GOOD), settings={"max_tokens": 10}),
    "contradicted": Case(script=writes("The lamp was not lit by Josiah Pell on 14 November 1859 {lit by}.")),
}
_CHAT = Case(question=LIT, notes=VAULT, pages=PAGES, options={"profile": "chat"})
_DEEP = replace(_CHAT, options={"profile": "deep"}, script=on_the_web())
_ON_THE_WEB = {
    "chat-finds-nothing": replace(_CHAT, pages=NOT_FOUND),
    "chat-finished-early": replace(
        _CHAT, script=on_the_web(silent()), control="finish", options={**_CHAT.options, "planner": False}
    ),
    "deep-with-a-model": replace(_DEEP, settings={"deep_research_max_loops": 1}),
    "report-on-the-web": Case("report", LIT, notes=VAULT, pages=PAGES),
}
_OF_NOTES_AND_REPORTS = {
    "note-focus": Case("note", "Light.md", notes=VAULT, options={"focus": "paint"}),
    "note-dry-model": Case("note", "Light.md", notes=VAULT, options={"dry_run": True}, script=lambda: notes_model),
    "note-deep-model": Case("note", "Light.md", notes=VAULT, options={"depth": "deep"}, script=lambda: notes_model),
    "report-in-riddles": Case(
        "report", lighthouse.QUESTION, notes=lighthouse.NOTES, script=lambda: says("## Summary\nNobody knows.")
    ),
    "report-without-its-model": Case(
        "report", LAMP, notes=lighthouse.NOTES, script=lambda: fails(401, "bad key", code="invalid_api_key")
    ),
}

CUT_CASES: dict[str, Case] = {
    **{name: case for name, case in CASES.items() if case.kind in ("research", "note", "report")},
    # It waits for its time to be over wherever it is cut.
    "late": replace(CASES["late"], options={"timeout": 2.5}, every=7),
    **_by_question(),
    **_BY_OPTION,
    **_ON_THE_WEB,
    **_OF_NOTES_AND_REPORTS,
}
# Its model is asked the very same thing twice, since a second round brings nothing new.
ASKED_TWICE = _DEEP
