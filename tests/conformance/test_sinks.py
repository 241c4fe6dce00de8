"""The sinks that come with Narrows, and one that does not, obey the laws."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from narrows.connectors.memory.topic import Topic
from narrows.connectors.target import WriteSpec
from narrows.plugins.options import OptionValue
from narrows.worker.write import publish, write_task
from support.conformance.sinks import ExactlyOnceLaws, SinkCase, SinkLaws
from support.toy_package import install_toy

OTHERS = ("mine.json.bak", "p-0000000000-x.json", ".p-notes.writing", "_p", "p-0000000000-9.json")
"""Files of the user's, which look like those of a pipeline."""


TOPIC_OTHERS = ("mine.arrow", "p-1.arrow", "p-notes.arrow")


class FileCase(SinkCase):
    """Sinks that write files: into a folder of the user's, or one of ours."""

    def __init__(self, folder: Path, connector: str) -> None:
        super().__init__(folder)
        self.connector = connector
        self._place = folder / ("out" if connector == "file" else "ours")

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {"path": str(self._place)} if self.connector == "file" else {}

    def visible(self) -> list[dict[str, Any]]:
        files = [path for path in self._files() if not path.name.startswith((".", "_"))]
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def hidden(self) -> Sequence[object]:
        return [path for path in self._files() if path.name.startswith(".")]

    def disturb(self) -> object:
        self._place.mkdir(parents=True)
        for name in OTHERS:
            (self._place / name).write_text("the user's")
        return self.disturbance()

    def disturbance(self) -> object:
        return [(self._place / name).read_text() for name in OTHERS]

    def _files(self) -> list[Path]:
        found = self._place.iterdir() if self._place.is_dir() else ()
        return sorted(path for path in found if path.name not in OTHERS)


class PartitionedCase(FileCase):
    """Rows in folders, which are named after values of theirs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "file")

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {**super().options, "partition_by": "T"}

    def visible(self) -> list[dict[str, Any]]:
        files = [path for path in self._place.rglob("*.json") if not path.name.startswith(".")]
        return [
            {"t": file.parent.name.removeprefix("T="), **json.loads(line)}
            for file in files
            if file.name not in OTHERS
            for line in file.read_text().splitlines()
        ]

    def hidden(self) -> Sequence[object]:
        return [path for path in super().hidden() if path.suffix != ".published"]  # type: ignore[attr-defined]


class TopicCase(SinkCase):
    """A topic in memory: what it has is what a stream would read."""

    connector = "memory"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.topic = Topic(str(folder / "kept"), "a topic")

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {"topic": "a topic"}

    @property
    def names(self) -> list[str]:
        return [f.name for _, files in self.topic.files(self.topic.kept()) for f in files]

    def visible(self) -> list[dict[str, Any]]:
        tables = [pa.ipc.open_file(str(self.topic.rows / name)).read_all() for name in self.names]
        return [row for table in tables for row in table.to_pylist()]

    def hidden(self) -> Sequence[object]:
        there = {path.name for path in self.topic.rows.glob("*.arrow")}
        return sorted(there.difference(self.names, TOPIC_OTHERS))

    def disturb(self) -> object:
        self.topic.rows.mkdir(parents=True)
        for name in TOPIC_OTHERS:
            (self.topic.rows / name).write_text("the user's")
        return self.disturbance()

    def disturbance(self) -> object:
        return [(self.topic.rows / name).read_text() for name in TOPIC_OTHERS]


class ToyCase(SinkCase):
    connector = "sqlite"

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {"path": str(self.folder / "out.db")}

    def visible(self) -> list[dict[str, Any]]:
        return [json.loads(row) for (row,) in self._select("SELECT row FROM written")]

    def hidden(self) -> Sequence[object]:
        return self._select("SELECT * FROM staged")

    def disturb(self) -> object:
        with closing(sqlite3.connect(self.folder / "out.db")) as database, database:
            database.execute("CREATE TABLE mine (pipeline TEXT, batch INT)")
            database.execute("INSERT INTO mine VALUES ('p', 0)")
        return self.disturbance()

    def disturbance(self) -> object:
        return self._select("SELECT * FROM mine")

    def _select(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.folder / "out.db")) as database:
            known = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
            return database.execute(query).fetchall() if query.split()[-1] in known else []


def _rows(number: int) -> pa.RecordBatch:
    arrays = [pa.array([number], pa.int64()), pa.array([f"t{number}"])]
    return pa.RecordBatch.from_arrays(arrays, names=["o0", "o1"])


@pytest.mark.parametrize("case", ["file", "memory", "console"], indirect=True)
class TestFiles(SinkLaws, ExactlyOnceLaws):
    @pytest.fixture
    def case(self, tmp_path: Path, request: pytest.FixtureRequest) -> SinkCase:
        return FileCase(tmp_path, request.param)


class TestPartitions(SinkLaws, ExactlyOnceLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        return PartitionedCase(tmp_path)


class TestTopic(SinkLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> TopicCase:
        return TopicCase(tmp_path)

    def test_a_batch_that_is_run_again_changes_nothing(self, case: TopicCase) -> None:
        """Somebody may have read it already."""
        specs = [case.spec("p"), case.spec("q")]
        for batch, again in ((0, 1), (1, 2)):
            for _ in range(again + 1):
                for number, spec in enumerate(specs):
                    written = write_task(spec, iter([_rows(batch * 10 + number)]))
                    publish(spec, batch, [written])
        assert [row["id"] for row in case.visible()] == [0, 1, 10, 11]
        assert list(case.hidden()) == []

    def test_what_nobody_reads_is_kept_as_far_as_the_sink_says(self, case: TopicCase) -> None:
        (target,) = case.spec().targets
        written = write_task(WriteSpec((target,)), iter([_rows(0)]))
        size = written.by_sink[0][0][2]
        limited = replace(target, options=(*target.options, ("kept_bytes", 2 * size)))
        spec = WriteSpec((limited,))
        publish(spec, 0, [written])
        for batch in range(1, 5):
            publish(spec, batch, [write_task(spec, iter([_rows(batch)]))])
        assert [row["id"] for row in case.visible()] == [3, 4]
        assert list(case.hidden()) == []
        case.topic.consumers.begin("somebody", 4)
        for batch in range(5, 9):
            publish(spec, batch, [write_task(spec, iter([_rows(batch)]))])
        assert [row["id"] for row in case.visible()] == [3, 4, 5, 6, 7, 8]


class TestToy(SinkLaws, ExactlyOnceLaws):
    @pytest.fixture
    def case(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SinkCase:
        install_toy(tmp_path, monkeypatch)
        return ToyCase(tmp_path)
