"""Asking for JSON in words, for endpoints that cannot be held to a schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def schema_instruction(schema: Mapping[str, Any]) -> str:
    shown = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON value and nothing else, no explanation and no code fence. Its JSON Schema:\n{shown}"


def instructed(messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> list[dict[str, str]]:
    """The messages with the instruction at the end of the last one, where small models heed it most."""
    *before, last = messages
    asked = {"role": last["role"], "content": f"{last['content']}\n\n{schema_instruction(schema)}"}
    return [*(dict(message) for message in before), asked]
