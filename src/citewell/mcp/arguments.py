"""What each tool may be told, as typed values: the input schemas are made from the same types that check a call.

search({"query": "kelp", "limit": "many"})  ->  BadInput: Expected `int`, got `str` - at `$.limit`
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, field

from citewell.ask import FILTERS, SAYS_SOMETHING, Name, Question, taken
from citewell.errors import BadInput
from citewell.reports.brief import DEFAULT_FLOOR, DEFAULT_SECONDS, DEFAULT_SUB_QUERIES, MAX_SUB_QUERIES
from citewell.search.lookup import SearchMode
from citewell.search.query import RunProfile
from citewell.text.documents import ContentMode

Query = Annotated[
    str, Meta(min_length=1, max_length=8_000, pattern=SAYS_SOMETHING, description="Words, a name, or a question.")
]
About = Annotated[
    str, Meta(min_length=1, max_length=8_000, pattern=SAYS_SOMETHING, description="Show the part that is about this.")
]
Lookup = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1_000,
        description="A source_key as another tool returned it, or KEY@CONTENT_HASH for an earlier text.",
    ),
]
Mode = Annotated[
    ContentMode,
    Meta(
        description="`evidence`: the window around `query`; `full`: the text, page by page; `summary`: derived text, "
        "in `summaries`, no evidence."
    ),
]
RunId = Annotated[
    str, Meta(min_length=1, max_length=100, description="A run_id, how one begins, or `last`.", examples=["last"])
]
Offset = Annotated[int, Meta(ge=0, le=900, description="Leave out this many: the next page.")]
MaxChars = Annotated[
    int, Meta(ge=500, le=500_000, description="Most characters of the result; rows that do not fit are left out.")
]
IncludePack = Annotated[
    bool, Meta(description="Also the whole research pack behind the answer; it is long, and seldom needed.")
]
# What a result may hold unless a call says otherwise.
RESULT_CHARS = 24_000


class Arguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a call may say; anything else is refused rather than ignored."""


# As the tools have it from their beginning; what these let through is refused all the same (`Ask.filters`).
_LOOSER: dict[str, Any] = {
    "since": Annotated[str, Meta(max_length=10, description="Dated at or after: 2024, 2024-05, 2024-05-31.")] | None,
    "until": Annotated[str, Meta(max_length=10, description="Dated at or before.")] | None,
    "not_in": Annotated[tuple[Name, ...], Meta(max_length=50, description="Nothing at or below these paths.")],
    "not_from": Annotated[tuple[Name, ...], Meta(max_length=50, description="Nothing saved from these domains.")],
}
SearchCall = taken(
    "SearchCall",
    Arguments,
    FILTERS,
    instead=_LOOSER,
    also={
        "query": (Query, msgspec.NODEFAULT),
        "limit": (Annotated[int, Meta(ge=1, le=100, description="How many documents.")], 8),
        "offset": (Offset, 0),
        "mode": (
            Annotated[SearchMode, Meta(description="By words, by meaning, or both; left out: as it is set.")] | None,
            None,
        ),
        "max_chars": (MaxChars, RESULT_CHARS),
    },
)
# What `Ask` calls otherwise.
PACK_NAMES = {"topic_brief": "include_topic_brief", "planner": "use_model_planner"}
PackCall = taken(
    "PackCall",
    Arguments,
    ("question", *FILTERS, "limit", "include_related", "related_limit", "topic_brief", "max_chars_per_doc"),
    instead=_LOOSER,
    renamed=PACK_NAMES,
    also={
        "use_model_planner": (
            Annotated[bool, Meta(description="Let the model that is set help to plan (default: no).")],
            False,
        ),
        "max_chars": (MaxChars, RESULT_CHARS),
    },
)


class GetCall(Arguments):
    lookup: Lookup
    query: About | None = None
    content_mode: Mode = "evidence"
    start: Annotated[
        int, Meta(ge=0, description="With `full`: begin at this character, where the last page ended.")
    ] = 0
    max_chars: (
        Annotated[int, Meta(ge=50, le=500_000, description="Most characters of text (default 4000; `full`: 20000).")]
        | None
    ) = None


class GetManyCall(Arguments):
    lookups: Annotated[tuple[Lookup, ...], Meta(min_length=1, max_length=20, description="Keys, at most 20.")]
    query: About | None = None
    content_mode: Mode = "evidence"
    max_chars: Annotated[int, Meta(ge=50, le=50_000, description="Most characters of text of each document.")] = 2_000


class RelatedCall(Arguments):
    lookup: Lookup
    limit: Annotated[int, Meta(ge=1, le=200, description="How many documents.")] = 8
    max_chars: MaxChars = RESULT_CHARS


class TopicCall(Arguments):
    topic: Annotated[str, Meta(min_length=1, max_length=200, pattern=SAYS_SOMETHING, description="A name or a tag.")]
    max_chars: MaxChars = RESULT_CHARS


class EntityCall(Arguments):
    name: Annotated[
        str,
        Meta(min_length=1, max_length=200, pattern=SAYS_SOMETHING, description="A person, project, place, handle."),
    ]
    max_chars: MaxChars = RESULT_CHARS


class StatsCall(Arguments):
    pass


class BriefSources(Arguments):
    """Which families of sources may be used; one takes part only where somebody can be asked for it."""

    knowledge: bool = True
    web: bool = True
    academic: bool = True
    code: bool = True


class BriefScope(Arguments):
    """Which part of the corpus the brief is about."""

    project_id: Name | None = None
    collections: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()
    tags: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()


class BriefLimitsForm(Arguments):
    """What the run may spend."""

    max_cost_usd: Annotated[float, Meta(gt=0, le=10_000)] | None = None
    max_seconds: Annotated[float, Meta(ge=5, le=3_600)] = DEFAULT_SECONDS
    max_sub_queries: Annotated[int, Meta(ge=1, le=MAX_SUB_QUERIES)] = DEFAULT_SUB_QUERIES


class BriefForm(Arguments):
    """A research brief, instead of a question."""

    question: Question
    context: Annotated[str, Meta(max_length=20_000, description="Background, for whoever plans and writes.")] = ""
    sub_questions: Annotated[
        tuple[Question, ...], Meta(max_length=MAX_SUB_QUERIES - 1, description="What is to be looked into.")
    ] = ()
    scope: BriefScope = field(default_factory=BriefScope)
    sources: BriefSources = field(default_factory=BriefSources)
    credibility_floor: Annotated[
        float, Meta(ge=0, le=1, description="Sources from outside that are less credible are dropped.")
    ] = DEFAULT_FLOOR
    limits: BriefLimitsForm = field(default_factory=BriefLimitsForm)


RunCall = taken(
    "RunCall",
    Arguments,
    ("profile", "history", "pinned"),
    instead={
        "profile": Annotated[
            Literal["local", "chat", "deep", "report"],
            Meta(
                description="`local` answers from what was saved; `chat` and `deep` read the web too, where it is set "
                "up; `report` looks into every part of the question and writes cited claims."
            ),
        ],
    },
    also={
        "question": (Question | None, None),
        "brief": (BriefForm | None, None),
        "fresh": (
            Annotated[bool, Meta(description="Of a report: another attempt, though there is one of this brief.")],
            False,
        ),
        "include_pack": (IncludePack, False),
    },
)


class RunGetCall(Arguments):
    run_id: RunId
    include_pack: IncludePack = False


class RunListCall(Arguments):
    profile: Annotated[RunProfile, Meta(description="Only of this profile; `report` lists reports.")] | None = None
    limit: Annotated[int, Meta(ge=1, le=100, description="How many runs, newest first.")] = 20
    offset: Offset = 0


class NoteCall(Arguments):
    path: Annotated[str, Meta(min_length=1, max_length=1_000, description="The note, relative to its vault.")]
    depth: Literal["shallow", "deep"] = "shallow"
    focus: Annotated[str, Meta(max_length=500, description="Only topics about this.")] | None = None
    dry_run: Annotated[bool, Meta(description="Say what would change and write nothing.")] = False


_Form = TypeVar("_Form", bound=Arguments)


def checked(arguments: dict[str, Any], form: type[_Form]) -> _Form:
    """The arguments of a call as their type. Null is as good as nothing, and 3.0 as good as 3."""
    given = {name: _whole(value) for name, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(given, form)
    except msgspec.ValidationError as error:
        said = str(error)
        if "regex" in said:
            said = f"Nothing is said{said[said.find(' - at') :] if ' - at' in said else ''}"
        known = ", ".join(form.__struct_fields__) or "none"
        raise BadInput(f"The arguments do not fit: {said[:400]}.", fix=f"Arguments are: {known}.") from None
    except RecursionError:
        raise BadInput("The arguments are nested too deeply.", fix="See the tool's input schema.") from None


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def input_schema(form: type[Arguments]) -> dict[str, Any]:
    """The JSON Schema of a call: an object at its root as the protocol wants it, what must be given first."""
    _, definitions = msgspec.json.schema_components([form], ref_template="#/$defs/{name}")
    root = definitions.pop(form.__name__)
    needed: list[str] = root.get("required", [])
    fields: dict[str, Any] = root["properties"]
    ordered = {name: fields[name] for name in (*needed, *(name for name in fields if name not in needed))}
    kept = {key: entry for key, entry in root.items() if key not in ("title", "description")}
    return {**kept, "properties": ordered, **({"$defs": definitions} if definitions else {})}
