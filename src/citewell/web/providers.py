"""Every provider by its name, and which of them the settings turn on. None is on by itself."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

from citewell.errors import BadInput, Unavailable, Unreadable
from citewell.readers.containers import xml_tree
from citewell.settings import Settings
from citewell.text.urls import place_of
from citewell.web.facts import PaperFacts, SearchHit, SourceFamily

# The contract every provider keeps: how a query is asked, and how its reply is read. Pure.
#
# A provider that fits `SearchProvider` and passes `tests/web/test_providers.py` is one class and one row of the table
# below.


_TAG = re.compile(r"<[^<>]{0,500}>")
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
MOST_TITLE, MOST_SNIPPET = 300, 1_500


class BadReply(Exception):
    """A reply that is not in the provider's format."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request to a provider."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Access:
    """Where a provider is and what lets us in."""

    base_url: str
    key: str = ""


class SearchProvider(Protocol):
    """One provider of searches."""

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> SourceFamily: ...

    @property
    def base_url(self) -> str:
        """Where it is unless a setting says otherwise; empty where there is no public one."""
        ...

    @property
    def interval(self) -> float:
        """Seconds to leave between two requests, by its own rules."""
        ...

    @property
    def needs_key(self) -> bool: ...

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest: ...

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        """What a reply holds, in its order; raises BadReply."""
        ...


def json_of(body: bytes) -> dict[str, Any]:
    """The object in a reply; raises BadReply."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise BadReply("not JSON") from None
    if not isinstance(found, dict):
        raise BadReply("not a JSON object")
    return found


def listed(value: object, *path: str) -> list[dict[str, Any]]:
    """The list of objects at a path; empty where there is none, BadReply where something else stands there."""
    for name in path:
        if not isinstance(value, dict):
            raise BadReply(f"no {'.'.join(path)}")
        value = value.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadReply(f"no list at {'.'.join(path)}")
    return [entry for entry in value if isinstance(entry, dict)]


def text_of(value: object, most: int = MOST_SNIPPET) -> str:
    """A piece of a reply as plain text on one line, bounded; empty for anything that is no text."""
    if not isinstance(value, str):
        return ""
    plain = html.unescape(_TAG.sub("", value[: most * 4]))
    return " ".join(plain.split())[:most]


def date_of(value: object) -> str | None:
    """A date of a reply, as far as it goes."""
    found = _DATE.match(value) if isinstance(value, str) else None
    return found[0] if found else None


def at(value: object, *path: str) -> Any:
    """What stands at a path of objects; None where anything on the way is something else."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def number_of(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 10 else None


# Indexes of papers: arXiv, OpenAlex, Crossref, Semantic Scholar, Europe PMC. A hit leads to the open text, if any.


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


# Searches of code: GitHub's repositories and the code in them (which it lets nobody search without a token).


_VERSION = {"x-github-api-version": "2022-11-28"}


@dataclass(frozen=True, slots=True)
class GitHubRepositories:
    name: str = "github"
    family: SourceFamily = "code"
    base_url: str = "https://api.github.com"
    interval: float = 2.0
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        asked = urlencode({"q": query, "per_page": limit})
        return ProviderRequest(
            f"{access.base_url}/search/repositories?{asked}", headers=_headers(access, "application/vnd.github+json")
        )

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for entry in listed(json_of(body), "items"):
            title = text_of(entry.get("full_name"), MOST_TITLE)
            published = date_of(entry.get("pushed_at"))
            yield SearchHit(text_of(entry.get("html_url")), title, text_of(entry.get("description")), published)


@dataclass(frozen=True, slots=True)
class GitHubCode:
    name: str = "github_code"
    family: SourceFamily = "code"
    base_url: str = "https://api.github.com"
    interval: float = 6.0
    needs_key: bool = True

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        asked = urlencode({"q": query, "per_page": limit})
        headers = _headers(access, "application/vnd.github.text-match+json")
        return ProviderRequest(f"{access.base_url}/search/code?{asked}", headers=headers)

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for entry in listed(json_of(body), "items"):
            found = " … ".join(text_of(one.get("fragment")) for one in listed(entry, "text_matches"))
            title = f"{text_of(at(entry, 'repository', 'full_name'))}: {text_of(entry.get('path'))}"[:MOST_TITLE]
            yield SearchHit(text_of(entry.get("html_url")), title, text_of(found))


def _headers(access: Access, accept: str) -> dict[str, str]:
    token = {"authorization": f"Bearer {access.key}"} if access.key else {}
    return {"accept": accept, **_VERSION, **token}


# Searches of the whole web: SearXNG, Brave, Tavily, DuckDuckGo.


@dataclass(frozen=True, slots=True)
class SearXNG:
    """A SearXNG instance that answers in JSON (`search.formats` of its settings has to have it)."""

    name: str = "searxng"
    family: SourceFamily = "web"
    base_url: str = ""
    interval: float = 0.0
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        return ProviderRequest(f"{access.base_url}/search?{urlencode({'q': query, 'format': 'json'})}")

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for entry in listed(json_of(body), "results"):
            published = date_of(entry.get("publishedDate"))
            yield SearchHit(
                _url(entry), text_of(entry.get("title"), MOST_TITLE), text_of(entry.get("content")), published
            )


@dataclass(frozen=True, slots=True)
class Brave:
    name: str = "brave"
    family: SourceFamily = "web"
    base_url: str = "https://api.search.brave.com"
    interval: float = 1.0
    needs_key: bool = True

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        asked = urlencode({"q": query, "count": min(limit, 20)})
        headers = {"accept": "application/json", "x-subscription-token": access.key}
        return ProviderRequest(f"{access.base_url}/res/v1/web/search?{asked}", headers=headers)

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        found = json_of(body)
        for entry in listed(found, "web", "results") if "web" in found else []:
            snippet = text_of(entry.get("description"))
            published = date_of(entry.get("page_age"))
            yield SearchHit(_url(entry), text_of(entry.get("title"), MOST_TITLE), snippet, published)


@dataclass(frozen=True, slots=True)
class Tavily:
    name: str = "tavily"
    family: SourceFamily = "web"
    base_url: str = "https://api.tavily.com"
    interval: float = 0.5
    needs_key: bool = True

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        body = json.dumps({"query": query, "max_results": min(limit, 20), "include_answer": False}).encode()
        headers = {"authorization": f"Bearer {access.key}", "content-type": "application/json"}
        return ProviderRequest(f"{access.base_url}/search", "POST", headers, body)

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        for entry in listed(json_of(body), "results"):
            published = date_of(entry.get("published_date"))
            yield SearchHit(
                _url(entry), text_of(entry.get("title"), MOST_TITLE), text_of(entry.get("content")), published
            )


@dataclass(frozen=True, slots=True)
class DuckDuckGo:
    """The page for browsers without scripts, which is what there is of an interface; it asks for few requests."""

    name: str = "duckduckgo"
    family: SourceFamily = "web"
    base_url: str = "https://html.duckduckgo.com"
    interval: float = 2.0
    needs_key: bool = False

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return ProviderRequest(f"{access.base_url}/html/", "POST", headers, urlencode({"q": query, "b": ""}).encode())

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        from lxml import etree, html

        try:
            read_markup: Any = html.document_fromstring
            page = read_markup(body or b"<p>")
        except (ValueError, etree.ParserError):
            raise BadReply("not a page") from None
        results = page.xpath('//div[contains(concat(" ", @class, " "), " result ")]')
        if not results and not page.xpath('//*[contains(@class, "no-results") or @id="links"]'):
            raise BadReply("not a page of results")
        for result in results:
            if "result--ad" in (result.get("class") or ""):
                continue
            links = result.xpath('.//a[contains(@class, "result__a")]')
            if links:
                snippet = " ".join(result.xpath('.//*[contains(@class, "result__snippet")]//text()'))
                title = text_of(links[0].text_content(), MOST_TITLE)
                yield SearchHit(_led_to(links[0].get("href") or ""), title, text_of(snippet))


def _led_to(href: str) -> str:
    """Where a result leads: its links go by way of a page of DuckDuckGo's own."""
    wrapped = parse_qs(urlsplit(href).query).get("uddg")
    return wrapped[0] if wrapped else href


def _url(entry: dict[str, Any]) -> str:
    url = at(entry, "url")
    return url if isinstance(url, str) else ""


PROVIDERS: dict[str, SearchProvider] = {
    provider.name: provider
    for provider in (
        *(SearXNG(), Brave(), DuckDuckGo(), Tavily()),
        *(ArXiv(), OpenAlex(), Crossref(), SemanticScholar(), EuropePMC()),
        *(GitHubRepositories(), GitHubCode()),
    )
}
_ALIASES = {"ddgs": "duckduckgo", "semanticscholar": "semantic_scholar", "europepmc": "europe_pmc"}
_KEYS = {"brave": "brave_api_key", "tavily": "tavily_api_key", "github": "github_token", "github_code": "github_token"}


@dataclass(frozen=True, slots=True)
class EnabledProvider:
    """A provider that is turned on, and how it is reached; `configured` is its address where a setting names it."""

    provider: SearchProvider
    access: Access
    configured: str = ""


def enabled_names(settings: Settings) -> tuple[str, ...]:
    """The names of the providers that are turned on, as the setting lists them; raises BadInput for an unknown one."""
    wanted = [name.strip().lower().replace("-", "_") for name in settings.search.split(",") if name.strip()]
    names = [_ALIASES.get(name, name) for name in wanted]
    unknown = [name for name in names if name not in PROVIDERS]
    if unknown:
        raise BadInput(
            f"CITEWELL_SEARCH names a provider nobody knows: {', '.join(unknown)}.",
            fix=f"Known are: {', '.join(PROVIDERS)}.",
        )
    return tuple(dict.fromkeys(names))


def enabled(settings: Settings) -> tuple[EnabledProvider, ...]:
    """The providers that are turned on; raises BadInput for an unknown name, Unavailable for what lacks a key."""
    return tuple(_enabled(name, settings) for name in enabled_names(settings))


def _enabled(name: str, settings: Settings) -> EnabledProvider:
    provider = PROVIDERS[name]
    setting = "github" if name == "github_code" else name
    configured = str(getattr(settings, f"{setting}_url")).rstrip("/")
    key = str(getattr(settings, _KEYS[name])) if name in _KEYS else ""
    if configured:
        place_of(configured)  # raises BadInput where it is no address
    if not (configured or provider.base_url):
        raise Unavailable(f"{name} is turned on without an address.", fix=f"Set CITEWELL_{name.upper()}_URL.")
    if provider.needs_key and not key:
        variable = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}.get(name, "GITHUB_TOKEN")
        raise Unavailable(f"{name} is turned on without a key.", fix=f"Set {variable}.")
    return EnabledProvider(provider, Access(configured or provider.base_url, key), configured)
