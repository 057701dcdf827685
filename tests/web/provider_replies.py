"""Replies in the documented format of every provider, two results each, and what they mean."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from citewell.web.facts import PaperFacts, SearchHit
from support.origin import Page


@dataclass(frozen=True)
class Spoken:
    """How one provider speaks: where it is asked, what it answers, what that means."""

    name: str
    path: str
    reply: Page
    hits: tuple[SearchHit, ...]
    method: str = "GET"
    secret_header: str = ""
    empty: Page = field(default_factory=lambda: Page("{}", "application/json"))


def _json(value: object) -> Page:
    return Page(json.dumps(value), "application/json")


KELP = "https://kelp.example/drying"
PAPER = "https://papers.example/kelp.pdf"
ARXIV = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">
  <title>ArXiv Query: kelp</title>
  <entry>
    <id>http://arxiv.org/abs/2301.00001v2</id>
    <published>2023-01-05T12:00:00Z</published>
    <title>Drying of
      kelp</title>
    <summary>  Kelp dries in two days. </summary>
    <author><name>Ada Lindqvist</name></author><author><name>Bo Ek</name></author>
    <arxiv:doi>10.1000/kelp.1</arxiv:doi>
    <arxiv:journal_ref>J. Kelp 3 (2023)</arxiv:journal_ref>
    <link href="http://arxiv.org/abs/2301.00001v2" rel="alternate" type="text/html"/>
    <link title="pdf" href="http://arxiv.org/pdf/2301.00001v2" rel="related" type="application/pdf"/>
  </entry>
</feed>"""
DUCK = """<html><body><div id="links">
  <div class="result results_links results_links_deep result--ad"><h2><a class="result__a" href="https://ad.example/">Ad</a></h2></div>
  <div class="result results_links results_links_deep web-result">
    <h2 class="result__title"><a rel="nofollow" class="result__a"
      href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fkelp.example%2Fdrying&amp;rut=abc">Drying <b>kelp</b></a></h2>
    <a class="result__snippet" href="#">It dries in <b>two</b> days.</a>
  </div></div></body></html>"""

SPOKEN = (
    Spoken(
        "searxng",
        "/search",
        _json(
            {
                "query": "kelp",
                "results": [
                    {
                        "url": KELP,
                        "title": "Drying kelp",
                        "content": "Two days.",
                        "engine": "x",
                        "publishedDate": "2024-05-01T00:00:00",
                    }
                ],
            }
        ),
        (SearchHit(KELP, "Drying kelp", "Two days.", "2024-05-01"),),
    ),
    Spoken(
        "brave",
        "/res/v1/web/search",
        _json(
            {
                "type": "search",
                "web": {
                    "results": [
                        {
                            "url": KELP,
                            "title": "Drying <strong>kelp</strong>",
                            "description": "Two &amp; more days.",
                            "page_age": "2024-05-01T10:00:00",
                        }
                    ]
                },
            }
        ),
        (SearchHit(KELP, "Drying kelp", "Two & more days.", "2024-05-01"),),
        secret_header="x-subscription-token",
    ),
    Spoken(
        "tavily",
        "/search",
        _json(
            {"query": "kelp", "results": [{"url": KELP, "title": "Drying kelp", "content": "Two days.", "score": 0.9}]}
        ),
        (SearchHit(KELP, "Drying kelp", "Two days."),),
        method="POST",
        secret_header="authorization",
    ),
    Spoken(
        "duckduckgo",
        "/html/",
        Page(DUCK),
        (SearchHit(KELP, "Drying kelp", "It dries in two days."),),
        method="POST",
        empty=Page('<html><div id="links"><div class="no-results">No results.</div></div></html>'),
    ),
    Spoken(
        "arxiv",
        "/api/query",
        Page(ARXIV, "application/atom+xml"),
        (
            SearchHit(
                *("http://arxiv.org/abs/2301.00001v2", "Drying of kelp", "Kelp dries in two days.", "2023-01-05"),
                PaperFacts(
                    "10.1000/kelp.1",
                    ("Ada Lindqvist", "Bo Ek"),
                    2023,
                    "J. Kelp 3 (2023)",
                    "http://arxiv.org/pdf/2301.00001v2",
                ),
            ),
        ),
        empty=Page('<feed xmlns="http://www.w3.org/2005/Atom"></feed>', "application/atom+xml"),
    ),
    Spoken(
        "openalex",
        "/works",
        _json(
            {
                "meta": {"count": 1},
                "results": [
                    {
                        "id": "https://openalex.org/W1",
                        "doi": "https://doi.org/10.1000/kelp.1",
                        "title": "Drying of kelp",
                        "publication_year": 2023,
                        "publication_date": "2023-01-05",
                        "is_retracted": True,
                        "cited_by_count": 7,
                        "authorships": [{"author": {"display_name": "Ada Lindqvist"}}],
                        "primary_location": {"landing_page_url": KELP, "source": {"display_name": "J. Kelp"}},
                        "open_access": {"is_oa": True, "oa_url": PAPER},
                        "abstract_inverted_index": {"Kelp": [0], "dries": [1], "fast": [2]},
                    }
                ],
            }
        ),
        (
            SearchHit(
                *(PAPER, "Drying of kelp", "Kelp dries fast", "2023-01-05"),
                PaperFacts("10.1000/kelp.1", ("Ada Lindqvist",), 2023, "J. Kelp", PAPER, True, 7),
            ),
        ),
    ),
    Spoken(
        "crossref",
        "/works",
        _json(
            {
                "status": "ok",
                "message": {
                    "items": [
                        {
                            "DOI": "10.1000/kelp.1",
                            "URL": "https://doi.org/10.1000/kelp.1",
                            "title": ["Drying of kelp"],
                            "author": [{"given": "Ada", "family": "Lindqvist"}],
                            "issued": {"date-parts": [[2023, 1, 5]]},
                            "container-title": ["J. Kelp"],
                            "abstract": "<jats:p>Kelp dries.</jats:p>",
                            "is-referenced-by-count": 7,
                            "updated-by": [{"type": "retraction", "DOI": "10.1000/kelp.2"}],
                        }
                    ]
                },
            }
        ),
        (
            SearchHit(
                *("https://doi.org/10.1000/kelp.1", "Drying of kelp", "Kelp dries.", "2023-01-05"),
                PaperFacts("10.1000/kelp.1", ("Ada Lindqvist",), 2023, "J. Kelp", "", True, 7),
            ),
        ),
        empty=_json({"status": "ok", "message": {"items": []}}),
    ),
    Spoken(
        "semantic_scholar",
        "/graph/v1/paper/search",
        _json(
            {
                "total": 1,
                "data": [
                    {
                        "paperId": "x",
                        "url": KELP,
                        "title": "Drying of kelp",
                        "abstract": "Kelp dries.",
                        "year": 2023,
                        "venue": "J. Kelp",
                        "authors": [{"name": "Ada Lindqvist"}],
                        "externalIds": {"DOI": "10.1000/kelp.1"},
                        "openAccessPdf": {"url": PAPER},
                        "publicationDate": "2023-01-05",
                        "citationCount": 7,
                    }
                ],
            }
        ),
        (
            SearchHit(
                *(PAPER, "Drying of kelp", "Kelp dries.", "2023-01-05"),
                PaperFacts("10.1000/kelp.1", ("Ada Lindqvist",), 2023, "J. Kelp", PAPER, None, 7),
            ),
        ),
    ),
    Spoken(
        "europe_pmc",
        "/europepmc/webservices/rest/search",
        _json(
            {
                "hitCount": 1,
                "resultList": {
                    "result": [
                        {
                            "id": "123",
                            "source": "MED",
                            "doi": "10.1000/kelp.1",
                            "title": "Drying of kelp.",
                            "authorString": "Lindqvist A, Ek B.",
                            "journalInfo": {"journal": {"title": "J. Kelp"}},
                            "pubYear": "2023",
                            "abstractText": "Kelp dries.",
                            "firstPublicationDate": "2023-01-05",
                            "citedByCount": 7,
                            "pubTypeList": {"pubType": ["Retracted Publication"]},
                            "fullTextUrlList": {
                                "fullTextUrl": [{"url": PAPER, "documentStyle": "html", "availabilityCode": "OA"}]
                            },
                        }
                    ]
                },
            }
        ),
        (
            SearchHit(
                *(PAPER, "Drying of kelp.", "Kelp dries.", "2023-01-05"),
                PaperFacts("10.1000/kelp.1", ("Lindqvist A", "Ek B"), 2023, "J. Kelp", PAPER, True, 7),
            ),
        ),
        empty=_json({"hitCount": 0, "resultList": {"result": []}}),
    ),
    Spoken(
        "github",
        "/search/repositories",
        _json(
            {
                "total_count": 1,
                "items": [
                    {
                        "full_name": "ada/kelp",
                        "html_url": "https://github.com/ada/kelp",
                        "description": "Dries kelp.",
                        "pushed_at": "2024-05-01T00:00:00Z",
                    }
                ],
            }
        ),
        (SearchHit("https://github.com/ada/kelp", "ada/kelp", "Dries kelp.", "2024-05-01"),),
        secret_header="authorization",
    ),
    Spoken(
        "github_code",
        "/search/code",
        _json(
            {
                "total_count": 1,
                "items": [
                    {
                        "path": "dry.py",
                        "html_url": "https://github.com/ada/kelp/blob/x/dry.py",
                        "repository": {"full_name": "ada/kelp"},
                        "text_matches": [{"fragment": "def dry(kelp):"}],
                    }
                ],
            }
        ),
        (SearchHit("https://github.com/ada/kelp/blob/x/dry.py", "ada/kelp: dry.py", "def dry(kelp):"),),
        secret_header="authorization",
    ),
)
