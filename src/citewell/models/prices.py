"""Prices: what a user set, else nothing for a local model, else the catalogue that comes with `genai-prices`.

No network: the catalogue is as old as the installed package. It is asked for the price of a short call; what long
prompts cost more at some providers is not in it. A local address that relays to a hosted model looks free until a price
is set for it.
"""

from __future__ import annotations

import importlib
import math
from importlib.util import find_spec

from citewell.domain.chat import Price
from citewell.domain.errors import BadInput
from citewell.models.endpoints import Endpoint, split_model

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
