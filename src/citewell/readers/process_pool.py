"""Reader processes that can be killed: whatever was not made here is read there, within limits.

Each process has limits of memory and processor time; what takes too long on the wall clock, or brings its reader down,
is tried once more alone and then given up. The limits protect this machine from what is read, not its secrets from the
reader: a reader runs with the user's own rights. `ReaderProcesses` reads many things in order, `WarmReaders` one at a
time for anyone who asks, and keeps its processes.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Generic, TypeVar

import msgspec

from citewell.clock import Clock

MEMORY_BYTES = 1_500_000_000
CRASHED = "brought its reader down (out of memory or a crash)"
TOO_SLOW = "took too long to read"
_QUEUE = 8  # things a process is given ahead, so that it never waits for us
_AHEAD = 64  # results that may be ready before their turn

# Far cheaper than pickling dataclasses, and what a reader that was taken over sends can only be such a record.
_encoder = msgspec.msgpack.Encoder()
_Task = TypeVar("_Task")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one task may take: seconds of the wall clock and of a processor, and bytes of address space."""

    seconds: float
    memory: int = MEMORY_BYTES


@dataclass(frozen=True, slots=True)
class Work(Generic[_Task, _Read]):
    """What the readers of a pool do. The functions are sent to them, so they must be importable.

    `allowance` is told the bytes a process holds before the task, where the system tells that.
    """

    read: Callable[[_Task], _Read]
    result: type[_Read]
    allowance: Callable[[_Task, int | None], Allowance]
    # What a reader does before its first task: load what takes long.
    prepare: Callable[[], None] | None = None


class ReaderLost(Exception):
    """A task that no reader survived, or that took too long."""


@dataclass(slots=True)
class _Reader(Generic[_Task]):
    process: subprocess.Popen[bytes]
    pipe: Connection
    waiting: deque[tuple[int, _Task]] = field(default_factory=deque)
    since: float = 0.0


class ReaderProcesses(Generic[_Task, _Read]):
    """Reads many things in other processes, in the order they were given."""

    def __init__(
        self, work: Work[_Task, _Read], give_up: Callable[[_Task, str], _Read], clock: Clock, size: int
    ) -> None:
        self._work = work
        self._give_up = give_up
        self._clock = clock
        self._size = max(1, size)
        self._decoder = msgspec.msgpack.Decoder(work.result)
        self._readers: list[_Reader[_Task]] = []
        self._selector = DefaultSelector()

    def read(self, tasks: Sequence[_Task]) -> Iterator[_Read]:
        """What came of each task, in order; at most a few are ready ahead of their turn."""
        queue = deque(enumerate(tasks))
        ready: dict[int, _Read] = {}
        suspects: set[int] = set()
        try:
            for number in range(len(tasks)):
                while number not in ready:
                    self._feed(queue, suspects, ahead=len(ready))
                    self._collect(queue, ready, suspects)
                yield ready.pop(number)
        finally:
            self.close()

    def close(self) -> None:
        """End every reader."""
        for reader in self._readers:
            _end(reader.process, reader.pipe)
        self._readers.clear()
        self._selector.close()

    def _feed(self, queue: deque[tuple[int, _Task]], suspects: set[int], ahead: int) -> None:
        """Keep every reader supplied, but never run far ahead of what has been taken."""
        while queue and len(self._readers) < self._size:
            reader: _Reader[_Task] = _Reader(*_start(self._work))
            self._selector.register(reader.pipe, EVENT_READ)
            self._readers.append(reader)
        for reader in self._readers:
            while queue and ahead < _AHEAD and _may_take(reader, queue[0][0], suspects):
                numbered = queue.popleft()
                if not reader.waiting:
                    reader.since = self._clock.monotonic()
                reader.waiting.append(numbered)
                # A reader that has just died is found out when its answers are collected.
                with suppress(OSError):
                    reader.pipe.send(numbered[1])

    def _collect(self, queue: deque[tuple[int, _Task]], ready: dict[int, _Read], suspects: set[int]) -> None:
        busy = [reader for reader in self._readers if reader.waiting]
        signalled = {key.fd for key, _ in self._selector.select(timeout=0.2)}
        for reader in busy:
            has_news = reader.pipe.fileno() in signalled
            if has_news and self._receive(reader, ready):
                continue
            if has_news or reader.process.poll() is not None:
                self._lost(reader, queue, ready, suspects, CRASHED)
            elif self._clock.monotonic() - reader.since > self._seconds(reader):
                self._lost(reader, queue, ready, suspects, TOO_SLOW)

    def _seconds(self, reader: _Reader[_Task]) -> float:
        return self._work.allowance(reader.waiting[0][1], None).seconds

    def _receive(self, reader: _Reader[_Task], ready: dict[int, _Read]) -> bool:
        try:
            read = self._decoder.decode(reader.pipe.recv_bytes())
            ready[reader.waiting.popleft()[0]] = read
            reader.since = self._clock.monotonic()
        except (EOFError, OSError, msgspec.DecodeError):
            return False
        return True

    def _lost(
        self,
        reader: _Reader[_Task],
        queue: deque[tuple[int, _Task]],
        ready: dict[int, _Read],
        suspects: set[int],
        reason: str,
    ) -> None:
        """A reader is gone: its first task is the culprit, the others are given to another one."""
        self._selector.unregister(reader.pipe)
        _end(reader.process, reader.pipe)
        self._readers.remove(reader)
        culprit, *innocent = reader.waiting
        if culprit[0] in suspects:
            ready[culprit[0]] = self._give_up(culprit[1], reason)
            queue.extendleft(reversed(innocent))
        else:
            suspects.add(culprit[0])
            queue.extendleft(reversed([culprit, *innocent]))


class WarmReaders(Generic[_Task, _Read]):
    """Reads one thing at a time for each of several threads; processes stay, so that the next need not start one."""

    def __init__(self, work: Work[_Task, _Read], size: int) -> None:
        self._work = work
        self._decoder = msgspec.msgpack.Decoder(work.result)
        self._free: list[tuple[subprocess.Popen[bytes], Connection]] = []
        self._slots = threading.Semaphore(max(1, size))
        self._lock = threading.Lock()
        self._busy: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def read(self, task: _Task) -> _Read:
        """What a reader made of it; raises ReaderLost. Blocks until a reader is free and done."""
        seconds = self._work.allowance(task, None).seconds
        with self._slots:
            process, pipe = self._take()
            try:
                pipe.send(task)
                if not pipe.poll(seconds):
                    raise ReaderLost(TOO_SLOW)
                read = self._decoder.decode(pipe.recv_bytes())
            except (EOFError, OSError, msgspec.DecodeError):
                self._leave(process, pipe)
                raise ReaderLost(CRASHED) from None
            except BaseException:
                self._leave(process, pipe)
                raise
            self._give_back(process, pipe)
            return read

    def warm(self, size: int) -> None:
        """Have so many readers started, so that the first tasks do not wait for that."""
        with self._lock:
            while not self._is_closed and len(self._free) + len(self._busy) < size:
                self._free.append(_start(self._work))

    def close(self) -> None:
        """End every reader; one that is reading is ended too, and anyone who waits for it is told."""
        with self._lock:
            self._is_closed = True
            free, self._free = self._free, []
            for process in self._busy:
                process.kill()
        for process, pipe in free:
            _end(process, pipe)

    def _take(self) -> tuple[subprocess.Popen[bytes], Connection]:
        with self._lock:
            if self._is_closed:
                raise ReaderLost("this process is stopping")
            reader = self._free.pop() if self._free else _start(self._work)
            self._busy.add(reader[0])
            return reader

    def _give_back(self, process: subprocess.Popen[bytes], pipe: Connection) -> None:
        with self._lock:
            self._busy.discard(process)
            if not self._is_closed:
                self._free.append((process, pipe))
                return
        _end(process, pipe)

    def _leave(self, process: subprocess.Popen[bytes], pipe: Connection) -> None:
        with self._lock:
            self._busy.discard(process)
        _end(process, pipe)


def _start(work: Work[Any, Any]) -> tuple[subprocess.Popen[bytes], Connection]:
    ours, theirs = socket.socketpair()
    # Not multiprocessing: its children run the caller's own script again, which no library may ask of a caller.
    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve({theirs.fileno()})"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for us to deal with
    )
    theirs.close()
    pipe = Connection(ours.detach())
    pipe.send(work)
    return process, pipe


def _may_take(reader: _Reader[Any], number: int, suspects: set[int]) -> bool:
    """What brought a reader down is tried again with nothing else at stake."""
    if not reader.waiting:
        return True
    alone = number in suspects or reader.waiting[0][0] in suspects
    return not alone and len(reader.waiting) < _QUEUE


def _end(process: subprocess.Popen[bytes], pipe: Connection) -> None:
    pipe.close()
    process.kill()
    process.wait()


def serve(descriptor: int) -> None:
    """What a reader process does: read what it is told, one after the other, until the pipe is closed."""
    pipe = Connection(descriptor)
    work: Work[Any, Any] = pipe.recv()
    _limit(resource.RLIMIT_CORE, 0)
    if work.prepare is not None:
        work.prepare()
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        allowed = work.allowance(task, _held_bytes())
        _limit(resource.RLIMIT_AS, allowed.memory)
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + allowed.seconds) + 1)
        pipe.send_bytes(_encoder.encode(work.read(task)))


def _held_bytes() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as told:
            pages = told.read().split()[0]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
