"""The output schemas of tools: the published schemas, cut to what a client needs to read a result.

A client keeps the whole list of tools in mind, so what is listed is short: only the types that a result can reach, no
titles and no sentences about types, and parts that agents rarely read are told as objects without their fields.
Whatever fits the published schema fits this one; `citewell schema NAME` and docs/schemas have every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from citewell.surfaces.schemas import json_schema

# How a run went, rather than what it came to: told as objects. So is what another tool tells as its own document
# (packs, briefs of topics, results of runs), but where it is that document.
_UNTOLD = frozenset(
    "ResearchPack WebReport RunMetrics FlowLedger Exploration RunEvent ModelCall Brief Methodology ReportPlan "
    "ReportItem ItemCredibility GivenRow FamilyCount SkippedFamily Duplicate TopicBrief RunResult Filters Limits "
    "Opinion Doubt Concept Variant".split()
)
_WORDS = ("title", "description")


def output_schema(name: str, root: str = "") -> dict[str, Any]:
    """The schema of a tool's document, with an object at its root as the protocol wants it."""
    schema = json_schema(name)
    root = root or schema["$ref"].rpartition("/")[2]
    told = {key: _bare(form) for key, form in schema["$defs"].items()}
    reached = _reached(told[root], told)
    return {
        "$schema": schema["$schema"],
        "description": f"{schema['$defs'][root].get('description', '')} Every field: citewell schema {name}".strip(),
        **told[root],
        **({"$defs": {key: told[key] for key in sorted(reached)}} if reached else {}),
    }


def _reached(form: Any, definitions: dict[str, Any]) -> set[str]:
    """The types that a form leads to."""
    reached: set[str] = set()
    ahead = list(_references(form))
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += _references(definitions[name])
    return reached


def _references(form: Any) -> Iterator[str]:
    match form:
        case dict():
            if "$ref" in form:
                yield form["$ref"].rpartition("/")[2]
            for part in form.values():
                yield from _references(part)
        case list():
            for part in form:
                yield from _references(part)


def _bare(form: Any) -> Any:
    """A form without the words about it, and without what is not told; a property may well be called `title`."""
    match form:
        case {"$ref": str(reference)} if reference.rpartition("/")[2] in _UNTOLD:
            return {"type": "object"}
        case dict():
            return {
                key: {name: _bare(one) for name, one in part.items()} if key == "properties" else _bare(part)
                for key, part in form.items()
                if key not in _WORDS
            }
        case list():
            return [_bare(part) for part in form]
        case _:
            return form
