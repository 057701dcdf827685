"""Values as JSON, and the published schema of each JSON document. Every surface sends these same shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from citewell.domain.documents import DocumentView
from citewell.domain.errors import CitewellError
from citewell.domain.library import (
    AddReport,
    CollectionList,
    CorpusStatus,
    DoctorReport,
    DocumentList,
    RelatedResult,
    RemoveReport,
    SearchResult,
    Stats,
)
from citewell.domain.packs import ResearchPack

# Fields that are left out, rather than null, when there is nothing to say.
_OMITTED_WHEN_NONE = frozenset({"topic_brief"})


def to_document(value: object) -> Any:
    """A value as plain JSON data."""
    document = msgspec.to_builtins(value)
    if isinstance(document, dict):
        return {key: entry for key, entry in document.items() if entry is not None or key not in _OMITTED_WHEN_NONE}
    return document


def to_json(value: object) -> bytes:
    """A value as one line of JSON, UTF-8."""
    return msgspec.json.encode(to_document(value))


@dataclass(frozen=True, slots=True)
class ErrorBody:
    code: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class ErrorDocument:
    """The one error envelope."""

    error: ErrorBody


def error_document(error: CitewellError) -> ErrorDocument:
    return ErrorDocument(ErrorBody(error.code, error.message, error.fix))


@dataclass(frozen=True, slots=True)
class SchemaList:
    schemas: tuple[str, ...]


# What each command prints with --json; the name is the schema's.
SCHEMA_TYPES: dict[str, tuple[Any, ...]] = {
    "add": (AddReport,),
    "collections": (CollectionList,),
    "doctor": (DoctorReport,),
    "error": (ErrorDocument,),
    "get": (DocumentView, DocumentList),
    "related": (RelatedResult,),
    "remove": (RemoveReport,),
    "research_pack.v1": (ResearchPack,),
    "schema": (SchemaList,),
    "search": (SearchResult,),
    "stats": (Stats,),
    "status": (CorpusStatus,),
}


def json_schema(name: str) -> dict[str, Any]:
    """The published JSON Schema of a command's document."""
    (schemas, definitions) = msgspec.json.schema_components(SCHEMA_TYPES[name], ref_template="#/$defs/{name}")
    body = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    for definition in definitions.values():
        _require_all(definition)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"citewell {name}",
        **body,
        "$defs": definitions,
    }


def _require_all(definition: dict[str, Any]) -> None:
    """Every field is always sent, but for those left out when there is nothing to say."""
    if definition.get("type") != "object" or "properties" not in definition:
        return
    definition["required"] = [name for name in definition["properties"] if name not in _OMITTED_WHEN_NONE]
    for entry in definition["properties"].values():
        entry.pop("default", None)
