"""Types made known to msgspec before threads use them.

msgspec learns a type when it is first decoded, and puts what it has so far where others find it: a second thread that
meets a type half learned crashes the process (0.22; eight threads and one nested dataclass are enough). So whatever is
decoded in threads is learned beforehand, in one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import msgspec

_lock = threading.Lock()
_known: set[Any] = set()


def learn_types(forms: Iterable[Any]) -> None:
    """Have these types, and what they are made of, learned; one that is known costs nothing."""
    with _lock:
        for form in forms:
            if form not in _known:
                msgspec.json.Decoder(form)
                _known.add(form)
