"""The catalogue: public models that fit, where they are, under which licence, and what their authors say of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from citewell.domain.errors import NotFound
from citewell.domain.model_reports import ListedModel, ModelKind, ModelList
from citewell.models.judges import judge_folder, models_folder, reader_folder
from citewell.settings import Settings

HOST = "https://huggingface.co"
SETTINGS: dict[ModelKind, str] = {
    "judge": "CITEWELL_JUDGE",
    "reader": "CITEWELL_READER",
    "reranker": "CITEWELL_RERANKER",
}


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """A file as it is called here, as its host calls it, and its hash where it is known."""

    path: str
    remote: str
    sha256: str


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    name: str
    kind: ModelKind
    about: str
    licence: str
    authors: str
    repository: str
    revision: str
    megabytes: int
    published: str
    files: tuple[CatalogueFile, ...]

    def url(self, file: CatalogueFile, base: str) -> str:
        return f"{(base or HOST).rstrip('/')}/{self.repository}/resolve/{self.revision}/{file.remote}"


@cache
def catalogue() -> dict[str, CatalogueModel]:
    """Every model of the catalogue by its name, in its order."""
    entries = tomllib.loads((Path(__file__).parent / "catalogue.toml").read_text("utf-8"))
    return {name: _model(name, entry) for name, entry in entries.items()}


def _model(name: str, entry: dict[str, Any]) -> CatalogueModel:
    files = tuple(
        CatalogueFile(path, about.get("from", path), about.get("sha256", ""))
        for path, about in entry.pop("files").items()
    )
    return CatalogueModel(name=name, files=files, **entry)


def find_model(name: str) -> CatalogueModel:
    """The model of that name; raises NotFound with the names there are."""
    found = catalogue().get(name)
    if found is None:
        raise NotFound(f"The catalogue has no model '{name}'.", fix=f"It has: {', '.join(catalogue())}.")
    return found


def list_models(settings: Settings) -> ModelList:
    """The catalogue with what was fetched and what is used."""
    folder = models_folder(settings)
    reranker = Path(settings.reranker).expanduser() if settings.reranker else None
    used = {judge_folder(settings), reader_folder(settings), reranker}
    models = tuple(
        ListedModel(
            *(one.name, one.kind, one.about, one.licence, one.authors, one.megabytes, one.published),
            is_fetched=(folder / one.name).is_dir(),
            is_used=folder / one.name in used,
        )
        for one in catalogue().values()
    )
    return ModelList(models, str(folder), settings.judge, settings.reader, settings.reranker)
