"""Part `cold`: commands from a cold shell beside an earlier install of Citewell, in the same run.

Name its program with `--earlier PATH/bin/citewell`. Both index one collection of real notes by words and search it,
each time in a process of its own. The least processor time of many rounds is compared: a busy machine only adds to it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from processes import run_measured
from tables import Part, Ratio

_VAULT = "booknotes"
_QUESTIONS = (
    "what does the author say about habits",
    "deep work",
    "How should I name functions in clean code?",
    "monolith vs microservices trade-offs when to split a service",
)
_ADDS = 5


def measure_cold(data: Path, earlier: Path, rounds: int) -> Part:
    ours = Path(sys.executable).with_name("citewell")
    vault = data / "real" / "vaults" / _VAULT
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        root = Path(folder)
        indexed = [_least_add(program, root / name, vault) for name, program in (("ours", ours), ("earlier", earlier))]
        commands: list[list[str | Path]] = [
            [ours, "--data-dir", root / "ours", "search", "--mode", "lexical"],
            [earlier, "--data-dir", root / "earlier", "search", "--mode", "lexical"],
        ]
        words = {question: _least(commands, question, rounds) for question in _QUESTIONS}
        run_measured([ours, "--data-dir", root / "ours", "embed"])
        both = {question: _least([commands[0][:4]], question, rounds)[0] for question in _QUESTIONS}
    searched = [sum(times[side] for times in words.values()) / len(words) for side in (0, 1)]
    meaning = sum(both.values()) / len(both)
    ratios = (
        Ratio("search --mode lexical, processor time / the earlier install", searched[0] / searched[1], 1.0),
        Ratio("add --no-vectors, processor time / add of the earlier install", indexed[0] / indexed[1], 1.0),
        Ratio(
            "search by words and meaning, processor s more than by words / 0.5 s", (meaning - searched[0]) / 0.5, 1.0
        ),
    )
    rows = [
        ("add, by words", f"{indexed[0] * 1000:.0f}", f"{indexed[1] * 1000:.0f}", "–"),
        *(
            (f"search: {question}", f"{now * 1000:.0f}", f"{then * 1000:.0f}", f"{both[question] * 1000:.0f}")
            for question, (now, then) in words.items()
        ),
    ]
    columns = ("command, processor ms", "now, by words", "earlier, by words", "now, by words and meaning")
    return Part("cold", ratios, columns, tuple(rows), (f"The least of {rounds} searches and {_ADDS} times `add`.",))


def _least_add(program: Path, folder: Path, vault: Path) -> float:
    """The least processor time of indexing a vault; the last index stays. An install without vectors has no option."""
    option = ["--no-vectors"] if "--no-vectors" in run_measured([program, "add", "--help"]).output else []
    times = []
    for number in range(_ADDS):
        place = folder if number == _ADDS - 1 else folder.with_name(f"{folder.name}-{number}")
        times.append(run_measured([program, "--data-dir", place, "add", *option, vault]).cpu)
    return min(times)


def _least(commands: Sequence[Sequence[str | Path]], question: str, rounds: int) -> list[float]:
    times = [[run_measured([*command, question]).cpu for command in commands] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]
