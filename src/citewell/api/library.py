"""Endpoints that read the corpus and say how things are. Each is one call of Citewell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from citewell.api.operations import Answer, Body, Operation, OperationCall, Parameter
from citewell.api.problems import JSON
from citewell.ask import FILTERS, MOST_QUESTION_CHARS, SAYS_SOMETHING, Name, ask_of, taken
from citewell.ask import Question as AskedQuestion
from citewell.search.entities import EntityMap
from citewell.search.lookup import DocumentEntries, RelatedResult, SearchMode, SearchResult
from citewell.search.topics import TopicBrief
from citewell.settings import SettingView, view_settings
from citewell.store.port import CollectionList, CorpusStatus, Stats
from citewell.text.documents import ContentMode, DocumentView
from citewell.version import __version__
from citewell.wire import to_json

Question = Annotated[AskedQuestion, Meta(examples=["How many passengers did the Halvard carry?"])]
WindowChars = Annotated[int, Meta(ge=50, le=10_000_000, description="Characters of a window.")]

About = Annotated[str, Meta(max_length=MOST_QUESTION_CHARS, description="Show the part about this.")]
ContentHash = Annotated[
    str, Meta(pattern="^[0-9a-f]{64}$", description="The hash of an earlier text that a run cites.")
]

KEY = Parameter("The key of a document, slashes and all.", "note:vault/projects/tide-gauge")
NO_DOCUMENT = {404: "Nobody has this key."}


@dataclass(frozen=True, slots=True)
class Health:
    """The server is there."""

    status: Literal["ok"]
    name: Literal["citewell"]
    version: str


@dataclass(frozen=True, slots=True)
class SettingList:
    """The settings in force; secrets are only said to be set."""

    settings: tuple[SettingView, ...]


_SINGLE = {"source_types": "source_type", "tags": "tag", "collections": "collection"}
SearchQuery = taken(
    "SearchQuery",
    Body,
    [name for name in FILTERS if not name.startswith("not_")],
    renamed=_SINGLE,
    also={
        "q": (Question, msgspec.NODEFAULT),
        "limit": (Annotated[int, Meta(ge=1, le=1_000, description="How many documents.")], 8),
        "mode": (
            Annotated[
                SearchMode | None, Meta(description="By words, by meaning or by both; left out: as the settings say.")
            ],
            None,
        ),
    },
)


def _search(call: OperationCall) -> SearchResult:
    query: Any = call.query
    filters = ask_of(query, _SINGLE, question=query.q).filters
    return call.cw.corpus.search(query.q, limit=query.limit, filters=filters, mode=query.mode)


class DocumentQuery(Body):
    query: About | None = None
    content_mode: Annotated[ContentMode, Meta(description="A window, the whole text, or a summary of it.")] = "evidence"
    at: ContentHash | None = None
    max_chars: WindowChars = 4_000


def _document(call: OperationCall) -> DocumentView:
    query: DocumentQuery = call.query
    lookup = f"{call.path['key']}@{query.at}" if query.at else call.path["key"]
    found = call.cw.corpus.get(
        lookup, query=query.query or None, content_mode=query.content_mode, max_chars=query.max_chars
    )
    return found.documents[0]


class DocumentsBody(Body):
    """Documents by key, or `KEY@CONTENT_HASH` for an earlier text."""

    lookups: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=100)]
    query: About | None = None
    content_mode: ContentMode = "evidence"
    max_chars: WindowChars = 4_000


def _documents(call: OperationCall) -> DocumentEntries:
    body: DocumentsBody = call.body
    return call.cw.corpus.get_many(
        *body.lookups, query=body.query or None, content_mode=body.content_mode, max_chars=body.max_chars
    )


class RelatedQuery(Body):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many documents.")] = 8


class TopicQuery(Body):
    limit: Annotated[int, Meta(ge=1, le=20, description="Documents to begin with.")] | None = None
    related_limit: Annotated[int, Meta(ge=0, le=12, description="Linked documents beside them.")] | None = None


class EntityQuery(Body):
    limit: Annotated[int, Meta(ge=1, le=60, description="How many documents.")] | None = None


class CoverageQuery(Body):
    secrets: Annotated[bool, Meta(description="Also say where keys or passwords seem to stand.")] = False


async def _health(call: OperationCall) -> Response:
    """On the event loop itself: it says that the loop is alive, and waits for no thread."""
    return Response(to_json(Health("ok", "citewell", __version__)), media_type=JSON)


READING: tuple[Operation, ...] = (
    Operation(
        *("GET", "/api/search", "search", "Find passages."),
        Answer(SearchResult, description="Documents that match, best first."),
        value=_search,
        is_heavy=True,
        query=SearchQuery,
        errors={503: "A search by meaning alone, and no model for it."},
    ),
    Operation(
        *("GET", "/api/documents/{key}", "get_document", "Read a document."),
        Answer(DocumentView, description="The document, or the window asked for."),
        value=_document,
        query=DocumentQuery,
        parameters={"key": KEY},
        errors=NO_DOCUMENT,
    ),
    Operation(
        *("POST", "/api/documents", "get_documents", "Read several documents."),
        Answer(DocumentEntries, description="In the order asked; an unknown key is an entry with `error`."),
        value=_documents,
        body=DocumentsBody,
        body_example={"lookups": ["note:vault/projects/tide-gauge", "note:no/such"], "query": "calibration"},
    ),
    Operation(
        *("GET", "/api/related/{key}", "related", "What a document links to and what links to it."),
        Answer(RelatedResult, description="Linked documents, each with the passage around the link."),
        value=lambda call: call.cw.corpus.related(call.path["key"], limit=call.query.limit),
        query=RelatedQuery,
        parameters={"key": KEY},
        errors=NO_DOCUMENT,
    ),
    Operation(
        *("GET", "/api/topics/{topic}", "topic_brief", "How a topic hangs together in the corpus."),
        Answer(TopicBrief, description="Summary, pivots, entities, nodes and edges."),
        value=lambda call: call.cw.corpus.topic_brief(
            call.path["topic"], seed_limit=call.query.limit, related_limit=call.query.related_limit
        ),
        is_heavy=True,
        query=TopicQuery,
        parameters={"topic": Parameter("A topic in a few words.", "tide gauge", SAYS_SOMETHING, 200)},
        errors={404: "Nothing is about it."},
    ),
    Operation(
        *("GET", "/api/entities/{name}", "entity_map", "What a name means, and where it is mentioned."),
        Answer(EntityMap, description="One meaning, or several to choose from."),
        value=lambda call: call.cw.corpus.entity_map(call.path["name"], limit=call.query.limit),
        is_heavy=True,
        query=EntityQuery,
        parameters={"name": Parameter("A name.", "Josiah Pell", SAYS_SOMETHING, 200)},
        errors={404: "Nothing has this name."},
    ),
    Operation(
        *("GET", "/api/stats", "stats", "How much of what is in the corpus."),
        Answer(Stats, description="Counts."),
        value=lambda call: call.cw.corpus.stats(),
        tag="state",
    ),
    Operation(
        *("GET", "/api/coverage", "coverage", "Every file and how it fared."),
        Answer(CorpusStatus, description="What is indexed, and why anything was left out."),
        value=lambda call: call.cw.corpus.status(with_secrets=call.query.secrets),
        query=CoverageQuery,
        tag="state",
    ),
    Operation(
        *("GET", "/api/collections", "collections", "The folders that were added."),
        Answer(
            CollectionList, description="Each with its documents, when it was last read, and whether it is followed."
        ),
        value=lambda call: call.cw.corpus.collections(),
        tag="state",
    ),
    Operation(
        *("GET", "/api/settings", "settings", "The settings in force, secrets masked."),
        Answer(SettingList, description="Name, value and where it comes from."),
        value=lambda call: SettingList(view_settings(call.cw.settings)),
        tag="state",
    ),
    Operation(
        *("GET", "/api/health", "health", "Whether the server is there."),
        Answer(Health, description="It is."),
        respond=_health,
        tag="state",
    ),
)
