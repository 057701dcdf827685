"""Tools that wait: `research_run` and `research_note` follow a recorded run, `research_pack` a model that plans.

A call that its client cancels cancels the run, unless another call waits for the same one (an identical brief) or it
was begun elsewhere. A server that goes away interrupts it: it stays resumable. Either way what was gathered stays on
record.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import anyio
import msgspec

from citewell.ask import ask_of
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError
from citewell.mcp.arguments import NoteCall
from citewell.mcp.rendering import defused, rendered
from citewell.mcp.tools import Outcome, ask_for_pack, shown_pack, without_material
from citewell.runs.events import DecisionMade, RunEvent, StageEntered
from citewell.runs.run import TERMINAL, RunResult
from citewell.runs.timeline import STAGE_TITLES
from citewell.search.pack import ResearchPack

# What a client is told while it waits: the number of the step, and what is being done.
Report = Callable[[int, str], Awaitable[None]]

_STOP_SECONDS = 2.0
# How many calls wait for each run that one of them began.
_calls: Counter[str] = Counter()
_log = logging.getLogger("citewell.mcp")


async def answer(cw: Citewell, call: Any, report: Report, is_closing: Callable[[], bool]) -> Outcome:
    """Answer a question in a run, and wait for it."""
    if call.brief is not None or call.profile == "report":
        return await _report(cw, call, report, is_closing)
    ask = ask_of(call, question=_question(call), surface="mcp")
    # Not to be interrupted half-way: a run that is started has somebody who can stop it.
    with anyio.CancelScope(shield=True):
        run_id = await anyio.to_thread.run_sync(cw.start, ask)
    result = await _ended(cw, run_id, report, is_closing)
    shown: RunResult = result if call.include_pack else without_material(result)
    return Outcome(shown, rendered(shown))


async def pack(cw: Citewell, call: Any, limiter: anyio.CapacityLimiter) -> Outcome:
    """The evidence for a question; a model that helps to plan is waited for without a thread."""

    def begun() -> str | ResearchPack:
        ask = ask_for_pack(cw, call)
        return cw.start_pack(ask) or cw.pack(ask, planner=False)

    found = await anyio.to_thread.run_sync(begun, limiter=limiter, abandon_on_cancel=True)
    if isinstance(found, str):
        found = await cw.planned_pack(found)
    return await anyio.to_thread.run_sync(shown_pack, call, found, limiter=limiter, abandon_on_cancel=True)


async def _report(cw: Citewell, call: Any, report: Report, is_closing: Callable[[], bool]) -> Outcome:
    """The report of a brief: in a new run, or the stored one of an identical request."""
    brief = msgspec.to_builtins(call.brief) if call.brief is not None else {"question": _question(call)}
    if call.brief is not None and call.question is not None:
        raise BadInput("Both a question and a brief are given.", fix="Give one of them.")
    if call.history or call.pinned:
        raise BadInput("A report has no conversation: `history` and `pinned` would do nothing.", fix="Leave them out.")
    with anyio.CancelScope(shield=True):
        begun = await anyio.to_thread.run_sync(
            lambda: cw.start_report(brief, fresh=call.fresh, created_by="mcp", surface="mcp")
        )
    if begun.is_stored and await anyio.to_thread.run_sync(cw.runs.status, begun.run_id) in TERMINAL:
        result = await anyio.to_thread.run_sync(cw.runs.result, begun.run_id)
    else:
        result = await _ended(cw, begun.run_id, report, is_closing, is_ours=not begun.is_stored)
    shown = result if call.include_pack else without_material(result)
    return Outcome(shown, rendered(shown))


async def research_note(cw: Citewell, call: NoteCall, report: Report, is_closing: Callable[[], bool]) -> Outcome:
    """Research a note in a run that writes its section, and wait for it; the text is the compact form of the result."""
    with anyio.CancelScope(shield=True):
        run_id = await anyio.to_thread.run_sync(
            lambda: cw.start_note(
                call.path, depth=call.depth, focus=call.focus, dry_run=call.dry_run, from_here=False, surface="mcp"
            )
        )
    await _ended(cw, run_id, report, is_closing)
    result = await anyio.to_thread.run_sync(cw.note_result, run_id)
    return Outcome(result, rendered(result))


async def _ended(
    cw: Citewell, run_id: str, report: Report, is_closing: Callable[[], bool], *, is_ours: bool = True
) -> RunResult:
    """Follow a run to its end; the last call that waits for a run which was begun here, and ends before, stops it."""
    is_ours = is_ours or _calls[run_id] > 0
    _calls[run_id] += is_ours
    try:
        await _follow(cw, run_id, report)
        result = await cw.runs.ended(run_id)
    except anyio.get_cancelled_exc_class():
        if is_ours and _calls[run_id] == 1:
            await _stopped(cw.runs.interrupt if is_closing() else cw.runs.cancel, run_id)
        raise
    finally:
        _calls.subtract({run_id: is_ours})
        if not _calls[run_id]:
            del _calls[run_id]
    await anyio.to_thread.run_sync(_put_old_runs_away, cw, abandon_on_cancel=True)
    return result


def _question(call: Any) -> str:
    """What is asked, if this version can answer it."""
    if call.question is None:
        raise BadInput("Nothing is asked.", fix="Give a question, or a brief.")
    if call.fresh and call.profile != "report":
        raise BadInput("`fresh` is for reports; every other run is a new one.", fix="Leave it out.")
    return str(call.question)


async def _follow(cw: Citewell, run_id: str, report: Report) -> None:
    step = 0
    async with aclosing(cw.runs.follow(run_id, until="left")) as coming:
        async for event in coming:
            if line := _line(event):
                step += 1
                await report(step, cw.without_secrets(line))


def _line(event: RunEvent) -> str | None:
    if event.kind not in ("stage_entered", "decision_made"):
        return None
    match event.event:
        case StageEntered(stage=stage):
            return STAGE_TITLES.get(stage, stage)
        case DecisionMade() as decision:
            return defused(decision.sentence)[:300]
        case _:
            return None


async def _stopped(stop: Callable[[str], object], run_id: str) -> None:
    """Have a run stop, though the call that waited for it is being cancelled itself."""
    with anyio.move_on_after(_STOP_SECONDS, shield=True):
        try:
            await anyio.to_thread.run_sync(stop, run_id, abandon_on_cancel=True)
        except CitewellError as error:
            _log.info("run %s was not stopped: %s", run_id, error.message)  # it had ended meanwhile


def _put_old_runs_away(cw: Citewell) -> None:
    try:
        cw.runs.prune()
    except Exception as error:  # noqa: BLE001  nothing that goes wrong while tidying up may hide the answer
        _log.warning("old runs could not be put away: %s", cw.without_secrets(f"{type(error).__name__}: {error}"))
