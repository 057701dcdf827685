"""Briefs in files: YAML or JSON. What is wrong is said with the file, the line and the field."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from citewell.domain.errors import BadInput
from citewell.reports.models import ResearchBrief

MAX_FILE_BYTES = 1_000_000


def read_brief(path: Path) -> ResearchBrief:
    """The brief in a file; raises BadInput."""
    text = _text(path)
    value, root = _yaml(path, text)
    if not isinstance(value, dict):
        raise _wrong(path, 1, "", "a brief is a mapping that has at least a `question`")
    try:
        # As JSON, so that a list stands for a tuple and a number is not taken for a text.
        return ResearchBrief.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise _wrong(path, _line(root, first["loc"]), _field(first["loc"]), _said(first)) from None


def brief_of(value: Any) -> ResearchBrief:
    """A brief that came with a request; raises BadInput that names the field."""
    try:
        return ResearchBrief.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = _field(first["loc"])
        named = f", field `{field}`" if field else ""
        raise BadInput(f"The brief does not fit{named}: {_said(first)}.", fix="See 'citewell schema brief'.") from None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"{path} is larger than {MAX_FILE_BYTES // 1_000_000} MB.", fix="Name a brief.")
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.", fix="Name a brief: a YAML or JSON file.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8.", fix="Save it as UTF-8.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", fix="Name a brief: a YAML or JSON file.") from None


def _yaml(path: Path, text: str) -> tuple[Any, yaml.Node | None]:
    """Every JSON document is YAML once its tabs are spaces."""
    loader = yaml.SafeLoader(text.replace("\t", " "))
    try:
        root = loader.get_single_node()
        if root is None:
            raise _wrong(path, 1, "", "the file is empty")
        return loader.construct_document(root), root
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise _wrong(path, mark.line + 1 if mark else 1, "", f"it is neither YAML nor JSON: {what}") from None
    finally:
        loader.dispose()


def _line(node: yaml.Node | None, steps: tuple[str | int, ...]) -> int:
    """The line on which the deepest part of a path stands that is there."""
    line = 1
    for step in steps:
        if isinstance(node, yaml.MappingNode):
            entry = next(((key, value) for key, value in node.value if key.value == step), None)
            if entry is None:
                return line
            line, node = entry[0].start_mark.line + 1, entry[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
    return line


def _field(steps: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in steps)


def _said(error: Any) -> str:
    """Why a value does not fit, in a sentence."""
    name = str(error["loc"][-1]) if error["loc"] else ""
    match error["type"]:
        case "extra_forbidden":
            known = _known(error["loc"][:-1])
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known are {', '.join(known)}"
            return f"there is no such field{hint}"
        case "missing":
            return f"a brief needs a `{name}`"
        case "value_error":
            return str(error["ctx"]["error"])
        case _:
            return str(error["msg"]).removeprefix("Value error, ")


def _known(steps: tuple[str | int, ...]) -> list[str]:
    model: Any = ResearchBrief
    for step in steps:
        model = model.model_fields[step].annotation if step in getattr(model, "model_fields", {}) else model
    return list(getattr(model, "model_fields", {}))


def _wrong(path: Path, line: int, field: str, what: str) -> BadInput:
    named = f", field `{field}`" if field else ""
    return BadInput(f"{path}, line {line}{named}: {what}.", fix="See 'citewell schema brief', or docs/reports.md.")
