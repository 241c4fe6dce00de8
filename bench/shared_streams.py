"""Eight pipelines on one stream: a shared stream against eight Spark queries.

    python bench/shared_streams.py [--megabytes 2000] [--pipelines 8]

Each pipeline writes two columns of the 43 to JSON files. Spark's side is one Structured Streaming
query for each, `from_json` with the full schema over the same files. Both sides run in one Spark
session, warmed up, and the rows they wrote are compared. CPU time is that of all processes: the
JVM, the driver and the Python workers.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import narrows
import report
import wide_data
from cost import Cost, measured

IDLE_SECONDS = 20
WARM_UP_MEGABYTES = 40


def main() -> None:
    options = report.options(__doc__, megabytes=2000, pipelines=8).parse_args()
    large = Path(tempfile.gettempdir()) / "narrows-bench" / "shared"
    size = wide_data.write(large, options.megabytes)
    small = large.with_name("shared-warm-up")
    wide_data.write(small, WARM_UP_MEGABYTES)
    columns = [(f"c{2 * k}", f"c{2 * k + 1}") for k in range(options.pipelines)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with narrows.connect(state=place / "state") as session:
            for data, name in ((small, "warm"), (large, "all")):
                one, _ = ours(session, data, place / f"{name}-one", columns[:1])
                many, counts = ours(session, data, place / f"{name}-many", columns)
                sparks = theirs(session.spark, data, place / f"{name}-spark", columns)
            idle = idle_cost(session, small, place / "idle", columns)
            rows = compare(session.spark, place / "all-many", place / "all-spark", columns)
    assert counts["payloads"] == counts["rows_decoded"] == rows, (counts, rows)
    print(f"\n{size / 1e9:.2f} GB NDJSON, {rows:,} documents, {len(columns)} pipelines\n")
    print("| side | wall s | CPU s |")
    print("|---|---|---|")
    print(f"| Narrows, 1 pipeline on the shared stream | {one.wall:.1f} | {one.cpu:.1f} |")
    print(f"| Narrows, {len(columns)} pipelines | {many.wall:.1f} | {many.cpu:.1f} |")
    print(f"| Spark, {len(columns)} queries | {sparks.wall:.1f} | {sparks.cpu:.1f} |")
    more = len(columns) - 1
    print(f"\nSpark / Narrows: wall {sparks.wall / many.wall:.1f}, CPU {sparks.cpu / many.cpu:.1f}")
    each = (many.wall - one.wall) / more, (many.cpu - one.cpu) / more
    print(f"each of the other {more} pipelines: wall {each[0]:.2f} s, CPU {each[1]:.2f} s")
    print(f"idle, {len(columns)} pipelines: {100 * idle.cpu / idle.wall:.1f} % of a core")
    print(f"payloads decoded: {counts['rows_decoded']:,} of {rows:,}\n")
    case = f"{len(columns)} pipelines on a shared stream"
    against, note = f"{len(columns)} queries with from_json", f"{size / 1e9:.2f} GB"
    report.publish(
        [
            report.Row(f"{case}, time", against, many.wall, sparks.wall, note=note),
            report.Row(f"{case}, CPU time", against, many.cpu, sparks.cpu, note=note),
            report.Row(
                "one more pipeline on a shared stream, CPU time",
                "one more query with from_json",
                each[1],
                sparks.cpu / len(columns),
                note=note,
            ),
        ],
        options.json,
    )


def ours(
    session: narrows.Session, data: Path, place: Path, columns: list[tuple[str, str]]
) -> tuple[Cost, dict[str, int]]:
    names = declare(session, data, place, columns)
    with measured() as cost:
        run = session.start(*names, once=True).await_done()
    (counts,) = run.progress[names[0]]["shared"].values()
    return cost, dict(counts)


def declare(
    session: narrows.Session, data: Path, place: Path, columns: list[tuple[str, str]]
) -> list[str]:
    """A stream of its own for each measurement: what one has taken another does not take again."""
    stream = place.name.replace("-", "_")
    session.execute(
        f"CREATE STREAM {stream} ({wide_data.schema()})"
        f" WITH (connector = 'file', path = '{data}', shared = true)"
    )
    names = []
    for number, (x, y) in enumerate(columns):
        name = f"{stream}_{number}"
        session.execute(
            f"CREATE SINK {name} WITH (connector = 'file', path = '{place}/{number}');"
            f"CREATE PIPELINE {name} INTO {name} AS SELECT {x}, {y} FROM {stream}"
        )
        names.append(name)
    return names


def theirs(spark: SparkSession, data: Path, place: Path, columns: list[tuple[str, str]]) -> Cost:
    with measured() as cost:
        queries = []
        for number, (x, y) in enumerate(columns):
            lines = spark.readStream.text(str(data))
            parsed = lines.select(F.from_json("value", wide_data.schema()).alias("row"))
            writer = (
                parsed.select(f"row.{x}", f"row.{y}")
                .writeStream.format("json")
                .option("path", f"{place}/{number}")
                .option("checkpointLocation", f"{place}/checkpoints/{number}")
            )
            queries.append(writer.trigger(availableNow=True).start())
        for query in queries:
            query.awaitTermination()
    return cost


def idle_cost(
    session: narrows.Session, data: Path, place: Path, columns: list[tuple[str, str]]
) -> Cost:
    names = declare(session, data, place, columns)
    run = session.start(*names)
    pause = threading.Event()
    while any(
        stream["lag"] or not stream.get("entries")
        for pipeline in run.progress.values()
        for stream in pipeline["shared"].values()
    ):
        pause.wait(0.2)
    with measured() as cost:
        pause.wait(IDLE_SECONDS)
    run.stop()
    return cost


def compare(spark: SparkSession, one: Path, other: Path, columns: list[tuple[str, str]]) -> int:
    """Both sides have written the same rows; how many."""
    counts = set()
    for number, (x, y) in enumerate(columns):
        answers = []
        for side in (one, other):
            rows = spark.read.schema(f"{x} STRING, {y} STRING").json(f"{side}/{number}")
            total = F.sum(F.hash(x, y).cast("long"))
            answers.append(tuple(rows.agg(F.count("*"), total).collect()[0]))
        assert answers[0] == answers[1], (x, y, answers)
        counts.add(answers[0][0])
    (count,) = counts
    return int(count)


if __name__ == "__main__":
    main()
