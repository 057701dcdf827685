"""Searches of the whole web: SearXNG, Brave, Tavily, DuckDuckGo."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from citewell.domain.web import SearchHit, SourceFamily
from citewell.web.providers.contract import (
    MOST_TITLE,
    Access,
    BadReply,
    ProviderRequest,
    at,
    date_of,
    json_of,
    listed,
    text_of,
)


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
