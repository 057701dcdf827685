"""What the benchmark says of a program is true: every process of it counts, and a missed goal is shown as missed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from processes import Usage, folder_bytes, is_disturbed, run_measured
from tables import PAGE, Part, Ratio, put_in_page

pytestmark = pytest.mark.slow

HOLD = "held = bytearray(b'x') * 150_000_000; import time; time.sleep(0.6)"
# Readers of Citewell are started like this: in a session of their own.
APART = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}], start_new_session=True)"
BURN = "sum(number * number for number in range(6_000_000))"


def test_the_memory_of_a_child_in_a_session_of_its_own_counts() -> None:
    usage = run_measured([sys.executable, "-c", APART])
    assert 150 < usage.largest_process_mb < 250
    assert usage.peak_mb > usage.largest_process_mb


def test_the_memory_of_whoever_measures_does_not_count() -> None:
    held = bytearray(b"x") * 300_000_000
    usage = run_measured([sys.executable, "-c", "import time; time.sleep(0.2)"])
    assert len(held) == 300_000_000
    assert 1 < usage.peak_mb < 100


def test_a_program_is_measured_as_an_install_has_it_with_its_modules_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert run_measured([sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]).output == "False\n"


def test_wall_clocks_compare_only_where_others_took_little_and_alike() -> None:
    def usage(others: float) -> Usage:
        return Usage(wall=1, cpu=1, peak_mb=1, largest_process_mb=1, others=others, output="")

    assert not is_disturbed(usage(0.02), usage(0.1))
    assert is_disturbed(usage(0.02), usage(0.15))
    assert is_disturbed(usage(0.69), usage(0.69))


def test_the_processor_time_of_a_child_counts() -> None:
    usage = run_measured(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"]
    )
    assert usage.cpu > 0.1
    assert usage.wall > 0


def test_a_program_that_fails_stops_the_benchmark_with_what_it_said() -> None:
    with pytest.raises(SystemExit, match="no such luck"):
        run_measured([sys.executable, "-c", "import sys; sys.exit('no such luck')"])


@pytest.mark.parametrize(
    ("ratio", "met"),
    [
        (Ratio("time", 1.0, 1.0), "yes"),
        (Ratio("time", 1.001, 1.0), "**no**"),
        (Ratio("quality", 0.99, 1.0, "higher"), "**no**"),
        (Ratio("quality", 1.01, 1.0, "higher"), "yes"),
        (Ratio("size", 7.0), "–"),
        (Ratio("time", 0.5, 1.0, is_disturbed=True), "unclear: machine busy"),
    ],
)
def test_a_goal_is_met_or_it_is_not(ratio: Ratio, met: str) -> None:
    assert ratio.met == met


def test_a_part_replaces_its_own_block_and_nothing_else() -> None:
    page = "# Top\n<!-- measured: a -->\nold\n<!-- end -->\nmiddle\n<!-- measured: b -->\nkept\n<!-- end -->\n"
    part = Part("a", (Ratio("time / peer", 2.0, 1.0),), ("x",), (("1",),))
    once = put_in_page(page, part)
    assert "old" not in once
    assert "| time / peer | 2.000× | ≤ 1.00× | **no** |" in once
    assert once.endswith("<!-- end -->\nmiddle\n<!-- measured: b -->\nkept\n<!-- end -->\n")
    assert put_in_page(once, part) == once


def test_the_page_has_a_place_for_every_part_and_names_no_machine() -> None:
    text = PAGE.read_text("utf-8")
    for name in ("quality", "ingest", "flat", "scale", "scale1m"):
        put_in_page(text, Part(name, (), ("x",), ()))
    assert "/tmp" not in text
    assert "/work" not in text


def test_the_lock_of_the_peers_has_hashes_and_no_addresses() -> None:
    lock = (PAGE.parents[2] / "bench" / "peers" / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
    assert "://registry" not in lock
    assert lock.count('"integrity"') > 100


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a").write_bytes(b"12345")
    assert folder_bytes(tmp_path) == 5
