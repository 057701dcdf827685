"""From what a caller asks to what a run is to do: checked, masked, with the settings in force, before it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from citewell.domain.briefs import FAMILIES, FamilyUse, ReportTask
from citewell.domain.chat import ChatModel
from citewell.domain.errors import BadInput, Conflict
from citewell.domain.evidence import GivenRow
from citewell.domain.lanes import SemanticUse
from citewell.domain.notes import NoteTask
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
from citewell.domain.web import WebUse
from citewell.flows.profiles import PROFILES
from citewell.models.endpoints import EXTRACTIVE
from citewell.packs.options import OPTION_PROFILES, PackOptions, ProfileName, check_between, checked_topic
from citewell.planning.chat_prompt import asked_in
from citewell.planning.normalizer import check_question
from citewell.runner.choosing import model_use, web_use
from citewell.settings import Settings
from citewell.text.canonical import canonicalize
from citewell.text.masking import Masker
from citewell.web.providers.registry import PROVIDERS, enabled_names


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
    note: NoteTask | None = None
    report: ReportTask | None = None
    conversation_id: str = ""


class Requests:
    """Makes requests of what is asked."""

    def __init__(
        self,
        settings: Settings,
        masker: Masker,
        chat: Callable[[str], ChatModel],
        semantic_use: Callable[[bool], SemanticUse],
        judge: Callable[[], str] = str,
        reader: Callable[[], str] = str,
        components: Mapping[str, str] | None = None,
    ) -> None:
        self._components = dict(components or {})
        self._judge = judge
        self._reader = reader
        self._settings = settings
        self._masker = masker
        self._chat = chat
        self._semantic_use = semantic_use

    def request(self, asked: Asked) -> RunRequest:
        """What a run is to do: everything it depends on beside the corpus."""
        settings, profile = self._settings, asked.profile
        enabled_names(settings)  # a provider nobody knows is refused whatever is asked
        misses = (profile == "note") != (asked.note is not None) or (profile == "report") != (asked.report is not None)
        if profile not in PROFILES or misses:
            known = ", ".join(name for name in PROFILES if name not in ("note", "report"))
            raise BadInput(f"The profile '{profile}' is not available.", fix=f"Choose from: {known}.")
        chars = settings.max_evidence_chars if asked.max_evidence_chars is None else asked.max_evidence_chars
        check_between("max_evidence_chars", chars, 500, 500_000)
        typed = self._masker.mask(canonicalize(check_question(asked.question)))
        current, conversation = asked_in(typed, self._masker.mask_value(asked.conversation))
        is_deep = profile == "deep"
        seconds = {
            "chat": settings.chat_research_timeout_seconds,
            "deep": settings.deep_research_timeout_seconds,
        }.get(profile)
        web = (
            web_use(settings, asked.models, profile, asked.filters.exclude_domains) if asked.goal == "answer" else None
        )
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
            models=model_use(settings, self._chat, asked.models, web.model if web and web.providers else ""),
            semantic=self._semantic_use(asked.options.semantic),
            conversation=conversation,
            original_question=typed if typed != current else "",
            reserves=EvidenceReserves(
                settings.exact_tag_reserved_chars,
                settings.topic_brief_min_remaining_chars,
                settings.topic_brief_summary_max_chars,
            ),
            max_citations=None if asked.report else _max_citations(settings, is_deep=is_deep),
            goal=asked.goal,
            given=asked.given,
            judge=self._judge() if asked.goal != "pack" and asked.note is None else "",
            reader=self._reader() if asked.goal != "pack" and asked.note is None else "",
            note=self._named(asked.note),
            web=web,
            report=self._active(asked.report, web),
            conversation_id=self._masker.mask(asked.conversation_id),
            components=self._components if profile in ("local", "chat", "deep") else {},
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

    def _active(self, task: ReportTask | None, web: WebUse | None) -> ReportTask | None:
        """A brief with the families that take part: wanted by it, with somebody to ask for them."""
        if task is None:
            return None
        providers = web.providers if web is not None else ()
        asked = {family: tuple(name for name in providers if PROVIDERS[name].family == family) for family in FAMILIES}
        families = tuple(
            FamilyUse(family, asked[family])
            for family in FAMILIES
            if family in task.brief.sources and (family == "knowledge" or asked[family])
        )
        if not families:
            wanted = ", ".join(task.brief.sources) or "none"
            raise Conflict(
                f"No source of this brief can be asked (it wants: {wanted}).",
                fix="Turn `knowledge` on in the brief, or set CITEWELL_SEARCH to a provider of what it wants.",
            )
        return self._masker.mask_value(replace(task, families=families))

    def _named(self, note: NoteTask | None) -> NoteTask | None:
        """A note that can be named on record; under a masked name it could not be found again."""
        if self._masker.mask_value(note) != note:
            raise BadInput("The note's path holds the value of a secret that is set.", fix="Rename the note.")
        return note

    def _recordable(self, filters: Filters) -> Filters:
        """Filters that can be put on record as they are: masked ones would find something else."""
        if self._masker.mask_value(filters) != filters:
            raise BadInput(
                "A filter holds the value of a secret that is set, so the run could not be recorded.",
                fix="Filter by something else, or search with 'citewell search'.",
            )
        return filters


def _max_citations(settings: Settings, *, is_deep: bool) -> int:
    return settings.research_max_citations_deep if is_deep else settings.research_max_citations_chat
