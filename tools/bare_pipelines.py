"""Pipelines without Spark: what a feed and a task do, in one small process.

    python tools/bare_pipelines.py p.sql FOLDER s:copied:1 t:computed:10

Takes entries of streams, reads them, and writes the column `id`, times a number, to a file for each
entry, until somebody kills it. It starts in a moment, where a JVM takes seconds: so it can be
killed a hundred times while a test waits.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from narrows import Catalog
from narrows.connectors.base import find_connector
from narrows.connectors.entry_log import EMPTY, EntryLog
from narrows.demand import ALL, fields
from narrows.files.atomic import write_atomically
from narrows.projection.columns import DecodeProjection
from narrows.sql.scope import Name
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec

_TASKS = 2
_LOOKS_AGAIN = 0.05


class BarePipeline:
    def __init__(self, catalog: Catalog, folder: Path, stream: str, output: str, by: int) -> None:
        source = catalog.find_source(Name(stream, None))
        projection = DecodeProjection(source.schema, fields({"id": ALL}))
        self._output = folder / output
        self._output.mkdir(parents=True, exist_ok=True)
        self._by = by
        self._spec = ReadSpec(
            source=stream,
            connector=source.connector,
            format=source.format,
            projection=projection,
            names=("id",),
            options=source.options,
            entry_log=str(folder / "state" / "entries" / output / stream),
            folder=str(folder / "state" / "received" / source.connector),
        )
        self._source = find_connector(source.connector).source(self._spec.declared)
        self._log = EntryLog(self._spec.entry_log or "")

    def run(self) -> None:
        self._source.start()
        last = self._log.last()
        if last != EMPTY:  # it may have been cut short
            self._publish(last)
        while True:
            entry = self._source.admit(self._log, self._source.available())
            if entry is None:
                threading.Event().wait(_LOOKS_AGAIN)
            else:
                self._publish(self._log.append(entry))

    def _publish(self, number: int) -> None:
        entry = self._log.entry(number)
        tasks = max(1, len(self._source.split(entry, _TASKS)))
        rows = [
            json.dumps({"id": found * self._by})
            for task in range(tasks)
            for batch in read_entry(self._spec, entry, number, task, tasks)
            for found in batch.column(0).to_pylist()
        ]
        text = "".join(f"{row}\n" for row in rows)
        write_atomically(self._output / f"{number:08d}.json", text.encode())
        self._source.committed(entry)


def main() -> None:
    sql, folder, *pipelines = sys.argv[1:]
    catalog = Catalog()
    catalog.execute(Path(sql).read_text("utf-8"))
    threads = []
    for text in pipelines:
        stream, output, by = text.split(":")
        pipeline = BarePipeline(catalog, Path(folder), stream, output, int(by))
        threads.append(threading.Thread(target=pipeline.run))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
