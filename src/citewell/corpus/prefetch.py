"""Reading ahead: what an iterator gives is fetched in a thread while the caller is busy with what it already has."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
_POLL_SECONDS = 0.1


def prefetched(items: Iterator[T], ahead: int) -> Iterator[T]:
    """The same items in the same order; at most `ahead` wait. Ending early closes the iterator in its own thread."""
    fetcher = _Fetcher(items, ahead)
    fetcher.thread.start()
    try:
        while True:
            kind, value = fetcher.waiting.get()
            if kind == "item":
                yield value  # type: ignore[misc]
            elif isinstance(value, BaseException):
                raise value
            else:
                return
    finally:
        fetcher.stopped.set()
        fetcher.thread.join()


class _Fetcher(Generic[T]):
    def __init__(self, items: Iterator[T], ahead: int) -> None:
        self._items = items
        self.waiting: queue.Queue[tuple[str, T | BaseException | None]] = queue.Queue(ahead)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._fetch, name="citewell-prefetch", daemon=True)

    def _fetch(self) -> None:
        ending: BaseException | None = None
        try:
            for item in self._items:
                if not self._put("item", item):
                    break
        except BaseException as error:  # noqa: BLE001  it is raised where the items are taken
            ending = error
        finally:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()
        self._put("end", ending)

    def _put(self, kind: str, value: T | BaseException | None) -> bool:
        """Hand one over; False once nobody takes any more."""
        while not self.stopped.is_set():
            try:
                self.waiting.put((kind, value), timeout=_POLL_SECONDS)
                return True
            except queue.Full:
                continue
        return False
