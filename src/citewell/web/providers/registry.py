"""Every provider by its name, and which of them the settings turn on. None is on by itself."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.domain.errors import BadInput, Unavailable
from citewell.settings import Settings
from citewell.text.places import place_of
from citewell.web.providers.academic import ArXiv, Crossref, EuropePMC, OpenAlex, SemanticScholar
from citewell.web.providers.code import GitHubCode, GitHubRepositories
from citewell.web.providers.contract import Access, Provider
from citewell.web.providers.web_search import Brave, DuckDuckGo, SearXNG, Tavily

PROVIDERS: dict[str, Provider] = {
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
class Enabled:
    """A provider that is turned on, and how it is reached; `configured` is its address where a setting names it."""

    provider: Provider
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


def enabled(settings: Settings) -> tuple[Enabled, ...]:
    """The providers that are turned on; raises BadInput for an unknown name, Unavailable for what lacks a key."""
    return tuple(_enabled(name, settings) for name in enabled_names(settings))


def _enabled(name: str, settings: Settings) -> Enabled:
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
    return Enabled(provider, Access(configured or provider.base_url, key), configured)
