"""Recorded files that are replayed: a row comes when its time has come, and never twice."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors.entry_log import Entry, EntryLog
from narrows.connectors.file.paced import PacedFileSource
from narrows.demand import ALL, fields
from narrows.plugins.options import OptionValue
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec

SCHEMA = read_schema("n BIGINT, ts BIGINT")
START = 1_700_000_000_000


class Player:
    """A pipeline that replays a folder, by a clock of ours."""

    def __init__(self, folder: str, form: str = "json", **options: OptionValue) -> None:
        self.now = 100.0
        self.folder = folder
        given = {"path": f"{folder}/in", "replay": "ts", "delimiter": ",", **options}
        projection = DecodeProjection(SCHEMA, fields({"n": ALL}))
        self.spec = ReadSpec("s", "file", form, projection, ("n",), options=given, on_error="drop")
        self.restart()

    def restart(self) -> None:
        self.log = EntryLog(f"{self.folder}/log")
        declared = self.spec.declared
        self.source = PacedFileSource(declared, lambda: self.now)

    def take(self) -> list[list[int | None]]:
        """The rows of each entry that can be taken now."""
        taken = []
        available = self.source.available()
        while (entry := self.source.admit(self.log, available)) is not None:
            number = self.log.append(entry)
            taken.append(self.rows(self.log.entry(number)))
        return taken

    def rows(self, entry: Entry) -> list[int | None]:
        tasks = max(1, len(self.source.split(entry, 3)))
        batches = [b for task in range(tasks) for b in read_entry(self.spec, entry, 0, task, tasks)]
        return [value for batch in batches for value in batch.column(0).to_pylist()]


def _write(folder: str, name: str, lines: list[str]) -> None:
    path = Path(folder, "in", name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))
    os.utime(path, (1, 1))


def _line(n: int, time: int | None) -> str:
    return json.dumps({"n": n, "pad": "x" * (n % 7), "ts": time})


RECORDINGS = st.lists(
    st.lists(st.none() | st.integers(0, 5_000), min_size=1, max_size=8), min_size=1, max_size=3
)
"""For each file the times of its rows, in milliseconds since the recording began."""


@settings(max_examples=60)
@given(
    RECORDINGS,
    st.lists(st.tuples(st.integers(0, 1_500), st.booleans()), min_size=1, max_size=6),
    st.sampled_from([1, 2, 10]),
)
def test_rows_come_when_their_time_has_come(
    recorded: list[list[int | None]], waits: list[tuple[int, bool]], speed: int
) -> None:
    numbered: list[list[tuple[int, int | None]]] = []
    for times in recorded:
        first = sum(map(len, numbered))
        numbered.append([(first + place, time) for place, time in enumerate(times)])
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in enumerate(numbered):
            lines = [_line(n, None if time is None else START + time) for n, time in rows]
            _write(folder, f"{name}.json", lines)
        player = Player(folder, speed=speed)
        player.source.start()
        got: list[int | None] = []
        # The oracle: the clock begins with the earliest first time of a file; a file comes up to
        # its first row that is later, and everything where no file says a time.
        known = [[time for _, time in rows if time is not None] for rows in numbered]
        firsts = [times[0] for times in known if times]
        recorded_now = min(firsts, default=0)
        for wait, restarts in waits:
            player.now += wait / 1_000
            if got or not known:
                recorded_now += wait * speed
            if restarts:
                player.restart()
                player.source.start()
                recorded_now = _upto(player, recorded_now)
            got += [n for rows in player.take() for n in rows]
            expected = [
                n for rows in numbered for n in _due(rows, recorded_now if firsts else None)
            ]
            assert sorted(n for n in got if n is not None) == sorted(expected)
        # In the end, for those who do not wait: everything, once.
        player.restart()
        got += [n for rows in player.take() for n in rows]
        assert sorted(n for n in got if n is not None) == [n for rows in numbered for n, _ in rows]


def _due(rows: list[tuple[int, int | None]], now: int | None) -> list[int]:
    """The rows of a file before the first that is later; those without a time come with the row
    before them, or with the first that has one."""
    if now is None:
        return [n for n, _ in rows]
    later = [place for place, (_, time) in enumerate(rows) if time is not None and time > now]
    if not later:
        return [n for n, _ in rows]
    before = rows[: later[0]]
    return [n for n, _ in before] if any(time is not None for _, time in before) else []


def _upto(player: Player, before: int) -> int:
    """Where the recording's clock stands after a restart: as far as the last entry says."""
    last = player.log.last()
    upto = player.log.entry(last)["upto"] if last >= 0 else None
    return before if upto is None else int(upto) - START


@pytest.mark.parametrize("form", ["gz", "parquet", "csv", "multiline"])
def test_files_of_other_kinds(tmp_path: Path, form: str) -> None:
    """Lines come one by one, also behind a header; others as whole files, by their first row."""
    folder = tmp_path / "in"
    folder.mkdir()
    options: Mapping[str, OptionValue] = {}
    rows = [(1, 0), (2, 2_000)], [(3, 1_000), (4, 1_500)]
    for number, file in enumerate(rows):
        dicts: list[dict[str, Any]] = [{"n": n, "ts": START + time} for n, time in file]
        name = f"{number}"
        match form:
            case "gz":
                text = "".join(json.dumps(row) + "\n" for row in dicts)
                (folder / f"{name}.json.gz").write_bytes(gzip.compress(text.encode()))
            case "parquet":
                pa.parquet.write_table(pa.Table.from_pylist(dicts), folder / f"{name}.parquet")
            case "csv":
                options = {"header": True}
                lines = ["ts,n", *(f"{row['ts']},{row['n']}" for row in dicts)]
                (folder / f"{name}.csv").write_text("\n".join(lines))
            case _:
                options = {"multiline": True}
                (folder / f"{name}.json").write_text(json.dumps(dicts, indent=1))
    kind = {"gz": "json", "multiline": "json"}.get(form, form)
    player = Player(str(tmp_path), kind, **options)
    player.source.start()
    seen = []
    for _ in range(5):
        seen.append(sorted(n or 0 for rows in player.take() for n in rows))
        player.now += 0.5
    by_line, by_file = [[1], [], [3], [4], [2]], [[1, 2], [], [3, 4], [], []]
    assert seen == (by_line if form == "csv" else by_file)


def test_a_file_that_is_gone_is_due_at_once(tmp_path: Path) -> None:
    _write(str(tmp_path), "0.json", [_line(1, START)])
    player = Player(str(tmp_path))
    player.source.start()
    available = player.source.available()
    (tmp_path / "in" / "0.json").unlink()
    entry = player.source.admit(player.log, available)
    assert entry is not None
    assert player.rows(entry) == []
