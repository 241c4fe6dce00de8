"""Two columns of a hundred, with and without pruning, in one run.

    python bench/wide_table.py [--rows 200000] [--repeats 3]

`SELECT col1, col99 FROM wide WHERE col1 > 100`: what column pruning is worth on a wide table. Both
sides run in one Spark session on the same files, in turns, and their answers are compared.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import narrows
import report

COLUMNS = 100
SELECT = "SELECT col1, col99 FROM wide WHERE col1 > 100"


def main() -> None:
    options = report.options(__doc__, rows=200_000, repeats=3).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "wide"
        size = _write(data, options.rows)
        with narrows.connect(state=Path(folder) / "state") as session:
            pruned, full = (_session(session, data, pruning) for pruning in (True, False))
            answers = [_answer(side) for side in (pruned, full)]  # warms up, too
            assert answers[0] == answers[1], answers
            times: dict[str, list[float]] = {"pruned": [], "not pruned": []}
            for _ in range(options.repeats):
                for name, side in (("pruned", pruned), ("not pruned", full)):
                    started = time.perf_counter()
                    _answer(side)
                    times[name].append(time.perf_counter() - started)
    print(f"\n{options.rows} rows of {COLUMNS} columns, {size / 1e6:.0f} MB NDJSON, {SELECT}\n")
    case = f"2 of {COLUMNS} columns and a filter"
    row = report.compared(case, "Narrows without pruning", times["pruned"], times["not pruned"])
    report.publish([row], options.json)


def _write(folder: Path, rows: int) -> int:
    folder.mkdir(parents=True)
    per_file = -(-rows // 4)
    for part in range(4):
        with (folder / f"part{part}.json").open("w", encoding="utf-8") as file:
            for row in range(part * per_file, min((part + 1) * per_file, rows)):
                document = {f"col{i}": _value(row, i) for i in range(COLUMNS)}
                file.write(json.dumps(document) + "\n")
    return sum(file.stat().st_size for file in folder.iterdir())


def _value(row: int, column: int) -> object:
    return f"value {row * column % 1000}" if column % 3 == 2 else row * (column + 1) % 10_007


def _session(session: narrows.Session, data: Path, pruning: bool) -> narrows.Session:
    side = narrows.connect(session.spark, state=session.state.path, pruning=pruning)
    columns = ", ".join(f"col{i} {'STRING' if i % 3 == 2 else 'BIGINT'}" for i in range(COLUMNS))
    side.execute(f"CREATE TABLE wide ({columns}) WITH (connector = 'file', path = '{data}')")
    return side


def _answer(session: narrows.Session) -> tuple[object, ...]:
    frame = session.query(SELECT)
    return tuple(frame.selectExpr("count(*)", "sum(col1)", "sum(hash(col99))").collect()[0])


if __name__ == "__main__":
    main()
