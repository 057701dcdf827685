"""What can be asked of this server as it is set up: a page shows controls for that and for nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.domain.runs import RunProfile
from citewell.exporting.pdf import has_pdf
from citewell.models.endpoints import askable_providers, set_models
from citewell.surfaces.api.operations import Answer, Call, Operation
from citewell.version import __version__

_EXPORTS = ("md", "docx", *(("pdf",) if has_pdf() else ()), "bibtex", "ris", "json", "zip")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`model` is `extractive` where none is set; an empty `planner_model` means that rules alone plan.

    A run may name one of `models`, or `PROVIDER:NAME` with one of `model_providers`.
    """

    version: str
    profiles: tuple[RunProfile, ...]
    model: str
    planner_model: str
    exports: tuple[str, ...]
    notes: bool
    models: tuple[str, ...] = ()
    model_providers: tuple[str, ...] = ()


def _capabilities(call: Call) -> Capabilities:
    settings = call.cw.settings
    # Without a provider the other profiles ask nobody: they would answer from the corpus, as `local` does.
    profiles: tuple[RunProfile, ...] = ("local", "chat", "deep") if settings.search.strip() else ("local",)
    return Capabilities(
        __version__,
        profiles,
        settings.model,
        settings.planner_model,
        _EXPORTS,
        notes=settings.note_tool,
        models=set_models(settings),
        model_providers=askable_providers(settings),
    )


CAPABILITIES: tuple[Operation, ...] = (
    Operation(
        *("GET", "/api/capabilities", "capabilities", "What can be asked of this server."),
        Answer(Capabilities, description="Profiles, models, forms of export."),
        value=_capabilities,
        tag="state",
    ),
)
