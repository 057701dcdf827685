"""Eval cases: a question and what must hold of what comes of it (`eval_cases.v1`).

    cases:
      - id: first-lighting
        family: timeline
        question: When was the Orrin Head Light first lit?
        expect_answer_status: ok
        expect_citation_source_keys: [note:skelday/vault/reading/orrin-head-first-lighting]
        forbid_text: [first lit in 1861]

Keys are source keys, or the paths of notes in their collection. Texts are compared without case and with white space
collapsed. What an assertion means is said in `docs/evals.md`, field by field.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from citewell.check.verdict import AnswerStatus
from citewell.errors import BadInput, NotFound
from citewell.runs.run import StopReason
from citewell.search.query import FamilyName, RunProfile

CASES_SCHEMA = "eval_cases.v1"

OptionProfileName = Literal["cli", "web"]
Texts = tuple[str, ...]


class Gold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an answer stands: a file of the collection, and an exact piece of its text."""

    path: str
    quote: str = ""
    page: int | None = None


class Earlier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An earlier question of the conversation, known by its id."""

    question: str
    id: str = ""


class ResearchRubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a report is held to: shares between 0 and 1."""

    claim_coverage: float = 1.0
    citation_resolution: float = 1.0
    source_credibility: float = 0.0


class ResearchBriefSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A brief and what its report must claim. A question that is left out is the one of the case."""

    question: str = ""
    sub_questions: Texts = ()
    expected_claims: Texts = ()
    credibility_floor: float = 0.5
    rubric: ResearchRubric = ResearchRubric()


class EvalCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question and its assertions. What is left out is not asserted."""

    question: str
    id: str = ""
    family: FamilyName | None = None
    note: str = ""
    # Why it fails today: it is asked and told, and does not count as failed until it has passed once.
    known_failing: str = ""
    tags: Texts = ()
    # How it is asked.
    history: tuple[str | Earlier, ...] = ()
    pinned: Texts = ()
    collections: Texts = ()
    source_types: Texts = ()
    filter_tags: Texts = ()
    profile: RunProfile | None = None
    option_profile: OptionProfileName | None = None
    limit: int | None = None
    # true: without a planning model only; false: with one only; left out: both arms are held to the assertions.
    disable_planner: bool | None = None
    planner_model: str | None = None
    # What is found.
    min_evidence: int | None = None
    expect_source_keys: Texts = ()
    any_source_keys: Texts = ()
    expect_top_keys: Texts = ()
    forbid_source_keys: Texts = ()
    expect_exact_tags: Texts = ()
    expect_matched_terms: Texts = ()
    forbid_missing_terms: Texts = ()
    min_retrieval_signals: int | dict[str, float] | None = None
    # How it was planned.
    expect_planner: bool | str | None = None
    expect_query_terms: Texts = ()
    expect_query_variants: Texts = ()
    forbid_query_variants: Texts = ()
    expect_concepts: Texts = ()
    forbid_concepts: Texts = ()
    expect_planner_error_contains: str | None = None
    # What is said.
    expect_text: Texts = ()
    forbid_text: Texts = ()
    max_latency_ms: float | None = None
    expect_answer_status: AnswerStatus | None = None
    expect_citation_source_keys: Texts = ()
    forbid_citation_source_keys: Texts = ()
    max_unsupported_rate: float | None = None
    expect_stop_reason: StopReason | None = None
    expect_inspected_keys: Texts = ()
    # Statements held against the evidence by the verifier: some row must support each, or none may.
    expect_supported: Texts = ()
    forbid_supported: Texts = ()
    # A labelled question: accepted strings, how many of them are needed, and where they stand.
    answers: Texts = ()
    need: int = 1
    ordered: bool = False
    gold: tuple[Gold, ...] = ()
    answerable: bool | None = None
    # Kept from labelled questions; they say where one comes from.
    vault: str = ""
    kind: str = ""
    half: str = ""
    # With `kind: research`: recorded as a report, replayed, and graded.
    brief: ResearchBriefSpec | None = None


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file of cases. `corpus` names what they ask about, where that is not the corpus of the data folder."""

    cases: tuple[EvalCase, ...]
    schema_version: Literal["eval_cases.v1"] = "eval_cases.v1"
    about: str = ""
    # `sample` is the bundled corpus; anything else a folder, from where the file lies.
    corpus: str = ""
    collection: str = ""


# Assertions about an answer: they say nothing of evidence alone.
ANSWER_FIELDS = (
    "expect_answer_status",
    "expect_citation_source_keys",
    "forbid_citation_source_keys",
    "max_unsupported_rate",
    "expect_stop_reason",
    "expect_inspected_keys",
)
# What the report names beside an assertion that has no value to compare with.
PLANNER_FIELDS = ("expect_planner", "expect_planner_error_contains")

_NOT_ASSERTED = frozenset(
    (
        *(
            "question",
            "id",
            "family",
            "note",
            "known_failing",
            "tags",
            "history",
            "pinned",
            "collections",
            "source_types",
        ),
        *("filter_tags", "profile", "option_profile", "limit", "disable_planner", "planner_model"),
        *("need", "ordered", "vault", "kind", "half", "brief"),
    )
)
ASSERTIONS: tuple[str, ...] = tuple(name for name in EvalCase.__struct_fields__ if name not in _NOT_ASSERTED)


def asserted(case: EvalCase) -> dict[str, Any]:
    """What a case asserts, by the name of the field."""
    values = {name: getattr(case, name) for name in ASSERTIONS}
    return {name: value for name, value in values.items() if value not in (None, ())}


# Reading files of eval cases: JSON, JSON lines or YAML. What is wrong is said with its file, line and field.
#
# YAML is read by its structure, so that every value knows the line it stands on; JSON is located the same way, since
# every JSON document is YAML once its tabs are spaces (a raw tab cannot stand inside a JSON string).


MAX_FILE_BYTES = 20_000_000
_PATH = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_NEED = "Object missing required field `question`"


@dataclass(frozen=True, slots=True)
class LocatedCase:
    """A case with the place it stands at."""

    case: EvalCase
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class LoadedFile:
    path: Path
    cases: tuple[LocatedCase, ...]
    corpus: str = ""
    collection: str = ""


class _Loader(yaml.SafeLoader):
    """Plain values only: a date stays the text it is written as."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_cases(paths: Sequence[Path]) -> tuple[LoadedFile, ...]:
    """Every case of the files, or of the files in the folders named; raises BadInput where one is wrong."""
    files = [file for path in paths for file in _files(path)]
    loaded = tuple(load_file(file) for file in files)
    seen: dict[str, LocatedCase] = {}
    for one in (case for file in loaded for case in file.cases):
        if other := seen.get(one.case.id):
            raise _wrong(one.file, one.line, "id", f"`{one.case.id}` is also the id of {other.file}:{other.line}")
        seen[one.case.id] = one
    if not seen:
        raise BadInput("No cases were given.", fix="Name files of cases; 'citewell eval propose' writes one.")
    return loaded


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.suffix in (".yaml", ".yml", ".json", ".jsonl"))
        if not found:
            raise NotFound(f"{path} holds no files of cases.", fix="They end in .yaml, .json or .jsonl.")
        return found
    return [path]


def load_file(path: Path) -> LoadedFile:
    """One file of cases; a bare list of cases will do."""
    text = _text(path)
    if path.suffix == ".jsonl":
        return _lines(path, text)
    value, root = _json(path, text) if path.suffix == ".json" else _yaml(path, text)
    if isinstance(value, list):
        return LoadedFile(path, _cases(path, value, root))
    if not isinstance(value, dict):
        raise _wrong(path, 1, "", "there is no list of cases")
    head = {name: entry for name, entry in value.items() if name != "cases"}
    schema = head.get("schema_version", CASES_SCHEMA)
    if schema != CASES_SCHEMA:
        raise _wrong(path, _line(root, ("schema_version",)), "schema_version", f"`{schema}` is not {CASES_SCHEMA}")
    whole = _converted(path, {**head, "cases": []}, CaseFile, root, ())
    entries = value.get("cases")
    if not isinstance(entries, list) or not entries:
        raise _wrong(path, _line(root, ("cases",)), "cases", "a list with at least one case stands here")
    cases = _cases(path, entries, _child(root, "cases"))
    return LoadedFile(path, cases, whole.corpus, whole.collection)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"{path} is larger than {MAX_FILE_BYTES // 1_000_000} MB.", fix="Split it.")
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        # A file of cases that is not there is bad input, as one that cannot be read is.
        raise BadInput(f"There is no file {path}.", fix="Name a file of eval cases.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8.", fix="Save it as UTF-8.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", fix="Name a file of eval cases.") from None


def _json(path: Path, text: str) -> tuple[Any, yaml.Node | None]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        what = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
        raise _wrong(path, line, "", f"it is not JSON: {what}") from None
    try:
        return value, yaml.compose(text.replace("\t", " "), Loader=_Loader)
    except yaml.YAMLError:
        return value, None


def _yaml(path: Path, text: str) -> tuple[Any, yaml.Node | None]:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise _wrong(path, 1, "", "the file is empty")
        return loader.construct_document(root), root
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise _wrong(path, mark.line + 1 if mark else 1, "", f"it is not YAML: {what}") from None
    finally:
        loader.dispose()


def _lines(path: Path, text: str) -> LoadedFile:
    cases: list[LocatedCase] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise _wrong(path, number, "", f"it is not JSON: {error.msg}") from None
        cases.append(_case(path, value, None, (), number, len(cases) + 1))
    return LoadedFile(path, tuple(cases))


def _cases(path: Path, entries: list[Any], node: yaml.Node | None) -> tuple[LocatedCase, ...]:
    return tuple(
        _case(path, entry, node, (index,), _line(node, (index,)), index + 1) for index, entry in enumerate(entries)
    )


def _case(
    path: Path, value: Any, root: yaml.Node | None, at: tuple[str | int, ...], line: int, number: int
) -> LocatedCase:
    case = _converted(path, value, EvalCase, root, at, line)
    if not case.question.strip():
        raise _wrong(path, _line(root, (*at, "question"), line), "question", "the question is empty")
    if (case.kind == "research") != (case.brief is not None):
        raise _wrong(path, line, "brief", "a case of `kind: research` has a `brief`, and no other case has one")
    if not asserted(case) and case.brief is None:
        raise _wrong(path, line, "", f"the case asserts nothing; it may say any of: {', '.join(ASSERTIONS)}")
    if case.brief is not None and case.option_profile is not None:
        field_line = _line(root, (*at, "option_profile"), line)
        raise _wrong(path, field_line, "option_profile", "a brief is run as a report, which has no option profile")
    for name in ("min_evidence", "max_latency_ms", "need", "limit"):
        entry = getattr(case, name)
        if entry is not None and entry < 0:
            raise _wrong(path, _line(root, (*at, name), line), name, f"{entry} is below 0")
    rate = case.max_unsupported_rate
    if rate is not None and not 0 <= rate <= 1:
        field_line = _line(root, (*at, "max_unsupported_rate"), line)
        raise _wrong(path, field_line, "max_unsupported_rate", f"{rate} is not a share between 0 and 1")
    if not case.id:
        case = msgspec.structs.replace(case, id=f"{path.stem}-{number}")
    return LocatedCase(case, path, line)


def _converted(
    path: Path, value: Any, form: Any, root: yaml.Node | None, at: tuple[str | int, ...], line: int = 1
) -> Any:
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        message = str(error)
        found = _PATH.search(message)
        steps = (*at, *_steps(found[1])) if found else at
        what = _PATH.sub("", message)
        if unknown := _UNKNOWN.search(what):
            steps = (*steps, unknown[1])
            what = f"there is no such field{_near(unknown[1], form)}"
        elif what.startswith(_NEED):
            what = "a case needs a `question`"
        elif "Expected `str`, got `" in what:
            what += " (put it in quotation marks)"
        field = next((str(step) for step in reversed(steps) if isinstance(step, str)), "")
        raise _wrong(path, _line(root, steps, line), field, what) from None


def _near(name: str, form: Any) -> str:
    close = difflib.get_close_matches(name, form.__struct_fields__, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    for name, index in _STEP.findall(path):
        if index == "...":
            break
        steps.append(name or int(index))
    return steps


def _child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child: yaml.Node = node.value[step]
        return child
    return None


def _line(node: yaml.Node | None, steps: Sequence[str | int], otherwise: int = 1) -> int:
    """The line on which the deepest part of a path stands that is there."""
    line = otherwise
    for step in steps:
        if isinstance(node, yaml.MappingNode):
            key = next((key for key, _ in node.value if key.value == step), None)
            if key is not None:
                line = key.start_mark.line + 1
        node = _child(node, step)
        if node is None:
            break
        if isinstance(step, int):
            line = node.start_mark.line + 1
    return line


def _wrong(path: Path, line: int, field: str, what: str) -> BadInput:
    named = f", field `{field}`" if field else ""
    return BadInput(
        f"{path}, line {line}{named}: {what}.", fix="See 'citewell schema eval_cases.v1', or docs/evals.md."
    )
