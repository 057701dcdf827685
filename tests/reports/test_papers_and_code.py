"""Reports with papers and code: each asked in its provider's own format, its pages read, cited by its own locator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from citewell import Citewell, Settings
from citewell.reports import ResearchBrief, ResearchRun
from support.origin import Names, Origin, Page
from web.loopback_internet import article

QUESTION = "How is sugar kelp dried?"
PAPERS, CODE = "papers.example", "github.com"
PAPER = article(
    "Drying of sugar kelp",
    "Sugar kelp is dried for two days at 40 degrees on slatted trays.",
    "A slower current of air left the blades green.",
    date="2023-01-05",
    author="Ada Lindqvist",
)
REPOSITORY = article(
    "ada/kelp",
    "This program records how sugar kelp is dried: the heater is switched off above 45 degrees.",
    date="2024-05-01",
    author="ada",
)


def found_paper(url: str) -> Page:
    """What OpenAlex says of one work."""
    work = {
        "id": "https://openalex.org/W1",
        "doi": "https://doi.org/10.1000/kelp.1",
        "title": "Drying of sugar kelp",
        "publication_year": 2023,
        "publication_date": "2023-01-05",
        "is_retracted": False,
        "cited_by_count": 7,
        "authorships": [{"author": {"display_name": "Ada Lindqvist"}}],
        "primary_location": {"landing_page_url": url, "source": {"display_name": "Journal of Kelp"}},
        "open_access": {"is_oa": True, "oa_url": url},
        "abstract_inverted_index": {"Sugar": [0], "kelp": [1], "dries": [2]},
    }
    return Page(json.dumps({"meta": {"count": 1}, "results": [work]}), "application/json")


def found_repository(url: str) -> Page:
    """What GitHub says of one repository."""
    item = {
        "full_name": "ada/kelp",
        "html_url": url,
        "description": "Records how sugar kelp is dried.",
        "pushed_at": "2024-05-01T00:00:00Z",
    }
    return Page(json.dumps({"total_count": 1, "items": [item]}), "application/json")


@contextmanager
def world() -> Iterator[Origin]:
    """One server that is both indexes and both hosts."""
    with Origin() as origin:
        paper, code = (f"http://{host}:{origin.port}/kelp" for host in (PAPERS, CODE))
        origin.pages |= {"/works": found_paper(paper), "/search/repositories": found_repository(code)}
        origin.pages |= {f"{PAPERS}/kelp": Page(PAPER), f"{CODE}/kelp": Page(REPOSITORY)}
        yield origin


def report(tmp_path: Path, origin: Origin, brief: ResearchBrief) -> ResearchRun:
    settings: dict[str, Any] = {
        "search": "openalex,github",
        "openalex_url": origin.url,
        "github_url": origin.url,
        "fetch_allow": f"{PAPERS}:{origin.port},{CODE}:{origin.port}",
        "judge": "off",
        "embeddings": "off",
    }
    names = Names({PAPERS: "127.0.0.1", CODE: "127.0.0.1", "127.0.0.1": "127.0.0.1"})
    engine = Citewell(Settings(data_dir=tmp_path / "data", **settings), resolve=names)
    try:
        service = engine.reports()
        run = service.wait(service.start(brief))
        assert engine.runs.replay(run.run_id).identical
        return run
    finally:
        engine.close()


def test_papers_and_code_are_asked_read_and_cited_each_by_its_own_locator(tmp_path: Path) -> None:
    with world() as origin:
        run = report(tmp_path, origin, ResearchBrief(question=QUESTION, credibility_floor=0.2))
    assert run.report is not None
    claims = [claim.text for claim in run.report.claims]
    assert "Sugar kelp is dried for two days at 40 degrees on slatted trays." in claims
    locators = {citation.locator.family: citation.locator for citation in run.report.citations}
    assert set(locators) == {"academic", "code"}
    paper, code = locators["academic"], locators["code"]
    assert paper.family == "academic"
    assert code.family == "code"
    assert (paper.doi, paper.authors, paper.year, paper.venue) == (
        "10.1000/kelp.1",
        ("Ada Lindqvist",),
        2023,
        "Journal of Kelp",
    )
    assert (paper.provider, code.provider) == ("openalex", "github")
    assert code.url.startswith(f"http://{CODE}:")
    assert run.methodology is not None
    counted = {one.family: (one.searches, one.cited) for one in run.methodology.families}
    assert counted["academic"] == counted["code"] == (1, 1)


def test_of_papers_and_code_one_that_fails_is_named_and_the_other_stays(tmp_path: Path) -> None:
    with world() as origin:
        origin.pages["/search/repositories"] = Page("down", "text/plain", 503)
        run = report(tmp_path, origin, ResearchBrief(question=QUESTION, credibility_floor=0.2))
    assert run.report is not None
    assert {citation.locator.family for citation in run.report.citations} == {"academic"}
    assert run.methodology is not None
    (skipped,) = run.methodology.skipped
    assert skipped.family == "code"
    assert "github" in skipped.reason


def test_a_brief_that_leaves_out_code_asks_for_papers_alone(tmp_path: Path) -> None:
    brief = ResearchBrief.model_validate({"question": QUESTION, "credibility_floor": 0.2, "sources": {"code": False}})
    with world() as origin:
        run = report(tmp_path, origin, brief)
        assert not any(path.startswith("/search/repositories") for path in origin.paths())
    assert run.report is not None
    assert {citation.locator.family for citation in run.report.citations} == {"academic"}
