"""Part `flat`: what one document costs in corpora of 1,000, 10,000 and 100,000 documents of the same make."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ingest import Citewell
from mdn import Mdn, write_documents
from processes import Usage, folder_bytes, is_disturbed
from tables import Part, Ratio

from citewell import Citewell as Opened
from citewell.evals.bench import percentile
from citewell.settings import Settings

QUESTIONS = 60


@dataclass(frozen=True, slots=True)
class Size:
    """One corpus: what it cost to index, to sync unchanged, to add one note to, and to search."""

    documents: int
    megabytes: float
    first: Usage
    unchanged: Usage
    one_more: Usage
    disk: int
    p50_ms: float


def measure_flat(mdn: Mdn, sizes: list[int]) -> Part:
    measured = [_measure(mdn, size) for size in sizes]
    smallest, largest = measured[0], measured[-1]

    def growth(what: str, before: float, after: float, goal: float | None) -> Ratio:
        return Ratio(f"{what}, {largest.documents:,} documents / {smallest.documents:,}", after / before, goal)

    busy = is_disturbed(smallest.first, largest.first)
    ratios = (
        growth(
            "processor time a document",
            smallest.first.cpu / smallest.documents,
            largest.first.cpu / largest.documents,
            1.2,
        ),
        replace(
            growth(
                "wall clock a document",
                smallest.first.wall / smallest.documents,
                largest.first.wall / largest.documents,
                1.2,
            ),
            is_disturbed=busy,
        ),
        growth("peak memory", smallest.first.peak_mb, largest.first.peak_mb, 2.0),
        growth("disk a document", smallest.disk / smallest.documents, largest.disk / largest.documents, 1.2),
        growth("warm search, p50", smallest.p50_ms, largest.p50_ms, None),
    )
    rows = tuple(_row(size) for size in measured)
    columns = (
        *("documents", "MB", "index s", "wall ms a doc", "processor ms a doc", "peak MB", "disk KB a doc"),
        *("unchanged sync s", "one note more s", "warm search p50 ms", "others took"),
    )
    note = (
        "Each document is a chunk of a documentation page, evenly drawn, so that sets of every size are alike. The cost"
        " of starting the program is in all of them and weighs most in the smallest. Peak memory includes pages of the"
        " database mapped into memory, up to 256 MB."
    )
    return Part("flat", ratios, columns, rows, (note,))


def _measure(mdn: Mdn, count: int) -> Size:
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        root = Path(temporary)
        documents = mdn.spread(count)
        size = write_documents(documents, root / "notes")
        ours = Citewell(root / "data")
        first = ours.add(root / "notes")
        disk = folder_bytes(ours.folder)
        unchanged = ours.update(root / "notes")
        (root / "notes" / "one-more.md").write_text("# One more\nA note that was not there before.\n", "utf-8")
        one_more = ours.update(root / "notes")
        shutil.rmtree(root / "notes")
        p50 = _search_p50(root / "data", mdn.questions(QUESTIONS))
        return Size(len(documents), size / 1e6, first, unchanged, one_more, disk, p50)


def _search_p50(data: Path, questions: list[str]) -> float:
    engine = Opened(Settings(data_dir=data))
    try:
        latencies: list[float] = []
        for question in [*questions[:3], *questions]:
            started = time.perf_counter()
            engine.search(question, limit=10)
            latencies.append((time.perf_counter() - started) * 1000)
        return percentile(latencies[3:], 0.5)
    finally:
        engine.close()


def _row(size: Size) -> tuple[str, ...]:
    return (
        f"{size.documents:,}",
        f"{size.megabytes:.1f}",
        f"{size.first.wall:.1f}",
        f"{size.first.wall / size.documents * 1000:.2f}",
        f"{size.first.cpu / size.documents * 1000:.2f}",
        f"{size.first.peak_mb:.0f}",
        f"{size.disk / size.documents / 1000:.1f}",
        f"{size.unchanged.wall:.2f}",
        f"{size.one_more.wall:.2f}",
        f"{size.p50_ms:.1f}",
        f"{size.first.others:.0%}",
    )
