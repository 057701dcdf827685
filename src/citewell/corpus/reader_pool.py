"""Files read in processes that can be killed (`readers/process_pool.py`), in order, on both cores.

A file that takes too long or brings its reader down is tried once more alone and then recorded as failed: what was read
of it before stays, and the next sync tries it again, since a busy machine fails good files too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from citewell.corpus.extraction import Extracted, extract_file, unfinished
from citewell.corpus.walk import Found
from citewell.domain.documents import SourceType
from citewell.domain.ports import Clock
from citewell.domain.values import dataclass
from citewell.readers.kinds import KINDS, suffix_of
from citewell.readers.process_pool import MEMORY_BYTES, Allowance, ReaderProcesses, Work

# What a PDF may take beyond what its reader holds already: a kilobyte of nested forms or twice packed content unpacks
# to gigabytes, and pdfium has no limit of its own.
PDF_MEMORY_BYTES, PDF_MEMORY_A_BYTE = 300_000_000, 4
SECONDS_A_FILE = 20.0
SECONDS_A_MEGABYTE = 2.0
# Recognising the text of a full screenshot takes eight seconds of one core, and the cores may be busy.
_SLOWER_WITH_OCR = 4.0

Extract = Callable[[Path, Found, str | None, SourceType | None], Extracted]


@dataclass(frozen=True, slots=True)
class Task:
    """One file to read."""

    number: int
    entry: Found
    hash_before: str | None


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
        work = Work(partial(_extracted, extract, root, source_type), Extracted, partial(_allowance, seconds_a_file))
        self._processes = ReaderProcesses(work, _given_up, clock, size)

    def read(self, tasks: Sequence[Task]) -> Iterator[Extracted]:
        """What came of each file, in order."""
        return self._processes.read(tasks)

    def close(self) -> None:
        """End every reader."""
        self._processes.close()


def _extracted(extract: Extract, root: Path, source_type: SourceType | None, task: Task) -> Extracted:
    return extract(root, task.entry, task.hash_before, source_type)


def _given_up(task: Task, reason: str) -> Extracted:
    return unfinished(task.entry, task.hash_before, reason)


def _allowance(seconds_a_file: float, task: Task, held: int | None) -> Allowance:
    return Allowance(seconds_for(task.entry, seconds_a_file), memory_for(task.entry, held))


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
