"""`Ask`: a question with everything that may be chosen about it. The one declaration of its options.

Bounds, help and defaults stand here once: the options of `citewell research`, the bodies of the API and its OpenAPI
document, the input schemas of the tools, the keywords of `Citewell.start` and `docs/commands.md` are made from it
(`taken`, `cli/options.py`). What is None, or left out, is as the profile and the settings have it.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import Meta

from citewell.errors import BadInput
from citewell.search.query import Limits, RunProfile, Surface
from citewell.store.port import Filters, checked_filters
from citewell.text.canonical import canonicalize
from citewell.text.documents import SourceType

# Something to see in it: not only blanks, whatever a regular expression takes for blank.
SAYS_SOMETHING = r"[^\s\x1c-\x1f\x85\ufeff]"
MOST_QUESTION_CHARS = 8_000
Question = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MOST_QUESTION_CHARS,
        pattern=SAYS_SOMETHING,
        description="What is asked, in plain words.",
    ),
]
_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_MONTH_DAY = (
    "((0[13578]|1[02])(-(0[1-9]|[12][0-9]|3[01]))?|(0[469]|11)(-(0[1-9]|[12][0-9]|30))?|02(-(0[1-9]|1[0-9]|2[0-9]))?)"
)
Day = Annotated[str, Meta(pattern=f"^{_YEAR}(-{_MONTH_DAY})?$", max_length=10)]
Name = Annotated[str, Meta(min_length=1, max_length=500, pattern=SAYS_SOMETHING)]
# What is left out must be more than slashes: a blank one would leave out everything or nothing.
LeftOut = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"[^\s\x1c-\x1f\x85\ufeff/]")]
ModelName = Annotated[
    str,
    Meta(
        max_length=200,
        pattern="^(extractive|(anthropic|fireworks|llamacpp|ollama|openai|openrouter|vllm):[!-~]+)?$",
        examples=["ollama:qwen3:8b"],
    ),
]
ConversationId = Annotated[
    str,
    Meta(
        pattern="^[A-Za-z0-9_-]{1,100}$",
        description="Recorded; a message alone goes on with what was asked in this conversation before.",
    ),
]
MAX_TOPIC_CHARS = 200


class PriorTurn(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """An earlier question of a conversation, and what the caller knows it by."""

    question: Question
    id: Annotated[str, Meta(max_length=200)] = ""


ProfileName = Literal["cli", "web"]


class OptionProfile(msgspec.Struct, frozen=True):
    """What a pack holds where nobody says otherwise."""

    limit: int
    include_related: bool
    related_limit: int
    max_chars_per_doc: int
    use_model_planner: bool


# The one table; the docs are made from it. A run takes its rows from its profile (`flows/play.py`).
OPTION_PROFILES: dict[ProfileName, OptionProfile] = {
    "cli": OptionProfile(
        limit=8, include_related=False, related_limit=2, max_chars_per_doc=700, use_model_planner=False
    ),
    "web": OptionProfile(
        limit=10, include_related=True, related_limit=2, max_chars_per_doc=4_000, use_model_planner=True
    ),
}


def _shown(flag: str = "", metavar: str = "") -> dict[str, str]:
    """How the command line writes an option, where not as its name says."""
    return {"flag": flag, "metavar": metavar}


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, and what may be chosen about it."""

    question: Question
    profile: Annotated[
        RunProfile,
        Meta(
            description="What the run may use: `local` answers from what was saved; `chat` and `deep` read the web "
            "too, where it is set up; `report` looks into every part of the question and writes cited claims."
        ),
    ] = "local"
    max_evidence_chars: (
        Annotated[
            int, Meta(ge=500, le=500_000, description="Evidence an answer is made from (default: as set, 24000).")
        ]
        | None
    ) = None
    timeout: (
        Annotated[
            float,
            Meta(
                ge=1,
                lt=86_400,
                description="Deadline of the run (default 90; chat: 20; deep: 150).",
                extra=_shown(metavar="SECONDS"),
            ),
        ]
        | None
    ) = None
    trace: Annotated[
        bool,
        Meta(
            description="Leave nothing on disk; the run cannot be resumed or replayed.",
            extra=_shown("--no-trace"),
        ),
    ] = True
    limit: Annotated[int, Meta(ge=1, le=100, description="How many rows of evidence (default 8).")] | None = None
    max_chars_per_doc: (
        Annotated[
            int,
            Meta(
                ge=50,
                le=50_000,
                description="Size of each row's window (default CITEWELL_MAX_CHARS_PER_DOC, 700).",
            ),
        ]
        | None
    ) = None
    include_related: Annotated[bool, Meta(description="Of a pack: also documents linked with the evidence.")] | None = (
        None
    )
    related_limit: Annotated[int, Meta(ge=0, le=50, description="How many of those (default 2).")] | None = None
    topic: (
        Annotated[
            str,
            Meta(
                max_length=MAX_TOPIC_CHARS,
                description="The topic the question belongs to; its brief goes with the evidence.",
                extra=_shown(metavar="TOPIC"),
            ),
        ]
        | None
    ) = None
    topic_brief: (
        Annotated[
            bool,
            Meta(
                description="With or without a brief of the topic (default: where a topic is named or an overview is "
                "asked for)."
            ),
        ]
        | None
    ) = None
    planner: (
        Annotated[bool, Meta(description="With or without a model that helps to plan (default: if one is set).")] | None
    ) = None
    planner_model: (
        Annotated[
            ModelName,
            Meta(description="The model that plans (default CITEWELL_PLANNER_MODEL).", extra=_shown(metavar="MODEL")),
        ]
        | None
    ) = None
    planner_timeout: (
        Annotated[
            float,
            Meta(ge=1, le=600, description="How long it may take (default 20).", extra=_shown(metavar="SECONDS")),
        ]
        | None
    ) = None
    model: (
        Annotated[
            ModelName,
            Meta(
                description="The model that writes, such as ollama:qwen3:8b, or 'extractive'; left out: as it is set.",
                extra=_shown(metavar="MODEL"),
            ),
        ]
        | None
    ) = None
    max_cost: (
        Annotated[
            float,
            Meta(
                ge=0.000001,
                le=10_000,
                description="Stop spending at this (USD); needs known prices.",
                extra=_shown(metavar="USD"),
            ),
        ]
        | None
    ) = None
    max_tokens: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=1_000_000_000,
                description="Stop asking models at so many tokens in all.",
                extra=_shown(metavar="N"),
            ),
        ]
        | None
    ) = None
    semantic: Annotated[
        bool,
        Meta(
            description="Search by words only, whatever CITEWELL_EMBEDDINGS says.",
            extra=_shown("--no-semantic"),
        ),
    ] = True
    source_types: Annotated[
        tuple[SourceType, ...], Meta(max_length=20, description="Only these kinds.", extra=_shown("--source-type"))
    ] = ()
    tags: Annotated[
        tuple[Name, ...],
        Meta(
            max_length=50,
            description="Only documents with these tags (or ones nested in them).",
            extra=_shown("--tag", "TAG"),
        ),
    ] = ()
    collections: Annotated[
        tuple[Name, ...],
        Meta(max_length=50, description="Only these collections.", extra=_shown("--collection", "NAME")),
    ] = ()
    not_from: Annotated[
        tuple[LeftOut, ...],
        Meta(max_length=50, description="Nothing saved from these domains.", extra=_shown(metavar="DOMAIN")),
    ] = ()
    not_in: Annotated[
        tuple[LeftOut, ...],
        Meta(max_length=50, description="Nothing at or below these paths.", extra=_shown(metavar="PATH")),
    ] = ()
    only: Annotated[
        tuple[Name, ...],
        Meta(
            max_length=50,
            description="Only documents at or below these paths of a collection.",
            extra=_shown(metavar="PATH"),
        ),
    ] = ()
    since: (
        Annotated[
            Day,
            Meta(description="Only documents dated at or after this day, month or year.", extra=_shown(metavar="DATE")),
        ]
        | None
    ) = None
    until: (
        Annotated[
            Day,
            Meta(
                description="Only documents dated at or before this day, month or year.", extra=_shown(metavar="DATE")
            ),
        ]
        | None
    ) = None
    history: Annotated[
        tuple[PriorTurn | Question, ...],
        Meta(max_length=50, description="Earlier questions of the conversation, oldest first; never earlier answers."),
    ] = ()
    pinned: Annotated[
        tuple[Name, ...], Meta(max_length=24, description="Keys of documents that must be among the evidence.")
    ] = ()
    conversation_id: ConversationId = ""
    surface: Annotated[Surface | None, Meta(description="What the record says of who asked.")] = None
    option_profile: Annotated[ProfileName, Meta(description="Of a pack: what it holds unless it is said here.")] = "cli"

    @property
    def filters(self) -> Filters:
        """What narrows the search, checked."""
        return checked_filters(
            Filters(
                source_types=tuple(self.source_types),
                tags=tuple(self.tags),
                collections=tuple(self.collections),
                only=tuple(self.only),
                since=self.since,
                until=self.until,
                exclude_paths=tuple(self.not_in),
                exclude_domains=tuple(self.not_from),
            )
        )

    def limits(self, window: int | None = None, rows: int | None = None) -> Limits:
        """How much evidence there is: what is chosen here, else what is given, else what the option profile has."""
        profile = OPTION_PROFILES[self.option_profile]

        def chosen(name: str, otherwise: int | None) -> int:
            said = getattr(self, name)
            default: int = getattr(profile, name) if otherwise is None else otherwise
            return checked(name, default if said is None else said)

        # What is set says how large the windows are wherever the profile is the one of the command line.
        set_window = window if self.option_profile == "cli" else None
        related = profile.include_related if self.include_related is None else self.include_related
        return Limits(
            limit=chosen("limit", rows),
            max_chars_per_doc=chosen("max_chars_per_doc", set_window),
            include_related=related,
            related_limit=chosen("related_limit", None),
        )


FILTERS = ("source_types", "tags", "collections", "only", "since", "until", "not_in", "not_from")
HINTS: dict[str, Any] = typing.get_type_hints(Ask, include_extras=True)
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Ask)}
_Form = TypeVar("_Form", bound=msgspec.Struct)


def parts_of(hint: Any) -> tuple[Any, list[Meta]]:
    """The type of an option without None, and what is said of it, the innermost first."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (hint,) = (one for one in typing.get_args(hint) if one is not types.NoneType)
    if typing.get_origin(hint) is Annotated:
        return typing.get_args(hint)[0], [one for one in hint.__metadata__ if isinstance(one, Meta)]
    return hint, []


def default_of(name: str) -> Any:
    """What an option is where nobody says it."""
    return _DEFAULTS[name]


def taken(
    name: str,
    form: type[_Form],
    fields: Sequence[str],
    *,
    instead: Mapping[str, Any] | None = None,
    also: Mapping[str, tuple[Any, Any]] | None = None,
    renamed: Mapping[str, str] | None = None,
    namespace: dict[str, Any] | None = None,
) -> type[_Form]:
    """A form with these options of a question: some of another type, some of another name, and some fields more.

    `also` holds types with defaults; `msgspec.NODEFAULT` for what must be said.
    """
    types_, names = instead or {}, renamed or {}
    made = [(one, kind, default) for one, (kind, default) in (also or {}).items()]
    made += [(names.get(one, one), types_.get(one, HINTS[one]), _DEFAULTS[one]) for one in fields]
    listed: list[Any] = [
        (one, kind) if default is msgspec.NODEFAULT else (one, kind, default) for one, kind, default in made
    ]
    made_form: Any = msgspec.defstruct(
        name, listed, bases=(form,), namespace=namespace, kw_only=True, forbid_unknown_fields=True
    )
    made_form.__module__ = form.__module__
    return cast("type[_Form]", made_form)


def ask_of(form: msgspec.Struct, renamed: Mapping[str, str] | None = None, **more: Any) -> Ask:
    """The question that a form puts; its other fields are left to who took it."""
    names = renamed or {}
    said = {one: getattr(form, names.get(one, one)) for one in _DEFAULTS if hasattr(form, names.get(one, one))}
    return Ask(**{**said, **more})


def asked(question: str | Ask, options: Mapping[str, Any]) -> Ask:
    """The question of a program, whose keywords are those of `Ask`; `filters` and `use_model_planner` do as well."""
    if isinstance(question, Ask):
        return msgspec.structs.replace(question, **options) if options else question
    said = dict(options)
    if "use_model_planner" in said:
        said["planner"] = said.pop("use_model_planner")
    filters: Filters | None = said.pop("filters", None)
    if filters is not None:
        said |= narrowed(filters)
    for name, value in said.items():
        if isinstance(value, (list, tuple)):
            said[name] = tuple(value)
    said["history"] = tuple(_prior(number, one) for number, one in enumerate(said.get("history", ()), start=1))
    return Ask(question, **said)


def narrowed(filters: Filters) -> dict[str, Any]:
    """Filters as options of a question."""
    return {
        "source_types": filters.source_types,
        "tags": filters.tags,
        "collections": filters.collections,
        "only": filters.only,
        "since": filters.since,
        "until": filters.until,
        "not_in": filters.exclude_paths,
        "not_from": filters.exclude_domains,
    }


def _prior(number: int, prior: Any) -> PriorTurn | str:
    if isinstance(prior, (str, PriorTurn)):
        return prior
    if isinstance(prior, Mapping) and isinstance(prior.get("question"), str):
        return PriorTurn(id=str(prior.get("id") or ""), question=prior["question"])
    raise BadInput(f"Question {number} of the history is {prior!r}.", fix='Give texts, or {"id": …, "question": …}.')


def signature(*, question: Any = "str | Ask") -> Signature:
    """The parameters of a method that takes a question and its options as keywords."""
    first = [Parameter("self", Parameter.POSITIONAL_ONLY), Parameter("question", Parameter.POSITIONAL_OR_KEYWORD)]
    first[1] = first[1].replace(annotation=question)
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=HINTS[name])
        for name, default in _DEFAULTS.items()
        if name not in ("question", "include_related", "related_limit", "option_profile")
    ]
    return Signature([*first, *keywords])


def checked(name: str, value: int) -> int:
    """The number of an option, refused outside of what is declared for it."""
    _, said = parts_of(HINTS[name])
    low, high = (
        next(value for value in (getattr(one, edge) for one in said) if value is not None) for edge in ("ge", "le")
    )
    check_between(name, value, low, high)
    return value


def check_between(name: str, value: int, low: int, high: int) -> None:
    """Refuse an option outside its range, saying the range."""
    if not low <= value <= high:
        raise BadInput(f"{name} is {value}; it must be between {low} and {high}.", fix=f"Choose another {name}.")


def checked_topic(topic: str | None) -> str | None:
    """A topic the caller named, checked; a blank one is none."""
    named = " ".join(canonicalize(topic or "").split())
    if len(named) > MAX_TOPIC_CHARS:
        raise BadInput(f"The topic has {len(named):,} characters.", fix="Name it in a few words, or ask a question.")
    return named or None
