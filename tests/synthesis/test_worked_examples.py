"""Each part that judges a claim opens with worked examples, and the verifier gives the verdicts they print."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from citewell import CheckedSentence
from citewell import check as checking
from citewell.answer.passages import quote_at
from citewell.check.verdict import Draft, DraftSentence
from synthesis.evidence import check, source

MODULES = sorted(one.name for one in pkgutil.walk_packages(checking.__path__, f"{checking.__name__}."))
EXAMPLE = re.compile(r"^Example:\n((?: {4}claim: .*\n?)(?: {4}\S.*\n?)+)", re.MULTILINE)
FIELD = re.compile(r" {4}(\w+): +(\S.*)")
NEEDED, OPTIONAL = {"claim", "passage", "verdict"}, {"reason"}


@dataclass(frozen=True)
class WorkedExample:
    """A claim, the passage it cites, and what is to be said of it."""

    claim: str
    passage: str
    verdict: str
    reason: str = ""


def examples_of(docstring: str) -> list[WorkedExample]:
    """The examples of a docstring; a line that is no field, and a field that is not known, are refused."""
    return [WorkedExample(**dict(_fields(block))) for block in EXAMPLE.findall(docstring)]


def _fields(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        field = FIELD.fullmatch(line)
        if field is None or field[1] not in NEEDED | OPTIONAL:
            raise ValueError(f"not a field of an example: {line!r}")
        yield field[1], field[2]


def words_of(module: str) -> str:
    """What a module says of itself and of its parts: its docstring and its comments."""
    found = importlib.import_module(module)
    return re.sub(r"^# ?", "", inspect.getsource(found), flags=re.MULTILINE)


def verified(example: WorkedExample) -> CheckedSentence:
    """The claim as an answer would have it: one sentence that cites the passage."""
    passage = source(example.passage.replace("\\n", "\n"))
    sentence = DraftSentence(example.claim, "claim", (quote_at(passage, 0, len(passage.text)),))
    return check(example.claim, Draft((sentence,), refused=False), passage).sentences[0]


EXAMPLES = [
    pytest.param(one, id=f"{module.rpartition('.')[2]}-{number}")
    for module in MODULES
    for number, one in enumerate(examples_of(words_of(module)), start=1)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_verifier_says_of_a_worked_example_what_its_module_says(example: WorkedExample) -> None:
    found = verified(example)
    assert WorkedExample(example.claim, example.passage, found.verdict, found.reason) == example


@pytest.mark.parametrize("module", [one for one in MODULES if "Example:\n    claim:" in words_of(one)])
def test_a_module_that_judges_claims_shows_one_that_holds_and_one_that_does_less(module: str) -> None:
    examples = examples_of(words_of(module))
    assert len(examples) == words_of(module).count("Example:\n    claim:"), (
        "an example is not in the form of the others"
    )
    shown = {one.verdict for one in examples}
    assert len(shown) > 1, "a pair tells what the module is for"


def test_a_misspelt_field_of_an_example_is_refused() -> None:
    with pytest.raises(ValueError, match="verdikt"):
        examples_of("Example:\n    claim: a\n    passage: b\n    verdikt: supported\n")
