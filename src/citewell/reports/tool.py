"""The agent tool `research`: a plain Python callable with a JSON schema, for any framework that takes one.

    tool = ResearchToolFactory(cw.reports()).build(task_id="weekly-review")
    tool(question="How did the kelp lines fare?")   ->   the cited report, as text; `tool.run(…)` as a document
    tool.parameters                                 ->   the JSON Schema of its arguments

One is built for each task: its runs say who made them, and an identical question gets the stored run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from citewell.reports.files import brief_of
from citewell.reports.models import ResearchBrief, ResearchRun
from citewell.reports.rendering import report_text
from citewell.reports.service import ResearchService

NAME = "research"
DESCRIPTION = (
    "Research a question in the documents the user saved, and in the web, papers and code where that is set up. "
    "Returns a report: a summary and claims, each with the exact passage it rests on and a verdict. Cite by number. "
    "What it lists as open was not found: say so, and do not fill it in."
)


@dataclass(frozen=True, slots=True)
class ResearchTool:
    """The tool of one task. Call it with the fields of a brief; only `question` is needed."""

    service: ResearchService
    created_by: str
    name: str = NAME
    description: str = DESCRIPTION

    @property
    def __name__(self) -> str:
        """What frameworks call a function by."""
        return self.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments: a brief, and whether a stored run will do."""
        schema = ResearchBrief.model_json_schema()
        schema["properties"]["fresh"] = {
            "type": "boolean",
            "default": False,
            "description": "True: run it again, though there is a report of the same brief.",
        }
        return {**schema, "title": self.name, "additionalProperties": False}

    def __call__(self, **arguments: Any) -> str:
        """The report as text."""
        return report_text(self.run(arguments))

    def call_json(self, arguments: str) -> str:
        """The same for arguments that are JSON, as some frameworks have them."""
        given = json.loads(arguments or "{}")
        return self(**given)

    def run(self, arguments: Mapping[str, Any]) -> ResearchRun:
        """The run as a document; one that failed says why and has what it gathered."""
        given = dict(arguments)
        fresh = bool(given.pop("fresh", False))
        begun = self.service.start(brief_of(given), created_by=self.created_by, fresh=fresh, surface="python")
        return self.service.wait(begun)


class ResearchToolFactory:
    """Makes the tool of a task."""

    def __init__(self, service: ResearchService) -> None:
        self._service = service

    def build(self, task_id: str = "agent") -> ResearchTool:
        return ResearchTool(self._service, created_by=task_id)
