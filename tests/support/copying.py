"""A pipeline from files to files whose readers write, taken apart: no session, no Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from narrows import Catalog
from narrows.connectors.target import SinkTarget, WriteSpec
from narrows.logical.nodes import DataSink
from narrows.spark.write.sink_frame import copied_from, parts_of
from narrows.worker.read_spec import ReadSpec

_SQL = """
CREATE STREAM s (a BIGINT, b STRING) WITH (connector = 'file', path = '{folder}/in',
                                           max_files_per_trigger = 3, shared = {shared});
CREATE SINK out WITH (connector = 'file', path = '{folder}/out');
CREATE PIPELINE p INTO out WITH (latency = 'low') AS SELECT a, b FROM s WHERE a >= 0;
"""
_LARGE = 2_000_000
"""Bytes of a file that is worth a task of its own."""


class Copying:
    """Files in `folder/in` and `folder/out`; what must survive is in `folder/state`."""

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        self.folder = folder
        self._shared = shared
        (folder / "in").mkdir()
        self.files = self.rows = self.bad = 0
        self.log = folder / "state" / "entries" / "p" / "s"
        self.read, self.target = self._specs()
        self.write = WriteSpec((self.target,))

    def _specs(self) -> tuple[ReadSpec, SinkTarget]:
        catalog = Catalog()
        catalog.execute(_SQL.format(folder=self.folder, shared=str(self._shared).lower()))
        plan = catalog.plan_pipeline("p")
        plain, top = copied_from(plan), plan.physical
        assert plain is not None
        assert isinstance(top, DataSink)
        read = replace(
            plain.spec,
            pipeline="p",
            entry_log=str(self.log),
            statistics=str(self.folder / "state" / "statistics"),
            dead_letters=str(self.folder / "state" / "dead_letters"),
        )
        target = SinkTarget(
            pipeline="p",
            sink=top.sink.name,
            connector=top.sink.connector,
            format=top.sink.format,
            options=(*top.sink.options.items(), ("timezone", "UTC")),
            parts=parts_of(top),
            place=str(self.folder / "out"),
            dead_letters=str(self.folder / "refused"),
        )
        return read, target

    def put(self, files: int, *, large: bool = False) -> None:
        """So many files with a row each."""
        for _ in range(files):
            self.put_file([True], large=large)

    def put_file(self, rows: Sequence[bool], *, large: bool = False) -> None:
        """A file with these rows, good ones and bad ones, and one that nobody wants."""
        lines: list[str] = []
        for good in rows:
            text = "x" * (_LARGE if large and not lines else 1)
            lines.append(json.dumps({"a": self.rows, "b": text}) if good else "{")
            self.rows += good
            self.bad += not good
        lines.append('{"a": -1}')
        hidden = self.folder / "in" / f".{self.files}"
        hidden.write_text("".join(f"{line}\n" for line in lines))
        hidden.rename(hidden.with_name(f"{self.files:06d}.json"))
        self.files += 1

    def found(self, out: str = "out") -> list[int]:
        """What is written, in order."""
        files = (self.folder / out).glob("[!.]*")
        rows = [json.loads(line)["a"] for file in files for line in file.read_text().splitlines()]
        return sorted(rows)
