"""A running server goes on with the vectors that are left, a slice at a time, at the lowest priority.

    $ citewell add --no-vectors notes/     # found by words
    $ citewell serve                       # found by meaning too, as soon as it gets to it

What another program adds meanwhile is encoded as well. Requests come first: between two slices the thread rests as long
as it worked, and the machine gives it only what nobody else wants.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from citewell.domain.errors import CitewellError
from citewell.engine import Citewell

_SLICE_SECONDS = 2.0
_LOOKS_AGAIN = 30.0
_LOWEST = 19
_log = logging.getLogger(__name__)


class BackgroundEncoding:
    """A thread of the server's that encodes what is left. `told` hears how much is, whenever it has looked."""

    def __init__(self, cw: Citewell, told: Callable[[int], None] = lambda left: None) -> None:
        self._cw = cw
        self._told = told
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="citewell-encoding", daemon=True)

    def start(self) -> None:
        """Begin, where search by meaning is on."""
        if self._cw.settings.embeddings != "off":
            self._thread.start()

    def stop(self) -> None:
        """End after the batch that is under way; what is encoded is kept."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_SLICE_SECONDS)

    def _work(self) -> None:
        _yield_to_everybody()
        pause = 0.0
        while not self._stop.wait(pause):
            try:
                left = self._slice()
            except CitewellError as error:
                # Without a model there is nothing to do; `doctor` says so too.
                _log.warning("Vectors are not made: %s %s", error.message, error.fix)
                return
            self._told(left)
            pause = _SLICE_SECONDS if left else _LOOKS_AGAIN

    def _slice(self) -> int:
        if self._cw.corpus.vectors_left():
            for _ in self._cw.corpus.encode(_SLICE_SECONDS):
                if self._stop.is_set():
                    break
        return self._cw.corpus.vectors_left()


def _yield_to_everybody() -> None:
    """The lowest priority, where a thread can have one of its own."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)
