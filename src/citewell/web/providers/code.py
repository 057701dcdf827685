"""Searches of code: GitHub's repositories and the code in them (which it lets nobody search without a token)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from citewell.domain.web import SearchHit, SourceFamily
from citewell.web.providers.contract import (
    MOST_TITLE,
    Access,
    ProviderRequest,
    at,
    date_of,
    json_of,
    listed,
    text_of,
)

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
