"""`make bench`: quality, ingest and scale, with peers in the same run; it writes docs/measurements/benchmarks.md.

Every claim is a ratio against a peer measured on this machine in this run, because seconds of another machine say
nothing. The collections lie beside the repository (`../shared/data`), or where `--data` says; without them there is
nothing to measure, and that is said. `BENCH='--only ingest'` runs one part; `cold`, `hybrid`, `answerability`,
`verifier`, `extractive`, `real`, `scale` and `scale1m` run only when named; `verifier` writes to its own page.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from answerability import measure_answerable
from asking import measure_asking
from cold import measure_cold
from extractive import measure_extractive
from flat import measure_flat
from hybrid import measure_hybrid
from ingest import measure_ingest
from lexical_scale import measure_scale
from mdn import Mdn
from quality import measure_quality
from real_notes import measure_real
from serving import measure_serving
from tables import Part, write_page
from verifier import measure_verifying

from citewell.models.entailment import Entailment, OnnxEntailment

DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BUSY = "Other programs kept the machine busy during this run: its rankings hold, its latencies and speeds say nothing."
DEFAULT_PARTS = ("quality", "ingest", "flat", "serving")
ALL_PARTS = (
    *DEFAULT_PARTS,
    "cold",
    "asking",
    "hybrid",
    "answerability",
    "verifier",
    "extractive",
    "real",
    "scale",
    "scale1m",
)


def _judge(folder: Path | None) -> Entailment | None:
    """The judge in a folder, opened; none where no folder is named."""
    if folder is None:
        return None
    judge = OnnxEntailment(folder)
    judge.open()
    return judge


def main() -> None:
    options = _options()
    if not options.data.is_dir():
        print(f"No collections at {options.data}: nothing to measure. Name their folder with BENCH='--data DIR'.")
        return
    measured: list[Part] = []
    mdn = Mdn(options.data / "scale")
    for name in _chosen(options.only):
        if (
            name
            not in ("serving", "quality", "cold", "asking", "hybrid", "answerability", "verifier", "extractive", "real")
            and not mdn.is_there
        ):
            print(f"{name}: no MDN pages in {options.data / 'scale'}, not measured.", file=sys.stderr)
            continue
        if name == "cold" and options.earlier is None:
            print("cold: no earlier install was named (--earlier), not measured.", file=sys.stderr)
            continue
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        started = time.perf_counter()
        part = _measure(name, mdn, options)
        # The least processor time of many rounds is what a quiet machine would have given.
        if options.busy and name != "cold":
            part = replace(part, notes=(*part.notes, BUSY))
        print(f"  {name} took {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        print(f"## {name}\n\n{part.markdown()}\n", flush=True)
        measured.append(part)
        if not options.no_write:
            write_page([part])


def _measure(name: str, mdn: Mdn, options: argparse.Namespace) -> Part:
    parts: dict[str, Callable[[], Part]] = {
        "quality": lambda: measure_quality(
            options.data, options.collections.split(",") if options.collections else [], options.max_queries
        ),
        "hybrid": lambda: measure_hybrid(
            options.data, options.collections.split(",") if options.collections else [], options.max_queries
        ),
        "answerability": lambda: measure_answerable(
            options.data, options.collections.split(",") if options.collections else [], options.max_queries
        ),
        "verifier": lambda: measure_verifying(options.data, options.max_pairs, _judge(options.judge)),
        "extractive": lambda: measure_extractive(
            options.data, options.collections.split(",") if options.collections else [], options.asked
        ),
        "real": lambda: measure_real(options.data, options.half, "off" if options.lexical else "on"),
        "serving": measure_serving,
        "cold": lambda: measure_cold(options.data, options.earlier, options.rounds),
        "asking": lambda: measure_asking(options.data, max(1, options.rounds // 4)),
        "ingest": lambda: measure_ingest(mdn, options.pages, options.rounds),
        "flat": lambda: measure_flat(mdn, [int(size) for size in options.sizes.split(",")]),
        "scale": lambda: measure_scale(mdn, "scale", options.scale_documents, options.systems.split(",")),
        "scale1m": lambda: measure_scale(mdn, "scale1m", options.scale1m_documents, options.systems.split(",")),
    }
    return parts[name]()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of collections")
    parser.add_argument("--only", default="", help=f"comma list of {', '.join(ALL_PARTS)}; or all")
    parser.add_argument("--busy", action="store_true", help="say on the page that other programs ran beside this")
    parser.add_argument("--no-write", action="store_true", help="leave docs/measurements/benchmarks.md as it is")
    parser.add_argument("--collections", default="", help="quality: comma list of collections; default all")
    parser.add_argument("--max-queries", type=int, default=150, help="quality: queries a collection, evenly spread")
    parser.add_argument("--max-pairs", type=int, default=250, help="verifier: pairs of a kind and collection")
    parser.add_argument("--judge", type=Path, default=None, help="verifier: the folder of a judge to measure too")
    parser.add_argument("--asked", type=int, default=600, help="extractive: questions with an answer, evenly spread")
    parser.add_argument("--half", default="", choices=("", "dev", "test"), help="real: half of the questions; both")
    parser.add_argument("--lexical", action="store_true", help="real: by words alone")
    parser.add_argument("--pages", type=int, default=0, help="ingest: pages; 0: all")
    parser.add_argument("--rounds", type=int, default=20, help="ingest, cold: searches from a cold shell, alternated")
    parser.add_argument("--earlier", type=Path, default=None, help="cold: the program of an earlier install")
    parser.add_argument("--sizes", default="1000,10000,100000", help="flat: comma list of documents, ascending")
    parser.add_argument("--scale-documents", type=int, default=131_428, help="scale: documents")
    parser.add_argument("--scale1m-documents", type=int, default=1_000_000, help="scale1m: documents")
    parser.add_argument("--systems", default="citewell,tantivy,sqlite-fts5", help="scale: comma list of systems")
    return parser.parse_args()


def _chosen(only: str) -> tuple[str, ...]:
    if only == "all":
        return ALL_PARTS
    names = tuple(name for name in only.split(",") if name) or DEFAULT_PARTS
    unknown = [name for name in names if name not in ALL_PARTS]
    if unknown:
        sys.exit(f"There is no part {', '.join(unknown)}. There are: {', '.join(ALL_PARTS)}.")
    return names


if __name__ == "__main__":
    main()
