"""The kinds of runs there are, each as what is asked of which world, whatever the door."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from doors.world import SitePage
from reports import lighthouse
from support.model_script import ModelRequest, Reply, Script, fails, judges, says, silent

Door = Literal["cli", "python", "rest", "mcp"]
EVERY_DOOR: tuple[Door, ...] = ("cli", "python", "rest", "mcp")

NOTES = {
    "Lamp.md": (
        "---\ntags: [lighthouse]\n---\n# Lamp\nThe lamp was lit by Josiah Pell on 14 November 1859. See [[Halvard]].\n"
    ),
    "Oil.md": "# Oil\nThe oil for the lamp came from Leith in casks, as [[Lamp]] says.\n",
    "Halvard.md": "# Halvard\nThe ferry Halvard carried 212 passengers and twelve cars.\n",
    "Light.md": "# Orrin Head Light\nThe Orrin Head Light was kept by Magnus Tulloch.\n",
}
VAULT = {
    "Light.md": (
        "# Halvard light\n\nWhen was the Halvard light first lit?\n\nThe Halvard light was painted red in 1903.\n"
    ),
    "Paint.md": (
        "# Paint\n\nThe Halvard light was painted red in 1902 by the harbour office. "
        "The harbour office paid 12 crowns for the paint of the Halvard light.\n"
    ),
}
PAGES = (
    SitePage(
        *(0, "/light", "The Halvard light", "The Halvard light was first lit in 1871 by its keeper."),
        found_by="halvard light",
    ),
    SitePage(
        *(1, "/register", "Register of lights"),
        "It was in 1871 that the Halvard light was first lit, as the coast guard has it.",
        found_by="halvard light",
    ),
    SitePage(
        *(2, "/paper", "An old paper", "The paper wrote that the Halvard light was first lit in 1874."),
        found_by="halvard light",
    ),
    SitePage(2, "/gone", "The Halvard light, gone", "The Halvard light.", found_by="halvard light", status=410),
)
LAMP = "Who lit the lamp?"
LIT = "When was the Halvard light first lit?"
NOWHERE = "What colour is the zeppelin hangar?"
GOOD = "Josiah Pell lit the lamp on 14 November 1859 {lit by}."
FALSE = "The lamp was not lit by Josiah Pell on 14 November 1859 {lit by}."
TOPICS = json.dumps([{"topic": "Halvard light painted", "context": "painted red", "type": "claim"}])


@dataclass(frozen=True)
class Case:
    """One kind of run: what is asked, of which world, and which doors offer it."""

    kind: Literal["research", "pack", "synthesis", "note", "report"] = "research"
    question: str = LAMP
    notes: Mapping[str, str] = field(default_factory=lambda: NOTES)
    # Makes the script of the model anew; None: no model.
    script: Callable[[], Script] | None = None
    pages: tuple[SitePage, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    # By the names they have in Python and over HTTP.
    options: Mapping[str, Any] = field(default_factory=dict)
    # Asked of the run once its model is asked.
    control: Literal["", "finish", "cancel"] = ""
    doors: tuple[Door, ...] = EVERY_DOOR
    exit_code: int = 0
    # Fields that depend on which of two ends comes first, by a hair.
    either_way: tuple[str, ...] = ()
    # A record is cut behind each entry, or behind each of so many.
    every: int = 1

    @property
    def stops_early(self) -> bool:
        return bool(self.control or "timeout" in self.options)

    @property
    def gathers_at_once(self) -> bool:
        """Whether several things are gathered at the same time, and come in any order."""
        return bool(self.pages) or self.kind in ("note", "report")


def marked(draft: str, prompt: str) -> str:
    """A draft with `{words}` turned into the marks of the passages that have them."""

    def mark(words: re.Match[str]) -> str:
        found = re.search(rf"^(⟦\d+\.\d+⟧) .*{re.escape(words[1])}", prompt, re.MULTILINE)
        return found[1] if found else "⟦1.1⟧"

    return re.sub(r"\{([^{}]+)\}", mark, draft)


def writes(*drafts: str) -> Callable[[], Script]:
    """A model that writes these drafts, one a call, the last one again and again, and judges its sentences."""

    def made() -> Script:
        left = list(drafts)

        def reply(request: ModelRequest) -> Reply:
            if judged := judges(request, missing=("900 pounds",)):
                return judged
            draft = left.pop(0) if len(left) > 1 else left[0]
            return says(marked(draft, request.prompt))

        return reply

    return made


def written_and_judged(request: ModelRequest) -> Reply:
    """Writes two sentences in words of its own, and finds each in the first of its passages."""
    if "You check sentences of an answer" not in request.prompt:
        return says(marked(f"{GOOD} The oil cost 900 pounds {{oil for the lamp}}.", request.prompt))
    asked = json.loads(request.body["messages"][-1]["content"])["sentences"]
    told = [{"n": one["n"], "verdict": "says", "words": one["passages"][0]["text"]} for one in asked]
    return says(json.dumps({"verdicts": told}))


def plans(plan: str, draft: str = GOOD) -> Callable[[], Script]:
    """A model that plans so where it is asked to plan, and writes where it is asked to write."""

    def made() -> Script:
        write = writes(draft)()

        def reply(request: ModelRequest) -> Reply:
            assert callable(write)
            return says(plan) if "You do not answer the question" in request.prompt else write(request)

        return reply

    return made


def notes_model(request: ModelRequest) -> Reply:
    """A model that names a topic of a note, and writes one sentence about it."""
    if "Reply with one JSON object" in request.prompt:
        return says(TOPICS)
    if judged := judges(request):
        return judged
    return says(marked("## 1\nThe harbour office paid 12 crowns for the paint {12 crowns}.", request.prompt))


PLANNED = json.dumps({"queries": ["lamp lit by", "Josiah Pell lamp"], "concepts": ["lamp"], "reason": "names"})
VAGUE = "How did they come to keep the lamp lit through the long winter?"
PRICED = {"prices": "openai:test=1000/1000"}
WITHOUT_CLI: tuple[Door, ...] = ("python", "rest", "mcp")
WITHOUT_MCP: tuple[Door, ...] = ("cli", "python", "rest")

CASES: dict[str, Case] = {
    "quoted": Case(),
    "with-a-model": Case(script=writes(GOOD)),
    "repaired": Case(script=writes(f"{GOOD} {FALSE}", GOOD)),
    "judged": Case(script=lambda: written_and_judged, settings={"judge": "auto"}),
    "no-evidence": Case(question=NOWHERE),
    "failed-at-a-gate": Case(script=writes("Josiah Pell lit the lamp [99]."), exit_code=1),
    "finished-early": Case(script=silent, control="finish"),
    "cancelled": Case(script=silent, control="cancel", exit_code=130),
    # The time of the run and the time of the call are over together.
    "late": Case(
        script=silent,
        options={"timeout": 5.0},
        doors=WITHOUT_MCP,
        either_way=("problem", "steps", "tokens", "input_tokens"),
    ),
    "at-the-cost-ceiling": Case(script=writes(GOOD), settings={**PRICED, "max_cost_usd": 0.01}),
    "model-unreachable": Case(script=lambda: fails(401, "bad key", code="invalid_api_key"), exit_code=4),
    "model-fails": Case(script=lambda: fails(400, "no", code="bad_request"), exit_code=1),
    "planned-by-a-model": Case(
        question=VAGUE, script=plans(PLANNED), settings={"planner_model": "openai:test"}, options={}
    ),
    "follow-up": Case(
        question="And who kept the light?",
        options={"history": [LAMP], "pinned": ["note:notes/halvard"]},
        doors=WITHOUT_CLI,
    ),
    "chat": Case(question=LIT, notes=VAULT, pages=PAGES, options={"profile": "chat"}),
    "chat-with-a-model": Case(
        question=LIT,
        notes=VAULT,
        pages=PAGES,
        options={"profile": "chat"},
        script=writes("The Halvard light was first lit in 1871 {first lit in 1871 by its keeper}."),
    ),
    "deep": Case(question=LIT, notes=VAULT, pages=PAGES, options={"profile": "deep"}),
    "note-dry": Case("note", "Light.md", notes=VAULT, options={"dry_run": True}),
    "note-written": Case("note", "Light.md", notes=VAULT),
    "note-with-a-model": Case("note", "Light.md", notes=VAULT, script=lambda: notes_model),
    "note-deep-on-the-web": Case("note", "Light.md", notes=VAULT, pages=PAGES, options={"depth": "deep"}),
    "report": Case("report", lighthouse.QUESTION, notes=lighthouse.NOTES),
    "report-with-a-model": Case(
        "report", lighthouse.QUESTION, notes=lighthouse.NOTES, script=lambda: lighthouse.scripted(lighthouse.GOOD)
    ),
    "pack": Case("pack"),
    "pack-planned": Case(
        "pack",
        VAGUE,
        script=plans(PLANNED),
        settings={"planner_model": "openai:test"},
        options={"planner": True},
    ),
    "synthesis": Case("synthesis", doors=("python", "rest")),
    "synthesis-with-a-model": Case("synthesis", script=writes(GOOD), doors=("python", "rest")),
}
