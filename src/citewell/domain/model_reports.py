"""What `citewell models` reports: which models there are, what was fetched, how well a judge judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citewell.domain.benchmarks import VerifierAuroc

ModelKind = Literal["judge", "reader", "reranker"]


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A public model that can be fetched; `published` are its authors' own figures."""

    name: str
    kind: ModelKind
    about: str
    licence: str
    authors: str
    megabytes: int
    published: str
    is_fetched: bool
    is_used: bool


@dataclass(frozen=True, slots=True)
class ModelList:
    """The catalogue, the folder fetched models are in, and what the settings choose."""

    models: tuple[ListedModel, ...]
    folder: str
    judge: str
    reader: str
    reranker: str


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file of a model, and by what its bytes were checked.

    `catalogue`: the hash this program knows; `pin`: the one of an earlier download; `host`: the one its host declares;
    `first`: nothing but that it came first. All are pinned from then on.
    """

    path: str
    bytes: int
    sha256: str
    checked_by: Literal["catalogue", "pin", "host", "first"]


@dataclass(frozen=True, slots=True)
class FetchReport:
    """A model that is there now, and how to use it."""

    name: str
    folder: str
    files: tuple[FetchedFile, ...]
    fetched_bytes: int
    setting: str


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """How well a judge tells supported claims from the others, and how fast.

    Refuted ones are ranked by entailment less contradiction, unsupported ones by entailment. `called` counts, for each
    label, what the judge finds likeliest.
    """

    judge: str
    n: int
    auroc: VerifierAuroc
    called: dict[str, dict[str, int]]
    pairs_per_second: float
