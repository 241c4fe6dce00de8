"""What is to be said of input that was bad, and why that may be, and of rows that no sink took: on
standard error, at the end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from narrows.catalog.objects import Source
from narrows.cli.shown import shown
from narrows.planner.catalog import Catalog
from narrows.sql.scope import Name
from narrows.state.folder import StateFolder
from narrows.worker.counts import ReadCounts
from narrows.worker.guesses import guess, sample_of
from narrows.worker.kept_letters import letters_gone


def print_remarks(
    catalog: Catalog,
    state: StateFolder,
    read: Mapping[str, ReadCounts],
    late: Mapping[str, int] | None = None,
) -> None:
    """`read` is what was counted of each source, `late` the late rows of each pipeline."""
    for name, counts in read.items():
        source = catalog.find_table([Name(name, None)])
        for line in remarks(source, state, counts) if isinstance(source, Source) else ():
            print(shown(line), file=sys.stderr)
    for pipeline, rows in (late or {}).items():
        if rows:
            print(shown(f"warning: {_late(pipeline, rows)}"), file=sys.stderr)


def print_refused(state: StateFolder, pipeline: str, sink: str, rows: int) -> None:
    """`rows` is how many rows of the pipeline its sink could not take in this run."""
    if rows > 0:
        text = f"{_counted(rows, 'row')} of pipeline `{pipeline}` could not be written to `{sink}`"
        print(shown(f"warning: {text}: see `{_letters(sink, state.path)}`"), file=sys.stderr)


def remarks(source: Source, state: StateFolder, counts: ReadCounts) -> Iterator[str]:
    """A line for payloads that could not be read, one for values of the wrong type."""
    if counts.bad:
        what = f"{counts.bad:,} of {_counted(counts.payloads, 'payload')} of `{source.name}`"
        text = f"warning: {what} could not be read"
        if source.options.get("on_error") == "drop":
            yield f"{text}, and nobody keeps them: `on_error = 'drop'`"
        else:
            most = source.options.get("max_dead_letters")
            gone = letters_gone(state.dead_letters(source.name)) if most is not None else 0
            kept = f"; the newest {most:,} are kept, {gone:,} are gone" if gone else ""
            yield f"{text}: see `{_letters(source.name, state.path)}`{kept}"
        why = guess(sample_of(state.dead_letters(source.name)), source.format)
        if why is not None and counts.bad * 2 > counts.payloads:
            yield f"  = hint: {why}"
    if counts.mistyped:
        values = _counted(counts.mistyped, "value")
        verb = "is" if counts.mistyped == 1 else "are"
        yield f"warning: {values} of `{source.name}` {verb} not of the declared type: read as NULL"


def _late(pipeline: str, rows: int) -> str:
    each = "its window" if rows == 1 else "their windows"
    return f"{_counted(rows, 'row')} of pipeline `{pipeline}` came too late for {each}"


def _letters(name: str, state: Path) -> str:
    command = f"narrows dead-letters {shlex.quote(name)}"
    return command if state == Path(".narrows") else f"{command} --state {shlex.quote(str(state))}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
