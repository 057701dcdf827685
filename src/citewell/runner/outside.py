"""The outside of a run over the corpus: performs its io actions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from citewell.domain.documents import DocumentView
from citewell.domain.errors import NotFound
from citewell.packs.build import PackBuilder, PackStore
from citewell.packs.related import related_rows
from citewell.runner.actions import (
    Action,
    Expand,
    Expanded,
    Inspect,
    Inspected,
    KeepTexts,
    Observation,
    Retrieve,
    Retrieved,
    TextsKept,
)


class View(Protocol):
    """Reads one document around a query, as `get` does."""

    def __call__(self, lookup: str, query: str, max_chars: int) -> DocumentView: ...


Keep = Callable[[Sequence[tuple[str, str]]], tuple[str, ...]]


class CorpusOutside:
    """The corpus as a run reaches it."""

    def __init__(self, store: PackStore, view: View, keep: Keep) -> None:
        self._store = store
        self._view = view
        self._keep = keep

    async def perform(self, action: Action) -> Observation:
        """Do one io action, off the event loop."""
        return await asyncio.to_thread(self._do, action)

    def _do(self, action: Action) -> Observation:
        match action:
            case Retrieve():
                return Retrieved(*PackBuilder(self._store).build_with_report(action.question, action.plan))
            case Inspect():
                return Inspected(tuple(self._views(action)))
            case Expand():
                return Expanded(tuple(related_rows(self._store, action.lookup, action.max_chars, action.limit)))
            case KeepTexts():
                return TextsKept(self._keep(action.texts))
            case _:
                raise TypeError(f"{type(action).__name__} is computed, not performed")

    def _views(self, action: Inspect) -> list[DocumentView]:
        views: list[DocumentView] = []
        for lookup in action.lookups:
            try:
                views.append(self._view(lookup, action.query, action.max_chars))
            except NotFound:
                continue  # removed since it was found: the row keeps the window it had
        return views
