"""Parts `scale` and `scale1m`: building and searching lexical indexes of 131,000 and a million documents."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lexical_child import BUILD
from mdn import Mdn, write_shards
from processes import Usage, folder_bytes, run_measured
from tables import Part, Ratio

CHILD = Path(__file__).resolve().parent / "lexical_child.py"


_P50 = {"tantivy": 2.0}
_PACK = "research pack without a model"


@dataclass(frozen=True, slots=True)
class Scaled:
    """One system at one size."""

    system: str
    documents: int
    build_seconds: float
    build: Usage
    p50_ms: float
    p95_ms: float
    resident_mb: float
    disk: int


def measure_scale(mdn: Mdn, name: str, count: int, systems: list[str]) -> Part:
    absent = {"tantivy"} if importlib.util.find_spec("tantivy") is None else set()
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        root = Path(temporary)
        made = write_shards(mdn.replicated(count), root / "documents")
        (root / "questions.json").write_text(json.dumps(mdn.questions()), "utf-8")
        measured = [_measure(root, system) for system in BUILD if system in systems and system not in absent]
        packed = json.loads(_run("pack", "citewell", root).output) if "citewell" in systems else {}
    assert all(entry.documents == made for entry in measured), "a system left documents out"
    ours = next((entry for entry in measured if entry.system == "citewell"), None)
    ratios: list[Ratio] = []
    for peer in measured:
        if ours is None or peer is ours:
            continue
        ratios += [
            Ratio(f"search p50, {made:,} documents / {peer.system}", ours.p50_ms / peer.p50_ms, _P50.get(peer.system)),
            Ratio(f"search p95, {made:,} documents / {peer.system}", ours.p95_ms / peer.p95_ms),
            Ratio(f"build, wall clock / {peer.system}", ours.build_seconds / peer.build_seconds),
            Ratio(f"resident memory while searching / {peer.system}", ours.resident_mb / peer.resident_mb),
        ]
    if packed:
        ratios.append(
            Ratio(f"{_PACK}, p50, {made:,} documents / one search", packed["pack_p50"] / packed["search_p50"], 8.0)
        )
    columns = (
        *("system", "documents", "build s", "docs/s", "build peak MB", "disk MB"),
        *("p50 ms", "p95 ms", "resident MB while searching", "others took in build"),
    )
    notes = [
        "The peers only rank: they store no text and cut out no passages, and their build leaves out reading the files."
    ]
    if packed:
        notes.append(
            f"A pack takes {packed['pack_p50']:.1f} ms (p95 {packed['pack_p95']:.1f}), a search beside it"
            f" {packed['search_p50']:.1f} ms; natural questions, each asked both ways in turn."
        )
    notes += [f"{system} is not installed and was not measured." for system in sorted(absent)]
    return Part(name, tuple(ratios), columns, tuple(_row(entry) for entry in measured), tuple(notes))


def _measure(root: Path, system: str) -> Scaled:
    print(f"  {system} …", file=sys.stderr, flush=True)
    build = _run("build", system, root)
    built = json.loads(build.output)
    searched = json.loads(_run("search", system, root).output)
    entry = Scaled(
        system=system,
        documents=built["documents"],
        build_seconds=built["seconds"],
        build=build,
        p50_ms=searched["p50"],
        p95_ms=searched["p95"],
        resident_mb=searched["resident_mb"],
        disk=folder_bytes(root / system),
    )
    print(
        f"  {' | '.join(_row(entry))}", file=sys.stderr, flush=True
    )  # an hour's work is not lost with the next system
    return entry


def _run(action: str, system: str, root: Path) -> Usage:
    return run_measured([sys.executable, CHILD, action, system, root])


def _row(entry: Scaled) -> tuple[str, ...]:
    return (
        *(entry.system, f"{entry.documents:,}", f"{entry.build_seconds:.1f}"),
        f"{entry.documents / entry.build_seconds:,.0f}",
        *(f"{entry.build.peak_mb:.0f}", f"{entry.disk / 1e6:.0f}"),
        *(f"{entry.p50_ms:.2f}", f"{entry.p95_ms:.2f}", f"{entry.resident_mb:.0f}", f"{entry.build.others:.0%}"),
    )
