"""What windows that rows cut cost, when they keep aggregates and when they keep rows.

    python bench/windows.py [--rows 60000] [--size 1000] [--batches 12] [--only count|state|sliding]

One pipeline for each kind of window over the same files, one micro-batch a file, once with
`streaming_aggregation_rewrite` and once without, in turn, in one process. Prints the CPU time of
all processes for a run, and how large its state folder is before the last windows close.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import narrows
from cost import measured

KEYS = 8
CALLS = (
    "count(*) AS n, sum(a) AS total, avg(x) AS mean, min(x) AS low, max(x) AS high, max(note) AS s"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--size", type=int, default=1_000, help="rows of a key in a window")
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--only", choices=("count", "state", "sliding"))
    args = parser.parse_args()
    windows = {
        "count": f"countwindow({args.size})",
        "state": f"statewindow(n % {args.size * KEYS} = 0, n % {args.size * KEYS} = -1)",
        # Each row has a window, so a small one: it is the rows of all windows that are given.
        "sliding": f"slidingwindow('ss', {min(args.size, 50) * KEYS})",
    }
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as place:
        folder = Path(place)
        _write(folder / "in", args.rows, args.batches)
        with narrows.connect(state=folder / "state") as session:
            session.execute(
                "CREATE STREAM s (n BIGINT, k STRING, a BIGINT, x DOUBLE, note STRING, ts BIGINT)"
                f" WITH (connector = 'file', path = '{folder}/in', eventtime = 'ts',"
                " eventtime_unit = 's', max_files_per_trigger = 1)"
            )
            _run(session, "warm", f"SELECT k, {CALLS} FROM s GROUP BY k, countwindow(10)", "on")
            for name, window in windows.items():
                if args.only not in (None, name):
                    continue
                query = f"SELECT k, {CALLS} FROM s GROUP BY k, {window}"
                rows = _run(session, f"{name}_rows", query, "off")
                folded = _run(session, f"{name}_folded", query, "on")
                print(
                    f"{name}: rows {rows[0]:.1f} CPU s, {rows[1] / 1e6:.2f} MB;"
                    f" aggregates {folded[0]:.1f} CPU s, {folded[1] / 1e6:.2f} MB"
                    f" (x {rows[0] / folded[0]:.1f}, x {rows[1] / folded[1]:.1f})",
                    flush=True,
                )


def _write(folder: Path, rows: int, files: int) -> None:
    folder.mkdir()
    for part in range(files):
        lines = [
            json.dumps(
                {
                    "n": n,
                    "k": f"k{n % KEYS}",
                    "a": n * 7 % 1_000,
                    "x": n % 977 / 10,
                    "note": f"a note of some length, number {n % 100}",
                    "ts": n,
                }
            )
            for n in range(part * rows // files, (part + 1) * rows // files)
        ]
        (folder / f"{part:04}.json").write_text("\n".join(lines) + "\n", "utf-8")


def _run(session: narrows.Session, name: str, query: str, rule: str) -> tuple[float, int]:
    """CPU seconds, and bytes of state."""
    session.execute(f"SET narrows.rule.streaming_aggregation_rewrite = {rule}")
    session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
    session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")
    with measured() as cost:
        session.start(name, once=True, close_windows=False).await_done(timeout=3_600)
    state = session.state.checkpoint(name) / "state"
    return cost.cpu, sum(path.stat().st_size for path in state.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
