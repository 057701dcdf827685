"""A warm pool of reader processes that can be killed: untrusted files are read there, both cores are used.

Each process has limits of memory and processor time; a file that takes too long on the wall clock, or brings its reader
down, is tried once more alone and then recorded as failed: what was read of it before stays, and the next sync tries it
again, since a busy machine fails good files too. The limits protect this machine from a file, not the file's
secrets from the machine: a reader runs with the user's own rights.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import msgspec

from citewell.corpus.extraction import Extracted, extract_file, unfinished
from citewell.corpus.walk import Found
from citewell.domain.documents import SourceType
from citewell.domain.ports import Clock
from citewell.readers.kinds import KINDS, suffix_of

MEMORY_BYTES = 1_500_000_000
# What a PDF may take beyond what its reader holds already: a kilobyte of nested forms or twice packed content unpacks
# to gigabytes, and pdfium has no limit of its own.
PDF_MEMORY_BYTES, PDF_MEMORY_A_BYTE = 300_000_000, 4
SECONDS_A_FILE = 20.0
SECONDS_A_MEGABYTE = 2.0
# Recognising the text of a full screenshot takes eight seconds of one core, and the cores may be busy.
_SLOWER_WITH_OCR = 4.0
_QUEUE = 8  # files a process is given ahead, so that it never waits for us
_AHEAD = 64  # files that may be ready before their turn


# Far cheaper than pickling dataclasses, and what a reader that was taken over sends can only be such a record.
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Extracted)

Extract = Callable[[Path, Found, str | None, SourceType | None], Extracted]


@dataclass(frozen=True, slots=True)
class Task:
    """One file to read."""

    number: int
    entry: Found
    hash_before: str | None


@dataclass(slots=True)
class _Reader:
    process: subprocess.Popen[bytes]
    pipe: Connection
    waiting: deque[Task] = field(default_factory=deque)
    since: float = 0.0


class ReaderPool:
    """Reads files in other processes, in the order they were given."""

    def __init__(
        self,
        root: Path,
        source_type: SourceType | None,
        clock: Clock,
        size: int,
        extract: Extract = extract_file,
        seconds_a_file: float = SECONDS_A_FILE,
    ) -> None:
        self._extract = extract
        self._seconds_a_file = seconds_a_file
        self._root = root
        self._source_type = source_type
        self._clock = clock
        self._size = max(1, size)
        self._readers: list[_Reader] = []
        self._selector = DefaultSelector()

    def read(self, tasks: Sequence[Task]) -> Iterator[Extracted]:
        """What came of each file, in order; at most a few are ready ahead of their turn."""
        queue = deque(tasks)
        ready: dict[int, Extracted] = {}
        suspects: set[int] = set()
        try:
            for task in tasks:
                while task.number not in ready:
                    self._feed(queue, suspects, ahead=len(ready))
                    self._collect(queue, ready, suspects)
                yield ready.pop(task.number)
        finally:
            self.close()

    def close(self) -> None:
        """End every reader."""
        for reader in self._readers:
            _end(reader)
        self._readers.clear()
        self._selector.close()

    def _feed(self, queue: deque[Task], suspects: set[int], ahead: int) -> None:
        """Keep every reader supplied, but never run far ahead of what has been taken."""
        while queue and len(self._readers) < self._size:
            self._readers.append(self._start())
        for reader in self._readers:
            while queue and ahead < _AHEAD and _may_take(reader, queue[0], suspects):
                task = queue.popleft()
                if not reader.waiting:
                    reader.since = self._clock.monotonic()
                reader.waiting.append(task)
                # A reader that has just died is found out when its answers are collected.
                with suppress(OSError):
                    reader.pipe.send(task)

    def _start(self) -> _Reader:
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
        self._selector.register(pipe, EVENT_READ)
        pipe.send((self._extract, str(self._root), self._source_type))
        return _Reader(process, pipe)

    def _collect(self, queue: deque[Task], ready: dict[int, Extracted], suspects: set[int]) -> None:
        busy = [reader for reader in self._readers if reader.waiting]
        signalled = {key.fd for key, _ in self._selector.select(timeout=0.2)}
        for reader in busy:
            has_news = reader.pipe.fileno() in signalled
            if has_news and self._receive(reader, ready):
                continue
            if has_news or reader.process.poll() is not None:
                self._lost(reader, queue, ready, suspects, "brought its reader down (out of memory or a crash)")
            elif self._clock.monotonic() - reader.since > self._allowance(reader.waiting[0]):
                self._lost(reader, queue, ready, suspects, "took too long to read")

    def _allowance(self, task: Task) -> float:
        return seconds_for(task.entry, self._seconds_a_file)

    def _receive(self, reader: _Reader, ready: dict[int, Extracted]) -> bool:
        try:
            extracted = _decoder.decode(reader.pipe.recv_bytes())
            ready[reader.waiting.popleft().number] = extracted
            reader.since = self._clock.monotonic()
        except (EOFError, OSError, msgspec.DecodeError):
            return False
        return True

    def _lost(
        self, reader: _Reader, queue: deque[Task], ready: dict[int, Extracted], suspects: set[int], reason: str
    ) -> None:
        """A reader is gone: its first file is the culprit, the others are given to another one."""
        self._selector.unregister(reader.pipe)
        _end(reader)
        self._readers.remove(reader)
        culprit, *innocent = reader.waiting
        if culprit.number in suspects:
            ready[culprit.number] = unfinished(culprit.entry, culprit.hash_before, reason)
            queue.extendleft(reversed(innocent))
        else:
            suspects.add(culprit.number)
            queue.extendleft(reversed([culprit, *innocent]))


def seconds_for(entry: Found, seconds_a_file: float) -> float:
    """How long a file may take to read, by its kind and size."""
    kind = KINDS.get(suffix_of(entry.path))
    slower = _SLOWER_WITH_OCR if kind is not None and kind.reader == "image" else 1.0
    return slower * seconds_a_file + SECONDS_A_MEGABYTE * entry.size / 1_000_000


def memory_for(entry: Found, held: int | None) -> int:
    """How much address space a reader may have for a file, given what it holds before; the system may not tell that."""
    kind = KINDS.get(suffix_of(entry.path))
    if held is None or kind is None or kind.reader != "pdf":
        return MEMORY_BYTES
    return min(MEMORY_BYTES, held + PDF_MEMORY_BYTES + PDF_MEMORY_A_BYTE * entry.size)


def _held_bytes() -> int | None:
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()


def _may_take(reader: _Reader, task: Task, suspects: set[int]) -> bool:
    """A file that brought a reader down is tried again with nothing else at stake."""
    if not reader.waiting:
        return True
    alone = task.number in suspects or reader.waiting[0].number in suspects
    return not alone and len(reader.waiting) < _QUEUE


def _end(reader: _Reader) -> None:
    reader.pipe.close()
    reader.process.kill()
    reader.process.wait()


def serve(descriptor: int) -> None:
    """What a reader process does: read what it is told, one after the other, until the pipe is closed."""
    pipe = Connection(descriptor)
    extract, root, source_type = pipe.recv()
    _limit(resource.RLIMIT_CORE, 0)
    while True:
        try:
            task: Any = pipe.recv()
        except (EOFError, OSError):
            return
        _limit(resource.RLIMIT_AS, memory_for(task.entry, _held_bytes()))
        used = resource.getrusage(resource.RUSAGE_SELF)
        allowed = seconds_for(task.entry, SECONDS_A_FILE)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + allowed) + 1)
        pipe.send_bytes(_encoder.encode(extract(Path(root), task.entry, task.hash_before, source_type)))


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
