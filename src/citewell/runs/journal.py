"""A run is a coroutine over a journal. What reaches outside goes through `run.io`; its outcome is journalled once.

    pack = await run.io(Outside.retrieve, question, plan)      # performed, or read from the journal when it was before

Replay is the same coroutine over the same journal; resume is replay, then go on. Nothing here waits, reads a file or
asks a clock but the one it is given: `runs/execute.py` performs what is open and hands in what came of it.

Tasks of a run take turns: each runs until it waits for an outcome, and outcomes are handed out one at a time, in the
order of the journal, once every task waits. So what a run does depends on that order alone, however much was under way
at the same time. Finish-now, cancel and deadlines are outcomes too: they end calls that nobody waits for any longer.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Concatenate, Generic, Literal, NoReturn, ParamSpec, TypeVar, get_type_hints

import msgspec

from citewell.errors import WorkFailed
from citewell.runs.events import (
    ActionAbandoned,
    ActionIntended,
    DecisionMade,
    Entry,
    ObservationRecorded,
    RunEvent,
    StageEntered,
    WarningRaised,
)
from citewell.runs.run import STAGE_GROUPS, Budget, Control, Failure, RunRequest, Stage, StageGroup, StopReason

T = TypeVar("T")
P = ParamSpec("P")

Until = Literal["gathering", "search", "writing", "weighing", "end"]
# The end of a part of a run, or of the time that a group of stages has.
Scope = Literal["gathering", "writing", "everything"] | StageGroup
# What ends the waiting for a call, beside the time of its stage and the end of the run: the end of a part of it, or a
# person who wants the answer now.
_ENDED_BY: dict[Until, frozenset[Control | Scope]] = {
    "gathering": frozenset({"gathering", "finish"}),
    "search": frozenset({"gathering"}),  # who wants the answer now gives it a moment
    "writing": frozenset({"writing", "finish"}),
    "weighing": frozenset({"writing"}),
    "end": frozenset(),
}
STAGE_TIMEOUT = "stage_timeout"
# Time kept back for writing and checking the answer, however long the search takes.
SYNTHESIS_RESERVE_SECONDS = 10.0
# Seconds an answer by quotation and its check may take when a model has used up the time.
ANSWER_GRACE_SECONDS = 2.0
# Once a person wants the answer now, what is being searched gets this long to end.
FINISH_GRACE_SECONDS = 1.0
# A sentence about a decision is no longer than this; what it rests on is beside it in full.
_MOST_TEXT = 1_000
_WRITING_STAGES: tuple[Stage, ...] = ("prepare_synthesis", "synthesize")
# Entries that say when a run was executed and what was shown of it, not what it did.
ASIDE = (
    *("run_interrupted", "run_resumed", "sentence_shown", "sentence_retracted", "trace_saved", "trace_failed"),
    "run_finished",
)


class Abandoned(Exception):
    """Nobody waits for this call any longer: its time is over, or a person wants the answer now."""


class Failed(Exception):
    """A call that came to nothing: a code, a sentence, and what else is known of it."""

    def __init__(self, code: str, message: str, fix: str = "", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.fix, self.details = code, message, fix, dict(details or {})


class Ended(Exception):
    """Raised by a flow where its run is over."""


_Chosen = Callable[[Mapping[str, Any]], Any]


def step(stage: Stage | _Chosen, until: Until | _Chosen) -> Callable[[T], T]:
    """Declares a method of the outside as a step of runs: its stage, and until when it is waited for.

    Both may depend on its arguments.
    """

    def declare(function: T) -> T:
        function.stage, function.until = stage, until  # type: ignore[attr-defined]
        return function

    return declare


@dataclass(eq=False, slots=True)
class Call:
    """A call of the outside that is under way."""

    name: str
    arguments: dict[str, Any]
    stage: Stage
    until: Until
    # By which its outcome is filed: a digest of name and arguments, and a number where there are several of it.
    key: str
    form: Any

    @property
    def group(self) -> StageGroup:
        return STAGE_GROUPS[self.stage]


class Task(Generic[T]):
    """What a flow waits for: a call of the outside or a coroutine; `await` gives its value or raises its failure."""

    __slots__ = ("_error", "_value", "coroutine", "is_done", "waiters")

    def __init__(self, coroutine: Coroutine[Any, Any, T] | None = None) -> None:
        self.coroutine, self.waiters, self.is_done = coroutine, list[Task[Any]](), False
        self._value: Any = None
        self._error: BaseException | None = None

    def settle(self, value: Any = None, error: BaseException | None = None) -> list[Task[Any]]:
        """It has come to something; who waited for it."""
        self.is_done, self._value, self._error = True, value, error
        return self.waiters

    def __await__(self) -> Generator[Task[T], None, T]:
        if not self.is_done:
            yield self
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value


class Run:
    """One run, as its flow sees it and as anyone who executes or replays it does."""

    def __init__(
        self,
        run_id: str,
        request: RunRequest,
        budget: Budget,
        recorded: Sequence[RunEvent] = (),
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        if request.deadline_seconds is not None:
            budget = replace(budget, seconds=request.deadline_seconds)
        if request.max_citations is not None:
            budget = replace(budget, citations=request.max_citations)
        self.run_id, self.request, self.budget = run_id, request, budget
        # When gathering must end, when a model must stop writing, and when everything must, in seconds of the run.
        seconds = budget.seconds
        self.deadlines: dict[Scope, float] = {
            "gathering": seconds - min(SYNTHESIS_RESERVE_SECONDS, seconds * 0.3),
            "writing": seconds - min(ANSWER_GRACE_SECONDS, seconds * 0.1),
            "everything": seconds,
        }
        self.elapsed = 0.0
        # A person wants the answer now: no model is waited for or asked any more.
        self.is_hurried = False
        # Gathering was ended before it was done, by the clock or by a person.
        self.is_cut_short = False
        self.over: set[Control | Scope] = set()
        self.warnings: list[str] = []
        self.stage: Stage = "begin_trace"
        self.stage_seconds: Counter[str] = Counter()
        self.steps = 0
        self.stop_reason: StopReason | None = None
        self.failure: Failure | None = None
        # Why the run is to end, whatever comes of it.
        self.finishing: StopReason | None = None
        self.open: list[Call] = []
        # Where today's code went another way than the record, in a tolerant replay.
        self.notes: list[str] = []
        self._group_seconds: Counter[StageGroup] = Counter()
        self._outcomes: dict[str, Task[Any]] = {}
        self._times_asked: Counter[str] = Counter()
        self._ready: deque[Task[Any]] = deque()
        self._flow: Task[None] | None = None
        self._tasks: list[Task[Any]] = []
        self._recorded = deque(event for event in recorded if event.kind not in ASIDE and event.kind != "run_started")
        self._unwritten: list[Entry] = []
        # The time of the run: none while it is only played back.
        self._monotonic, self._began, self._offset = monotonic, 0.0, 0.0
        # Where today's code went another way than the record: no flow may take this for a fault of its own.
        self._diverged: WorkFailed | None = None

    # What flows call

    def io(self, function: Callable[Concatenate[Any, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Task[T]:
        """Begin something outside; `await` gives what came of it. Raises Failed, or Abandoned."""
        bound = _signature(function).bind(None, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(list(bound.arguments.items())[1:])
        name = digest([function.__name__, arguments])
        self._times_asked[name] += 1
        key = name if self._times_asked[name] == 1 else f"{name}.{self._times_asked[name]}"
        stage, until = (
            chosen(arguments) if callable(chosen) else chosen
            for chosen in (function.stage, function.until)  # type: ignore[attr-defined]
        )
        self.enter(stage)
        call = Call(function.__name__, arguments, stage, until, key, _return_type(function))
        waiting = self._outcomes[key] = Task[T]()
        self.open.append(call)
        self._write(Entry.of(ActionIntended(call.name, "io", stage, key, msgspec.to_builtins(arguments))))
        if _ENDED_BY[call.until] & self.over:
            self._drop(call, Abandoned(call.name))
        return waiting

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Task[T]:
        """A task of its own; it begins when the one that spawned it waits."""
        task = Task(coroutine)
        self._tasks.append(task)
        self._ready.append(task)
        return task

    async def all(self, *coroutines: Coroutine[Any, Any, T]) -> list[T]:
        """Several at once; what they came to, in their order."""
        tasks = [self.spawn(one) for one in coroutines]
        return [await task for task in tasks]

    def enter(self, stage: Stage) -> None:
        """The stage a person sees; the time since the last one belongs to that."""
        if stage == self.stage:
            return
        self._tick(max(self._entered_at(stage), self.elapsed))
        self.stage = stage
        self._write(Entry.of(StageEntered(stage, self.elapsed)))

    def note(self, name: str, text: str, /, **data: Any) -> None:
        """What the run decided: a sentence for people, and what it rests on."""
        self._write(Entry.of(DecisionMade(name, msgspec.to_builtins(data), text[:_MOST_TEXT])))

    def gave_up(self, stage: Stage, failed: Failed, *warnings: str) -> None:
        """Something failed, and the run goes on or ends without it."""
        text = f"{stage} failed: {failed.message} ({failed.code})"
        self.note("action_failed", text, stage=stage, code=failed.code, message=failed.message)
        self.warn(*warnings)

    def warn(self, *codes: str) -> None:
        for code in codes:
            if code not in self.warnings:
                self.warnings.append(code)
                self._write(Entry.of(WarningRaised(code)))

    def end(self, reason: StopReason, failure: Failure | None = None) -> NoReturn:
        """The run is over: nothing of the flow runs after this."""
        self.failure = failure or self.failure
        self._stop(reason, failure.message if failure else "")
        raise Ended

    @property
    def is_late(self) -> bool:
        """Whether nothing more is to be gathered."""
        return self.is_hurried or "gathering" in self.over or "retrieval" in self.over

    @property
    def seconds_left(self) -> float:
        return self.deadlines["everything"] - self.elapsed

    @property
    def gathering_left(self) -> float:
        return max(0.0, self.deadlines["gathering"] - self.elapsed)

    @property
    def is_over(self) -> bool:
        return self.stop_reason is not None

    # What anyone who executes or replays it calls

    def start(self, flow: Coroutine[Any, Any, None]) -> None:
        """Begin the flow, and play back what is on record of it; the time of the run goes on where the record ends."""
        so_far = max((float(event.body.get("elapsed", 0.0)) for event in self._recorded), default=0.0)
        was_begun = bool(self._recorded)
        self._time_from(so_far)
        self._write(Entry.of(StageEntered(self.stage, self.elapsed)))
        self._flow = self.spawn(flow)
        self.advance()
        while self._recorded and not self.is_over:
            # The next outcome of the record, now that every task waits.
            event = self._recorded.popleft()
            is_control = event.body.get("kind") == "control"
            call = next((one for one in self.open if one.key == event.body.get("answers")), None)
            if event.kind != "observation_recorded" or (call is None and not is_control):
                raise mismatch(self.run_id, event)
            self._play(event, call, float(event.body["elapsed"]))
        if self._recorded:
            raise mismatch(self.run_id, self._recorded[0])
        if was_begun:
            # Playing back takes no time of the run.
            self._time_from(max(so_far, self.elapsed))

    def take_entries(self) -> list[Entry]:
        """What is to be put on record now."""
        entries, self._unwritten = self._unwritten, []
        return entries

    def observe(self, call: Call, outcome: Mapping[str, Any], value: Any = None) -> None:
        """What came of a call: `{"value": …}` or `{"failed": {…}}`; `value` where it is at hand already."""
        if call not in self.open or self.is_over:
            return
        elapsed = max(self._now(), self.elapsed)
        self._write(Entry.of(ObservationRecorded("io", elapsed, call.key, observation=dict(outcome))))
        if value is None and "value" in outcome:
            value = msgspec.convert(outcome["value"], call.form)
        self._settle(call, outcome, elapsed, value)

    def control(self, control: Control | Scope) -> None:
        """Somebody asks something of the run, or the time for a part of it is over."""
        if self.is_over:
            return
        elapsed = max(self._now(), self.elapsed)
        self._write(Entry.of(ObservationRecorded("control", elapsed, observation={"control": control})))
        self._control(control, elapsed)

    def next_deadline(self) -> tuple[float, Scope]:
        """How many seconds from now the next part of the run ends, and which."""
        now = self._now()
        ends = [(at - now, scope) for scope, at in self.deadlines.items() if scope not in self.over]
        for group in dict.fromkeys(call.group for call in self.open):
            if group not in self.over:
                spent = self._group_seconds[group] + now - self.elapsed
                ends.append((getattr(self.budget.stages, group) - spent, group))
        return min(ends, key=lambda end: end[0])

    def advance(self) -> None:
        """Let every task run until it waits; a task that breaks ends the run with what it has."""
        while self._ready and not self.is_over:
            task = self._ready.popleft()
            assert task.coroutine is not None
            awaited: Task[Any] | None = None
            value, error = None, None
            try:
                awaited = task.coroutine.send(None)
            except StopIteration as end:
                value = end.value
            except Ended:
                break
            except Exception as raised:  # noqa: BLE001  the boundary of a run: a fault of a flow is recorded as its end
                error = raised
            if self._diverged is not None:
                self._drop_tasks()
                raise self._diverged
            if awaited is not None:
                awaited.waiters.append(task)
            elif error is not None and (task is self._flow or not isinstance(error, (Failed, Abandoned))):
                # The run ends with what it has.
                code = error.code if isinstance(error, Failed) else type(error).__name__
                self.failure = Failure(self.stage, code, str(error)[:500])
                self.gave_up(self.stage, Failed(code, str(error)[:500]))
                self._stop("synthesis_failed" if self.stage in _WRITING_STAGES else "no_evidence", "")
            else:
                self._tasks.remove(task)
                self._ready.extend(task.settle(value, error))
        if self.is_over:
            self._close()

    # Inside

    def _now(self) -> float:
        return self._offset if self._monotonic is None else round(self._offset + self._monotonic() - self._began, 6)

    def _time_from(self, offset: float) -> None:
        self._began, self._offset = self._monotonic() if self._monotonic is not None else 0.0, offset

    def _entered_at(self, stage: Stage) -> float:
        if self._recorded and self._recorded[0].kind == "stage_entered":
            return float(self._recorded[0].body["elapsed"])
        return self._now()

    def _write(self, entry: Entry) -> None:
        """Put something on record; while it is played back, see that it is what the record has."""
        if not self._recorded:
            self._unwritten.append(entry)
            return
        event = self._recorded.popleft()
        if event.kind != entry.kind or event.body != _as_recorded(entry.body):
            self._diverged = self._diverged or mismatch(self.run_id, event, _named(entry.kind, entry.body))
            raise self._diverged

    def _play(self, event: RunEvent, call: Call | None, elapsed: float) -> None:
        """What the record says came of a call, or was asked of the run."""
        outcome = event.body["observation"]
        if call is None:
            self._control(outcome["control"], elapsed)
            return
        try:
            value = msgspec.convert(outcome["value"], call.form) if "value" in outcome else None
        except msgspec.ValidationError as error:
            raise mismatch(self.run_id, event, f"another outcome of {call.name} ({error})") from None
        self._settle(call, outcome, elapsed, value)

    def _settle(self, call: Call, outcome: Mapping[str, Any], elapsed: float, value: Any) -> None:
        self._tick(elapsed)
        self.open.remove(call)
        self.steps += 1
        if self.steps > self.budget.steps:
            self._stop("max_steps_reached", f"more than {self.budget.steps} steps")
            self._close()
            return
        failed = None if "value" in outcome else Failed(**outcome["failed"])
        self._ready.extend(self._outcomes.pop(call.key).settle(value, failed))
        self.advance()

    def _control(self, control: Control | Scope, elapsed: float) -> None:
        self._tick(elapsed)
        if control == "cancel":
            self._stop("cancelled", "cancelled on request")
        elif control == "everything":
            self._stop("timeout_exceeded", "the time for the answer is over too")
        elif control in ("finish", "gathering", "writing"):
            self._end_part(control)
        else:
            self.over.add(control)
            limit: float = getattr(self.budget.stages, control)
            told = f"{control} took longer than {limit:g} s"
            self.note("stage_ended", told, stage=control, seconds=limit)
            for call in [one for one in self.open if one.group == control]:
                self._drop(call, Failed(STAGE_TIMEOUT, told))
        if self.is_over:
            self._close()
        self.advance()

    def _end_part(self, control: Literal["finish", "gathering", "writing"]) -> None:
        """Nobody waits any longer for what belongs to a part of the run; it goes on with what it has."""
        if control == "finish" and self.is_hurried:
            return
        self.over.add(control)
        part, why = control, f"the time for {control} is over"
        if control == "finish":
            self.is_hurried = True
            self.deadlines["gathering"] = min(self.elapsed + FINISH_GRACE_SECONDS, self.deadlines["gathering"])
            part, why = "gathering", "asked to finish with what is there"
        elif control == "gathering":
            if self.open and all(call.until in ("writing", "end") for call in self.open):
                return
            if not self.is_hurried:
                self.finishing = "timeout_exceeded"
        self.note(f"{part}_ended", f"{part} ended: {why}", why=why)
        if part == "gathering":
            self.is_cut_short = True
            self.warn("incomplete")
        for call in [one for one in self.open if control in _ENDED_BY[one.until]]:
            self._drop(call, Abandoned(call.name))

    def _drop(self, call: Call, error: BaseException) -> None:
        """Nobody waits for this call any longer."""
        self.open.remove(call)
        self._write(Entry.of(ActionAbandoned(call.name, call.stage, call.key)))
        self._ready.extend(self._outcomes.pop(call.key).settle(error=error))

    def _stop(self, reason: StopReason, why: str) -> None:
        self.stop_reason = reason
        self.note("stopped", f"stopped, {reason}" + (f": {why}" if why else ""), stop_reason=reason, why=why)

    def _close(self) -> None:
        """Nothing more is waited for; the record says of every call what became of it."""
        self._ready.clear()
        for call in self.open:
            self._write(Entry.of(ActionAbandoned(call.name, call.stage, call.key)))
        self.open.clear()
        self._drop_tasks()

    def _drop_tasks(self) -> None:
        for task in self._tasks:
            if task.coroutine is not None:
                task.coroutine.close()
        self._tasks.clear()

    def _tick(self, elapsed: float) -> None:
        """The time since the last entry belongs to the stage the run was in, and to every group with calls open."""
        if elapsed <= self.elapsed:
            return
        passed = elapsed - self.elapsed
        self.stage_seconds[self.stage] = round(self.stage_seconds[self.stage] + passed, 6)  # type: ignore[assignment]
        for group in dict.fromkeys(call.group for call in self.open):
            self._group_seconds[group] += passed  # type: ignore[assignment]
        self.elapsed = elapsed


class TolerantRun(Run):
    """Today's code over the outcomes of a record: each goes to whichever call asks for that kind of thing."""

    def __init__(self, run_id: str, request: RunRequest, budget: Budget, recorded: Sequence[RunEvent]) -> None:
        super().__init__(run_id, request, budget)
        self._controls = deque[RunEvent]()
        self._by_name = defaultdict[str, deque[RunEvent]](deque)
        self._entered = defaultdict[str, deque[float]](deque)
        names = {event.body["digest"]: event.body["action"] for event in recorded if event.kind == "action_intended"}
        for event in recorded:
            if event.kind == "stage_entered":
                self._entered[event.body["stage"]].append(float(event.body["elapsed"]))
            elif event.kind == "observation_recorded" and event.body["kind"] == "control":
                self._controls.append(event)
            elif event.kind == "observation_recorded":
                self._by_name[names.get(event.body["answers"], "")].append(event)

    def start(self, flow: Coroutine[Any, Any, None]) -> None:
        """Hand out what is next in line, until the run is over."""
        super().start(flow)
        while not self.is_over:
            event, call = self._next()
            self._play(event, call, max(self.elapsed, float(event.body["elapsed"])))

    def _write(self, entry: Entry) -> None:
        """Nothing is compared and nothing recorded."""

    def _entered_at(self, stage: Stage) -> float:
        """When the recorded run entered a stage; one that it never entered takes no time."""
        return self._entered[stage].popleft() if self._entered[stage] else 0.0

    def _next(self) -> tuple[RunEvent, Call | None]:
        for call in self.open:
            for event in self._by_name[call.name]:
                if event.body["answers"] == call.key:
                    self._by_name[call.name].remove(event)
                    return event, call
        for call in self.open:
            if line := self._by_name[call.name]:
                self.notes.append(f"entry {line[0].sequence}: today's {call.name} differs from the recorded one")
                return line.popleft(), call
        if self._controls:
            return self._controls.popleft(), None
        names = ", ".join(call.name for call in self.open)
        raise WorkFailed(
            f"Today's code asks for {names or 'nothing'}, which run {self.run_id} never recorded.",
            fix="Ask the question again with 'citewell research'.",
        )


def digest(value: object) -> str:
    """The hash of a value's canonical JSON, the same for a value and for what is read back from its JSON."""
    return hashlib.sha256(msgspec.json.encode(msgspec.to_builtins(value), order="deterministic")).hexdigest()


def mismatch(run_id: str, event: RunEvent, wanted: str = "") -> WorkFailed:
    """The record and today's code disagree."""
    instead = f"; this version would have recorded {wanted}" if wanted else ""
    return WorkFailed(
        f"Replaying run {run_id} differs from its record at entry {event.sequence} "
        f"({_named(event.kind, event.body)}){instead}.",
        fix=f"See what changed with 'citewell runs diff {run_id}', or replay with --tolerant.",
    )


def _named(kind: str, body: Mapping[str, Any]) -> str:
    """An entry by its kind and what it is about."""
    about = body.get("action") or body.get("stage") or body.get("name") or str(body.get("answers") or "")[:12]
    return f"{kind} {about}".rstrip()


def _as_recorded(body: dict[str, Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body, order="deterministic"))


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """What a call asks; keyword-only parameters are for who performs it."""
    found = inspect.signature(function)
    return found.replace(parameters=[one for one in found.parameters.values() if one.kind is not one.KEYWORD_ONLY])


@cache
def _return_type(function: Callable[..., Any]) -> Any:
    return get_type_hints(function)["return"]
