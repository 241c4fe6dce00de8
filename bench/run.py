"""All comparisons in one go: one table, as Markdown and JSON, and a plot.

    python bench/run.py [--quick] [--only reading] [--out bench/results]

or `make bench`, or `narrows bench`.

Each benchmark runs in a process of its own, with a Spark of its own. `--quick` takes small data: it
shows that everything works, not how fast.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import report

HERE = Path(__file__).parent
SCRIPTS: dict[str, tuple[str, ...]] = {
    "reading.py": ("--megabytes", "50", "--repeats", "1"),
    "wide_select.py": ("--columns", "500", "--documents", "200"),
    "shared_streams.py": ("--megabytes", "50"),
    "tpch.py": ("--scale", "0.01", "--repeats", "1"),
    "nexmark.py": ("--events", "20000", "--repeats", "1"),
    "kafka.py": ("--messages", "80000", "--repeats", "1"),
    "wide_table.py": ("--rows", "20000", "--repeats", "1"),
}
"""The benchmarks, and what makes them quick."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data")
    parser.add_argument("--only", default="", help="part of a script's name")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    rows: list[report.Row] = []
    failed = []
    for script, quick in SCRIPTS.items():
        if options.only in script:
            found = run(script, quick if options.quick else ())
            rows += found or []
            if found is None:
                failed.append(script)
            write(rows, options.out)  # each time: whatever happens next, this is not lost
    print(f"\n{(options.out / 'results.md').read_text('utf-8')}")
    print(f"written to {options.out}: results.md, results.json, results.svg")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def write(rows: list[report.Row], folder: Path) -> None:
    """The rows as Markdown, as JSON and as a plot."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = report.machine()
    head = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    (folder / "results.md").write_text(f"{head}\n\n{report.table(rows)}\n", encoding="utf-8")
    everything = {**machine, "rows": [report.as_json(row) for row in rows]}
    (folder / "results.json").write_text(json.dumps(everything, indent=2), encoding="utf-8")
    (folder / "results.svg").write_text(report.plot(rows), encoding="utf-8")


def run(script: str, arguments: tuple[str, ...]) -> list[report.Row] | None:
    """The rows of one benchmark; None when it failed, so that the others are not lost."""
    print(f"\n== {script}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "rows.json"
        command = [sys.executable, str(HERE / script), "--json", str(result), *arguments]
        if subprocess.run(command, check=False).returncode or not result.exists():
            return None
        return [report.Row(**row) for row in json.loads(result.read_text("utf-8"))]


if __name__ == "__main__":
    main()
