"""`narrows compact`: small files of a sink, put together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.catalog.objects import Sink
from narrows.cli.errors import errors_for_people
from narrows.cli.options import STATE, CatalogFile, Debug, State
from narrows.cli.shown import shown
from narrows.errors import Code, fail
from narrows.planner.catalog import Catalog

if TYPE_CHECKING:
    from narrows.connectors.base import Connector

_MEGABYTES = 128


def compact(
    file: CatalogFile,
    sink: Annotated[str, typer.Argument(metavar="SINK", help="The sink whose files are small.")],
    megabytes: Annotated[
        int, typer.Option(min=1, help="How large files should be; larger ones stay as they are.")
    ] = _MEGABYTES,
    state: State = STATE,
    debug: Debug = False,
) -> None:
    """Put small files of a sink together, while none of its pipelines runs."""
    with errors_for_people(debug):
        catalog = Catalog()
        catalog.load(file)
        for pipeline, (files, into) in compacted(catalog, sink, state, megabytes << 20).items():
            print(shown(f"pipeline {pipeline}: {files} files became {into}"))


def compacted(catalog: Catalog, name: str, state: Path, size: int) -> dict[str, tuple[int, int]]:
    """For each pipeline of a sink how many files were put together, and into how many."""
    from narrows.connectors.base import find_connector
    from narrows.connectors.target import SinkTarget
    from narrows.state.folder import StateFolder

    sink = catalog.sink(name)
    connector = find_connector(sink.connector)
    if connector.compact is None:
        raise fail(Code.NOT_SUPPORTED, f"sink `{sink.name}` has no files that could be small")
    _refuse_streams(catalog, sink, connector)
    folder = StateFolder(state)
    writers = [
        pipeline.name
        for pipeline in catalog.pipelines
        if sink.name.casefold() in map(str.casefold, pipeline.sinks) and folder.knows(pipeline.name)
    ]
    if not writers:
        raise fail(
            Code.UNKNOWN_OBJECT,
            f"no pipeline that writes to `{sink.name}` has run on `{state}`",
            hint="name the state folder of its pipelines with `--state`",
        )
    done = {}
    folder.lock()
    try:
        for pipeline in writers:
            target = SinkTarget(
                pipeline=pipeline,
                sink=sink.name,
                connector=sink.connector,
                format=sink.format,
                options=tuple(sink.options.items()),
                parts=(),
                place=connector.place(sink.options, str(folder.rows(sink.name).absolute())),
                dead_letters=str(folder.dead_letters(sink.name).absolute()),
                life=folder.life(pipeline),
            )
            done[pipeline] = connector.compact(target, size)
    finally:
        folder.unlock()
    return done


def _refuse_streams(catalog: Catalog, sink: Sink, connector: Connector) -> None:
    """A stream would read what it has read once more, in a file that is new."""
    for source in catalog.sources:
        if source.bounded or source.connector != sink.connector:
            continue
        if connector.reads_back(source.options, sink.options) is not None:
            raise fail(
                Code.OBJECT_IN_USE,
                f"stream `{source.name}` reads the files of sink `{sink.name}`, and would read"
                " their rows again",
                hint="let the rows go by a topic: `connector = 'memory', topic = '...'`",
            )
