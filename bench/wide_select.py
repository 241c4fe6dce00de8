"""15 000 columns, JSON in and JSON out: Narrows against explicit selects in Spark.

    python bench/wide_select.py [--columns 15000] [--documents 2000] [--spark-documents 96]
                                [--repeats 3] [--rewrite-off]

Rows per second are those of a running pipeline: a run over all documents less a run over a few, so
that planning and start, which are shown apart, do not count. Spark gets fewer documents, it is that
slow. The outputs are compared.
"""

from __future__ import annotations

import json
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
TEN = 10
RULE = "narrows.rule.by_index_projection_into_encoder_rewrite"


@dataclass
class Measured:
    name: str
    start: float
    rate: float
    output: Path


def main() -> None:
    parser = report.options(__doc__, columns=15_000, documents=2_000, spark_documents=96, repeats=3)
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument("--rewrite-off", action="store_true", help="takes some minutes")
    options = parser.parse_args()
    data = Path(tempfile.gettempdir()) / "narrows-wide"
    names = [f"col_{number:05d}" for number in range(options.columns)]
    ten = names[:: max(1, len(names) // TEN)][:TEN]
    few, many, for_spark = (
        write(data, names, count) for count in (FEW, options.documents, options.spark_documents)
    )
    results: list[Measured] = []
    work = Path(tempfile.mkdtemp(prefix="narrows-wide-"))
    with narrows.connect(state=work / "state") as session:
        ours = Ours(session, names, work, few, options.repeats)
        results.append(ours.measure("narrows, all by name", names, many, options.documents))
        results.append(ours.measure("narrows, ten of them", ten, many, options.documents))
        if not options.without_spark:
            theirs = Theirs(session, names, work, few, options.repeats)
            count = options.spark_documents
            results.append(theirs.measure("from_json, select, to_json", names, for_spark, count))
            results.append(theirs.measure("from_json, ten of them", ten, for_spark, count))
        if options.rewrite_off:
            session.execute(f"SET {RULE} = off")
            count = options.spark_documents
            results.append(ours.measure("Narrows, rewrite off", names, for_spark, count))
    for found in results:
        print(f"{found.name}: start {found.start:.1f} s, {found.rate:.1f} rows/s")
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


class Ours:
    def __init__(
        self, session: narrows.Session, names: list[str], work: Path, few: Path, repeats: int
    ) -> None:
        self._session, self._work, self._few, self._repeats = session, work, few, repeats
        self._schema = ", ".join(f"{name} STRING" for name in names)
        self._runs = 0
        self._seconds(names[:2], few)  # the first query of a session is a slow one

    def measure(self, name: str, columns: list[str], data: Path, documents: int) -> Measured:
        self._seconds(columns, self._few)
        # Starting takes longer than the work does, and not always equally long: the best of some.
        start = min(self._seconds(columns, self._few) for _ in range(self._repeats))
        seconds = min(self._seconds(columns, data) for _ in range(self._repeats))
        rate = (documents - FEW) / max(seconds - start, 0.1)
        return Measured(name, start, rate, self._work / f"out{self._runs}")

    def _seconds(self, columns: list[str], data: Path) -> float:
        self._runs += 1
        run, out = self._runs, self._work / f"out{self._runs}"
        started = time.perf_counter()
        self._session.execute(f"""
            CREATE STREAM s{run} ({self._schema}) WITH (connector = 'file', path = '{data}');
            CREATE SINK o{run} WITH (connector = 'file', path = '{out}');
            CREATE PIPELINE p{run} INTO o{run} AS SELECT {", ".join(columns)} FROM s{run};
        """)
        self._session.start(f"p{run}", once=True).await_done()
        return time.perf_counter() - started


class Theirs:
    def __init__(
        self, session: narrows.Session, names: list[str], work: Path, few: Path, repeats: int
    ) -> None:
        self._spark, self._work, self._few, self._repeats = session.spark, work, few, repeats
        self._schema = ", ".join(f"{name} STRING" for name in names)
        self._runs = 0

    def measure(self, name: str, columns: list[str], data: Path, documents: int) -> Measured:
        self._seconds(columns, self._few)  # the first is slower than any later one
        # As on our side, the best of some.
        start = min(self._seconds(columns, self._few) for _ in range(self._repeats))
        seconds = min(self._seconds(columns, data) for _ in range(self._repeats))
        rate = (documents - FEW) / max(seconds - start, 0.1)
        return Measured(name, start, rate, self._work / f"spark{self._runs}")

    def _seconds(self, columns: list[str], data: Path) -> float:
        self._runs += 1
        started = time.perf_counter()
        rows = self._spark.read.text(str(data)).select(
            F.from_json("value", self._schema).alias("row")
        )
        chosen = rows.select([F.col(f"row.{name}") for name in columns])
        lines = chosen.select(F.to_json(F.struct(*[F.col(name) for name in columns])))
        lines.write.mode("overwrite").text(str(self._work / f"spark{self._runs}"))
        return time.perf_counter() - started


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
