"""What a user sees while pipelines run: a live table on a terminal, one line each when piped."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from narrows.catalog.objects import Sink
from narrows.cli.remarks import print_refused, print_remarks
from narrows.cli.shown import shown, shown_json
from narrows.cli.tables import cell
from narrows.logical.walk import sources_of
from narrows.spark.run.pipeline_run import FAILED, PipelineRun
from narrows.spark.run.run import Run
from narrows.spark.session import Session
from narrows.worker.counts import ReadCounts

_INTERVAL = 0.5


def follow(session: Session, run: Run) -> None:
    """Shows a run until it ends. Ctrl-C and SIGTERM stop it cleanly."""
    console = Console(stderr=True)
    tail = _ConsoleSinks(session, run)
    before = _shared_counts(run)
    had = {pipeline.name: pipeline.refused() for pipeline in run.pipelines}
    if console.is_terminal:
        with Live(progress_table(run), console=console, refresh_per_second=4) as live:
            _until_it_ends(run, tail, lambda: live.update(progress_table(run)))
    else:
        _until_it_ends(run, tail, lambda: None)
        for name, stream in _shared(run).items():
            print(shown(stream_summary(name, stream)), file=sys.stderr)
        for pipeline in run.pipelines:
            print(shown(summary(pipeline)), file=sys.stderr)
    late = {pipeline.name: pipeline.late_rows for pipeline in run.pipelines}
    print_remarks(session.catalog, session.state, _new_counts(run, before), late)
    for pipeline in run.pipelines:
        for sink, rows in pipeline.refused().items():
            print_refused(session.state, pipeline.name, sink, rows - had[pipeline.name][sink])
    run.raise_if_failed()


def _until_it_ends(run: Run, tail: _ConsoleSinks, show: Callable[[], None]) -> None:
    try:
        with _sigterm_interrupts():
            while run.is_running:
                time.sleep(_INTERVAL)
                tail.print_new()
                show()
    except KeyboardInterrupt:
        print("stopping ...", file=sys.stderr)
        run.stop()
    tail.print_new()
    show()


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Has SIGTERM - what `kill`, systemd and containers send - do what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _new_counts(run: Run, before: Mapping[str, ReadCounts]) -> dict[str, ReadCounts]:
    """What was read of each source in this run. Pipelines that read the same read the same bad
    payloads: those of the one that read most count."""
    found = {
        name: counts.since(before.get(name, ReadCounts()))
        for name, counts in _shared_counts(run).items()
    }
    for pipeline in run.pipelines:
        for name, counts in pipeline.new_counts().items():
            found[name] = max(found.get(name, counts), counts, key=lambda read: read.payloads)
    return found


def _shared_counts(run: Run) -> dict[str, ReadCounts]:
    names = [field.name for field in fields(ReadCounts)]
    return {
        stream: ReadCounts(**{name: found.get(name, 0) for name in names})
        for stream, found in _shared(run).items()
    }


def progress_table(run: Run) -> Table:
    table = Table(box=box.SIMPLE)
    for column in ("pipeline", "status", "decodes", "payloads", "read", "shipped", "bad", "rate"):
        left = column in ("pipeline", "status")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for shared, stream in _shared(run).items():
        table.add_row(
            cell(f"{shared} (shared)"),
            f"version {stream['version']}",
            cell(stream["decodes"].removesuffix(" leaves")),
            f"{stream.get('payloads', 0):,}",
            megabytes(stream.get("payload_bytes", 0)),
            megabytes(stream.get("segment_bytes", 0)),
            f"{stream.get('bad', 0):,}",
            "",
        )
    for pipeline in run.pipelines:
        total = _totals(pipeline)
        status = pipeline.status
        name, reads = cell(pipeline.name), cell(leaves(pipeline))
        told = cell(status, style="red" if status == FAILED else "")
        if pipeline.shared() and not total:
            # It reads what the stream has decoded: nothing to count but how far behind it is.
            blank = [""] * 4
            table.add_row(name, told, reads, *blank, _lag(pipeline))
            continue
        table.add_row(
            name,
            told,
            reads,
            f"{total['payloads']:,}",
            megabytes(total["payload_bytes"]),
            megabytes(total["arrow_bytes"]),
            f"{total['bad']:,}",
            f"{megabytes(total['payload_bytes'] / max(_seconds(pipeline), 0.001))}/s",
        )
    return table


def summary(pipeline: PipelineRun) -> str:
    total, problem = _totals(pipeline), pipeline.error or pipeline.problem
    if pipeline.shared() and not total:
        text = f"{pipeline.name}: {pipeline.status}, reads {leaves(pipeline)} leaves"
        text += f" of shared stream {', '.join(pipeline.shared())}, {_lag(pipeline)}"
        return f"{text}: {problem}" if problem else text
    text = (
        f"{pipeline.name}: {pipeline.status}, decodes {leaves(pipeline)} leaves,"
        f" {total['payloads']:,} payloads, {megabytes(total['payload_bytes'])} read,"
        f" {megabytes(total['arrow_bytes'])} shipped, {total['bad']:,} bad"
    )
    return f"{text}: {problem}" if problem else text


def stream_summary(name: str, stream: Mapping[str, Any]) -> str:
    return (
        f"{name}: shared, decoded {stream.get('payloads', 0):,} payloads once,"
        f" {megabytes(stream.get('payload_bytes', 0))} read,"
        f" {megabytes(stream.get('segment_bytes', 0))} kept, {stream.get('bad', 0):,} bad"
    )


def _shared(run: Run) -> dict[str, Mapping[str, Any]]:
    """The shared streams of a run, by name."""
    return {name: found for p in run.pipelines for name, found in p.shared().items()}


def _lag(pipeline: PipelineRun) -> str:
    return f"lag {max(stream['lag'] for stream in pipeline.shared().values())}"


def leaves(pipeline: PipelineRun) -> str:
    """`2 of 43`, for each source."""
    infos = [node.info() for node in sources_of(pipeline.plan.logical)]
    return ", ".join(str(info["decodes"]).removesuffix(" leaves") for info in infos)


def megabytes(count: float) -> str:
    """Bytes in megabytes, or in less where that would be `0.0 MB`."""
    if count < 1e3:
        return f"{count:.0f} B"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


def _totals(pipeline: PipelineRun) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in pipeline.counts().values():
        for key, value in vars(counts).items():
            total[key] = total.get(key, 0) + value
    return total


def _seconds(pipeline: PipelineRun) -> float:
    return (pipeline.ended or time.monotonic()) - pipeline.started


class _ConsoleSinks:
    """Prints the lines of console sinks as they are published."""

    def __init__(self, session: Session, run: Run) -> None:
        names = {name for p in run.pipelines for name in session.catalog.pipeline(p.name).sinks}
        sinks: list[Sink] = [session.catalog.sink(name) for name in sorted(names)]
        self._folders = [session.state.rows(s.name) for s in sinks if s.connector == "console"]
        self._seen: set[Path] = {path for folder in self._folders for path in _published(folder)}

    def print_new(self) -> None:
        for folder in self._folders:
            for path in _published(folder):
                if path not in self._seen:
                    self._seen.add(path)
                    sys.stdout.write(shown_json(path.read_text("utf-8")))
        sys.stdout.flush()


def _published(folder: Path) -> list[Path]:
    return sorted(folder.glob("[!.]*.json")) if folder.is_dir() else []
