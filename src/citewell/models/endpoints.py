"""Endpoints: what `provider:name` means, at which address it is, and whether that address is this machine's own.

Whether an address is local is read from it, without asking a name server: a name that only looks public counts as
hosted. A local address may still be a relay to a hosted model; nobody can see that from here.
"""

from __future__ import annotations

import importlib
import ipaddress
import math
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from citewell.errors import BadInput
from citewell.models.messages import Price
from citewell.settings import Settings

Protocol = Literal["openai", "anthropic"]
# The model that is none: answers are quoted.
EXTRACTIVE = "extractive"
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")


@dataclass(frozen=True, slots=True)
class Provider:
    """Who can be asked, how, and where it is when nothing else is set."""

    name: str
    url: str
    protocol: Protocol
    example: str
    # What to do when nothing answers.
    start: str
    needs_key: bool

    @property
    def url_setting(self) -> str:
        return f"CITEWELL_{self.name.upper()}_URL"


_ONLINE = "Check your connection and the address."
PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("ollama", "http://127.0.0.1:11434/v1", "openai", "ollama:qwen3:8b", "Start it: ollama serve", False),
        Provider(
            "llamacpp",
            "http://127.0.0.1:8080/v1",
            "openai",
            "llamacpp:qwen3-8b",
            "Start it: llama-server -m MODEL.gguf --jinja",
            False,
        ),
        Provider(
            "vllm", "http://127.0.0.1:8000/v1", "openai", "vllm:Qwen/Qwen3-8B", "Start it: vllm serve NAME", False
        ),
        Provider("openai", "https://api.openai.com/v1", "openai", "openai:gpt-5-mini", _ONLINE, True),
        Provider("anthropic", "https://api.anthropic.com", "anthropic", "anthropic:claude-sonnet-4-5", _ONLINE, True),
        Provider(
            "openrouter", "https://openrouter.ai/api/v1", "openai", "openrouter:qwen/qwen3-235b-a22b", _ONLINE, True
        ),
        Provider(
            "fireworks",
            "https://api.fireworks.ai/inference/v1",
            "openai",
            "fireworks:accounts/fireworks/models/qwen3-235b-a22b",
            _ONLINE,
            True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. The key is never shown."""

    provider: Provider
    name: str
    base_url: str
    key: str = field(repr=False)
    is_hosted: bool
    # Why a key that is set does not go to this address; empty where it does or none is set.
    key_withheld: str = ""

    @property
    def model(self) -> str:
        return f"{self.provider.name}:{self.name}"

    @property
    def origin(self) -> str:
        """The address as it may be shown: no credentials, no query."""
        return shown_address(self.base_url)

    @property
    def is_default_address(self) -> bool:
        return self.base_url == self.provider.url

    @property
    def url_setting(self) -> str:
        return self.provider.url_setting


def split_model(model: str) -> tuple[Provider, str]:
    """The provider and its own name for the model; raises BadInput."""
    prefix, colon, name = model.strip().partition(":")
    known = ", ".join(PROVIDERS)
    if not colon:
        raise BadInput(
            f"The model {model!r} names no provider.",
            fix=f"Write provider:name, for example {PROVIDERS['ollama'].example}; known are {known}.",
        )
    provider = PROVIDERS.get(prefix.lower())
    if provider is None:
        raise BadInput(
            f"Nobody knows the provider {prefix!r} of the model {model!r}.",
            fix=f"Known are {known}; for example {PROVIDERS['ollama'].example}. Another OpenAI-compatible server: "
            "openai:NAME with CITEWELL_OPENAI_URL.",
        )
    if not name.strip():
        raise BadInput(f"The model {model!r} has no name.", fix=f"For example: {provider.example}")
    return provider, name.strip()


def names_model(name: str) -> bool:
    """Whether this names a chat model, such as `openai:NAME`, and not a folder."""
    prefix, _, model = name.strip().partition(":")
    return prefix.lower() in PROVIDERS and bool(model.strip())


def set_models(settings: Settings) -> tuple[str, ...]:
    """The models that are set for anything, the writing one first; each once, without `extractive`."""
    judge = settings.judge if names_model(settings.judge) else ""
    named = (settings.model, settings.research_model, settings.planner_model, settings.review_model, judge)
    return tuple(dict.fromkeys(model for one in named if (model := one.strip()) and model != EXTRACTIVE))


def askable_providers(settings: Settings) -> tuple[str, ...]:
    """Whose models can be asked by name, as it is set up: of whom a model is set. A key of one is sent to no other."""
    prefixes = (model.partition(":")[0].lower() for model in set_models(settings))
    return tuple(dict.fromkeys(prefix for prefix in prefixes if prefix in PROVIDERS))


def is_hosted(model: str, settings: Settings) -> bool:
    """Whether asking this model sends what is asked beyond this machine and its own network."""
    return resolve(model, settings).is_hosted


def resolve(model: str, settings: Settings) -> Endpoint:
    """Where this model is, and whether our key goes there; raises BadInput."""
    provider, name = split_model(model)
    own = str(getattr(settings, f"{provider.name}_url"))
    general = "" if own else settings.model_base_url
    setting = provider.url_setting if own else "CITEWELL_MODEL_BASE_URL"
    base_url = _base_url(own or general or provider.url, provider, setting)
    hosted = not is_local_address(urlsplit(base_url).hostname or "")
    key, withheld = _key_for(provider, settings)
    return Endpoint(provider, name, base_url, key, hosted, withheld)


def is_local_address(host: str) -> bool:
    """This machine or its private network, as far as the address itself says."""
    host = host.strip("[]").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_LOCAL_ENDINGS))
    return not address.is_global and not address.is_multicast


def shown_address(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(SplitResult(parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _key_for(provider: Provider, settings: Settings) -> tuple[str, str]:
    """There is one key, so it has one owner: a key of one company is never sent to another."""
    if not settings.model_api_key:
        return "", ""
    for name, model in (
        ("CITEWELL_MODEL", settings.model),
        ("CITEWELL_PLANNER_MODEL", settings.planner_model),
        ("CITEWELL_EMBEDDINGS_MODEL", settings.embeddings_model),
    ):
        owner = PROVIDERS.get(model.partition(":")[0].lower()) if ":" in model else None
        if owner is not None:
            if owner is provider:
                return settings.model_api_key, ""
            return "", f"CITEWELL_MODEL_API_KEY is the key of {owner.name} ({name}) and is not sent to {provider.name}."
    return settings.model_api_key, ""


def _base_url(url: str, provider: Provider, setting: str) -> str:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadInput(
            f"{setting} is no address of a model server.", fix=f"Write it like {provider.url}, or unset {setting}."
        )
    if "@" in parts.netloc:
        # Addresses are shown; keys are not.
        raise BadInput(f"{setting} holds a password.", fix="Leave it out and set CITEWELL_MODEL_API_KEY.")
    path = parts.path.rstrip("/")
    if provider.protocol == "anthropic":
        path = path.removesuffix("/v1")
    elif not path:
        path = "/v1"
    return urlunsplit(SplitResult(parts.scheme, parts.netloc, path, parts.query, ""))


# Prices: what a user set, else nothing for a local model, else the catalogue that comes with `genai-prices`.
#
# No network: the catalogue is as old as the installed package. It is asked for the price of a short call; what long
# prompts cost more at some providers is not in it. A local address that relays to a hosted model looks free until a
# price is set for it.


_EXAMPLE = "openai:NAME=0.5/1.5,ollama:NAME=0.1/0.1"
_SAMPLE_TOKENS = 1_000


def parse_prices(text: str) -> dict[str, Price]:
    """The prices a user set, by `provider:name`; raises BadInput."""
    prices: dict[str, Price] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        model, _, figures = entry.rpartition("=")
        asked, _, given = figures.partition("/")
        try:
            provider, name = split_model(model)
            prices[f"{provider.name}:{name}"] = Price(_usd(asked), _usd(given), "setting")
        except ValueError:
            raise BadInput(
                f"CITEWELL_PRICES has {entry!r}: it must be model=input/output in USD for a million tokens.",
                fix=f"For example: {_EXAMPLE}",
            ) from None
        except BadInput as error:
            raise BadInput(f"CITEWELL_PRICES has {entry!r}: {error.message}", fix=f"For example: {_EXAMPLE}") from None
    return prices


class PriceList:
    """What calls cost."""

    def __init__(self, setting: str) -> None:
        self._set = parse_prices(setting)
        self._known: dict[tuple[str, str], Price | None] = {}

    def price(self, endpoint: Endpoint) -> Price | None:
        """What a call there costs, None where nobody knows."""
        if endpoint.model in self._set:
            return self._set[endpoint.model]
        if not endpoint.is_hosted:
            return Price(0.0, 0.0, "local")
        place = (endpoint.model, endpoint.base_url)
        if place not in self._known:
            self._known[place] = _from_catalogue(endpoint)
        return self._known[place]


def _from_catalogue(endpoint: Endpoint) -> Price | None:
    if find_spec("genai_prices") is None:
        return None
    catalogue = importlib.import_module("genai_prices")
    usage = catalogue.Usage(input_tokens=_SAMPLE_TOKENS, output_tokens=_SAMPLE_TOKENS)
    # At another address than the provider's own it is somebody else's offer.
    if endpoint.is_default_address:
        where = {"provider_id": endpoint.provider.name}
    else:
        where = {"provider_api_url": endpoint.base_url}
    try:
        found = catalogue.calc_price(usage, endpoint.name, **where)
        return Price(_for_a_million(found.input_price), _for_a_million(found.output_price), "catalogue")
    except (LookupError, ValueError, TypeError):
        return None


def _for_a_million(price: object) -> float:
    return round(float(str(price)) * 1_000_000 / _SAMPLE_TOKENS, 6)


def _usd(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError(text)
    return value
