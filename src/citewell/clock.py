"""Time, injected: the engine never asks the machine itself."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time, injected: the engine never asks the machine."""

    def now(self) -> str:
        """The current moment, ISO 8601 in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        ...
