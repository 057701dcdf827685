"""Which strategies make a report: each stage by the name of one (`briefs/strategies.py`)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from citewell.domain.briefs import BinderName, DeduplicatorName, PlannerName, TriageName


class ResearchConfig(BaseModel):
    """By default a model plans where one is set, else rules; rules and a model judge sources; words tell copies.

    With `retrieval="replay"` what the run `replay_of` found is found again, and nothing is asked of the corpus or the
    web; such a run is not recorded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: PlannerName = "llm"
    triage: TriageName = "hybrid"
    deduplicator: DeduplicatorName = "lexical"
    binder: BinderName = "citation"
    retrieval: Literal["live", "replay"] = "live"
    replay_of: str | None = None
    # None: the one that is set (RESEARCH_MODEL, else CITEWELL_MODEL).
    model: str | None = None

    @model_validator(mode="after")
    def _says_what_to_replay(self) -> ResearchConfig:
        if (self.retrieval == "replay") != (self.replay_of is not None):
            raise ValueError('`replay_of` names the run of `retrieval="replay"`, and of nothing else')
        return self
