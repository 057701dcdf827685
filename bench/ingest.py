"""Part `ingest`: the same pages indexed, synced unchanged and searched by `citewell` and `qmd`, from a cold shell."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from mdn import Mdn, write_documents
from processes import Usage, folder_bytes, is_disturbed, run_measured
from qmd import Qmd, install_qmd
from tables import Part, Ratio

LIMIT = 8


@dataclass(frozen=True, slots=True)
class Citewell:
    """The installed program over a data folder."""

    folder: Path

    def add(self, notes: Path) -> Usage:
        return self._run("add", str(notes))

    def update(self, notes: Path) -> Usage:
        return self._run("add", str(notes))

    def search(self, question: str, limit: int) -> tuple[Usage, int]:
        usage = self._run("search", question, "--json", "--limit", str(limit))
        return usage, len(json.loads(usage.output)["results"])

    def _run(self, *arguments: str) -> Usage:
        program = Path(sys.executable).parent / "citewell"
        return run_measured([program, "--data-dir", self.folder, *arguments])


@dataclass(frozen=True, slots=True)
class Side:
    """What one program cost."""

    name: str
    first: Usage
    unchanged: Usage
    searches: tuple[Usage, ...]
    nothing_found: int
    disk: int

    @property
    def search_wall(self) -> float:
        return median(usage.wall for usage in self.searches)

    @property
    def search_cpu(self) -> float:
        return median(usage.cpu for usage in self.searches)


MEMORY_MB = 500


def _wall(what: str, ours: Usage, peer: Usage, goal: float) -> Ratio:
    return Ratio(what, ours.wall / peer.wall, goal, is_disturbed=is_disturbed(ours, peer))


def measure_ingest(mdn: Mdn, pages: int, rounds: int) -> Part:
    """Both programs in one run, each step of one directly followed by that of the other."""
    reason = install_qmd()
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        root = Path(temporary)
        documents = mdn.pages()[: pages or None]
        size = write_documents(documents, root / "pages")
        ours, qmd = Citewell(root / "citewell"), Qmd(root / "qmd")
        (root / "qmd").mkdir()
        # Both read warm files: the first to run must not pay for the disk.
        for path in (root / "pages").rglob("*.md"):
            path.read_bytes()
        sides = [
            Side("citewell", ours.add(root / "pages"), ours.update(root / "pages"), (), 0, folder_bytes(ours.folder))
        ]
        if reason is None:
            sides.append(Side("qmd", qmd.add(root / "pages"), qmd.update(), (), 0, folder_bytes(qmd.folder)))
        for question in mdn.questions(rounds):
            for number, side in enumerate(sides):
                usage, found = (ours if side.name == "citewell" else qmd).search(question, LIMIT)
                sides[number] = replace(
                    side, searches=(*side.searches, usage), nothing_found=side.nothing_found + (found == 0)
                )
    return _part(sides, len(documents), size, rounds, reason)


def _part(sides: list[Side], documents: int, size: int, rounds: int, reason: str | None) -> Part:
    ours, megabytes = sides[0], size / 1e6
    own = (
        Ratio("unchanged sync, wall clock / first index", ours.unchanged.wall / ours.first.wall, 0.05),
        Ratio(f"first index, peak memory / {MEMORY_MB} MB", ours.first.peak_mb / MEMORY_MB, 1.0),
    )
    ratios: tuple[Ratio, ...] = own
    if len(sides) == 2:
        peer = sides[1]
        ratios = (
            *own,
            _wall("first index, wall clock / qmd", ours.first, peer.first, 1.0),
            Ratio("first index, processor time / qmd", ours.first.cpu / peer.first.cpu),
            Ratio("first index, peak memory / qmd", ours.first.peak_mb / peer.first.peak_mb, 1.0),
            _wall("unchanged sync, wall clock / qmd", ours.unchanged, peer.unchanged, 0.5),
            Ratio("unchanged sync, processor time / qmd", ours.unchanged.cpu / peer.unchanged.cpu, 0.5),
            Ratio("unchanged sync, peak memory / qmd", ours.unchanged.peak_mb / peer.unchanged.peak_mb, 1.0),
            Ratio("one search from a cold shell, wall clock / qmd", ours.search_wall / peer.search_wall, 0.7),
            Ratio("one search from a cold shell, processor time / qmd", ours.search_cpu / peer.search_cpu),
            Ratio("index on disk / qmd", ours.disk / peer.disk),
        )
    rows = [
        ("first index, wall s", *(f"{side.first.wall:.1f}" for side in sides)),
        ("first index, processor s", *(f"{side.first.cpu:.1f}" for side in sides)),
        ("first index, wall s a MB", *(f"{side.first.wall / megabytes:.3f}" for side in sides)),
        ("first index, peak MB, all processes", *(f"{side.first.peak_mb:.0f}" for side in sides)),
        ("first index, peak MB, largest process", *(f"{side.first.largest_process_mb:.0f}" for side in sides)),
        ("first index, share of the machine others took", *(f"{side.first.others:.0%}" for side in sides)),
        ("unchanged sync, wall s", *(f"{side.unchanged.wall:.2f}" for side in sides)),
        ("unchanged sync, share of the machine others took", *(f"{side.unchanged.others:.0%}" for side in sides)),
        ("unchanged sync, processor s", *(f"{side.unchanged.cpu:.2f}" for side in sides)),
        ("unchanged sync, peak MB", *(f"{side.unchanged.peak_mb:.0f}" for side in sides)),
        (f"cold search, median of {rounds}, ms", *(f"{side.search_wall * 1000:.0f}" for side in sides)),
        ("cold search, processor ms", *(f"{side.search_cpu * 1000:.0f}" for side in sides)),
        ("cold search, peak MB", *(f"{max(one.peak_mb for one in side.searches):.0f}" for side in sides)),
        (f"questions of {rounds} that found nothing", *(str(side.nothing_found) for side in sides)),
        ("index on disk, MB", *(f"{side.disk / 1e6:.0f}" for side in sides)),
    ]
    notes = [f"{documents:,} pages, {megabytes:.1f} MB of Markdown."]
    return Part(
        "ingest", ratios, ("", *(side.name for side in sides)), tuple(rows), (*notes, *([reason] if reason else []))
    )
