"""Files of eval cases: what is wrong is said with its file, line and field."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from citewell import BadInput, json_schema
from citewell.evals.cases import load_cases


def written(tmp_path: Path, text: str, name: str = "cases.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        ("cases:\n  - question: Why?\n    expect_text: oil\n", 3, "expect_text", "Expected `array`"),
        ("cases:\n  - question: Why?\n    min_evidence: 1\n  - min_evidence: 2\n", 4, "", "needs a `question`"),
        ("cases:\n  - question: Why?\n    expect_txt: [oil]\n", 3, "expect_txt", "did you mean `expect_text`"),
        ("cases:\n  - question: Why?\n    expect_text: [oil, 12]\n", 3, "expect_text", "quotation marks"),
        ("cases:\n  - question: Why?\n    expect_answer_status: fine\n", 3, "expect_answer_status", "fine"),
        ("cases:\n  - question: Why?\n    max_unsupported_rate: 7\n", 3, "max_unsupported_rate", "between 0 and 1"),
        ("cases:\n  - question: Why?\n", 2, "", "asserts nothing"),
        (
            "cases:\n  - question: Why?\n    kind: research\n    brief: {}\n    option_profile: web\n",
            *(5, "option_profile", "has no option profile"),
        ),
        ("cases:\n  - question: Why?\n   min_evidence: 1\n", 3, "", "not YAML"),
        ("about: x\ncorpus: 3\ncases: []\n", 2, "corpus", "Expected `str`"),
        ("about: x\ncases: []\n", 2, "cases", "at least one case"),
        ("schema_version: eval_cases.v9\ncases: []\n", 1, "schema_version", "eval_cases.v1"),
    ],
)
def test_a_mistake_is_named_by_line_and_field(tmp_path: Path, text: str, line: int, field: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        load_cases([path])
    assert f"{path}, line {line}" in caught.value.message
    assert (f"field `{field}`" in caught.value.message) == bool(field)
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"cases": [\n\t{"question": "Why?",\n\t "min_evidence": "two"}\n]}', 3),
        ('{"cases": [\n {"question": "Why?"\n  "min_evidence": 2}\n]}', 3),
    ],
)
def test_json_is_located_too(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(BadInput, match=f"line {line}"):
        load_cases([written(tmp_path, text, "cases.json")])


def test_json_and_yaml_and_lines_say_the_same(tmp_path: Path) -> None:
    one = '{"id": "a", "question": "Why?", "history": ["Who?", {"question": "When?", "id": "q7"}], "min_evidence": 1}'
    folder = tmp_path / "cases"
    for name, text in (("a.json", f"[{one}]"), ("b.yaml", f"- {one}"), ("c.jsonl", one)):
        (folder / name).mkdir(parents=True)
        written(folder / name, text, name)
    loaded = [load_cases([folder / name / name])[0].cases[0].case for name in ("a.json", "b.yaml", "c.jsonl")]
    assert loaded[0] == loaded[1] == loaded[2]


def test_an_id_stands_for_one_case(tmp_path: Path) -> None:
    text = "- {id: a, question: Why, min_evidence: 1}\n"
    with pytest.raises(BadInput, match="also the id of"):
        load_cases([written(tmp_path, text), written(tmp_path, text, "other.yaml")])


def test_a_date_stays_the_text_it_is(tmp_path: Path) -> None:
    ((loaded,),) = [load_cases([written(tmp_path, "- {question: When, expect_text: [2024-05-01]}\n")])]
    assert loaded.cases[0].case.expect_text == ("2024-05-01",)


def test_the_published_schema_takes_what_the_program_takes_and_no_other_field() -> None:
    schema = json_schema("eval_cases.v1")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = yaml.safe_load("cases: [{question: Why, expect_text: [oil], gold: [{path: a.md}], history: [Who]}]")
    assert validator.is_valid(good)
    assert not validator.is_valid({"cases": [{"question": "Why?", "expect_txt": ["oil"]}]})
    assert not validator.is_valid({"cases": [{"expect_text": ["oil"]}]})
