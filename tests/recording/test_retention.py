"""Pruning keeps the latest traces, removes old ones beyond them, and touches nothing that is not ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from citewell import BadInput
from citewell.runs.folder import delete_trace, prune_traces, read_trace
from citewell.runs.reports import PruneSummary
from citewell.runs.trace import MARKER
from recording.builders import RUN_ID, listing, run_id, write

NOW = "2026-06-01T00:00:00Z"


def never(_: str) -> bool:
    return False


def prune(root: Path, *, keep: int = 0, days: int = 180, now: str = NOW) -> PruneSummary:
    return prune_traces(root, keep, days, False, now, never)


def pruned(kept: int, removed: tuple[str, ...] = (), freed_bytes: int = 0) -> PruneSummary:
    return PruneSummary(kept, removed, (), (), (), freed_bytes)


def write_years(root: Path, *years: int) -> list[str]:
    """One trace for each year, oldest run id first."""
    names = [run_id(number) for number in range(len(years))]
    for name, year in zip(names, years, strict=True):
        write(root, name, at=f"{year}-01-01T12:00:00")
    return names


def test_beyond_the_latest_the_old_ones_go_and_the_young_ones_stay(tmp_path: Path) -> None:
    a, b, c, d = write_years(tmp_path, 2024, 2023, 2026, 2022)
    write(tmp_path, run_id(9), at="2026-05-01T12:00:00")
    size = sum(path.stat().st_size for path in (tmp_path / "research-runs" / b).iterdir() if path.name != MARKER)
    report = prune(tmp_path, keep=3)
    assert report == pruned(3, (b, d), 2 * size)
    assert listing(tmp_path) == sorted([a, c, run_id(9)])
    assert prune(tmp_path, keep=0) == pruned(2, (a,), size)
    assert prune(tmp_path, keep=0) == pruned(2)


def test_a_count_alone_removes_nothing_that_is_young(tmp_path: Path) -> None:
    write_years(tmp_path, 2026, 2026, 2026)
    assert prune(tmp_path, keep=1) == pruned(3)


def test_keep_all_removes_nothing(tmp_path: Path) -> None:
    names = write_years(tmp_path, 2001, 2002)
    assert prune_traces(tmp_path, 0, 0, True, NOW, never) == pruned(2)
    assert listing(tmp_path) == names


def test_age_is_what_the_marker_says_and_not_the_file_times(tmp_path: Path) -> None:
    old, new = write_years(tmp_path, 2020, 2026)
    for name, moment in ((old, 4_000_000_000), (new, 0)):
        os.utime(tmp_path / "research-runs" / name, (moment, moment))
        os.utime(tmp_path / "research-runs" / name / MARKER, (moment, moment))
    assert prune(tmp_path).removed == (old,)


@pytest.mark.attack("T4")
@pytest.mark.parametrize(
    "now", ["2036-06-01T00:00:00Z", "2016-06-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]
)
def test_a_clock_that_jumps_never_costs_the_latest(tmp_path: Path, now: str) -> None:
    """T4, with the clock wrong when pruning."""
    names = write_years(tmp_path, 2022, 2023, 2024, 2025)
    prune(tmp_path, keep=2, now=now)
    assert set(listing(tmp_path)) >= set(names[2:])


@pytest.mark.attack("T4")
def test_runs_made_while_the_clock_was_wrong_are_sorted_by_what_it_said(tmp_path: Path) -> None:
    """T4, with the clock wrong when running: one run ten years ahead takes one place, not all."""
    old, ahead, latest = write_years(tmp_path, 2025, 2036, 2026)
    assert prune(tmp_path, keep=2).removed == (old,)
    assert listing(tmp_path) == [ahead, latest]


@pytest.mark.attack("T2")
def test_an_active_run_is_never_touched(tmp_path: Path) -> None:
    a, b = write_years(tmp_path, 2020, 2021)
    report = prune_traces(tmp_path, 0, 1, False, NOW, lambda name: name == a)
    assert (report.removed, report.skipped_active, report.kept) == ((b,), (a,), 1)
    assert listing(tmp_path) == [a]


@pytest.mark.attack("T3")
def test_what_is_not_a_completed_trace_of_ours_is_never_touched(tmp_path: Path) -> None:
    """T3."""
    (real,) = write_years(tmp_path, 2020)
    traces = tmp_path / "research-runs"
    (traces / "notes").mkdir()
    (traces / "todo.md").write_text("mine")
    (traces / run_id(1)).mkdir()  # never finished
    (traces / run_id(2)).mkdir()
    (traces / run_id(2) / MARKER).write_text("not a marker")
    write(tmp_path, run_id(3), at="2020-01-01T12:00:00").rename(traces / run_id(4))  # under another name
    newer = write(tmp_path, run_id(5), at="2020-01-01T12:00:00") / MARKER
    newer.write_text(newer.read_text().replace("research_trace.v1", "research_trace.v2"))
    changed = write(tmp_path, run_id(6), at="2020-01-01T12:00:00") / "run.md"
    changed.write_text(changed.read_text() + "\nMy own thoughts.\n")
    added = write(tmp_path, run_id(7), at="2020-01-01T12:00:00") / "mine.md"
    added.write_text("mine")
    before = {path: path.read_bytes() for path in traces.rglob("*") if path.is_file() and real not in path.parts}
    others = [name for name in listing(tmp_path) if name != real]
    report = prune(tmp_path)
    assert (report.kept, report.removed, list(report.not_ours)) == (0, (real,), others)
    assert {path: path.read_bytes() for path in traces.rglob("*") if path.is_file()} == before


@pytest.mark.attack("T3")
def test_links_are_never_followed(tmp_path: Path) -> None:
    """T3: neither a run that is a link, nor a file that is one, nor the folder of traces."""
    outside = write(tmp_path / "outside", RUN_ID, at="2020-01-01T12:00:00")
    traces = tmp_path / "data" / "research-runs"
    traces.mkdir(parents=True)
    (traces / RUN_ID).symlink_to(outside)
    linked = write(tmp_path / "data", run_id(1), at="2020-01-01T12:00:00")
    (tmp_path / "run.md").write_bytes((linked / "run.md").read_bytes())
    (linked / "run.md").unlink()
    (linked / "run.md").symlink_to(tmp_path / "run.md")
    report = prune(tmp_path / "data")
    assert (report.removed, report.not_ours) == ((), (run_id(1), RUN_ID))
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "research-runs").symlink_to(outside.parent)
    assert prune(tmp_path / "whole").not_ours == ("research-runs",)
    assert not delete_trace(tmp_path / "whole", RUN_ID)
    assert not delete_trace(tmp_path / "data", RUN_ID)
    assert read_trace(outside).run_id == RUN_ID
    assert (tmp_path / "run.md").exists()


def test_pruning_where_there_are_no_traces_does_nothing(tmp_path: Path) -> None:
    assert prune(tmp_path) == pruned(0)
    assert list(tmp_path.iterdir()) == []


def test_limits_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for keep, days, now in ((-1, 1, NOW), (1, -1, NOW), (1, 1, "yesterday")):
        with pytest.raises(BadInput):
            prune_traces(tmp_path, keep, days, False, now, never)
    write_years(tmp_path, 2020)
    assert prune(tmp_path, days=10**12).kept == 1


def test_forgetting_a_run_removes_its_trace_even_when_it_was_changed(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "run.md").write_text("changed")
    assert delete_trace(tmp_path, RUN_ID)
    assert listing(tmp_path) == []
    assert not delete_trace(tmp_path, RUN_ID)
    with pytest.raises(BadInput):
        delete_trace(tmp_path, "../research-runs")


def test_forgetting_a_run_leaves_what_somebody_put_beside_its_files(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "mine.md").write_text("mine")
    assert delete_trace(tmp_path, RUN_ID)
    assert [path.name for path in folder.iterdir()] == ["mine.md"]
