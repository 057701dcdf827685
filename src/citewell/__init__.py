"""Citewell: answers from what you have saved, every sentence bound to the passage that supports it.

The names here are what programs rely on; each is imported when it is first used, so that a command starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from citewell.version import __version__

if TYPE_CHECKING:
    from citewell.ask import Ask
    from citewell.backup import BackupReport, RestoreReport
    from citewell.check.verdict import CheckedSentence, Citation
    from citewell.doctor import Check, DoctorReport
    from citewell.engine import Citewell
    from citewell.errors import (
        BadInput,
        Busy,
        CitewellError,
        Conflict,
        Held,
        Interrupted,
        LeaseLost,
        NotFound,
        StoreFull,
        Unavailable,
        WorkFailed,
    )
    from citewell.notes.task import NoteResult
    from citewell.runs.events import RunEvent
    from citewell.runs.reports import CitedSource, ReplayReport, RunDiff, RunList, RunView
    from citewell.runs.run import RunResult, RunSummary
    from citewell.schemas import json_schema
    from citewell.search.entities import EntityMap
    from citewell.search.lanes import EncodeProgress, EncodeReport
    from citewell.search.lookup import DocumentEntries, MissingDocument, RelatedResult, SearchResult
    from citewell.search.pack import Coverage, Explanation, ResearchPack
    from citewell.search.rows import EvidenceRow
    from citewell.search.topics import TopicBrief
    from citewell.settings import Settings
    from citewell.store.port import (
        AddReport,
        CollectionList,
        CorpusStatus,
        Filters,
        RemoveReport,
        Stats,
        SummaryProgress,
        SummaryReport,
        SyncProgress,
    )
    from citewell.text.documents import Document, DocumentView, Span
    from citewell.wire import to_document, to_json

_PLACES = {
    "ask": ("Ask",),
    "backup": ("BackupReport", "RestoreReport"),
    "check.verdict": ("CheckedSentence", "Citation"),
    "doctor": ("Check", "DoctorReport"),
    "engine": ("Citewell",),
    "errors": (
        *("BadInput", "Busy", "CitewellError", "Conflict", "Held", "Interrupted", "LeaseLost", "NotFound", "StoreFull"),
        *("Unavailable", "WorkFailed"),
    ),
    "notes.task": ("NoteResult",),
    "runs.events": ("RunEvent",),
    "runs.run": ("RunResult", "RunSummary"),
    "runs.reports": ("CitedSource", "ReplayReport", "RunDiff", "RunList", "RunView"),
    "schemas": ("json_schema",),
    "search.entities": ("EntityMap",),
    "search.lanes": ("EncodeProgress", "EncodeReport"),
    "search.lookup": ("DocumentEntries", "MissingDocument", "RelatedResult", "SearchResult"),
    "search.pack": ("Coverage", "Explanation", "ResearchPack"),
    "search.rows": ("EvidenceRow",),
    "search.topics": ("TopicBrief",),
    "settings": ("Settings",),
    "store.port": (
        *("AddReport", "CollectionList", "CorpusStatus", "Filters", "RemoveReport", "Stats", "SummaryProgress"),
        *("SummaryReport", "SyncProgress"),
    ),
    "text.documents": ("Document", "DocumentView", "Span"),
    "wire": ("to_document", "to_json"),
}
_WHERE = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [  # noqa: RUF022
    "Ask", "BackupReport", "RestoreReport", "CheckedSentence", "Citation", "Check", "DoctorReport", "Citewell",
    "BadInput", "Busy", "CitewellError", "Conflict", "Held", "Interrupted", "LeaseLost", "NotFound", "StoreFull",
    "Unavailable", "WorkFailed", "NoteResult", "RunEvent", "RunResult", "RunSummary", "CitedSource", "ReplayReport",
    "RunDiff", "RunList", "RunView", "json_schema", "EntityMap", "EncodeProgress", "EncodeReport", "DocumentEntries",
    "MissingDocument", "RelatedResult", "SearchResult", "Coverage", "Explanation", "ResearchPack", "EvidenceRow",
    "TopicBrief", "Settings", "AddReport", "CollectionList", "CorpusStatus", "Filters", "RemoveReport", "Stats",
    "SummaryProgress", "SummaryReport", "SyncProgress", "Document", "DocumentView", "Span", "to_document", "to_json",
    "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'citewell' has no attribute {name!r}")
    return getattr(import_module(f"citewell.{_WHERE[name]}"), name)
