"""From what a caller asks to what a run is to do: checked, masked, with the settings in force, before it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from citewell.domain.chat import ChatModel
from citewell.domain.errors import BadInput
from citewell.domain.evidence import GivenRow
from citewell.domain.lanes import SemanticUse
from citewell.domain.queries import Filters, Limits
from citewell.domain.runs import (
    Conversation,
    EvidenceReserves,
    ModelChoice,
    RunGoal,
    RunProfile,
    RunRequest,
    Surface,
)
from citewell.models.endpoints import EXTRACTIVE
from citewell.packs.options import OPTION_PROFILES, PackOptions, ProfileName, check_between, checked_topic
from citewell.planning.chat_prompt import asked_in
from citewell.planning.normalizer import check_question
from citewell.runner.choosing import model_use
from citewell.runner.profiles import PROFILES
from citewell.settings import Settings
from citewell.text.canonical import canonicalize
from citewell.text.masking import Masker


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with everything a caller may choose; what is None is as the settings have it."""

    question: str
    options: PackOptions = field(default_factory=PackOptions)
    filters: Filters = field(default_factory=Filters)
    surface: Surface = "cli"
    profile: RunProfile = "local"
    max_evidence_chars: int | None = None
    deadline_seconds: float | None = None
    models: ModelChoice = field(default_factory=ModelChoice)
    conversation: Conversation | None = None
    goal: RunGoal = "answer"
    given: tuple[GivenRow, ...] = ()
    option_profile: ProfileName = "cli"


class Requests:
    """Makes requests of what is asked."""

    def __init__(
        self,
        settings: Settings,
        masker: Masker,
        chat: Callable[[str], ChatModel],
        semantic_use: Callable[[bool], SemanticUse],
        judge: Callable[[], str] = str,
    ) -> None:
        self._judge = judge
        self._settings = settings
        self._masker = masker
        self._chat = chat
        self._semantic_use = semantic_use

    def request(self, asked: Asked) -> RunRequest:
        """What a run is to do: everything it depends on beside the corpus."""
        settings, profile = self._settings, asked.profile
        if profile not in PROFILES:
            raise BadInput(f"The profile '{profile}' is not available.", fix=f"Choose from: {', '.join(PROFILES)}.")
        chars = settings.max_evidence_chars if asked.max_evidence_chars is None else asked.max_evidence_chars
        check_between("max_evidence_chars", chars, 500, 500_000)
        typed = self._masker.mask(canonicalize(check_question(asked.question)))
        current, conversation = asked_in(typed, self._masker.mask_value(asked.conversation))
        is_deep = profile == "deep"
        seconds = settings.deep_research_timeout_seconds if is_deep else None
        return RunRequest(
            question=current,
            profile=profile,
            surface=asked.surface,
            filters=self._recordable(asked.filters),
            limits=self._run_limits(asked),
            max_evidence_chars=chars,
            topic=self._masker.mask_value(checked_topic(asked.options.topic)),
            topic_brief=asked.options.topic_brief,
            deadline_seconds=seconds if asked.deadline_seconds is None else asked.deadline_seconds,
            models=model_use(settings, self._chat, asked.models),
            semantic=self._semantic_use(asked.options.semantic),
            conversation=conversation,
            original_question=typed if typed != current else "",
            reserves=EvidenceReserves(
                settings.exact_tag_reserved_chars,
                settings.topic_brief_min_remaining_chars,
                settings.topic_brief_summary_max_chars,
            ),
            max_citations=settings.research_max_citations_deep if is_deep else settings.research_max_citations_chat,
            goal=asked.goal,
            given=asked.given,
            judge=self._judge() if asked.goal != "pack" else "",
        )

    def limits(self, profile: ProfileName, chosen: PackOptions) -> Limits:
        """How much a pack holds: what the caller chose, else what is set, else what the surface has."""
        window = chosen.max_chars_per_doc
        if window is None and profile == "cli":
            window = self._settings.max_chars_per_doc
        return OPTION_PROFILES[profile].limits(chosen.limit, window, chosen.include_related, chosen.related_limit)

    def _run_limits(self, asked: Asked) -> Limits:
        chosen = asked.options
        if asked.goal == "pack":
            return self.limits(asked.option_profile, chosen)
        if chosen.include_related or chosen.related_limit is not None:
            raise BadInput(
                "A run adds linked documents by itself, where what it found asks for them.",
                fix="Leave include_related and related_limit out, or ask for the evidence alone.",
            )
        limits = self.limits("cli", chosen)
        return replace(limits, limit=PROFILES[asked.profile].rows) if chosen.limit is None else limits

    def planning_models(self, models: ModelChoice) -> ModelChoice | None:
        """The model that helps to plan, and no other; None where none is set."""
        settings = self._settings
        model = models.planner_model or settings.planner_model or models.model or settings.model
        if model in ("", EXTRACTIVE):
            return None
        return replace(models, model=EXTRACTIVE, planner=True, planner_model=model)

    def _recordable(self, filters: Filters) -> Filters:
        """Filters that can be put on record as they are: masked ones would find something else."""
        if self._masker.mask_value(filters) != filters:
            raise BadInput(
                "A filter holds the value of a secret that is set, so the run could not be recorded.",
                fix="Filter by something else, or search with 'citewell search'.",
            )
        return filters
