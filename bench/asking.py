"""Part `asking`: what one question without a model takes: from a cold shell, in a running process, and what is checked.

One collection of real notes is indexed by words and by meaning. The same questions are asked in processes of their own
and in one that goes on running, with meaning and without. Memory is what `research` takes beyond a search by words.
Verification is that of twelve sentences as a model might write them, half of them not to the letter.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from processes import Usage, run_measured
from tables import Part, Ratio

from citewell.answer.evidence import prepare_synthesis
from citewell.answer.passages import passages_of
from citewell.check.verdict import Draft, DraftSentence
from citewell.check.verify import verify
from citewell.engine import Citewell
from citewell.search.lanes import EncodeReport
from citewell.settings import Settings

_VAULT = "booknotes"
_QUESTIONS = (
    "what does the author say about habits",
    "How should I name functions in clean code?",
    "What are the downsides of microservices?",
    "When should I use the visitor pattern?",
)
_SENTENCES = 12


def measure_asking(data: Path, rounds: int) -> Part:
    program = Path(sys.executable).with_name("citewell")
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        place = Path(folder)
        run_measured([program, "--data-dir", place, "add", "--no-vectors", data / "real" / "vaults" / _VAULT])
        encoded = _encode(place)
        search = _cold([program, "--data-dir", place, "search", "--mode", "lexical"], "on", rounds)
        ask: list[str | Path] = [program, "--data-dir", place, "research", "--no-trace"]
        cold = {mode: _cold(ask, mode, rounds) for mode in ("on", "off")}
        warm = {mode: _warm(place, mode, rounds) for mode in ("on", "off")}
        verifying = _verifying(place, rounds)
    memory = _middle(cold["on"], lambda one: one.peak_mb) - _middle(search, lambda one: one.peak_mb)
    walls = {mode: _middle(found, lambda one: one.wall) for mode, found in cold.items()}
    ratios = (
        Ratio("research from a cold shell, wall clock / 2.5 s", walls["on"] / 2.5, 1.0),
        Ratio("research in a running process, wall clock / 1.5 s", statistics.median(warm["on"]) / 1.5, 1.0),
        Ratio(f"checking an answer of {_SENTENCES} sentences, wall clock / 1.5 s", verifying / 1.5, 1.0),
        Ratio("memory of research beyond a search by words / 300 MB", memory / 300, 1.0),
    )
    rows = [
        ("search by words, cold", *_shown(search)),
        ("research, cold, with meaning", *_shown(cold["on"])),
        ("research, cold, by words", *_shown(cold["off"])),
        ("research in a running process, with meaning", f"{1000 * statistics.median(warm['on']):.0f}", "–", "–"),
        ("research in a running process, by words", f"{1000 * statistics.median(warm['off']):.0f}", "–", "–"),
        (f"checking {_SENTENCES} sentences", f"{1000 * verifying:.0f}", "–", "–"),
    ]
    speed = encoded.encoded / encoded.seconds if encoded.seconds else 0.0
    told = f"{encoded.encoded:,} passages were encoded in {encoded.seconds:.0f} s: {speed:.0f} a second."
    notes = (f"Medians of {rounds} rounds over {len(_QUESTIONS)} questions.", told)
    return Part("asking", ratios, ("what", "wall ms", "processor ms", "peak MB"), tuple(rows), notes)


def _encode(place: Path) -> EncodeReport:
    with_meaning = Citewell(Settings(data_dir=place, embeddings="on"))
    report = next(event for event in with_meaning.corpus.encode() if isinstance(event, EncodeReport))
    with_meaning.close()
    return report


def _cold(command: list[str | Path], embeddings: str, rounds: int) -> list[Usage]:
    environment = {"CITEWELL_EMBEDDINGS": embeddings}
    return [run_measured([*command, question], environment) for _ in range(rounds) for question in _QUESTIONS]


def _warm(place: Path, embeddings: str, rounds: int) -> list[float]:
    """Seconds of each question in a process that has answered all of them once."""
    running = Citewell(Settings(data_dir=place, embeddings=embeddings))
    times: list[float] = []
    for number in range(rounds + 1):
        for question in _QUESTIONS:
            started = time.perf_counter()
            asyncio.run(_asked(running, question))
            times += [time.perf_counter() - started] if number else []
    running.close()
    return times


async def _asked(running: Citewell, question: str) -> None:
    async for _ in running.stream(question, trace=False):
        pass


def _verifying(place: Path, rounds: int) -> float:
    """The median seconds of checking twelve sentences that are quoted from the rows of a pack."""
    running = Citewell(Settings(data_dir=place, embeddings="off"))
    pack = running.pack(_QUESTIONS[0])
    running.close()
    prepared = prepare_synthesis(pack)
    found = [one for source in prepared.sources for one in passages_of(source) if one.kind == "sentence"][:_SENTENCES]
    # What is not quoted to the letter takes longer: every other sentence is cut, and cites its neighbour too.
    pairs = zip(found, (*found[1:], found[0]), strict=True)
    said = (
        DraftSentence(one.shown, "claim", one.quotes)
        if number % 2
        else DraftSentence(" ".join(one.shown.split()[1:]), "claim", (*one.quotes, *other.quotes))
        for number, (one, other) in enumerate(pairs)
    )
    draft = Draft(tuple(said), refused=False, written_by="model")
    times: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        verify(_QUESTIONS[0], draft, prepared, pack.query_plan)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _middle(found: list[Usage], part: Callable[[Usage], float]) -> float:
    return statistics.median(part(one) for one in found)


def _shown(found: list[Usage]) -> tuple[str, str, str]:
    wall, processor = _middle(found, lambda one: one.wall), _middle(found, lambda one: one.cpu)
    return f"{1000 * wall:.0f}", f"{1000 * processor:.0f}", f"{_middle(found, lambda one: one.peak_mb):.0f}"
