"""Topics of a real broker as a source: what others do to them, and what becomes of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_broker import Broker
from narrows.connectors.base import LostRangeError, SourceUnavailableError, find_connector
from narrows.connectors.kafka.client.topics import Extent, Partition
from narrows.connectors.kafka.client.topics import Topics as TopicsThere
from narrows.connectors.kafka.source import offsets
from narrows.demand import ALL, Demand, fields
from narrows.errors import NarrowsError
from narrows.plugins.options import OptionValue
from narrows.projection.columns import DecodeProjection
from narrows.schema import Field, Struct
from support.conformance.source_case import SCHEMA, Reading, SourceCase, document
from support.kafka import Topics
from support.waiting import await_that


class Case(SourceCase):
    connector = "kafka"

    def __init__(
        self, folder: Path, topics: Topics, topic: str, brokers: str | None = None
    ) -> None:
        super().__init__(folder)
        self._options = {"brokers": brokers or topics.address, "topic": topic}

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return self._options

    def put(self, payloads: Sequence[bytes]) -> None:
        raise NotImplementedError


def documents(*numbers: int) -> list[bytes]:
    return [document(n) for n in numbers]


def numbers(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted(row["n"] for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


class TestGaps:
    """Offsets that stand for no message end no range early, and hang none."""

    @pytest.mark.parametrize("limit", [None, 1, 3])
    def test_transactions(self, folder: Path, topics: Topics, limit: int | None) -> None:
        topic = topics.make()
        topics.put_in_transaction(topic, documents(100, 101), commit=False)
        topics.put_in_transaction(topic, documents(0, 1, 2))
        topics.put_in_transaction(topic, documents(102, 103, 104), commit=False)
        topics.put(topic, documents(3))
        topics.put_in_transaction(topic, documents(105), commit=False)
        topics.put_in_transaction(topic, documents(106), commit=False)
        more = {} if limit is None else {"max_messages_per_trigger": limit}
        reading = Reading(Case(folder, topics, topic), more=more)
        reading.drain()
        assert numbers(reading.all_rows()) == [0, 1, 2, 3]
        topics.put_in_transaction(topic, documents(107), commit=False)
        topics.put_in_transaction(topic, documents(4))
        reading.drain()
        assert numbers(reading.all_rows()) == [0, 1, 2, 3, 4]
        assert numbers(reading.rows(reading.source.whole(reading.source.available()))) == [
            0,
            1,
            2,
            3,
            4,
        ]

    def test_what_is_not_committed_yet_is_not_there_yet(self, folder: Path, topics: Topics) -> None:
        topic = topics.make()
        topics.put(topic, documents(0))
        with topics.transaction(topic, documents(1)):
            topics.put(topic, documents(2))  # behind it, and waits for it
            reading = Reading(Case(folder, topics, topic))
            reading.drain()
            assert numbers(reading.all_rows()) == [0]
        reading.drain()
        assert numbers(reading.all_rows()) == [0, 1, 2]

    def test_compaction(self, folder: Path, topics: Topics) -> None:
        topic = topics.make(
            cleanup_policy="compact",
            min_cleanable_dirty_ratio="0.001",
            segment_ms="100",
            max_compaction_lag_ms="100",
            min_compaction_lag_ms="0",
        )
        for n in range(40):
            topics.put(topic, documents(n), key=b"same")
        time.sleep(0.2)  # so that the next message begins a segment
        topics.put(topic, documents(40), key=b"other")
        end = 41
        reading = Reading(Case(folder, topics, topic), more={"max_messages_per_trigger": 7})
        entries = reading.drain()

        def is_compacted() -> bool:
            topics.put(topic, documents(1_000), key=b"more")
            return len(reading.all_rows()) == 2

        await_that(is_compacted, "only the last message of each key is there")
        assert len(entries) == -(-end // 7)
        assert numbers(reading.all_rows()) == [39, 40]


class TestPartitions:
    def test_all_are_read_and_those_that_are_added_are_found(
        self, folder: Path, topics: Topics
    ) -> None:
        topic = topics.make(partitions=2)
        case = Case(folder, topics, topic)
        reading = Reading(case, more={"start_at": "latest"})
        topics.put(topic, documents(100))
        reading.drain()
        topics.put(topic, documents(0), partition=1)
        reading.drain()
        assert numbers(reading.all_rows()) == [0]  # whoever reads knows of two
        topics.add_partitions(topic, 4)
        topics.put(topic, documents(1), partition=3)
        topics.put(topic, documents(2), partition=0)
        reading.restart()
        reading.drain()
        assert numbers(reading.all_rows()) == [0, 1, 2]

    def test_several_topics_and_patterns(self, folder: Path, topics: Topics) -> None:
        one, other = topics.make("pat-1.a"), topics.make("pat-2.a")
        topics.make("not-pat-1")
        topics.put(one, documents(1))
        topics.put(other, documents(2))
        both = Reading(Case(folder, topics, f"{one}, {other}"), "both")
        both.drain()
        assert numbers(both.all_rows()) == [1, 2]
        pattern = Reading(Case(folder, topics, "^pat-[0-9]+[.]a$"), "pattern")
        pattern.drain()
        topics.put(topics.make("pat-3.a"), documents(3))
        pattern.drain()
        assert numbers(pattern.all_rows()) == [1, 2, 3]

    def test_lag_is_told_by_partition(self, folder: Path, topics: Topics) -> None:
        topic = topics.make(partitions=2)
        reading = Reading(Case(folder, topics, topic), more={"max_messages_per_trigger": 2})
        topics.put(topic, documents(0, 1, 2, 3))
        reading.admit()
        topics.put(topic, documents(4), partition=1)
        lag = reading.source.lag(reading.log, reading.source.available())
        assert lag.payloads == 3
        assert lag.partitions == {f"{topic}:0": 2, f"{topic}:1": 1}
        assert lag.bytes is not None

    def test_tools_see_how_far_it_has_come(self, folder: Path, topics: Topics) -> None:
        topic = topics.make(partitions=2)
        group = f"group-{topic}"
        reading = Reading(Case(folder, topics, topic), more={"group": group})
        for partition in (0, 1):
            topics.put(topic, documents(0, 1), partition=partition)
            reading.admit()
        topics.put(topic, documents(2))
        reading.admit()

        def are_seen(entry: int, *ends: int) -> bool:
            reading.source.committed(reading.log.entry(entry))
            return topics.committed(group) == {(topic, n): end for n, end in enumerate(ends)}

        await_that(lambda: are_seen(1, 2, 2), "entry 1 is seen, and with it entry 0")
        reading.restart()
        await_that(lambda: are_seen(2, 3, 2), "entry 2 is seen")


class TestStart:
    def test_the_latest_is_where_it_was_first_looked_for(
        self, folder: Path, topics: Topics
    ) -> None:
        topic = topics.make()
        topics.put(topic, documents(0, 1))
        reading = Reading(Case(folder, topics, topic), more={"start_at": "latest"})
        assert [reading.rows(entry) for entry in reading.drain()] == [[]]
        topics.put(topic, documents(2))
        reading.restart()  # it has not read anything, but it has begun
        reading.drain()
        assert numbers(reading.all_rows()) == [2]

    def test_a_time(self, folder: Path, topics: Topics) -> None:
        topic = topics.make(partitions=2)
        noon = 1_767_268_800_000  # 2026-01-01 12:00 UTC
        for hour in range(4):
            topics.put(topic, documents(hour), timestamp=noon + hour * 3_600_000)
        case = Case(folder, topics, topic)
        for number, start in enumerate(("2026-01-01 14:00:00", "2026-01-01T15:30+01:30")):
            reading = Reading(case, f"p{number}", more={"start_at": start})
            reading.drain()
            assert numbers(reading.all_rows()) == [2, 3]

    def test_offsets(self, folder: Path, topics: Topics) -> None:
        topic = topics.make(partitions=2)
        topics.put(topic, documents(0, 1, 2, 3))
        topics.put(topic, documents(4, 5), partition=1)
        start = json.dumps({topic: {"0": 3}})
        reading = Reading(Case(folder, topics, topic), more={"start_at": start})
        reading.drain()
        assert numbers(reading.all_rows()) == [3, 4, 5]

    @pytest.mark.parametrize("wrong", ["erliest", '{"t": 1}', '{"t": {"0": -1}}', "{}"])
    def test_something_else(self, folder: Path, topics: Topics, wrong: str) -> None:
        with pytest.raises(NarrowsError, match="start_at"):
            Case(folder, topics, "t").declared({"start_at": wrong})


class TestLoss:
    def test_a_head_that_goes_after_it_was_taken(self, folder: Path, topics: Topics) -> None:
        topic = topics.make()
        topics.put(topic, documents(*range(10)))
        reading = Reading(Case(folder, topics, topic))
        reading.drain()
        topics.delete_before(topic, 4)
        assert numbers(reading.all_rows()) == [4, 5, 6, 7, 8, 9]
        (letter,) = reading.letters
        assert (letter["topic"], letter["offset"], letter["upto"]) == (topic, 0, 3)
        assert "offsets 0 to 3" in letter["reason"]

    def test_a_head_that_goes_before_it_is_taken(self, folder: Path, topics: Topics) -> None:
        topic = topics.make()
        case = Case(folder, topics, topic)
        topics.put(topic, documents(0))
        reading = Reading(case)
        reading.drain()
        topics.put(topic, documents(*range(1, 10)))
        topics.delete_before(topic, 6)
        reading.drain()
        assert numbers(reading.rows(reading.log.entry(1), 1)) == [6, 7, 8, 9]
        (letter,) = reading.letters
        assert (letter["offset"], letter["upto"]) == (1, 5)
        fresh = Reading(case, "fresh")
        fresh.drain()
        assert numbers(fresh.all_rows()) == [6, 7, 8, 9]
        assert len(fresh.letters) == 1, "who begins now has lost nothing"

    def test_it_can_end_the_pipeline(self, folder: Path, topics: Topics) -> None:
        topic = topics.make()
        topics.put(topic, documents(0, 1, 2))
        reading = Reading(Case(folder, topics, topic), more={"on_missing": "fail"})
        reading.drain()
        topics.delete_before(topic, 2)
        with pytest.raises(LostRangeError, match=f"offsets 0 to 1 of topic `{topic}`"):
            reading.all_rows()

    def test_a_topic_that_is_deleted(self, folder: Path, topics: Topics) -> None:
        topic, other = topics.make(), topics.make()
        topics.put(topic, documents(0, 1))
        topics.put(other, documents(2))
        reading = Reading(Case(folder, topics, f"{topic}, {other}"))
        reading.drain()
        topics.delete(topic)
        assert numbers(reading.all_rows()) == [2]
        (letter,) = reading.letters
        assert (letter["topic"], letter["offset"], letter["upto"]) == (topic, 0, 1)
        topics.put(other, documents(3))
        reading.drain()
        assert numbers(reading.all_rows()) == [2, 3]

    def test_a_topic_that_is_made_anew(self, folder: Path, topics: Topics) -> None:
        """Its offsets are those of other messages."""
        topic = topics.make()
        topics.put(topic, documents(0, 1, 2))
        reading = Reading(Case(folder, topics, topic), more={"max_messages_per_trigger": 2})
        reading.admit()
        topics.delete(topic)
        topics.make(topic)
        topics.put(topic, documents(10, 11, 12))
        reading.restart()  # what workers hold is of the old one
        reading.drain()
        assert numbers(reading.all_rows()) == [10, 11, 12]
        reasons = [letter["reason"] for letter in reading.letters]
        assert len(reasons) == 2
        assert all("made anew" in reason for reason in reasons)

    def test_a_partition_that_is_not_there(self, folder: Path, topics: Topics) -> None:
        """The library says nothing about it if it knows the topic: a task that waits asks why."""
        topic = topics.make()
        topics.put(topic, documents(0, 1))
        reading = Reading(Case(folder, topics, topic))
        extents = {Partition(topic, 0): Extent(0, 2), Partition(topic, 1): Extent(5, 9)}
        there = TopicsThere(extents, reading.source.available().ids)
        assert numbers(reading.rows(offsets.whole_entry(there, "earliest", 100))) == [0, 1]
        (letter,) = reading.letters
        assert (letter["partition"], letter["offset"], letter["upto"]) == (1, 5, 8)
        assert "the partition is not there" in letter["reason"]

    def test_a_topic_that_is_not_there(self, folder: Path, topics: Topics) -> None:
        reading = Reading(Case(folder, topics, "nowhere"))
        with pytest.raises(SourceUnavailableError, match="no topic `nowhere`"):
            reading.source.available()


class TestMetadata:
    def _rows(self, reading: Reading, demand: Demand) -> list[dict[str, Any]]:
        made = find_connector("kafka").metadata
        metadata = Struct(tuple(Field(name, dtype) for name, dtype in made.items()))
        projection = DecodeProjection(SCHEMA, demand, metadata=metadata)
        names = tuple(column.text for column in projection.columns)
        alone = not projection.payload.columns
        reading.spec = replace(
            reading.spec, projection=projection, names=names, takes_null_payloads=alone
        )
        return reading.all_rows()

    def test_it_comes_with_the_rows(self, folder: Path, topics: Topics) -> None:
        topic = topics.make(partitions=2)
        headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("b", None), ("a", b"2")]
        topics.put(topic, [b"bad"], partition=1)
        topics.put(topic, documents(7), partition=1, key=b"k", headers=headers, timestamp=1_000)
        reading = Reading(Case(folder, topics, topic))
        reading.drain()
        wanted = ("n", "_key", "_topic", "_partition", "_offset", "_timestamp", "_headers")
        (row,) = self._rows(reading, fields(dict.fromkeys(wanted, ALL)))
        assert row.pop("_timestamp").timestamp() == 1.0
        assert [tuple(header.values()) for header in row.pop("_headers")] == headers
        expected = {"n": 7, "_key": b"k", "_topic": topic, "_partition": 1, "_offset": 1}
        assert row == expected

    def test_messages_without_a_payload_are_rows_for_who_asks_for_metadata_alone(
        self, folder: Path, topics: Topics
    ) -> None:
        topic = topics.make()
        topics.put(topic, [document(0), None, b"bad", None, document(1)], key=b"k")
        reading = Reading(Case(folder, topics, topic))
        reading.drain()
        assert numbers(reading.all_rows()) == [0, 1]
        offsets = self._rows(reading, fields({"_offset": ALL}))
        assert [row["_offset"] for row in offsets] == [0, 1, 3, 4]
        both = self._rows(reading, fields({"_offset": ALL, "n": ALL}))
        assert [row["_offset"] for row in both] == [0, 4]
        assert len(reading.letters) == 1


class TestUnavailable:
    NOBODY = "127.0.0.1:1"

    def test_the_driver_says_so(
        self, folder: Path, topics: Topics, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("narrows.connectors.kafka.client.cluster._ANSWER_SECONDS", 0.5)
        case = Case(folder, topics, "t", brokers=self.NOBODY)
        with pytest.raises(SourceUnavailableError, match=self.NOBODY):
            Reading(case).source.available()

    def test_a_task_waits_but_not_for_ever(self, folder: Path, topics: Topics) -> None:
        case = Case(folder, topics, "t", brokers=self.NOBODY)
        reading = Reading(case, more={"patience": "1 second"})
        there = TopicsThere({Partition("t", 0): Extent(5, 9)}, {"t": "id"})
        with pytest.raises(SourceUnavailableError, match=r"`t`.*nothing came for 1 .*offset 5"):
            reading.rows(offsets.whole_entry(there, "earliest", 100))

    def test_a_broker_that_starts_again_is_read_on(
        self, folder: Path, topics: Topics, broker: Broker
    ) -> None:
        topic = topics.make()
        topics.put(topic, documents(0, 1))
        reading = Reading(Case(folder, topics, topic))
        reading.drain()
        assert numbers(reading.all_rows()) == [0, 1]
        broker.stop()
        broker.start()
        topics.put(topic, documents(2))
        reading.drain()
        assert numbers(reading.all_rows()) == [0, 1, 2]
