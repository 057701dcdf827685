"""The OpenAPI document, made from the table of operations: every status, every type, an example for each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from citewell.api.operations import Operation
from citewell.api.problems import JSON
from citewell.schemas import require_all
from citewell.search.lookup import DocumentEntries, MissingDocument
from citewell.text.documents import DocumentView
from citewell.version import __version__
from citewell.wire import ErrorDocument

_REF = "#/components/schemas/{name}"
# What any request may be answered.
EVERYWHERE: dict[int, str] = {
    400: "Not a request that can be read.",
    401: "The server has a token, and the request has not.",
    403: "The request comes from a page of another site.",
    405: "Not this method.",
    421: "The server is not called by that name.",
    431: "The headers are too large.",
    500: "The store or the server failed.",
}
_WITH_BODY: dict[int, str] = {
    408: "The body did not come in time.",
    413: "The body is too large.",
    415: "The body is not of an accepted kind.",
}
_CODES = {
    400: "bad_json",
    401: "unauthorized",
    403: "foreign_origin",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    421: "foreign_host",
    422: "bad_input",
    429: "busy",
    431: "headers_too_large",
    500: "internal",
    503: "unavailable",
}
_TAGS = {
    "reading": "Search and read what was saved.",
    "research": "Evidence for a question, and answers from it.",
    "runs": "Recorded runs: started, streamed, stopped, resumed, replayed, compared, exported.",
    "reports": "Reports that were made of briefs.",
    "evals": "Runs as cases, and cases asked again.",
    "state": "How things are.",
}


def openapi_document(operations: Iterable[Operation]) -> dict[str, Any]:
    """OpenAPI 3.1 of these operations."""
    operations = tuple(operations)
    schemas = _Schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Citewell",
            "version": __version__,
            "summary": "Answers from what you have saved, every sentence bound to the passage that supports it.",
            "description": (
                "One error envelope everywhere. HEAD answers like GET. No GET changes anything. A token, where the "
                "server has one, is sent as `Authorization: Bearer TOKEN` and in no other way."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.definitions,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Schemas:
    """The schemas of every type that is sent or taken."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        operations = tuple(operations)
        taken = [form for one in operations for form in (one.query, one.body) if form is not None]
        sent = [one.answer.form for one in operations if one.answer.form not in (None, DocumentEntries)]
        events = [form for one in operations for form in one.events.values()]
        sent += [ErrorDocument, DocumentView, MissingDocument, *events]
        self._refs: dict[Any, dict[str, Any]] = {}
        documents = [form for form in sent if hasattr(form, "model_json_schema")]
        sent_definitions = self._described([form for form in sent if form not in documents])
        require_all(sent_definitions)
        sent_definitions |= self._documented(documents)
        several = DocumentEntries.__name__
        sent_definitions[several] = {
            "title": several,
            "type": "object",
            "properties": {
                "documents": {
                    "type": "array",
                    "items": {"anyOf": [self._refs[DocumentView], self._refs[MissingDocument]]},
                }
            },
            "required": ["documents"],
        }
        self._refs[DocumentEntries] = {"$ref": _REF.format(name=several)}
        # What is sent has every field; what is taken may leave out those that have a default: two schemas of one type.
        taken_refs = dict(self._refs)
        self.taken = self._described(taken, taken_refs)
        both = {name for name in self.taken if name in sent_definitions}
        self.taken = {f"{name}Given" if name in both else name: _renamed(one, both) for name, one in self.taken.items()}
        self._taken_refs: dict[Any, dict[str, Any]] = {form: _renamed(taken_refs[form], both) for form in taken}
        self.definitions = {**self.taken, **sent_definitions}

    def _described(self, forms: list[Any], refs: dict[Any, dict[str, Any]] | None = None) -> dict[str, Any]:
        unique = list(dict.fromkeys(forms))
        schemas, definitions = msgspec.json.schema_components(unique, ref_template=_REF)
        (self._refs if refs is None else refs).update(zip(unique, schemas, strict=True))
        for form in unique:
            definitions[form.__name__] |= getattr(form, "schema_extra", {})
        return definitions

    def _documented(self, models: list[Any]) -> dict[str, Any]:
        """The schemas of documents that describe themselves (`reports/model.py`)."""
        found: dict[str, Any] = {}
        for model in models:
            schema = model.model_json_schema(mode="serialization", ref_template=_REF.replace("{name}", "{model}"))
            found |= schema.pop("$defs", {})
            found[model.__name__] = schema
            self._refs[model] = {"$ref": _REF.format(name=model.__name__)}
        return found

    def of(self, form: Any) -> dict[str, Any]:
        """The schema of something that is sent."""
        return self._refs[form]

    def given(self, form: Any) -> dict[str, Any]:
        """The schema of something that is taken."""
        return self._taken_refs[form]

    def properties(self, form: type) -> tuple[dict[str, Any], list[str]]:
        described = self.taken[form.__name__]
        return described["properties"], described.get("required", [])


def _renamed(schema: Any, names: set[str]) -> Any:
    """A schema whose references to these types are to what is taken of them."""
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.rpartition("/")[2] in names:
            return {**schema, "$ref": f"{reference}Given"}
        return {key: _renamed(value, names) for key, value in schema.items()}
    if isinstance(schema, (list, tuple)):
        return [_renamed(value, names) for value in schema]
    return schema


def _stream_schema(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    """Each event of a stream: its name, its data as JSON, and its id where it has one."""
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "event": {"const": name},
                    "data": {
                        "type": "string",
                        "contentMediaType": JSON,
                        "contentSchema": schemas.of(form),
                    },
                    "id": {"type": "string", "pattern": "^[0-9]+$"},
                },
                "required": ["event", "data"],
            }
            for name, form in operation.events.items()
        ]
    }


def _operation(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": _responses(operation, schemas),
    }
    if operation.description:
        described["description"] = operation.description
    if parameters := [*_path_parameters(operation), *_query_parameters(operation, schemas)]:
        described["parameters"] = parameters
    if operation.body is not None or operation.other_bodies:
        described["requestBody"] = {"required": True, "content": _bodies(operation, schemas)}
    return described


def _bodies(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {kind: dict(media) for kind, media in operation.other_bodies.items()}
    if operation.body is not None:
        content[JSON] = {"schema": schemas.given(operation.body)}
        if operation.body_example is not None:
            content[JSON]["example"] = operation.body_example
    return content


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": one.description,
            "example": one.example,
            "schema": {
                "type": "string",
                "minLength": 1,
                "maxLength": one.max_length,
                **({"pattern": one.pattern} if one.pattern else {}),
            },
        }
        for name, one in operation.parameters.items()
    ]


def _query_parameters(operation: Operation, schemas: _Schemas) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = []
    for name, text in operation.header_parameters.items():
        described.append({"name": name, "in": "header", "required": False, **text})
    if operation.query is None:
        return described
    properties, required = schemas.properties(operation.query)
    for name, form in properties.items():
        schema = {key: value for key, value in form.items() if key != "description"}
        if {"type": "null"} in schema.get("anyOf", ()):
            # A parameter that is not there is left out; there is no way to write null in a query.
            (kept,) = (one for one in schema.pop("anyOf") if one != {"type": "null"})
            schema = {**kept, **{key: value for key, value in schema.items() if value is not None}}
        described.append(
            {
                "name": name,
                "in": "query",
                "required": name in required,
                "description": form.get("description", ""),
                "schema": schema,
            }
        )
    return described


def _responses(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    answer = operation.answer
    content: dict[str, Any] = {kind: dict(media) for kind, media in answer.media.items()}
    if answer.form is not None:
        content[JSON] = {"schema": schemas.of(answer.form)}
        if answer.example is not None:
            content[JSON]["example"] = answer.example
    good: dict[str, Any] = {"description": answer.description or operation.summary, "content": content}
    if answer.headers:
        good["headers"] = {
            name: {"description": text, "schema": {"type": "string"}} for name, text in answer.headers.items()
        }
    if answer.links:
        good["links"] = {
            name: {"operationId": name, "parameters": {"run_id": source}} for name, source in answer.links.items()
        }
    if operation.events:
        content["text/event-stream"] = {"schema": _stream_schema(operation, schemas)}
    responses: dict[str, Any] = {str(answer.status): good}
    for status, text in answer.also.items():
        responses[str(status)] = {"description": text}
    for status, text in _errors(operation).items():
        responses[str(status)] = _error(status, text, schemas)
    return dict(sorted(responses.items()))


def _errors(operation: Operation) -> Mapping[int, str]:
    errors = dict(EVERYWHERE)
    if operation.method == "POST":
        errors |= _WITH_BODY
    if operation.parameters:
        errors[404] = "There is no such thing."
    if operation.invalid == 422:
        errors[422] = "A field or parameter does not fit."
    return {**errors, **operation.errors}


def _error(status: int, text: str, schemas: _Schemas) -> dict[str, Any]:
    example = {"error": {"code": _CODES.get(status, "error"), "message": text}}
    described: dict[str, Any] = {
        "description": text,
        "content": {JSON: {"schema": schemas.of(ErrorDocument), "example": example}},
    }
    if status == 429:
        described["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    if status == 405:
        described["headers"] = {"Allow": {"description": "What is allowed.", "schema": {"type": "string"}}}
    if status == 401:
        described["headers"] = {"WWW-Authenticate": {"description": "Bearer.", "schema": {"type": "string"}}}
    return described
