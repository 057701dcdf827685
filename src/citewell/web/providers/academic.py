"""Indexes of papers: arXiv, OpenAlex, Crossref, Semantic Scholar, Europe PMC. A hit leads to the open text, if any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from citewell.domain.errors import Unreadable
from citewell.domain.web import PaperFacts, SearchHit, SourceFamily
from citewell.readers.xml_tree import xml_tree
from citewell.web.providers.contract import (
    MOST_TITLE,
    Access,
    BadReply,
    ProviderRequest,
    at,
    date_of,
    json_of,
    listed,
    number_of,
    text_of,
)

_ATOM = {"a": "http://www.w3.org/2005/Atom", "x": "http://arxiv.org/schemas/atom"}
_MOST_AUTHORS = 20
_S2_FIELDS = (
    "title,url,abstract,year,venue,authors,externalIds,openAccessPdf,publicationDate,citationCount,publicationTypes"
)


@dataclass(frozen=True, slots=True)
class ArXiv:
    name: str = "arxiv"
    family: SourceFamily = "academic"
    base_url: str = "https://export.arxiv.org"
    interval: float = 3.0
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        words = " AND ".join(f"all:{word}" for word in query.replace('"', " ").split()[:12])
        asked = urlencode({"search_query": words, "start": 0, "max_results": limit})
        return ProviderRequest(f"{access.base_url}/api/query?{asked}")

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        try:
            feed = xml_tree(body, "the reply")
        except Unreadable as error:
            raise BadReply(error.message) from None
        if not str(feed.tag).endswith("feed"):
            raise BadReply("not a feed")
        for entry in feed.findall("a:entry", _ATOM):
            published = date_of(entry.findtext("a:published", "", _ATOM))
            page = text_of(entry.findtext("a:id", "", _ATOM))
            pdf = next((link.get("href") for link in entry.findall("a:link", _ATOM) if link.get("title") == "pdf"), "")
            facts = PaperFacts(
                doi=text_of(entry.findtext("x:doi", "", _ATOM)),
                authors=tuple(text_of(name.text) for name in entry.findall("a:author/a:name", _ATOM))[:_MOST_AUTHORS],
                year=int(published[:4]) if published else None,
                venue=text_of(entry.findtext("x:journal_ref", "", _ATOM)) or "arXiv",
                open_access_url=pdf or "",
            )
            title = text_of(entry.findtext("a:title", "", _ATOM), MOST_TITLE)
            yield SearchHit(page, title, text_of(entry.findtext("a:summary", "", _ATOM)), published, facts)


@dataclass(frozen=True, slots=True)
class OpenAlex:
    name: str = "openalex"
    family: SourceFamily = "academic"
    base_url: str = "https://api.openalex.org"
    interval: float = 0.2
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        return ProviderRequest(f"{access.base_url}/works?{urlencode({'search': query, 'per-page': limit})}")

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for work in listed(json_of(body), "results"):
            open_url = text_of(at(work, "open_access", "oa_url"))
            page = text_of(at(work, "primary_location", "landing_page_url"))
            doi = text_of(work.get("doi"))
            authors = (text_of(at(one, "author", "display_name")) for one in listed(work, "authorships"))
            facts = PaperFacts(
                doi=_bare_doi(doi),
                authors=tuple(filter(None, authors))[:_MOST_AUTHORS],
                year=number_of(work.get("publication_year")),
                venue=text_of(at(work, "primary_location", "source", "display_name")),
                open_access_url=open_url,
                is_retracted=_flag(work.get("is_retracted")),
                citations=number_of(work.get("cited_by_count")),
            )
            title = text_of(work.get("title") or work.get("display_name"), MOST_TITLE)
            abstract = _abstract(work.get("abstract_inverted_index"))
            yield SearchHit(open_url or page or doi, title, abstract, date_of(work.get("publication_date")), facts)


@dataclass(frozen=True, slots=True)
class Crossref:
    name: str = "crossref"
    family: SourceFamily = "academic"
    base_url: str = "https://api.crossref.org"
    interval: float = 1.0
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        return ProviderRequest(f"{access.base_url}/works?{urlencode({'query': query, 'rows': limit})}")

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for work in listed(json_of(body), "message", "items"):
            published = _date_parts(at(work, "issued", "date-parts"))
            names = (
                f"{text_of(one.get('given'))} {text_of(one.get('family'))}".strip() for one in listed(work, "author")
            )
            updates = [text_of(one.get("type")) for one in listed(work, "updated-by")]
            facts = PaperFacts(
                doi=text_of(work.get("DOI")),
                authors=tuple(filter(None, names))[:_MOST_AUTHORS],
                year=int(published[:4]) if published else None,
                venue=_first(work.get("container-title")),
                is_retracted="retraction" in updates if "updated-by" in work else None,
                citations=number_of(work.get("is-referenced-by-count")),
            )
            yield SearchHit(
                text_of(work.get("URL")), _first(work.get("title")), text_of(work.get("abstract")), published, facts
            )


@dataclass(frozen=True, slots=True)
class SemanticScholar:
    name: str = "semantic_scholar"
    family: SourceFamily = "academic"
    base_url: str = "https://api.semanticscholar.org"
    interval: float = 1.0
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        asked = urlencode({"query": query, "limit": limit, "fields": _S2_FIELDS})
        return ProviderRequest(f"{access.base_url}/graph/v1/paper/search?{asked}")

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for paper in listed(json_of(body), "data"):
            open_url = text_of(at(paper, "openAccessPdf", "url"))
            facts = PaperFacts(
                doi=text_of(at(paper, "externalIds", "DOI")),
                authors=tuple(text_of(one.get("name")) for one in listed(paper, "authors"))[:_MOST_AUTHORS],
                year=number_of(paper.get("year")),
                venue=text_of(paper.get("venue")),
                open_access_url=open_url,
                citations=number_of(paper.get("citationCount")),
            )
            published = date_of(paper.get("publicationDate")) or (str(facts.year) if facts.year else None)
            url = open_url or text_of(paper.get("url"))
            yield SearchHit(
                url, text_of(paper.get("title"), MOST_TITLE), text_of(paper.get("abstract")), published, facts
            )


@dataclass(frozen=True, slots=True)
class EuropePMC:
    name: str = "europe_pmc"
    family: SourceFamily = "academic"
    base_url: str = "https://www.ebi.ac.uk"
    interval: float = 0.5
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        asked = urlencode({"query": query, "format": "json", "resultType": "core", "pageSize": limit})
        return ProviderRequest(f"{access.base_url}/europepmc/webservices/rest/search?{asked}")

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for result in listed(json_of(body), "resultList", "result"):
            texts = listed(result, "fullTextUrlList", "fullTextUrl") if "fullTextUrlList" in result else []
            open_texts = [one for one in texts if one.get("availabilityCode") in ("OA", "F")]
            open_url = next((text_of(one.get("url")) for one in open_texts if one.get("documentStyle") == "html"), "")
            kinds = at(result, "pubTypeList", "pubType")
            facts = PaperFacts(
                doi=text_of(result.get("doi")),
                authors=_author_string(result.get("authorString")),
                year=number_of(result.get("pubYear")),
                venue=text_of(at(result, "journalInfo", "journal", "title") or result.get("journalTitle")),
                open_access_url=open_url,
                is_retracted="Retracted Publication" in kinds if isinstance(kinds, list) else None,
                citations=number_of(result.get("citedByCount")),
            )
            page = f"https://europepmc.org/article/{text_of(result.get('source'))}/{text_of(result.get('id'))}"
            published = date_of(result.get("firstPublicationDate"))
            title = text_of(result.get("title"), MOST_TITLE)
            yield SearchHit(open_url or page, title, text_of(result.get("abstractText")), published, facts)


def _author_string(value: object) -> tuple[str, ...]:
    names = text_of(value, 4_000).rstrip(".").split(",")
    return tuple(name.strip() for name in names if name.strip())[:_MOST_AUTHORS]


def _bare_doi(doi: str) -> str:
    return doi.removeprefix("https://doi.org/").removeprefix("http://dx.doi.org/")


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _first(value: object) -> str:
    return text_of(value[0], MOST_TITLE) if isinstance(value, list) and value else text_of(value, MOST_TITLE)


def _date_parts(value: object) -> str | None:
    parts = value[0] if isinstance(value, list) and value and isinstance(value[0], list) else []
    numbers = [part for part in parts[:3] if isinstance(part, int)]
    if not numbers or not 1000 <= numbers[0] <= 2999:
        return None
    return "-".join(f"{number:04d}" if at == 0 else f"{number:02d}" for at, number in enumerate(numbers))


def _abstract(index: Any) -> str:
    """The abstract of an inverted index: words, each with the places where it stands."""
    if not isinstance(index, dict):
        return ""
    placed = [
        (place, str(word))
        for word, places in index.items()
        if isinstance(places, list)
        for place in places
        if isinstance(place, int)
    ]
    return text_of(" ".join(word for _, word in sorted(placed)[:2_000]))
