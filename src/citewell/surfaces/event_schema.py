"""The JSON Schema of a run's events: one form for each kind, made from the types in `domain/events.py`.

A field that has a default may be missing: earlier versions did not write it. Whatever reads events (a browser, another
language) can be made from this.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from citewell.domain.events import EVENT_TYPES, RunEvent, SentenceRetracted, SentenceShown

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
