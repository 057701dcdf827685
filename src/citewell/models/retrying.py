"""Trying again: bounded in number and time, with jitter, as the endpoint asks, and never once text was delivered."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from citewell.models.faults import CallFault

T = TypeVar("T")
MAX_ATTEMPTS = 3
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Time and chance, so that a test can decide both."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    monotonic: Callable[[], float] = time.monotonic
    time_of_day: Callable[[], float] = time.time


def wait_before_next(fault: CallFault, attempt: int, remaining: float, chance: float) -> float:
    """Seconds until the next attempt makes sense; raises the fault where there is none."""
    if not fault.is_passing or attempt >= MAX_ATTEMPTS:
        raise fault
    if fault.wait_seconds is None:
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1)) * (0.5 + chance / 2)
    else:
        # Everybody who was told the same moment should not come back in the same moment.
        wait = fault.wait_seconds + chance * _FIRST_WAIT / 2
    if wait < remaining:
        return wait
    if fault.wait_seconds is not None:
        told = _spoken(fault.wait_seconds)
        fault.message = f"{fault.message.rstrip('.')}. It asks to wait {told}, longer than this call may take."
        fault.args = (fault.message,)
        fault.fix = f"Try again in {told}, or choose another model."
    raise fault


async def persist(attempt: Callable[[float], Awaitable[T]], seconds: float, pace: Pace) -> T:
    """Attempt with the time that is left, again while a fault may pass; raises the last fault."""
    deadline = pace.monotonic() + seconds
    for number in range(1, MAX_ATTEMPTS + 1):
        try:
            return await attempt(deadline - pace.monotonic())
        except CallFault as fault:
            if fault.partial_text:
                raise
            wait = wait_before_next(fault, number, deadline - pace.monotonic(), pace.random())
        await pace.sleep(wait)
    raise AssertionError("the last attempt raises")


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.0f} h"
