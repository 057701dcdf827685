"""Papers keep what their index says of them: in the result, in exports; and a retracted one is said to be retracted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.web.facts import PaperFacts
from support.origin import Names, Origin, Page
from web.loopback_internet import article

QUESTION = "How is sugar kelp dried?"
HOST = "papers.example"
TEXT = "Sugar kelp is dried for two days at 40 degrees on slatted trays."


def found(url: str, *, is_retracted: bool, title: str = "Drying of sugar kelp") -> Page:
    work = {
        "id": "https://openalex.org/W1",
        "doi": "https://doi.org/10.1000/kelp_1",
        "title": title,
        "publication_year": 2023,
        "publication_date": "2023-01-05",
        "is_retracted": is_retracted,
        "authorships": [{"author": {"display_name": name}} for name in ("Ada Lindqvist", "Bo {Strange} & Co")],
        "primary_location": {"landing_page_url": url, "source": {"display_name": "Journal of Kelp"}},
        "open_access": {"is_oa": True, "oa_url": url},
        "abstract_inverted_index": {word: [at] for at, word in enumerate(TEXT.split())},
    }
    return Page(json.dumps({"meta": {"count": 1}, "results": [work]}), "application/json")


@contextmanager
def asked(
    data: Path, *, is_retracted: bool, page: Page | None = None, **settings: Any
) -> Iterator[tuple[Citewell, RunResult, str]]:
    """A run over one paper; where it stands is the last of the three."""
    with Origin() as origin:
        url = f"http://{HOST}:{origin.port}/kelp"
        origin.pages["/works"] = found(url, is_retracted=is_retracted)
        told = article("Drying of sugar kelp", TEXT, date="2023-01-05", author="Ada Lindqvist")
        origin.pages[f"{HOST}/kelp"] = page or Page(told)
        chosen: dict[str, Any] = {"search": "openalex", "openalex_url": origin.url, "judge": "off", **settings}
        chosen["fetch_allow"] = f"{HOST}:{origin.port}"
        names = Names({HOST: "127.0.0.1", "127.0.0.1": "127.0.0.1"})
        engine = Citewell(Settings(data_dir=data, **chosen), resolve=names)
        try:
            result = engine.runs.wait(engine.start(QUESTION, profile="chat"))
            assert engine.runs.replay(result.run_id).identical
            yield engine, result, url
        finally:
            engine.close()


def test_what_the_index_says_is_in_the_result_and_in_exports(tmp_path: Path) -> None:
    with asked(tmp_path, is_retracted=False) as (engine, result, url):
        assert result.web is not None
        (read,) = result.web.papers
        authors = ("Ada Lindqvist", "Bo {Strange} & Co")
        assert read.paper == PaperFacts("10.1000/kelp_1", authors, 2023, "Journal of Kelp", url, False, None)
        assert read.source_key == result.citations[0].source_key
        assert "retracted_source" not in result.warnings
        bibtex = engine.runs.exported(result.run_id, "bibtex").content.decode()
        ris = engine.runs.exported(result.run_id, "ris").content.decode()
    assert bibtex.startswith("@article{drying-of-sugar-kelp,")
    assert r"author = {{Ada Lindqvist} and {Bo \{Strange\} \& Co}}," in bibtex
    assert "year = {2023}," in bibtex
    assert "journal = {Journal of Kelp}," in bibtex
    assert r"doi = {10.1000/kelp\_1}," in bibtex
    lines = ris.split("\r\n")
    assert lines[0] == "TY  - JOUR"
    assert {"AU  - Ada Lindqvist", "JO  - Journal of Kelp", "DO  - 10.1000/kelp_1", f"L1  - {url}"} <= set(lines)
    assert "RETRACTED" not in bibtex + ris


@pytest.mark.parametrize("page", [None, Page("gone", status=410)], ids=["read", "only its abstract"])
def test_a_retracted_paper_is_said_to_be_retracted(page: Page | None, tmp_path: Path) -> None:
    """It is believed so little that it is left out by itself; pinned or not, whoever sees it sees that."""
    with asked(tmp_path, is_retracted=True, page=page) as (_, result, _):
        assert result.web is not None
        assert [one.paper.is_retracted for one in result.web.papers] == [True]
        assert "retracted_source" in result.warnings
        (left,) = result.web.left_out
        assert "the paper was retracted" in left.reason
        assert result.citations == ()


def test_one_that_is_cited_all_the_same_is_marked_in_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from citewell.cli.answers import print_answer

    with asked(tmp_path, is_retracted=True) as (engine, _, url):
        pinned = (url,)
        result = engine.runs.wait(engine.start(QUESTION, profile="chat", pinned=pinned))
        assert result.citations
        assert "retracted_source" in result.warnings
        forms = {form: engine.runs.exported(result.run_id, form).content.decode() for form in ("bibtex", "ris", "md")}
    assert "note = {RETRACTED. " in forms["bibtex"]
    assert "N1  - RETRACTED." in forms["ris"]
    assert "**retracted**" in forms["md"]
    print_answer(result)
    assert "This paper was retracted." in capsys.readouterr().out
