"""What a clock leaves in its folder."""

from __future__ import annotations

from pathlib import Path

from narrows.spark.windows.clock import say_end


def test_a_clock_forgets_what_it_said_long_ago(tmp_path: Path) -> None:
    for minute in range(1_000):
        say_end(tmp_path, minute * 60_000)
    kept = sorted(int(path.stem) for path in tmp_path.iterdir())
    assert kept == [minute * 60_000 for minute in range(992, 1_000)]


def test_what_is_not_its_own_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for minute in range(20):
        say_end(tmp_path, minute)
    assert (tmp_path / "notes.txt").exists()
