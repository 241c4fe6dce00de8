"""What a row costs on its way from a reader into Spark: who spends the CPU time of `SELECT *`.

    python bench/row_shipping.py [--megabytes 300] [--repeats 3]

The same documents, each row thrown away by Spark (`noop`): `SELECT *`, which reads, decodes and
ships; `from_json`; and rows that are *shipped only*: batches as a reader makes them, decoded
beforehand, sent from a file. What those cost is what Spark asks for rows in Arrow, whoever makes
them. CPU time is that of the JVM's threads that run tasks, of its compilers, of all its others
and of the Python workers; where in the tasks it goes is told by samples of the JVM's Flight
Recorder.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import narrows
import report
import wide_data
from narrows.demand import ALL
from narrows.formats.json.native import NativeJsonDecoder
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema

_TASKS = "Executor task"
"""How the threads that run tasks are called; the system keeps 15 letters of a name."""
_COMPILERS = ("C1 Compiler", "C2 Compiler")
_BATCH = 8_192
"""Rows of a batch, as readers ship them."""
_SHARES = 2
_FRAMES = 12


class Spent(NamedTuple):
    """CPU seconds."""

    tasks: float
    compilers: float
    others: float
    workers: float


def main() -> None:
    options = report.options(__doc__, megabytes=300, repeats=3).parse_args()
    data = Path(tempfile.gettempdir()) / "narrows-bench-shipping"
    wide_data.write(data, options.megabytes)
    lines = [line for path in sorted(data.glob("*.json")) for line in path.open("rb")]
    with tempfile.TemporaryDirectory() as folder, narrows.connect(state=folder) as session:
        java = _java()
        sides = _sides(session, data, lines, Path(folder))
        print(f"{len(lines)} rows; CPU seconds\n")
        print("| | tasks | compilers | others | workers | us a row, without compilers |")
        print("|---|---|---|---|---|---|")
        for name, make in sides.items():
            _run(make, java)
            runs = [_run(make, java) for _ in range(options.repeats)]
            found = min(runs, key=lambda spent: sum(spent) - spent.compilers)
            each_row = (sum(found) - found.compilers) / len(lines) * 1e6
            cells = [*(f"{each:.2f}" for each in found), f"{each_row:.1f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        with _recorded(java, Path(folder) / "jvm.jfr") as recording:
            for _ in range(options.repeats):
                _run(sides["shipped only"], java)
        print("\nIn the tasks of what is shipped only, samples by where they were taken:\n")
        for frame, share in _samples(recording):
            print(f"* {share:.0%} {frame}")


def _sides(
    session: narrows.Session, data: Path, lines: list[bytes], folder: Path
) -> dict[str, Callable[[], DataFrame]]:
    spark, schema = session.spark, wide_data.schema()
    session.execute(f"CREATE STREAM s ({schema}) WITH (connector = 'file', path = '{data}')")
    batches = _decoded(lines)
    kinds = {field.name: field.type for field in batches[0].schema}
    numbers = [name for name, kind in kinds.items() if kind in (pa.int64(), pa.float64())]
    texts = [name for name, kind in kinds.items() if kind == pa.string()]

    def by_hand() -> DataFrame:
        text = spark.read.text(str(data))
        return text.select(F.from_json("value", schema).alias("row")).select("row.*")

    def shipped(names: list[str]) -> Callable[[], DataFrame]:
        path = folder / f"{len(names)}.arrow"
        chosen = [batch.select(names) for batch in batches]
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, chosen[0].schema) as out:
            for batch in chosen:
                out.write_batch(batch)
        declared = ", ".join(
            f"{f.name} {f.type.sql()}" for f in read_schema(schema) if f.name in names
        )
        return lambda: _sent(session, path, declared)

    return {
        "SELECT *": lambda: session.query("SELECT * FROM s"),
        "from_json": by_hand,
        "shipped only": shipped(list(kinds)),
        f"shipped only, {len(numbers)} numbers": shipped(numbers),
        f"shipped only, {len(texts)} texts": shipped(texts),
        "shipped only, the list": shipped(["b"]),
    }


def _decoded(lines: list[bytes]) -> list[pa.RecordBatch]:
    projection, decoder = (
        DecodeProjection(read_schema(wide_data.schema()), ALL),
        NativeJsonDecoder(),
    )
    found = []
    for start in range(0, len(lines), _BATCH):
        decoded = decoder.decode_with_projection(lines[start : start + _BATCH], projection).batch
        names = [column.text for column in projection.columns]
        found.append(pa.RecordBatch.from_arrays(decoded.columns, names=names))
    return found


def _sent(session: narrows.Session, path: Path, declared: str) -> DataFrame:
    name = str(path)

    def send(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(name) as file:
            reader = pa.ipc.open_file(file)
            for task in (row for batch in tasks for row in batch.column(0).to_pylist()):
                for number in range(task, reader.num_record_batches, _SHARES):
                    yield reader.get_batch(number)

    return session.spark.range(0, _SHARES, 1, _SHARES).mapInArrow(send, declared)


# --- CPU time -------------------------------------------------------------------------------------


def _run(make: Callable[[], DataFrame], java: int) -> Spent:
    threads, workers = _threads(java), _workers(java)
    make().write.format("noop").mode("overwrite").save()
    tasks = compilers = others = 0
    for (number, name), cpu in _threads(java).items():
        spent = cpu - threads.get((number, name), 0)
        if name.startswith(_TASKS):
            tasks += spent
        elif name.startswith(_COMPILERS):
            compilers += spent
        else:
            others += spent
    ours = sum(cpu - workers.get(pid, 0) for pid, cpu in _workers(java).items())
    ticks = os.sysconf("SC_CLK_TCK")
    return Spent(*(each / ticks for each in (tasks, compilers, others, ours)))


def _java() -> int:
    """The process of the JVM, which is below this one."""
    return next(pid for pid in _below(os.getpid()) if _name(f"/proc/{pid}") == "java")


def _below(root: int) -> list[int]:
    parents = {int(folder.name): stat[1] for folder, stat in _stats(Path("/proc")).items()}
    found = [root]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found[1:]


def _threads(java: int) -> dict[tuple[str, str], int]:
    """The ticks of each thread, by its number and name."""
    found = {}
    for folder, stat in _stats(Path(f"/proc/{java}/task")).items():
        found[folder.name, _name(folder)] = stat[11] + stat[12]
    return found


def _workers(java: int) -> dict[int, int]:
    stats = _stats(Path("/proc"))
    return {pid: sum(stats[Path(f"/proc/{pid}")][11:13]) for pid in _below(java)}


def _stats(folder: Path) -> dict[Path, list[int]]:
    """What the system says of each process, or thread, from its third field on."""
    found = {}
    for each in folder.glob("[0-9]*"):
        try:
            fields = (each / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        found[each] = [int(field) if field.lstrip("-").isdecimal() else 0 for field in fields]
    return found


def _name(folder: Path | str) -> str:
    try:
        return (Path(folder) / "comm").read_text().strip()
    except OSError:
        return ""  # it has ended


# --- samples --------------------------------------------------------------------------------------


@contextmanager
def _recorded(java: int, path: Path) -> Iterator[Path]:
    _jdk("jcmd", str(java), "JFR.start", "name=rows", "settings=profile")
    yield path
    _jdk("jcmd", str(java), "JFR.stop", "name=rows", f"filename={path}")


def _jdk(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _samples(recording: Path) -> list[tuple[str, float]]:
    """The frames in which tasks were found most often, and how often that was."""
    text = _jdk(
        "jfr", "print", "--events", "jdk.ExecutionSample", "--stack-depth", "1", str(recording)
    )
    frames: Counter[str] = Counter()
    for sample in text.split("jdk.ExecutionSample")[1:]:
        frame = re.search(r"stackTrace = \[\s*([\w.$<>/]+)\(", sample)
        if f'sampledThread = "{_TASKS}' in sample and frame is not None:
            frames[frame[1]] += 1
    total = frames.total()
    return [(frame, count / total) for frame, count in frames.most_common(_FRAMES)]


if __name__ == "__main__":
    main()
