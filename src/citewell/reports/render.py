"""A report as plain text, for agents and logs. Pure; surfaces with a layout of their own have their own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from citewell.reports.model import (
    ReportSentence,
    ResearchBrief,
    ResearchCitation,
    ResearchClaim,
    ResearchReport,
    ResearchRun,
    brief_of,
)
from citewell.reports.service import ResearchService


def remark_on(one: ReportSentence) -> str:
    """What is said behind a sentence that is an exception; nothing behind one that nobody checked."""
    if one.checked == "none":
        return ""
    return {"unsupported": " (not found in its source)", "partial": " (only partly in its source)"}.get(one.verdict, "")


def report_text(run: ResearchRun) -> str:
    """The run as text: the report, or why there is none."""
    head = [f"# {_line(run.brief.question)}", ""]
    if run.report is None:
        why = run.error or ("It is under way." if run.status not in ("failed", "cancelled", "done") else "No report.")
        return "\n".join([*head, f"{run.status}: {why}", "", f"run {run.run_id}"])
    return "\n".join([*head, *_report(run.report, run), "", f"run {run.run_id}, brief {run.brief_id}"])


def _report(report: ResearchReport, run: ResearchRun) -> Iterator[str]:
    yield from ("## Summary", "")
    yield from (f"{_line(one.text)} {marks(one.citations)}{remark_on(one)}" for one in report.summary_sentences)
    yield from ("", "## Claims", "")
    for claim in report.claims:
        yield f"- {claim.type}: {_line(claim.text)} {marks(claim.citations)}{remark_on(claim)}"
    for claim in report.withdrawn:
        yield f"- removed ({_line(claim.reason) or 'its source says otherwise'}): {_line(claim.text)}"
    if report.gaps:
        yield from ("", "## Open", "", *(f"- {_line(gap)}" for gap in report.gaps))
    yield from ("", "## Sources", "")
    yield from (source_line(one) for one in report.citations)
    yield from ("", methodology_line(run))


def marks(citations: tuple[ResearchCitation, ...]) -> str:
    return " ".join(f"[{one.n}]" for one in citations)


def source_line(citation: ResearchCitation) -> str:
    title, where = place_of(citation)
    return f"[{citation.n}] {_line(title)} ({_line(where)}): “{_line(citation.quote)[:400]}”"


def place_of(citation: ResearchCitation) -> tuple[str, str]:
    """The title of a source, and where it stands."""
    locator = citation.locator
    if locator.family == "knowledge":
        found = locator.citation
        where = found.note_path or found.url or found.source_key
        return found.title, f"{where}, p. {found.page}" if found.page is not None else where
    return locator.title, locator.url


def methodology_line(run: ResearchRun) -> str:
    """How it was made, in one line."""
    counted = run.methodology
    if counted is None:
        return ""
    parts = [
        f"{counted.sub_queries} sub-queries",
        f"{counted.items_retrieved} passages found",
        f"{counted.duplicates} copies",
        f"{counted.below_floor} below the credibility floor",
        f"{counted.items_retained} kept",
        f"{counted.items_cited} cited",
    ]
    skipped = "".join(f"; {one.family} left out ({one.reason})" for one in counted.skipped)
    return f"{', '.join(parts)}{skipped}. Written by {run.model or 'nobody'}."


def claims_by_query(report: ResearchReport) -> dict[int | None, list[ResearchClaim]]:
    """The claims under the sub-query each belongs to, in order."""
    grouped: dict[int | None, list[ResearchClaim]] = {}
    for claim in report.claims:
        grouped.setdefault(claim.sub_query, []).append(claim)
    return grouped


def _line(text: str) -> str:
    return " ".join(text.split())


# The agent tool `research`: a plain Python callable with a JSON schema, for any framework that takes one.
#
#     tool = ResearchToolFactory(cw.reports()).build(task_id="weekly-review")
#     tool(question="How did the kelp lines fare?")   ->   the cited report, as text; `tool.run(…)` as a document
#     tool.parameters                                 ->   the JSON Schema of its arguments
#
# One is built for each task: its runs say who made them, and an identical question gets the stored run.


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
