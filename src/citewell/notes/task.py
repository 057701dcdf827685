"""Research for a note, as values: what is asked of it, its topics, what was found, and what became of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NoteDepth = Literal["shallow", "deep"]
TopicType = Literal["claim", "concept", "question"]

MAX_TOPICS = 10
MAX_NOTE_CHARS = 200_000
NOTES_A_TOPIC = 5
# Of the web, where a run reads it: pages for each topic, and how much of each, in how many seconds.
PAGES_A_TOPIC = 2
# Pages that may be tried for a topic: one that cannot be read gives its place to the next.
ATTEMPTS_A_TOPIC = 2 * PAGES_A_TOPIC
PAGE_CHARS = 50_000
PAGE_SECONDS = 10.0
PREVIEW_CHARS = 500


@dataclass(frozen=True, slots=True)
class NoteTask:
    """Which note a run is about; `root` is a folder that was added, `path` is relative to it, `day` is today.

    `web_queries` is all that the web may be asked for. Records of older versions have None: the name of every topic.
    """

    root: str
    path: str
    day: str
    depth: NoteDepth = "shallow"
    focus: str | None = None
    dry_run: bool = False
    web_queries: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class NoteTopic:
    """Something a note claims, is about or asks; `context` is where it stands."""

    topic: str
    context: str = ""
    type: TopicType = "concept"


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as a run reads it: the user's own text, and the same with what it embeds.

    `basis` is the hash of the file without our section: what the findings are about. `linked_keys` is what it links to.
    """

    title: str
    text: str
    expanded: str
    basis: str
    source_key: str | None = None
    linked_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteLink:
    """How a document is named in a note: a link that leads to it from there, or its title."""

    source_key: str
    markdown: str


@dataclass(frozen=True, slots=True)
class OfferedPages:
    """Pages of the web that were found for a topic and not read, as Markdown links."""

    topic: NoteTopic
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteDisagreement:
    """A sentence of the note, and a passage that says otherwise."""

    stated: str
    source_key: str
    quote: str


@dataclass(frozen=True, slots=True)
class NoteChange:
    """What became of a file, or would have."""

    changed: bool
    diff: str = ""
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class NoteResult:
    """What `note` answers. `diff` comes with a dry run, `backup` with a change."""

    path: str
    topics_researched: int
    preview: str
    changed: bool
    diff: str | None = None
    backup: str | None = None
    run_id: str | None = None
    topics: tuple[NoteTopic, ...] = ()
    skipped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
