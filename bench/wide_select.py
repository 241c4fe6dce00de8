"""15 000 columns, JSON in and JSON out: Narrows against explicit selects in Spark.

    python bench/wide_select.py [--columns 15000] [--documents 2000] [--repeats 3] [--rewrite-off]

Rows per second are those of a running pipeline: a run over all documents less a run over a few, so
that planning and start, which are shown apart, do not count. Both sides get all documents: Spark is
faster in the end than over the first hundred. It runs once only, it is that slow. The outputs are
compared. What copying the files takes is shown for comparison.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812

import narrows
import report

FEW = 16
SOME = 96
TEN = 10
RULE = "narrows.rule.by_index_projection_into_encoder_rewrite"


@dataclass
class Measured:
    name: str
    start: float
    rate: float
    output: Path


def main() -> None:
    parser = report.options(__doc__, columns=15_000, documents=2_000, repeats=3)
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument("--rewrite-off", action="store_true", help="takes some minutes")
    options = parser.parse_args()
    data = Path(tempfile.gettempdir()) / "narrows-wide"
    names = [f"col_{number:05d}" for number in range(options.columns)]
    ten = names[:: max(1, len(names) // TEN)][:TEN]
    few, many, some = (write(data, names, n) for n in (FEW, options.documents, SOME))
    results: list[Measured] = []
    work = Path(tempfile.mkdtemp(prefix="narrows-wide-"))
    with narrows.connect(state=work / "state") as session:
        ours = Ours(session, names, work, few, options.repeats)
        results.append(ours.measure("narrows, all by name", names, many, options.documents))
        results.append(ours.measure("narrows, ten of them", ten, many, options.documents))
        if not options.without_spark:
            theirs, count = Theirs(session, names, work, few), options.documents
            results.append(theirs.measure("from_json, select, to_json", names, many, count))
            results.append(theirs.measure("from_json, ten of them", ten, many, count))
        if options.rewrite_off:
            session.execute(f"SET {RULE} = off")
            results.append(ours.measure("Narrows, rewrite off", names, some, SOME))
    for found in results:
        print(f"{found.name}: start {found.start:.1f} s, {found.rate:.1f} rows/s")
    copied = copying(many, work / "copy", options.repeats)
    print(f"copying the files, one after the other: {options.documents / copied:.1f} rows/s")
    report.publish(rows_of(results, options.columns), options.json)
    shutil.rmtree(work)


def rows_of(results: list[Measured], columns: int) -> list[report.Row]:
    rows = []
    for found in results[2:]:
        ours = results[1] if "ten" in found.name else results[0]
        assert first_rows(found.output) == first_rows(ours.output), found.name
        picked = "ten" if ours is results[1] else "all by name"
        rows.append(
            report.Row(
                f"{columns} columns, {picked}, JSON to JSON",
                found.name,
                ours.rate,
                found.rate,
                unit="rows/s",
                note=f"start {ours.start:.1f} s, other {found.start:.1f} s",
            )
        )
    return rows


def first_rows(folder: Path) -> list[object]:
    files = [path for path in folder.glob("[!._]*") if path.suffix in (".json", ".txt")]
    lines = [line for path in files for line in path.open() if _number(line) < FEW]
    return sorted((json.loads(line) for line in lines), key=lambda row: str(row["col_00000"]))


def _number(line: str) -> int:
    """The number of a document, which all data sets have: `{"col_00000":"0000000012",...`."""
    return int(line.split('"', 4)[3])


def copying(data: Path, target: Path, repeats: int) -> float:
    """The seconds that it takes to copy files and have the copies on the disk."""
    best = float("inf")
    for _ in range(repeats):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        started = time.perf_counter()
        for path in sorted(data.iterdir()):
            with path.open("rb") as file, (target / path.name).open("wb") as copy:
                shutil.copyfileobj(file, copy, 1 << 20)
                copy.flush()
                os.fsync(copy.fileno())
        best = min(best, time.perf_counter() - started)
    return best


class Side:
    """One side of the comparison. What it wrote last is kept."""

    def __init__(self, session: narrows.Session, names: list[str], work: Path, few: Path) -> None:
        self._session, self._folder, self._few = session, work / type(self).__name__, few
        self._schema = ", ".join(f"{name} STRING" for name in names)
        self._runs = 0
        self._repeats = 1

    def measure(self, name: str, columns: list[str], data: Path, documents: int) -> Measured:
        self._seconds(columns, self._few)  # the first is slower than any later one
        # Starting may take longer than the work does, and not equally long: the best of some.
        start = min(self._seconds(columns, self._few) for _ in range(self._repeats))
        seconds = min(self._seconds(columns, data) for _ in range(self._repeats))
        rate = (documents - FEW) / max(seconds - start, 0.1)
        output = self._folder.with_name(f"kept-{len(list(self._folder.parent.glob('kept-*')))}")
        return Measured(name, start, rate, self._folder.rename(output))

    def _seconds(self, columns: list[str], data: Path) -> float:
        self._runs += 1
        shutil.rmtree(self._folder, ignore_errors=True)
        started = time.perf_counter()
        self._run(columns, data)
        return time.perf_counter() - started

    def _run(self, columns: list[str], data: Path) -> None:
        raise NotImplementedError


class Ours(Side):
    def __init__(
        self, session: narrows.Session, names: list[str], work: Path, few: Path, repeats: int
    ) -> None:
        super().__init__(session, names, work, few)
        self._repeats = repeats
        self._seconds(names[:2], few)  # the first query of a session is a slow one

    def _run(self, columns: list[str], data: Path) -> None:
        run, out = self._runs, self._folder
        self._session.execute(f"""
            CREATE STREAM s{run} ({self._schema}) WITH (connector = 'file', path = '{data}');
            CREATE SINK o{run} WITH (connector = 'file', path = '{out}');
            CREATE PIPELINE p{run} INTO o{run} AS SELECT {", ".join(columns)} FROM s{run};
        """)
        self._session.start(f"p{run}", once=True).await_done()


class Theirs(Side):
    def _run(self, columns: list[str], data: Path) -> None:
        rows = self._session.spark.read.text(str(data)).select(
            F.from_json("value", self._schema).alias("row")
        )
        chosen = rows.select([F.col(f"row.{name}") for name in columns])
        lines = chosen.select(F.to_json(F.struct(*[F.col(name) for name in columns])))
        lines.write.mode("overwrite").text(str(self._folder))


def write(folder: Path, names: list[str], documents: int, files: int = 4) -> Path:
    """Writes so many documents, unless they are there already."""
    target = folder / f"{len(names)}-columns-{documents}-documents"
    if not target.exists():
        making = folder / f".{target.name}"
        making.mkdir(parents=True, exist_ok=True)
        for part in range(files):
            with (making / f"part-{part}.json").open("w") as file:
                for number in range(part, documents, files):
                    text = f"{random.Random(number).getrandbits(64):016x}"
                    row = {name: text[i % 6 : i % 6 + 10] for i, name in enumerate(names)}
                    row[names[0]] = f"{number:010d}"
                    file.write(json.dumps(row, separators=(",", ":")) + "\n")
        making.rename(target)
    return target


if __name__ == "__main__":
    main()
