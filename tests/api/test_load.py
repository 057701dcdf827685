"""Many readers and many runs at a time: the server still answers at once, and its heartbeats come."""

from __future__ import annotations

from pathlib import Path

import pytest
from serving import load_server

from support.loop_monitor import ControlLoop

QUESTIONS = ("Who lit the lamp?", "How many passengers did the Halvard carry?", "Who kept the Orrin Head Light?")


@pytest.mark.attack("L1")
@pytest.mark.slow
def test_two_hundred_idle_streams_and_twenty_runs_do_not_hold_up_health(data: Path) -> None:
    # What else the machine does may hold up one measurement; it does not hold up each of three.
    for left in (2, 1, 0):
        try:
            _health_under_load(data)
            return
        except AssertionError:
            if not left:
                raise


def _health_under_load(data: Path) -> None:
    control = ControlLoop()
    try:
        load = load_server(data, 200, 20, 8.0, heartbeat_seconds=1.0, questions=QUESTIONS)
    finally:
        machine = control.stop()
    print(
        f"health p95 {load.health_at(0.95) * 1000:.0f} ms of {len(load.health)}, heartbeats late by "
        f"{load.lateness_at(0.95) * 1000:.0f} ms of {len(load.lateness)}, {load.runs} runs; "
        f"the machine itself was late by {machine * 1000:.0f} ms"
    )
    assert load.problems == []
    assert load.runs >= 20
    # A machine that is busy with other things makes every process late by as much as an idle one in the same seconds.
    assert load.health_at(0.95) < 0.2 + 5 * machine
    assert load.lateness_at(0.95) < 0.5 + 5 * machine
