"""What the hundredth pipeline of a service costs: on one shared stream, while rows come in.

    python bench/service_pipelines.py [PIPELINES] [--by-spark]

Starts a service, declares a shared stream of 100 columns, and starts so many pipelines on it, one
after the other, by HTTP. Prints how long a start takes, how long until a pipeline's first row, in
seconds and in micro-batches of the stream, what status and stop take in the end, what a micro-batch
costs, and memory and threads as they grow. Each selects a column and computes one: its readers do,
or with `--by-spark` Spark, by a function that readers do not know.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.service.client import Client
from support.service_process import PATIENCE, ServiceProcess

COLUMNS = 100


def main() -> None:
    pipelines = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as place:
        folder = Path(place)
        (folder / "in").mkdir()
        over = threading.Event()
        threading.Thread(target=_write, args=(folder / "in", over), daemon=True).start()
        try:
            with ServiceProcess(folder) as service:
                _measure(service, pipelines, by_spark="--by-spark" in sys.argv)
        finally:
            over.set()


def _measure(service: ServiceProcess, pipelines: int, *, by_spark: bool) -> None:
    client, folder = service.client, service.folder
    columns = ", ".join(f"c{n} BIGINT" for n in range(COLUMNS))
    client.execute(
        f"CREATE STREAM s ({columns})"
        f" WITH (connector = 'file', path = '{folder}/in', shared = true)"
    )
    starts: list[float] = []
    firsts: list[float] = []
    batches: list[float] = []
    for number in range(pipelines):
        name, column = f"p{number}", f"c{number % COLUMNS}"
        computed = f"abs({column})" if by_spark else f"{column} + 1"
        client.execute(
            f"CREATE SINK k{number} WITH (connector = 'memory');"
            f"CREATE PIPELINE {name} INTO k{number} AS SELECT {column}, {computed} AS x FROM s"
        )
        began = time.perf_counter()
        client.start(name)
        starts.append(time.perf_counter() - began)
        entries = _position(client, "p0") if number else 0
        deadline = time.monotonic() + PATIENCE
        while not client.rows(f"k{number}", limit=1):
            assert time.monotonic() < deadline, service.log()
            time.sleep(0.02)
        firsts.append(time.perf_counter() - began)
        batches.append(_position(client, "p0") - entries if number else 0)
        if number + 1 in (1, 10, 25, 50, 75, pipelines):
            threads, memory = _process(client.metrics())
            print(f"{number + 1} pipelines: {threads} threads, {memory}", flush=True)
            _print("  start", starts[-10:])
            _print("  first row after start was asked for", firsts[-10:])
            _print("  micro-batches of the first pipeline meanwhile", batches[-10:], "")
            _print("  a micro-batch", [_batch_seconds(client, name)])
            _print("  status of all", [_timed(client.status) for _ in range(5)])
            _print("  status of one", [_timed(lambda n=name: client.pipeline(n)) for _ in range(5)])  # type: ignore[misc]
            _print("  metrics", [_timed(client.metrics) for _ in range(3)])
    some = range(1, min(11, pipelines))
    _print("stop", [_timed(lambda n=n: client.stop(f"p{n}")) for n in some])  # type: ignore[misc]
    _print("start again", [_timed(lambda n=n: client.start(f"p{n}")) for n in some])  # type: ignore[misc]


def _batch_seconds(client: Client, name: str) -> float:
    began, first = time.perf_counter(), _position(client, name)
    while (last := _position(client, name)) < first + 3:
        assert time.perf_counter() < began + PATIENCE
        time.sleep(0.02)
    return (time.perf_counter() - began) / (last - first)


def _position(client: Client, name: str) -> int:
    return int(client.pipeline(name)["stats"]["shared"]["s"]["position"])


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _print(what: str, values: Sequence[float], unit: str = " s") -> None:
    median, most = statistics.median(values), max(values)
    print(f"{what}: median {median:.2f}{unit}, most {most:.2f}{unit}", flush=True)


def _process(metrics: str) -> tuple[str, str]:
    threads = re.search(r"^narrows_threads (\d+)", metrics, re.MULTILINE)
    sizes = re.findall(r'^narrows_resident_memory_bytes{process="(\w+)"} (\d+)', metrics, re.M)
    assert threads is not None
    return threads[1], ", ".join(f"{name} {int(size) / 1e6:.0f} MB" for name, size in sizes)


def _write(folder: Path, over: threading.Event) -> None:
    """A small file every half second."""
    number = 0
    while not over.wait(0.5):
        number += 1
        row = json.dumps({f"c{n}": number for n in range(COLUMNS)})
        hidden = folder / f".{number}.writing"
        hidden.write_text(f"{row}\n" * 10, "utf-8")
        hidden.rename(folder / f"{number:06d}.json")


if __name__ == "__main__":
    main()
