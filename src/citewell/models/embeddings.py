"""Embeddings: what the semantic lane asks of a model, whichever it is and wherever it runs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from citewell.errors import BadInput, Unavailable
from citewell.models import faults
from citewell.models.endpoints import PROVIDERS, Endpoint, resolve
from citewell.models.faults import Pace, wait_before_next
from citewell.models.reply import fault_of, load_client, read_body
from citewell.settings import Settings, secret_values
from citewell.text.secrets import Masker

if TYPE_CHECKING:
    from citewell.store.port import Vectors


class Embedder(Protocol):
    """Turns texts into vectors of length one, one row a text. Vectors of different ids are never compared."""

    @property
    def model_id(self) -> str:
        """Names weights, precision and dimension: vectors made under another id are made anew."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; a multiple of 64."""
        ...

    @property
    def unrelated(self) -> float:
        """The similarity below which two texts have nothing to do with each other."""
        ...

    @property
    def related(self) -> float:
        """The similarity from which on a text may be about a query of which it has no word."""
        ...

    @property
    def tells_answers(self) -> bool:
        """Whether its similarities are those that the choice of answers was measured with, at no cost and no risk."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Texts that are to be found."""
        ...

    def encode_query(self, text: str) -> Vectors:
        """One text to find others by, as a single row; some models treat it differently from a passage."""
        ...


# Opens a model when it is first needed; raises Unavailable with the way to get it.
OpenEmbedder = Callable[[], Embedder]


def open_embedder(settings: Settings) -> Embedder:
    """The model that the settings choose; raises BadInput or Unavailable."""

    if is_endpoint(settings.embeddings_model):
        return open_embedding_endpoint(settings)
    from citewell.models.minilm import open_minilm

    return open_minilm(settings.embeddings_model, settings.data_dir / "models")


# Embeddings from an endpoint that speaks OpenAI's protocol, as `ollama:nomic-embed-text`.
#
# Every passage of the corpus is sent there, with the secrets that are set masked. Vectors are brought to length one; a
# number of dimensions that is no multiple of 64 is filled up with zeros, which changes no similarity. The identity
# names the model, its address and the dimension, so that vectors of different origins are never compared; weights that
# change behind the same name are not noticed.


BATCH = 32
TIMEOUT_SECONDS = 60.0
_MOST_DIMENSIONS = 16_384
_ALIGNED = 64
# JSON writes a number in at most some twenty-five characters.
_BYTES_A_NUMBER = 32


def is_endpoint(chosen: str) -> bool:
    """Whether this names a model at an endpoint and not a folder."""
    return chosen.partition(":")[0].lower() in PROVIDERS and ":" in chosen


def is_made_by(endpoint: Endpoint, model_id: str) -> bool:
    """Whether vectors with this id come from this endpoint's model, whatever their dimension: nothing is asked."""
    name, _, place = model_id.rpartition("-")
    return place == _place(endpoint) and name.rpartition("-")[0] == endpoint.model


def _place(endpoint: Endpoint) -> str:
    return hashlib.sha256(endpoint.base_url.encode()).hexdigest()[:8]


def open_embedding_endpoint(settings: Settings) -> EmbeddingEndpoint:
    """The endpoint that CITEWELL_EMBEDDINGS_MODEL names; raises BadInput or Unavailable. Connects to nothing yet."""
    endpoint = resolve(settings.embeddings_model, settings)
    if endpoint.provider.protocol != "openai":
        raise BadInput(
            f"{endpoint.provider.name} offers no embeddings.", fix="Use another, for example ollama:nomic-embed-text."
        )
    load_client("openai")
    return EmbeddingEndpoint(endpoint, masker=Masker(secret_values(settings)))


@dataclass(frozen=True, slots=True)
class Pause:
    """How long to wait, and how: in a thread, unlike chat."""

    seconds: float = TIMEOUT_SECONDS
    sleep: Callable[[float], None] = time.sleep


class EmbeddingEndpoint:
    """An embedding model somewhere else."""

    # Models differ too much in what "unrelated" is: only what points away is left out.
    unrelated = related = 0.1
    # What a similarity of theirs is worth was never measured, and texts would leave this machine for it.
    tells_answers = False

    def __init__(
        self,
        endpoint: Endpoint,
        waiting: Pause | None = None,
        pace: Pace | None = None,
        masker: Masker | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._masker = masker or Masker()
        self._waiting = waiting or Pause()
        self._pace = pace or Pace()
        self._numbers = 0

    @property
    def model_id(self) -> str:
        return f"{self._endpoint.model}-{self.dimension}-{_place(self._endpoint)}"

    @cached_property
    def dimension(self) -> int:
        """Asked once: nothing but a vector says how long vectors are."""
        if not self._numbers:
            self.encode_query("dimension")
        return -(-self._numbers // _ALIGNED) * _ALIGNED

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows: list[Vectors] = [self._encoded(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        return np.concatenate(rows) if rows else np.empty((0, self.dimension), np.float32)

    def encode_query(self, text: str) -> Vectors:
        return self._encoded([text])

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        """One batch; raises Unavailable, so that a search goes on by words."""
        # An empty text is refused by some servers.
        asked = [self._masker.mask(text) or " " for text in texts]
        deadline = self._pace.monotonic() + self._waiting.seconds
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._vectors(self._request(asked, max(0.001, deadline - self._pace.monotonic())), len(texts))
            except faults.CallFault as fault:
                try:
                    remaining = deadline - self._pace.monotonic()
                    wait = wait_before_next(fault, attempt, remaining, self._pace.random())
                except faults.CallFault:
                    raise Unavailable(f"Embeddings failed: {fault.message}", fix=fault.fix) from None
            self._waiting.sleep(wait)

    def _request(self, texts: Sequence[str], seconds: float) -> Mapping[str, Any]:
        sdk = load_client("openai")
        from citewell.models.connection import Watch, client, time_limits

        most = 1_000_000 + len(texts) * _MOST_DIMENSIONS * _BYTES_A_NUMBER
        watch = Watch(most, time.monotonic() + seconds)
        with client(self._endpoint, watch, seconds) as http:
            opened = sdk.OpenAI(
                api_key="none",
                base_url=self._endpoint.base_url,
                max_retries=0,
                timeout=time_limits(seconds),
                http_client=http,
            )
            wanted = {"model": self._endpoint.name, "input": list(texts), "encoding_format": "float"}
            try:
                raw = opened.embeddings.with_raw_response.create(**wanted)
                return read_body(raw.http_response.content, self._endpoint)
            except faults.CallFault:
                raise
            except Exception as error:
                now = self._pace.time_of_day()
                fault = fault_of(error, self._endpoint, began=watch.began, seconds=seconds, now=now)
                if fault is None:
                    raise
                raise fault from None

    def _vectors(self, body: Mapping[str, Any], count: int) -> Vectors:
        """The rows of a reply in the order that was asked, each of length one."""
        import numpy as np

        rows = body.get("data")
        if not isinstance(rows, list) or len(rows) != count:
            raise faults.unreadable(self._endpoint, f"it has not one vector for each of {count} texts")
        try:
            placed = sorted(rows, key=lambda row: int(row["index"]))
            vectors: Vectors = np.array([row["embedding"] for row in placed], np.float32)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise faults.unreadable(self._endpoint, "its vectors are not lists of numbers of one length") from None
        if vectors.ndim != 2 or not 0 < vectors.shape[1] <= _MOST_DIMENSIONS or not np.isfinite(vectors).all():
            raise faults.unreadable(self._endpoint, "its vectors are not lists of finite numbers")
        if self._numbers and vectors.shape[1] != self._numbers:
            why = f"its vectors have {vectors.shape[1]} numbers where there were {self._numbers} before"
            raise faults.unreadable(self._endpoint, why)
        self._numbers = int(vectors.shape[1])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, 1.0)
        missing = self.dimension - self._numbers
        return np.pad(vectors, ((0, 0), (0, missing))).astype(np.float32) if missing else vectors
