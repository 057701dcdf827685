"""The published JSON Schema of each JSON document, made from the types of the values themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import msgspec

from citewell.backup import BackupReport, RestoreReport
from citewell.check.verdict import SentenceCheck
from citewell.doctor import DoctorReport
from citewell.evals.bench import BenchReport, JudgeReport, VerifierReport
from citewell.evals.cases import CaseFile
from citewell.evals.results import CorpusReport, EvalReport, ProposalReport
from citewell.models.download import FetchReport, ModelList
from citewell.notes.task import NoteResult
from citewell.runs.events import EVENT_TYPES, RunEvent, SentenceRetracted, SentenceShown
from citewell.runs.reports import (
    ChatReport,
    ControlReport,
    DemoReport,
    ExportReport,
    MigrationReport,
    PruneSummary,
    ReplayReport,
    RunDiff,
    RunList,
    RunView,
)
from citewell.runs.run import RunResult
from citewell.search.entities import EntityMap
from citewell.search.lanes import EncodeReport
from citewell.search.lookup import DocumentEntries, MissingDocument, RelatedResult, SearchResult
from citewell.search.pack import NextStepParams, ResearchPack
from citewell.search.topics import TopicBrief, TopicMap
from citewell.store.port import AddReport, CollectionList, CorpusStatus, RemoveReport, Stats, SummaryReport
from citewell.text.documents import DocumentView
from citewell.wire import OMITTED_WHEN_NONE, ErrorBody, ErrorDocument

# The JSON Schema of a run's events: one form for each kind, made from the types in `runs/events.py`.
#
# A field that has a default may be missing: earlier versions did not write it. Whatever reads events (a browser,
# another language) can be made from this.


_Schema = dict[str, Any]
# Written by 0.1.0 in the place of `sentence_shown` and `sentence_retracted`.
_DISPLAYED = "display_updated"


def run_event_schema() -> _Schema:
    """Every event a log can hold, told apart by its `kind`."""
    types = [*EVENT_TYPES.values(), RunEvent]
    schemas, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    refs: dict[type[Any], _Schema] = dict(zip(types, schemas, strict=True))
    bodies = {kind: refs[form] for kind, form in EVENT_TYPES.items()}
    bodies[_DISPLAYED] = {"oneOf": [_only("shown", refs[SentenceShown]), _only("retracted", refs[SentenceRetracted])]}
    envelope = definitions.pop(RunEvent.__name__)
    return {"oneOf": [_event(envelope, kind, body) for kind, body in bodies.items()], "$defs": definitions}


def _event(envelope: _Schema, kind: str, body: _Schema) -> _Schema:
    """The form every entry has, with the body of one kind."""
    properties = {**envelope["properties"], "kind": {"const": kind}, "body": body}
    return {"title": kind, "type": "object", "properties": properties, "required": envelope["required"]}


def _only(name: Literal["shown", "retracted"], body: _Schema) -> _Schema:
    return {"type": "object", "properties": {name: body}, "required": [name]}


@dataclass(frozen=True, slots=True)
class SchemaList:
    schemas: tuple[str, ...]


# What each command prints with --json; the name is the schema's. `run_event` is one entry of a run's log.
SCHEMA_TYPES: dict[str, tuple[Any, ...]] = {
    "add": (AddReport,),
    "backup": (BackupReport,),
    "bench": (BenchReport,),
    "bench-verifier": (VerifierReport,),
    "chat": (ChatReport,),
    "collections": (CollectionList,),
    "demo": (DemoReport,),
    "doctor": (DoctorReport,),
    "embed": (EncodeReport,),
    "entities": (EntityMap,),
    "error": (ErrorDocument,),
    "eval-corpus": (CorpusReport,),
    "eval-mcp": (EvalReport,),
    "eval-propose": (ProposalReport,),
    "eval-research": (EvalReport,),
    "eval_cases.v1": (CaseFile,),
    "get": (DocumentView, MissingDocument),
    "migrate": (MigrationReport,),
    "models-check": (JudgeReport,),
    "models-get": (FetchReport,),
    "models-list": (ModelList,),
    "note": (NoteResult,),
    "related": (RelatedResult,),
    "remove": (RemoveReport,),
    "research": (RunResult,),
    "research_pack.v1": (ResearchPack,),
    "restore": (RestoreReport,),
    "run_event": (RunEvent,),
    "runs-cancel": (ControlReport,),
    "runs-diff": (RunDiff,),
    "runs-export": (ExportReport,),
    "runs-finish": (ControlReport, RunResult),
    "runs-list": (RunList,),
    "runs-prune": (PruneSummary,),
    "runs-replay": (ReplayReport,),
    "runs-resume": (RunResult,),
    "runs-show": (RunView,),
    "schema": (SchemaList,),
    "search": (SearchResult,),
    "stats": (Stats,),
    "status": (CorpusStatus,),
    "summarize": (SummaryReport,),
    "topic-map": (TopicMap,),
    "topics": (TopicBrief,),
}


# Documents about briefs; their schemas come from their own models.
REPORT_SCHEMAS = ("brief", "report", "report-list")
SCHEMA_NAMES: tuple[str, ...] = tuple(sorted((*SCHEMA_TYPES, *REPORT_SCHEMAS)))


def _report_schema(name: str) -> dict[str, Any]:
    # Not imported above: anyone who looks at another schema need not wait for it.
    from citewell.reports.model import ResearchBrief, ResearchRun, ResearchRunList

    if name == "brief":
        return ResearchBrief.model_json_schema()
    model = ResearchRun if name == "report" else ResearchRunList
    return model.model_json_schema(mode="serialization")


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(name: str) -> dict[str, Any]:
    """The published JSON Schema of a command's document, or of an event."""
    if name in REPORT_SCHEMAS:
        return {"$schema": _DIALECT, **_report_schema(name), "title": f"citewell {name}"}
    if name == "run_event":
        return {"$schema": _DIALECT, "title": f"citewell {name}", **run_event_schema()}
    (schemas, definitions) = msgspec.json.schema_components(SCHEMA_TYPES[name], ref_template="#/$defs/{name}")
    if name == "get":
        schemas, definitions = _of_one_or_several(schemas, definitions)
    body = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    # What a person writes may leave out what it does not say.
    if name != "eval_cases.v1":
        require_all(definitions)
    return {
        "$schema": _DIALECT,
        "title": f"citewell {name}",
        **body,
        "$defs": definitions,
    }


def _of_one_or_several(
    entries: tuple[dict[str, Any], ...], definitions: dict[str, Any]
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """One document, or a list of both kinds of entries: msgspec describes no list of two kinds of objects."""
    several = DocumentEntries.__name__
    definitions[several] = {
        "title": several,
        "description": DocumentEntries.__doc__,
        "type": "object",
        "properties": {"documents": {"type": "array", "items": {"anyOf": list(entries)}}},
    }
    return (entries[0], {"$ref": f"#/$defs/{several}"}), definitions


# What leaves out every field that has nothing to say.
_SPARSE = (ErrorBody.__name__, SentenceCheck.__name__)


def require_all(definitions: dict[str, Any]) -> None:
    """Every field is always sent, but for what has nothing to say in errors, checks and evidence."""
    evidence = _evidence_definitions()
    for name, definition in definitions.items():
        if definition.get("type") != "object" or "properties" not in definition or name in _SPARSE:
            continue
        fields: dict[str, Any] = definition["properties"]
        definition["required"] = [
            field
            for field, form in fields.items()
            if not ((field in OMITTED_WHEN_NONE or name in evidence) and _may_be_left_out(name, form))
        ]
        for form in fields.values():
            form.pop("default", None)


def _may_be_left_out(name: str, form: dict[str, Any]) -> bool:
    return name == NextStepParams.__name__ or {"type": "null"} in form.get("anyOf", ()) or None in form.get("enum", ())


@cache
def _evidence_definitions() -> frozenset[str]:
    """The types a pack is made of."""
    return frozenset(msgspec.json.schema_components([ResearchPack])[1])
