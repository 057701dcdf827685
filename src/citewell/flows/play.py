"""A run as a whole: the flow of its profile over its journal, executed, resumed or replayed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from citewell.answer.draft import SentenceStream, ShownSentence
from citewell.check.verdict import UNCHECKED, Draft
from citewell.flows.local import local
from citewell.flows.note import note
from citewell.flows.report import report
from citewell.flows.state import Findings, flow_of, result_of
from citewell.flows.web import web
from citewell.notes.task import MAX_TOPICS, NOTES_A_TOPIC
from citewell.reports.brief import DEFAULT_SECONDS, MAX_SUB_QUERIES
from citewell.runs.events import Entry, RunEvent, SentenceRetracted, SentenceShown
from citewell.runs.execute import Driver
from citewell.runs.journal import Call, Run, TolerantRun
from citewell.runs.records import read_start
from citewell.runs.reports import EgressEntry, EgressLedger, EgressOutcome
from citewell.runs.run import Budget, Failure, RunResult, StageSeconds
from citewell.search.query import QueryPlan, RunProfile
from citewell.text.urls import host_of

Flow = Callable[[Run, Findings], Coroutine[Any, Any, None]]
FLOWS: Mapping[RunProfile, Flow] = {"local": local, "chat": web, "deep": web, "note": note, "report": report}
InThread = Callable[..., Awaitable[Any]]
_SENDS = {"ask": "model", "search_web": "search", "read_page": "page"}
# What the guard refuses, or the ceiling of a day, before a request is made.
_UNSENT = ("blocked_url", "day_limit")


@dataclass(slots=True)
class Play:
    """A run and what it has found, as far as its record goes."""

    run: Run
    found: Findings
    tool_version: str

    @property
    def result(self) -> RunResult:
        return result_of(self.run, self.found, self.tool_version)

    @property
    def written(self) -> tuple[str, QueryPlan | None, Draft | None]:
        """What a trace tells beside the record: the evidence as it was written from, the plan, the draft."""
        found = self.found
        return found.prepared.text if found.prepared else "", found.plan, found.draft

    def display(self, driver: Driver) -> Display:
        """What a person sees of the answer while it is written."""
        return Display(self.run, self.found, driver.wake, driver.in_thread)

    def check(self) -> None:
        """Nothing is cited that was not shown, nothing shown that was not found: a run that breaks this has failed."""
        run = self.run
        flow = flow_of(run, self.found)
        if flow.holds or run.stop_reason == "verification_failed":
            return
        message = f"cited or shown without having been found: {', '.join(flow.strays)}"
        run.failure = Failure("verify", "evidence_flow", message)
        run.stop_reason = "verification_failed"


def begin(
    events: Sequence[RunEvent],
    monotonic: Callable[[], float] | None = None,
    *,
    tolerant: bool = False,
    flows: Mapping[RunProfile, Flow] = FLOWS,
) -> Play:
    """A run from its record: played back as far as it goes, every entry checked on the way; or today's code over it."""
    started = read_start(events[0])
    request, found = started.request, Findings()
    asked = (events[0].run_id, request, PROFILES[request.profile], events)
    run = TolerantRun(*asked) if tolerant else Run(*asked, monotonic)
    run.start(flows[request.profile](run, found))
    return Play(run, found, started.tool_version)


# What a run sent, and to whom: read from its log.
#
# ask {request: {model: "openai:x", messages: […]}}   ->   to openai:x, 812 bytes, answered
# read_page {url: "https://a.example/b"}              ->   one entry for each request it took


def egress_of(events: Sequence[RunEvent]) -> EgressLedger:
    """Every call of a model, every search and every page that was begun, in order."""
    outcomes = _outcomes(events)
    entries = [
        entry
        for event in events
        if event.kind == "action_intended" and event.body.get("action") in _SENDS
        for entry in _entries(event, *outcomes.get(str(event.body["digest"]), ("unknown", {})))
    ]
    asked = any(entry.kind == "model" for entry in entries)
    hosted = (asked and read_start(events[0]).request.models.is_hosted) or any(
        entry.kind != "model" for entry in entries
    )
    return EgressLedger(events[0].run_id, hosted, tuple(entries), sum(entry.bytes for entry in entries))


def _entries(event: RunEvent, outcome: EgressOutcome, seen: dict[str, Any]) -> Iterator[EgressEntry]:
    body, action = event.body["body"], event.body["action"]
    problem = seen.get("failed", {}).get("code")
    if action == "ask":
        request = body["request"]
        size = sum(len(str(message["content"]).encode("utf-8", "surrogatepass")) for message in request["messages"])
        if problem not in _UNSENT:
            yield EgressEntry(event.at, "model", str(request["model"]), str(request["purpose"]), size, outcome)
        return
    kind: Literal["page", "search"] = "page" if action == "read_page" else "search"
    purpose = f"read {body['url']}" if kind == "page" else f"search: {body['query']}"
    told = seen.get("value") or seen.get("failed", {}).get("details") or {}
    requests = told.get("requests") or []
    for one in requests:
        to = str(one["host"]) if kind == "page" else f"{body['provider']} ({one['host']})"
        size, came = int(one["sent"]), int(one["received"])
        yield EgressEntry(event.at, kind, to, purpose, size, outcome, came)
    if not requests:
        # Refused before anything was sent, or nothing is known of what it took: then it is told as what was asked.
        to = (host_of(str(body["url"])) or "") if kind == "page" else str(body["provider"])
        asked = str(body["url"] if kind == "page" else body["query"]).encode("utf-8", "surrogatepass")
        yield EgressEntry(event.at, kind, to, purpose, 0 if problem in _UNSENT else len(asked), outcome)


def _outcomes(events: Sequence[RunEvent]) -> dict[str, tuple[EgressOutcome, dict[str, Any]]]:
    """What came of each call, by its key."""
    found: dict[str, tuple[EgressOutcome, dict[str, Any]]] = {}
    for event in events:
        if event.kind == "action_abandoned":
            found[str(event.body["digest"])] = ("let_go", {})
        elif event.kind == "observation_recorded" and event.body["kind"] == "io":
            seen = event.body.get("observation") or {}
            outcome: EgressOutcome = "failed" if "failed" in seen else "answered"
            found.setdefault(str(event.body["answers"]), (outcome, seen))
    return found


# What a person sees of an answer while it is written: entries for the log, beside it, which a replay passes over.


class Display:
    """Turns a model's text into entries: sentences that pass their own gates, in their order.

    A sentence that was shown and is not in the answer that holds is retracted by its number, with the reason.
    """

    def __init__(self, run: Run, found: Findings, wake: Callable[[], None], in_thread: InThread) -> None:
        self._run, self._found = run, found
        self._wake = wake
        self._in_thread = in_thread
        self._waiting: list[Entry] = []
        self._stream: SentenceStream | None = None
        self._pieces: list[str] = []
        self._checking: asyncio.Task[None] | None = None
        self._shown: list[ShownSentence] = []

    def take(self) -> list[Entry]:
        """What is to be shown now."""
        entries, self._waiting = self._waiting, []
        return entries

    def open(self, call: Call) -> Callable[[str], None]:
        """Where the text of this call goes; a second draft takes the place of the first."""
        found = self._found
        # A report and the section of a note are shown whole: their claims are lines of a list until they are read.
        is_shown = self._run.request.profile in ("local", "chat", "deep")
        if not _writes(call) or found.prepared is None or found.plan is None or not is_shown:
            return _nowhere
        self._retract("the answer is written again")
        self._stream, self._pieces = SentenceStream(found.prepared, found.plan), []
        return self._feed

    async def close(self, call: Call, *, is_whole: bool) -> None:
        """The text of a call is whole, or will not come: show what is still to be shown of it."""
        if not _writes(call) or self._stream is None:
            return
        stream, checking = self._stream, self._checking
        if checking is not None:
            await checking
        if is_whole:
            self._show(await self._in_thread(stream.close))
        self._stream = None

    def settle(self) -> list[Entry]:
        """At the end, what is shown must be what the answer says and what its check upheld."""
        checked = self._found.verification
        if checked is None or not checked.passed or self._run.failure is not None:
            self._retract("the answer could not be used")
        else:
            held = {one.text: one for one in checked.sentences if one.verdict != "contradicted"}
            removed = {one.text: one.reason for one in checked.sentences if one.verdict == "contradicted"}
            for one in self._shown:
                if one.text not in held:
                    self._retract(removed.get(one.text) or "it did not pass the final check", {one.index})
                elif held[one.text].check != UNCHECKED:
                    said = held[one.text]
                    shown = SentenceShown(one.index, one.text, said.verdict, one.sources, said.check)
                    self._waiting.append(Entry.of(shown))
        return self.take()

    def _feed(self, text: str) -> None:
        self._pieces.append(text)
        if self._checking is None or self._checking.done():
            self._checking = asyncio.ensure_future(self._check())

    async def _check(self) -> None:
        stream = self._stream
        while self._pieces and stream is not None and stream is self._stream:
            text, self._pieces = "".join(self._pieces), []
            self._show(await self._in_thread(stream.feed, text))

    def _show(self, sentences: list[ShownSentence]) -> None:
        for one in sentences:
            self._waiting.append(Entry.of(SentenceShown(one.index, one.text, one.verdict, one.sources)))
            self._shown.append(one)
        if sentences:
            self._wake()

    def _retract(self, reason: str, only: set[int] | None = None) -> None:
        gone = [one for one in self._shown if only is None or one.index in only]
        if gone:
            self._waiting.append(Entry.of(SentenceRetracted(tuple(one.index for one in gone), reason)))
        self._shown = [one for one in self._shown if one not in gone]


def _writes(call: Call) -> bool:
    return call.name == "ask" and call.arguments["request"].purpose in ("write", "repair")


def _nowhere(text: str) -> None:
    """Text of a call that shows nothing."""


PROFILES: dict[RunProfile, Budget] = {
    "local": Budget(
        seconds=90.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=5,
        inspect_chars=2_000,
        expansion_rows=8,
        repairs=1,
        steps=40,
        parallel=4,
        stages=StageSeconds(planning=30, retrieval=60, inspection=30, synthesis=85, verification=30, trace=15),
    ),
    "chat": Budget(
        seconds=20.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=5,
        inspect_chars=2_000,
        expansion_rows=8,
        repairs=1,
        rows=10,
        steps=200,
        parallel=8,
        stages=StageSeconds(planning=10, retrieval=20, inspection=10, synthesis=20, verification=15, trace=10),
    ),
    "deep": Budget(
        seconds=150.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=8,
        inspect_chars=2_000,
        expansion_rows=8,
        repairs=1,
        citations=12,
        rows=16,
        steps=600,
        parallel=8,
        stages=StageSeconds(planning=45, retrieval=150, inspection=45, synthesis=140, verification=45, trace=20),
    ),
    "note": Budget(
        seconds=300.0,
        retrieval_passes=1,
        retries=0,
        expansions=0,
        inspect_rows=0,
        inspect_chars=0,
        expansion_rows=0,
        repairs=0,
        rows=NOTES_A_TOPIC,
        steps=40 + 16 * MAX_TOPICS,
        parallel=8,
        stages=StageSeconds(planning=120, retrieval=180, inspection=30, synthesis=240, verification=90, trace=30),
    ),
    "report": Budget(
        seconds=DEFAULT_SECONDS,
        retrieval_passes=MAX_SUB_QUERIES,
        retries=0,
        expansions=0,
        inspect_rows=0,
        inspect_chars=0,
        expansion_rows=0,
        repairs=1,
        citations=24,
        steps=200 + 8 * MAX_SUB_QUERIES,
        parallel=8,
        stages=StageSeconds(planning=120, retrieval=240, inspection=30, synthesis=280, verification=120, trace=30),
    ),
}
