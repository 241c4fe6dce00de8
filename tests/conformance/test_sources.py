"""The sources that come with Narrows, and one that does not, obey the laws."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from narrows.connectors.entry_log import EntryLog
from narrows.connectors.memory.topic import Topic
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.plugins.options import OptionValue
from narrows.shared.ingest_task import IngestUnion, entry_of, ingest_share
from narrows.shared.log import SharedLog
from narrows.shared.registry import ConsumerRegistry
from narrows.shared.source import CONSUMER, ENTRIES_AT_ONCE, FOLDER
from narrows.worker.write import publish, write_task
from support.conformance.metadata import MetadataLaws
from support.conformance.source_case import DECLARED, Limit, Reading, SourceCase, document, row
from support.conformance.sources import LossLaws, PayloadLaws, SourceLaws
from support.toy_package import install_toy


class FileCase(SourceCase):
    connector = "file"
    limit = Limit({"max_files_per_trigger": 2}, 2)
    tight: Mapping[str, OptionValue] | None = {"max_bytes_per_trigger": 1}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "in").mkdir()
        self._files = 0

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {"path": str(self.folder / "in")}

    def put(self, payloads: Sequence[bytes]) -> None:
        path = self.folder / "in" / f"{self._files:06d}.json{self.suffix}"
        path.write_bytes(self.stored(b"".join(payload + b"\n" for payload in payloads)))
        os.utime(path, (self._files, self._files))  # oldest first
        self._files += 1

    suffix = ""

    def stored(self, lines: bytes) -> bytes:
        return lines

    def lines(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def payload_at(self, position: Mapping[str, Any]) -> bytes:
        assert set(position) == {"file", "offset"}
        return self.lines(position["file"])[position["offset"] :].split(b"\n")[0]

    def metadata_at(self, position: Mapping[str, Any]) -> dict[str, Any]:
        return {"_file": position["file"]}

    def lose(self) -> int:
        files = list((self.folder / "in").iterdir())
        for file in files:
            file.unlink()
        return len(files)


class CompressedCase(FileCase):
    suffix = ".gz"

    def stored(self, lines: bytes) -> bytes:
        return gzip.compress(lines)

    def lines(self, path: str) -> bytes:
        return gzip.decompress(Path(path).read_bytes())


class ReplayedCase(FileCase):
    """A recording, for whoever does not wait: everything is there at once."""

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {**super().options, "replay": "n", "speed": 2}


class TopicCase(SourceCase):
    """What is put is a batch that a pipeline publishes to a topic in memory."""

    connector = "memory"
    format = "rows"
    limit = Limit({"max_bytes_per_trigger": 1_500}, 2)
    tight: Mapping[str, OptionValue] | None = {"max_bytes_per_trigger": 1}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._batch = 0
        parts = RowPart("o0", "n"), RowPart("o1", "s")
        options = (("topic", "t"),)
        target = SinkTarget(
            "writer", "out", "memory", "json", options, parts, "", "", folder=str(self.kept)
        )
        self._spec = WriteSpec((target,))
        self.topic = Topic(str(self.kept), "t")
        self.topic.consumers.begin("somebody", 0)  # for whom everything is kept

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {"topic": "t"}

    def put(self, payloads: Sequence[bytes]) -> None:
        rows = pa.RecordBatch.from_pylist([json.loads(payload) for payload in payloads])
        written = write_task(self._spec, iter([rows.rename_columns(["o0", "o1"])]))
        publish(self._spec, self._batch, [written])
        self._batch += 1

    def lose(self) -> int:
        files = list(self.topic.rows.iterdir())
        for file in files:
            file.unlink()
        return len(files)


class SharedLogCase(SourceCase):
    """What is put is taken and decoded by an ingest right away; pipelines read its log."""

    connector = "shared log"
    limit = Limit({}, ENTRIES_AT_ONCE)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "files").mkdir()
        self._files = FileCase(folder / "files")
        self._ingest = Reading(self._files)
        self._shared = folder / "shared"
        self._registry = ConsumerRegistry(self._shared)
        self._registry.register({"c": DECLARED})

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {FOLDER: str(self._shared), CONSUMER: "c"}

    def declared(self, more: Mapping[str, OptionValue]) -> Mapping[str, OptionValue]:
        return {**self.options, **more}  # no statement names it

    def put(self, payloads: Sequence[bytes]) -> None:
        self._files.put(payloads)
        self._ingest.drain()
        log = EntryLog(self._ingest.folder / "log")
        for number in range(SharedLog(self._shared).last() + 1, log.last() + 1):
            applied = self._registry.apply(number)
            union = IngestUnion(number, applied.version, applied.demand)
            shares = self._ingest.source.split(log.entry(number), 2)
            spec = self._ingest.spec
            told = [ingest_share(spec, str(self._shared), union, share) for share in shares]
            SharedLog(self._shared).publish(entry_of(union, told))


class ToyCase(SourceCase):
    connector = "sqlite"
    limit = Limit({"max_payloads_per_trigger": 3}, 3)
    tight: Mapping[str, OptionValue] | None = {"max_payloads_per_trigger": 1}

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {"path": str(self.folder / "in.db")}

    def put(self, payloads: Sequence[bytes]) -> None:
        with closing(sqlite3.connect(self.folder / "in.db")) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS payloads (id INTEGER PRIMARY KEY, payload BLOB)"
            )
            rows = [(payload,) for payload in payloads]
            database.executemany("INSERT INTO payloads (payload) VALUES (?)", rows)

    def payload_at(self, position: Mapping[str, Any]) -> bytes:
        with closing(sqlite3.connect(position["path"])) as database:
            query = "SELECT payload FROM payloads WHERE id = ?"
            (found,) = database.execute(query, (position["id"],)).fetchone()
        return bytes(found)

    def metadata_at(self, position: Mapping[str, Any]) -> dict[str, Any]:
        return {"_id": position["id"]}

    def lose(self) -> int:
        (self.folder / "in.db").unlink()
        return 1


class TestFiles(SourceLaws, PayloadLaws, MetadataLaws, LossLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        return FileCase(tmp_path)


class TestCompressedFiles(SourceLaws, PayloadLaws, MetadataLaws, LossLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        return CompressedCase(tmp_path)


class TestReplayedFiles(SourceLaws, PayloadLaws, MetadataLaws, LossLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        return ReplayedCase(tmp_path)


class TestTopic(SourceLaws, LossLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> TopicCase:
        return TopicCase(tmp_path)

    def test_what_everybody_has_read_goes(self, case: TopicCase) -> None:
        case.topic.consumers.forget("somebody")
        one, other = Reading(case, "one"), Reading(case, "other")
        rows = case.topic.rows
        left = []
        for number in range(4):
            case.put([document(number)])
            (entry,) = one.drain()
            assert one.rows(entry) == [row(number)]
            one.source.committed(entry)
            left.append(len(list(rows.iterdir())))
            other.source.start()
        assert left == [0, 1, 2, 3]
        (entry,) = other.drain()
        assert other.rows(entry) == [row(number) for number in (1, 2, 3)]
        other.source.committed(entry)
        assert list(rows.iterdir()) == []


class TestSharedLog(SourceLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        return SharedLogCase(tmp_path)


class TestToy(SourceLaws, PayloadLaws, MetadataLaws, LossLaws):
    @pytest.fixture
    def case(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceCase:
        install_toy(tmp_path, monkeypatch)
        return ToyCase(tmp_path)
