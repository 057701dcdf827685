"""Which strategies make a report: each stage by the name of one (`briefs/strategies.py`)."""

from __future__ import annotations

from typing import cast

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator

from citewell.briefs.strategies import known_strategies
from citewell.domain.briefs import StrategyStage


class ResearchConfig(BaseModel):
    """By default a model plans where one is set, else rules; rules and a model judge sources; words tell copies.

    With `retrieval="replay"` what the run `replay_of` found is found again, and nothing is asked of the corpus or the
    web; such a run is not recorded. Each name may also be that of a strategy of one's own (`register_strategy`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: str = "llm"
    triage: str = "hybrid"
    deduplicator: str = "lexical"
    binder: str = "citation"
    # "default": a model writes where one is set, else passages are quoted.
    synthesizer: str = "default"
    verifier: str = "rules"
    retrieval: str = "live"
    replay_of: str | None = None
    # None: the one that is set (RESEARCH_MODEL, else CITEWELL_MODEL).
    model: str | None = None

    @field_validator("planner", "triage", "deduplicator", "binder", "synthesizer", "verifier", "retrieval")
    @classmethod
    def _is_known(cls, name: str, info: ValidationInfo) -> str:
        known = known_strategies(cast("StrategyStage", info.field_name))
        if name not in known:
            raise ValueError(f"there is no {info.field_name} {name!r}; known are {', '.join(known)}")
        return name

    @model_validator(mode="after")
    def _says_what_to_replay(self) -> ResearchConfig:
        if (self.retrieval == "replay") != (self.replay_of is not None):
            raise ValueError('`replay_of` names the run of `retrieval="replay"`, and of nothing else')
        return self
